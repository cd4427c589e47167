// Draws the histogram of one value over frames, for all methods. Dragging across it selects a range, a click removes the range.

const SVG = "http://www.w3.org/2000/svg";
const BINS = 40;
const TOP = 8; // pixels above the bars
const BELOW = 18; // pixels below them
const histogram = document.getElementById("histogram");
const histogramTip = document.getElementById("histogram-tip");
let axis = { low: 0, high: 1, left: 0, width: 1, count: BINS, key: "", told: [] };

function svgElement(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Bins over the values of all frames. Whole numbers have a bin each if they span at most BINS.
function binsOf(key, columns) {
  let low = Infinity;
  let high = -Infinity;
  for (const column of columns) {
    for (const value of column) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
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

// The numbers of the count axis: at most four, all whole. The last is not below the highest bar.
function countTicks(most) {
  const steps = [1, 2, 5].flatMap((digit) => [1, 10, 100, 1e3, 1e4, 1e5, 1e6].map((power) => digit * power)).sort((a, b) => a - b);
  const step = steps.find((size) => most / size <= 3) ?? most;
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, k) => k * step);
}

const RIDGES_FROM = 3; // methods from which each has a line of its own
const RIDGE = 26; // pixels of a ridge

// Draws `series`, one { name, colour, column } per method. The one at `chosen` is filled, the others are outlines. Three or more
// stand one below the other.
function drawHistogram(key, series, chosen, others, kept, range) {
  const ridges = series.length >= RIDGES_FROM;
  histogram.style.height = ridges ? `${TOP + BELOW + RIDGE * series.length}px` : "";
  if (ridges) return drawRidges(key, series, { chosen, others, kept, range });
  const bins = binsOf(key, series.map(({ column }) => column));
  const width = Math.max(histogram.clientWidth || 600, 200);
  const height = histogram.clientHeight || 104;
  const base = height - BELOW;
  const counts = series.map(({ column }) => countsOf(column, others, bins));
  const now = countsOf(series[chosen].column, kept, bins);
  const most = Math.max(1, ...counts.map((each) => Math.max(...each)));
  const ticks = countTicks(most);
  const left = 12 + 7 * ticks.at(-1).toLocaleString("en").length;
  axis = { low: bins.low, high: bins.high, left, width: width - left - 1, count: bins.count, key };
  axis.told = series.map(({ name }, k) => ({ name, counts: counts[k] }));
  const bar = axis.width / bins.count;
  const heightOf = (count) => (count / ticks.at(-1)) * (base - TOP);
  const parts = ticks.flatMap((count) => {
    const y = base - heightOf(count);
    return [svgElement("line", { class: "tick", x1: left, x2: width, y1: y, y2: y }), svgElement("text", { x: left - 4, y: y + 4, "text-anchor": "end" }, count.toLocaleString("en"))];
  });
  for (const [name, values] of [["all", counts[chosen]], ["kept", now]]) {
    values.forEach((count, i) => {
      const up = heightOf(count);
      const colour = name === "kept" && series[chosen].colour ? { style: `fill: ${series[chosen].colour}` } : {};
      if (count) parts.push(svgElement("rect", { class: name, ...colour, x: left + i * bar + 0.5, y: base - up, width: Math.max(bar - 1, 0.5), height: up }));
    });
  }
  counts.forEach((values, k) => {
    if (k === chosen) return;
    let path = `M${left} ${base}`;
    values.forEach((count, i) => (path += `V${base - heightOf(count)}H${left + (i + 1) * bar}`));
    parts.push(svgElement("path", { class: "outline", stroke: series[k].colour, d: `${path}V${base}` }));
  });
  if (range) {
    const [from, to] = range.map((value) => Math.min(Math.max(xOf(value), left), width));
    parts.push(svgElement("rect", { class: "brush", x: from, y: 0, width: Math.max(to - from, 1), height: base }));
  }
  const tick = (value, x, anchor) => svgElement("text", { x, y: height - 4, "text-anchor": anchor }, numberOf(key, value));
  if (!bins.empty) {
    const inset = isWhole(key) ? 0.5 : 0;
    parts.push(tick(bins.low + inset, left, "start"), tick(bins.high - inset, width - 1, "end"));
    parts.push(svgElement("text", { x: left + axis.width / 2, y: height - 4, "text-anchor": "middle" }, `number of frames by ${labelOf(key)}`));
  }
  histogram.setAttribute("viewBox", `0 0 ${width} ${height}`);
  histogram.setAttribute(
    "aria-label",
    `Number of frames by ${labelOf(key)}, over ${others.length} frames, ${kept.length} of them in the list. Use the fields from and to.`,
  );
  histogram.replaceChildren(...parts);
  const entries = series.length < 2 ? [] : series.map(({ name, colour }, k) => element("li", { title: name }, sampleOf(colour, k === chosen), element("span", { textContent: name })));
  document.getElementById("histogram-key").replaceChildren(...entries);
}

// A ridge for each method, all on one axis. Each is as high as its own highest bar.
function drawRidges(key, series, { chosen, others, kept, range }) {
  const bins = binsOf(key, series.map(({ column }) => column));
  const width = Math.max(histogram.clientWidth || 600, 200);
  const left = Math.min(Math.max(...series.map(({ name }) => 6.2 * Math.min(name.length, 22))) + 8, width / 3);
  const height = TOP + BELOW + RIDGE * series.length;
  const counts = series.map(({ column }) => countsOf(column, others, bins));
  axis = { low: bins.low, high: bins.high, left, width: width - left - 1, count: bins.count, key };
  axis.told = series.map(({ name }, k) => ({ name, counts: counts[k] }));
  const bar = axis.width / bins.count;
  const parts = series.flatMap(({ name, colour, column }, k) => {
    const base = TOP + RIDGE * (k + 1);
    const now = countsOf(column, kept, bins);
    const most = Math.max(1, ...counts[k]);
    const pathOfCounts = (values) => {
      let path = `M${left} ${base}`;
      values.forEach((count, i) => (path += `V${base - (count / most) * (RIDGE - 3)}H${left + (i + 1) * bar}`));
      return `${path}V${base}Z`;
    };
    const short = name.length > 22 ? `${name.slice(0, 10)}…${name.slice(-11)}` : name;
    return [
      svgElement("path", { class: "all", d: pathOfCounts(counts[k]) }),
      svgElement("path", { class: "ridge", d: pathOfCounts(now), fill: colour, "fill-opacity": k === chosen ? 1 : 0.55 }),
      svgElement("line", { class: "tick", x1: left, x2: width, y1: base, y2: base }),
      svgElement("text", { x: left - 4, y: base - 4, "text-anchor": "end", "font-weight": k === chosen ? 700 : 400 }, svgElement("title", {}, name), short),
    ];
  });
  if (range) {
    const [from, to] = range.map((value) => Math.min(Math.max(xOf(value), left), width));
    parts.push(svgElement("rect", { class: "brush", x: from, y: 0, width: Math.max(to - from, 1), height: height - BELOW }));
  }
  const tick = (value, x, anchor) => svgElement("text", { x, y: height - 4, "text-anchor": anchor }, numberOf(key, value));
  if (!bins.empty) {
    const inset = isWhole(key) ? 0.5 : 0;
    parts.push(tick(bins.low + inset, left, "start"), tick(bins.high - inset, width - 1, "end"), svgElement("text", { x: left + axis.width / 2, y: height - 4, "text-anchor": "middle" }, `frames by ${labelOf(key)}`));
  }
  histogram.setAttribute("viewBox", `0 0 ${width} ${height}`);
  histogram.setAttribute("aria-label", `Number of frames by ${labelOf(key)}, over ${others.length} frames, ${kept.length} of them in the list. Use the fields from and to.`);
  histogram.replaceChildren(...parts);
  document.getElementById("histogram-key").replaceChildren();
}

const numberOf = (key, value) => (isWhole(key) ? String(Math.round(value)) : value.toFixed(2));
const xOf = (value) => axis.left + ((value - axis.low) / (axis.high - axis.low)) * axis.width;

// A sample for the key: a filled box, or an outline.
function sampleOf(colour, filled) {
  const shape = filled ? svgElement("rect", { y: 2, width: 16, height: 8, fill: colour }) : svgElement("path", { class: "outline", stroke: colour, d: "M0 6H16" });
  return svgElement("svg", { width: 16, height: 12, "aria-hidden": "true" }, shape);
}

// The counts of the bin at a share of the width, in words.
function countsAt(share) {
  const bin = Math.min(Math.floor(share * axis.count), axis.count - 1);
  const edge = (k) => axis.low + (k / axis.count) * (axis.high - axis.low);
  const [low, high] = isWhole(axis.key) ? [Math.ceil(edge(bin)), Math.ceil(edge(bin + 1)) - 1] : [edge(bin), edge(bin + 1)];
  const where = isWhole(axis.key) ? (low === high ? `${low}` : `${low} to ${high}`) : `${low.toFixed(3)} to ${high.toFixed(3)}`;
  const frames = (count) => `${count.toLocaleString("en")} ${count === 1 ? "frame" : "frames"}`;
  const lines = axis.told.map(({ name, counts }) => (axis.told.length > 1 ? `${name}: ${frames(counts[bin])}` : frames(counts[bin])));
  return [`${labelOf(axis.key)} ${where}`, ...lines].join("\n");
}

function onBrush(changed) {
  let start = null;
  const shareAt = (event) => {
    const box = histogram.getBoundingClientRect();
    return Math.min(Math.max((event.clientX - box.left - axis.left) / axis.width, 0), 1);
  };
  const valueAt = (event) => axis.low + shareAt(event) * (axis.high - axis.low);
  histogram.addEventListener("pointerdown", (event) => {
    start = { value: valueAt(event), x: event.clientX };
    histogram.setPointerCapture(event.pointerId);
  });
  histogram.addEventListener("pointermove", (event) => {
    histogramTip.textContent = countsAt(shareAt(event));
    histogramTip.hidden = false;
    const box = histogram.getBoundingClientRect();
    histogramTip.style.left = `${Math.min(event.clientX - box.left + 14, box.width - histogramTip.offsetWidth)}px`;
    if (!start || Math.abs(event.clientX - start.x) < 4) return;
    const [low, high] = [start.value, valueAt(event)].sort((a, b) => a - b);
    // Outwards, so that a drag to an edge keeps the frames with the smallest or the largest value.
    changed([Math.floor(low * 1000) / 1000, Math.ceil(high * 1000) / 1000]);
  });
  histogram.addEventListener("pointerup", (event) => {
    if (start && Math.abs(event.clientX - start.x) < 4) changed(null);
    start = null;
  });
  histogram.addEventListener("pointerleave", () => (histogramTip.hidden = true));
  histogram.addEventListener("pointercancel", () => (start = null));
}
