// The source of the data in a report: one compressed block in the page. `mapgauge view` has a source of its own.

const source = {
  // Reads all arrays. A report does so at once; a promise is waited for.
  load() {
    const text = atob(document.getElementById("data").textContent.trim());
    const packed = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
    Object.assign(arrays, Object.fromEntries(unpacked(gunzip(packed).buffer, meta.arrays)));
  },

  // The geometry of a frame: arrays, and the place of the frame in them. Null if there is none.
  geometry: (frame) => (drawnAt[frame] < 0 ? null : { arrays, place: drawnAt[frame] }),

  waiting: () => false, // whether the geometry will come

  // Why there is no geometry.
  absence: () => (drawnCount ? "The geometry of this frame is not in the page. Frames with a dot in the list can be drawn." : "This page has no geometry."),

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
