// The block of numbers in the page (packing.py says how it is laid out).

async function opened(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const buffer = await new Response(stream).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  return { buffer, header, begin: 4 + length + ((4 - (length % 4)) % 4) };
}

/** The block with another header, which `change` makes of the one that it has. */
export async function withHeader(text, change) {
  const { buffer, header, begin } = await opened(text);
  const head = new TextEncoder().encode(JSON.stringify(change(header)));
  const length = new DataView(new ArrayBuffer(4));
  length.setUint32(0, head.length, true);
  const parts = [length, head, new Uint8Array((4 - (head.length % 4)) % 4), new Uint8Array(buffer, begin)];
  const stream = new Blob(parts).stream().pipeThrough(new CompressionStream("gzip"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let letters = "";
  for (let k = 0; k < bytes.length; k += 8192) letters += String.fromCharCode(...bytes.subarray(k, k + 8192));
  return btoa(letters);
}

/** The header of the lesson, whose `arrays` are {shape, data} by name. */
export async function unpack(text) {
  const { buffer, header, begin } = await opened(text);
  for (const [name, one] of Object.entries(header.arrays)) {
    const count = one.shape.reduce((product, extent) => product * extent, 1);
    const Kind = one.kind === "f4" ? Float32Array : Int32Array;
    header.arrays[name] = { shape: one.shape, data: new Kind(buffer, begin + 4 * one.offset, count) };
  }
  return header;
}
