// The source of the data in a report: one compressed block in the page. `mapgauge view` has a source of its own.

const laterBlocks = []; // by number: arrays of the geometry of further frames, as they are read
const laterReading = new Map(); // by number: the promise of a block

const bytesOf = (text) => {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
};

// Reads a further block. The browser decompresses it, while the page can be used.
function readLater(block) {
  if (!laterReading.has(block)) {
    const read = async () => {
      const packed = new Blob([bytesOf(document.getElementById(`later-${block}`).textContent)]);
      const bytes = await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
      laterBlocks[block] = Object.fromEntries(unpacked(bytes, meta.later[block].arrays));
      if (laterAt[state.frame] === block) redraw();
      fillThumbs();
    };
    laterReading.set(block, read());
  }
  return laterReading.get(block);
}

const source = {
  // Reads all arrays. A report does so at once; a promise is waited for.
  load() {
    const packed = bytesOf(document.getElementById("data").textContent);
    Object.assign(arrays, Object.fromEntries(unpacked(gunzip(packed).buffer, meta.arrays)));
  },

  // The geometry of a frame: arrays, and the place of the frame in them. Null if there is none, or not yet.
  geometry(frame) {
    if (drawnAt[frame] >= 0) return { arrays, place: drawnAt[frame] };
    const block = laterAt[frame];
    if (block < 0) return null;
    if (!laterBlocks[block]) {
      readLater(block).catch((error) => tellFailure(`The geometry of this frame cannot be read: ${error.message}`, error));
      return null;
    }
    return { arrays: laterBlocks[block], place: meta.later[block].frames.indexOf(frame) };
  },

  // Whether the geometry will come.
  waiting: (frame) => laterAt[frame] >= 0 && !laterBlocks[laterAt[frame]],

  // Why there is no geometry.
  absence: () => (source.waiting(state.frame) ? "Reading the geometry of this frame …" : drawableCount ? "The geometry of this frame is not in the page. Frames with a dot in the list can be drawn." : "This page has no geometry."),

  // What all drawn truth spans in centimetres: left, right, bottom, top.
  bounds() {
    let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let place = 0; place < drawnCount; place++) {
      for (const { line } of instancesOf(0, { arrays, place }, "truth")) {
        for (let i = 0; i < line.x.length; i++) {
          [left, right] = [Math.min(left, line.x[i]), Math.max(right, line.x[i])];
          [bottom, top] = [Math.min(bottom, line.y[i]), Math.max(top, line.y[i])];
        }
      }
    }
    return [left, right, bottom, top];
  },
};
