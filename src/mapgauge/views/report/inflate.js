// Decompresses the data of the page (RFC 1951 and 1952). The browser's own DecompressionStream is asynchronous: a page
// that waits for it is still empty when a browser without a window prints it.

const LENGTHS = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DISTANCES = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577];
const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]; // of the lengths of code lengths
const HEADER = 10; // bytes; Python writes neither a name nor a comment

// A table from the next bits to a symbol and the length of its code: symbol * 16 + length.
function codeTable(lengths) {
  const bits = Math.max(...lengths, 1);
  const table = new Uint16Array(1 << bits);
  let code = 0;
  for (let length = 1; length <= bits; length++) {
    for (let symbol = 0; symbol < lengths.length; symbol++) {
      if (lengths[symbol] !== length) continue;
      let reversed = 0;
      for (let k = 0; k < length; k++) reversed |= ((code >> k) & 1) << (length - 1 - k);
      for (let at = reversed; at < table.length; at += 1 << length) table[at] = symbol * 16 + length;
      code++;
    }
    code <<= 1;
  }
  return { table, bits };
}

function gunzip(bytes) {
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(bytes.length - 4, true);
  const found = new Uint8Array(size);
  let [at, hold, held, filled] = [HEADER, 0, 0, 0]; // `held` bits of `hold` are not read yet

  function read(count) {
    while (held < count) {
      hold |= bytes[at++] << held;
      held += 8;
    }
    const value = hold & ((1 << count) - 1);
    hold >>>= count;
    held -= count;
    return value;
  }

  function symbolOf({ table, bits }) {
    while (held < bits) {
      hold |= bytes[at++] << held; // past the end: zeros, which no code reads
      held += 8;
    }
    const entry = table[hold & ((1 << bits) - 1)];
    hold >>>= entry & 15;
    held -= entry & 15;
    return entry >> 4;
  }

  function dynamicCodes() {
    const [literals, distances, count] = [read(5) + 257, read(5) + 1, read(4) + 4];
    const first = new Array(19).fill(0);
    for (let k = 0; k < count; k++) first[ORDER[k]] = read(3);
    const codes = codeTable(first);
    const lengths = [];
    while (lengths.length < literals + distances) {
      const symbol = symbolOf(codes);
      if (symbol < 16) lengths.push(symbol);
      else if (symbol === 16) lengths.push(...new Array(read(2) + 3).fill(lengths.at(-1)));
      else lengths.push(...new Array(symbol === 17 ? read(3) + 3 : read(7) + 11).fill(0));
    }
    return [codeTable(lengths.slice(0, literals)), codeTable(lengths.slice(literals))];
  }

  function fixedCodes() {
    const lengths = Array.from({ length: 288 }, (_, k) => (k < 144 ? 8 : k < 256 ? 9 : k < 280 ? 7 : 8));
    return [codeTable(lengths), codeTable(new Array(30).fill(5))];
  }

  for (let last = 0; !last; ) {
    last = read(1);
    const kind = read(2);
    if (kind === 0) {
      read(held & 7); // the rest of this byte
      const length = read(16);
      read(16); // the length again, inverted
      for (let k = 0; k < length; k++) found[filled++] = read(8);
      continue;
    }
    const [literals, distances] = kind === 1 ? fixedCodes() : dynamicCodes();
    for (;;) {
      const symbol = symbolOf(literals);
      if (symbol < 256) {
        found[filled++] = symbol;
        continue;
      }
      if (symbol === 256) break;
      let length = LENGTHS[symbol - 257] + read(LENGTH_BITS[symbol - 257]);
      const code = symbolOf(distances);
      const back = DISTANCES[code] + read(code < 4 ? 0 : (code >> 1) - 1);
      for (; length > 0; length--, filled++) found[filled] = found[filled - back];
    }
  }
  return found;
}
