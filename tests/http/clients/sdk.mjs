// node sdk.mjs MODULES KEY <CALLS: makes calls of bunny-sdk, which is installed in the folder MODULES. CALLS is a list of
// {path, query}, a path for example "api.pullzone.byId(101)". Prints {reads, answers}: the path of each reading call that the
// client has, without arguments; and for each call {value}, as the client parsed it, or {error}.
import { pathToFileURL } from 'node:url'

const [modules, accessKey] = process.argv.slice(2)
const load = file => import(pathToFileURL(`${modules}/bunny-sdk/${file}`))
const sdk = await load('index.js')
const { BunnyApiClientNavigationMetadata: api } = await load('bunnyApiClient/bunnyApiClient.js')
const { LoggingApiClientNavigationMetadata: logging } = await load('loggingApiClient/loggingApiClient.js')
const clients = { api: sdk.createBunnyApiClient({ accessKey }), logging: sdk.createLoggingApiClient({ accessKey }) }

function * reads (navigation, before) {
  for (const [name, { requestsMetadata, navigationMetadata }] of Object.entries(navigation)) {
    if (requestsMetadata?.get) yield `${before}.${name}`
    yield * reads(navigationMetadata ?? {}, `${before}.${name}`)
  }
}

function at (path) {
  let builder = clients
  for (const [, name, given] of path.matchAll(/(\w+)(?:\(([^)]*)\))?/g))
    builder = given === undefined ? builder[name] : builder[name](...given.split(','))
  return builder
}

async function call ({ path, query }) {
  try {
    return { value: await at(path).get({ queryParameters: query }) }
  } catch (error) {
    return { error: error.responseStatusCode ?? error.message }
  }
}

const plain = (_, value) => value instanceof ArrayBuffer
  ? Buffer.from(value).toString()
  : typeof value?.getValue === 'function' ? value.getValue() : value

let text = ''
for await (const piece of process.stdin) text += piece
const answers = []
for (const one of JSON.parse(text)) answers.push(await call(one))
console.log(JSON.stringify({ reads: [...reads(api, 'api'), ...reads(logging, 'logging')], answers }, plain))
