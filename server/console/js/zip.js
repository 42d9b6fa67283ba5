/* A ZIP archive of files as they are, without compression: PDFs are compressed already. Pure. */

const CRC = Uint32Array.from({length: 256}, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c;
});

function crc32(bytes) {
  let c = ~0;
  for (const byte of bytes) c = CRC[(c ^ byte) & 255] ^ (c >>> 8);
  return ~c >>> 0;
}

/** Bytes of base64. */
export const fromBase64 = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));

/* Fields of so many bytes, little endian: [[4, 0x04034b50], [2, 20]]. */
function fields(list) {
  const view = new DataView(new ArrayBuffer(list.reduce((sum, [size]) => sum + size, 0)));
  let at = 0;
  for (const [size, value] of list) {
    if (size === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += size;
  }
  return new Uint8Array(view.buffer);
}

/** files: [{name, bytes}]. Returns the archive's parts, as a Blob takes them; at most 65,535 files and 4 GiB. Every file's
 * time is 1 January 1980, so that the same files make the same archive. */
export function zip(files) {
  const parts = [], list = [];
  let at = 0;
  const put = (to, bytes) => {
    to.push(bytes);
    return bytes.length;
  };
  for (const {name, bytes} of files) {
    const text = new TextEncoder().encode(name), crc = crc32(bytes);
    const common = [[2, 20], [2, 0x800], [2, 0], [2, 0], [2, 33], [4, crc], [4, bytes.length], [4, bytes.length], [2, text.length], [2, 0]];
    list.push(fields([[4, 0x02014b50], [2, 20], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, at]]), text);
    at += put(parts, fields([[4, 0x04034b50], ...common])) + put(parts, text) + put(parts, bytes);
  }
  const size = list.reduce((sum, one) => sum + one.length, 0);
  return [...parts, ...list, fields([[4, 0x06054b50], [2, 0], [2, 0], [2, files.length], [2, files.length], [4, size], [4, at], [2, 0]])];
}
