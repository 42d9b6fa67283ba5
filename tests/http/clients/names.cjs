// Preloaded into a client (node --require): every TLS connection goes to the port of TB_TLS_PORT on this machine, whatever
// host the client names, as a name server or a hosts file would do it. The certificate is still checked for that name.
const tls = require('tls')

const connect = tls.connect
const here = { host: '127.0.0.1', port: Number(process.env.TB_TLS_PORT) }
tls.connect = (options, ...rest) => connect({ ...options, ...here }, ...rest)
