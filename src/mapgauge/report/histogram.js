// Draws the histogram of one value over frames. Dragging across it selects a range, a click removes the range.

const SVG = "http://www.w3.org/2000/svg";
const BINS = 40;
const HEIGHT = 84;
const BASE = 66; // the bottom of the bars, in pixels from the top
const histogram = document.getElementById("histogram");
let axis = { low: 0, high: 1, width: 1 };

function svgElement(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Bins over the values of all frames. Whole numbers have a bin each if they span at most BINS.
function binsOf(key, column) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of column) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return { low: 0, high: 1, count: BINS, empty: true };
  if (isWhole(key)) {
    const step = Math.ceil((high - low + 1) / BINS);
    const count = Math.ceil((high - low + 1) / step);
    return { low: low - 0.5, high: low - 0.5 + count * step, count, empty: false };
  }
  if (low === high) return { low: low - 0.05, high: high + 0.05, count: BINS, empty: false };
  return { low, high, count: BINS, empty: false };
}

function countsOf(column, frames, bins) {
  const counts = new Float64Array(bins.count);
  for (const frame of frames) {
    if (Number.isNaN(column[frame])) continue;
    const bin = Math.floor(((column[frame] - bins.low) / (bins.high - bins.low)) * bins.count);
    counts[Math.min(bin, bins.count - 1)] += 1;
  }
  return counts;
}

function drawHistogram(key, column, others, kept, range) {
  const bins = binsOf(key, column);
  const width = histogram.clientWidth || 600;
  axis = { low: bins.low, high: bins.high, width };
  const all = countsOf(column, others, bins);
  const now = countsOf(column, kept, bins);
  const most = Math.max(1, ...all);
  const bar = width / bins.count;
  const parts = [];
  for (const [name, counts] of [["all", all], ["kept", now]]) {
    counts.forEach((count, i) => {
      const height = (count / most) * (BASE - 4);
      if (count) parts.push(svgElement("rect", { class: name, x: i * bar + 0.5, y: BASE - height, width: Math.max(bar - 1, 0.5), height }));
    });
  }
  if (range) {
    const [from, to] = range.map((value) => Math.min(Math.max(xOf(value), 0), width));
    parts.push(svgElement("rect", { class: "brush", x: from, y: 0, width: Math.max(to - from, 1), height: BASE }));
  }
  const tick = (value, x, anchor) => svgElement("text", { x, y: HEIGHT - 4, "text-anchor": anchor }, isWhole(key) ? String(Math.round(value)) : value.toFixed(2));
  if (!bins.empty) {
    const inset = isWhole(key) ? 0.5 : 0;
    parts.push(tick(bins.low + inset, 1, "start"), tick(bins.high - inset, width - 1, "end"));
    parts.push(svgElement("text", { x: width / 2, y: HEIGHT - 4, "text-anchor": "middle" }, labelOf(key)));
  }
  histogram.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  histogram.setAttribute(
    "aria-label",
    `Distribution of ${labelOf(key)} over ${others.length} frames, ${kept.length} of them in the list. Use the fields from and to.`,
  );
  histogram.replaceChildren(...parts);
}

const xOf = (value) => ((value - axis.low) / (axis.high - axis.low)) * axis.width;

function onBrush(changed) {
  let start = null;
  const valueAt = (event) => {
    const box = histogram.getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    return axis.low + share * (axis.high - axis.low);
  };
  histogram.addEventListener("pointerdown", (event) => {
    start = { value: valueAt(event), x: event.clientX };
    histogram.setPointerCapture(event.pointerId);
  });
  histogram.addEventListener("pointermove", (event) => {
    if (!start || Math.abs(event.clientX - start.x) < 4) return;
    const ends = [start.value, valueAt(event)].sort((a, b) => a - b);
    changed(ends.map((value) => Number(value.toFixed(3))));
  });
  histogram.addEventListener("pointerup", (event) => {
    if (start && Math.abs(event.clientX - start.x) < 4) changed(null);
    start = null;
  });
  histogram.addEventListener("pointercancel", () => (start = null));
}
