// The block of numbers in the page (packing.py says how it is laid out).

/** The header of the lesson, whose `arrays` are {shape, data} by name. */
export async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const buffer = await new Response(stream).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const begin = 4 + length + ((4 - (length % 4)) % 4);
  for (const [name, one] of Object.entries(header.arrays)) {
    const count = one.shape.reduce((product, extent) => product * extent, 1);
    const Kind = one.kind === "f4" ? Float32Array : Int32Array;
    header.arrays[name] = { shape: one.shape, data: new Kind(buffer, begin + 4 * one.offset, count) };
  }
  return header;
}
