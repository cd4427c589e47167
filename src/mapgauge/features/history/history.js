// Draws the curves of a history: one chart for each class, and one for each property of the inputs.

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 170; // pixels of a chart, as in history.css
const LEFT = 52; // pixels beside, above and below the curves
const RIGHT = 10;
const TOP = 16;
const BOTTOM = 20;
const TICKS = 4; // of the vertical axis, at most
const DATE_WIDTH = 76; // pixels of a date
const LABEL_WIDTH = 44; // pixels of the size of a change
const MOST_DOTS = 120; // nights that have a dot; of more, only the line is drawn

const meta = JSON.parse(document.getElementById("meta").textContent);
const valueChoice = document.getElementById("value");
const nightChoice = document.getElementById("night");
const bandChoice = document.getElementById("bands");
const readout = document.getElementById("readout");
const drawn = []; // a function for each chart that moves its cursor

function shape(name, attributes, parent, text = "") {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text) node.textContent = text;
  parent.append(node);
  return node;
}

// Returns round numbers between two ends, and their digits.
function ticks(low, high) {
  const raw = (high - low) / TICKS;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1) found.push(k * step);
  return { found, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}

function said(value, digits = 3) {
  return value === null || value === undefined ? "-" : value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

// Draws one chart. A curve has values, and may have low, high, stretches and changes.
function chart(figure, curve, digits) {
  const svg = figure.querySelector("svg");
  svg.replaceChildren();
  const width = Math.max(svg.clientWidth, 200);
  svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  const shown = bandChoice.checked && curve.low;
  const numbers = [...curve.values, ...(shown ? [...curve.low, ...curve.high] : [])].filter((value) => value !== null);
  let low = Math.min(...numbers);
  let high = Math.max(...numbers);
  const least = digits ? 0.002 : 2; // differences that cannot be read are not enlarged
  if (high - low < least) [low, high] = [low - least / 2, high + least / 2];
  const margin = (high - low) * 0.06;
  [low, high] = [low - margin, high + margin];
  const first = meta.times[0];
  const span = Math.max(meta.times[meta.times.length - 1] - first, 1);
  const x = (night) => LEFT + ((meta.times[night] - first) / span) * (width - LEFT - RIGHT);
  const y = (value) => TOP + ((high - value) / (high - low)) * (HEIGHT - TOP - BOTTOM);

  const scale = ticks(low, high);
  for (const value of scale.found) {
    shape("line", { x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value), class: "grid" }, svg);
    shape("text", { x: LEFT - 5, y: y(value) + 4, "text-anchor": "end" }, svg, said(value, Math.max(scale.digits, 0)));
  }
  shape("line", { x1: LEFT, x2: width - RIGHT, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM, class: "axis" }, svg);
  shape("line", { x1: LEFT, x2: LEFT, y1: TOP, y2: HEIGHT - BOTTOM, class: "axis" }, svg);
  dates(svg, x, width);

  for (const night of meta.inputNights) shape("line", { x1: x(night), x2: x(night), y1: TOP, y2: HEIGHT - BOTTOM, class: "input" }, svg);
  if (shown) for (const part of pieces(curve.low)) band(svg, part, curve, x, y);
  for (const part of pieces(curve.values)) {
    shape("polyline", { points: part.map((night) => `${x(night).toFixed(1)},${y(curve.values[night]).toFixed(1)}`).join(" "), class: "line" }, svg);
  }
  for (const [begin, end, from, to] of curve.stretches ?? []) {
    shape("line", { x1: x(begin), x2: x(end - 1), y1: y(from), y2: y(to), class: "level" }, svg);
  }
  if (curve.values.length <= MOST_DOTS) {
    curve.values.forEach((value, night) => value !== null && shape("circle", { cx: x(night), cy: y(value), r: 2, class: "night" }, svg));
  }
  let free = -Infinity; // where the next label may begin
  for (const change of curve.changes ?? []) {
    const kind = change.worse === null ? "" : change.worse ? "worse" : "better";
    for (const night of change.last > change.night ? [change.night, change.last] : [change.night]) {
      shape("line", { x1: x(night), x2: x(night), y1: TOP, y2: HEIGHT - BOTTOM, class: `event ${kind}` }, svg);
    }
    const middle = (x(change.night) + x(change.last)) / 2;
    if (middle < free) continue;
    free = middle + LABEL_WIDTH;
    const anchor = middle > width * 0.7 ? "end" : "start";
    shape("text", { x: middle + (anchor === "end" ? -3 : 3), y: TOP - 4, class: kind, "text-anchor": anchor }, svg, `${change.size > 0 ? "+" : "−"}${said(Math.abs(change.size))}`);
  }
  const cursor = shape("line", { y1: TOP, y2: HEIGHT - BOTTOM, class: "cursor" }, svg);
  const dot = shape("circle", { r: 4, class: "chosen" }, svg);
  drawn.push((night) => {
    cursor.setAttribute("x1", x(night));
    cursor.setAttribute("x2", x(night));
    const value = curve.values[night];
    dot.toggleAttribute("hidden", value === null);
    if (value !== null) {
      dot.setAttribute("cx", x(night));
      dot.setAttribute("cy", y(value));
    }
  });
  svg.onpointermove = svg.onpointerdown = (event) => {
    const at = event.clientX - svg.getBoundingClientRect().left;
    let near = 0;
    meta.times.forEach((_, night) => { if (Math.abs(x(night) - at) < Math.abs(x(near) - at)) near = night; });
    nightChoice.value = near;
    showNight();
  };
}

function dates(svg, x, width) {
  const most = Math.max(2, Math.floor((width - LEFT - RIGHT) / DATE_WIDTH));
  const count = meta.times.length;
  const step = Math.max(1, Math.ceil((count - 1) / (most - 1 || 1)));
  let right = -Infinity;
  for (let night = 0; night < count; night += step) {
    const place = Math.min(Math.max(x(night), LEFT + DATE_WIDTH / 3), width - RIGHT - DATE_WIDTH / 3);
    if (place - right < DATE_WIDTH * 0.8) continue;
    right = place;
    shape("text", { x: place, y: HEIGHT - 5, "text-anchor": "middle" }, svg, meta.days[night]);
  }
}

// Returns the runs of nights that have a value.
function pieces(values) {
  const found = [];
  let part = [];
  values.forEach((value, night) => {
    if (value !== null) part.push(night);
    else if (part.length) { found.push(part); part = []; }
  });
  if (part.length) found.push(part);
  return found;
}

function band(svg, part, curve, x, y) {
  const there = part.map((night) => `${x(night).toFixed(1)},${y(curve.high[night]).toFixed(1)}`);
  const back = [...part].reverse().map((night) => `${x(night).toFixed(1)},${y(curve.low[night]).toFixed(1)}`);
  shape("polygon", { points: [...there, ...back].join(" "), class: "interval" }, svg);
}

function figureOf(parent, name, about, colour) {
  const figure = document.createElement("figure");
  const caption = document.createElement("figcaption");
  const small = document.createElement("span");
  caption.append(name, " ", small);
  small.textContent = about;
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${name} ${about}`);
  if (colour) svg.style.color = colour;
  figure.append(caption, svg);
  parent.append(figure);
  return figure;
}

function draw() {
  drawn.length = 0;
  const value = meta.values[Number(valueChoice.value)];
  const charts = document.getElementById("charts");
  charts.replaceChildren();
  const later = []; // a figure has its width once all of them are there
  for (const row of meta.classes) {
    const curve = meta.curves[row.name]?.[value.key];
    if (!curve) continue;
    const better = value.lower === null ? "" : value.lower ? ", lower is better" : ", higher is better";
    const figure = figureOf(charts, row.title, `${value.title}${better}`, row.colour);
    later.push(() => chart(figure, curve, 3));
  }
  const inputs = document.getElementById("input-charts");
  inputs.replaceChildren();
  for (const input of meta.inputs) {
    const figure = figureOf(inputs, input.title, input.unit, "");
    later.push(() => chart(figure, { values: input.values }, input.digits));
  }
  for (const drawOne of later) drawOne();
  showNight();
}

function showNight() {
  const night = Number(nightChoice.value);
  nightChoice.setAttribute("aria-valuetext", meta.labels[night]);
  for (const move of drawn) move(night);
  const value = meta.values[Number(valueChoice.value)];
  const items = meta.classes.filter((row) => meta.curves[row.name]?.[value.key]).map((row) => {
    const curve = meta.curves[row.name][value.key];
    const bounds = curve.low && curve.low[night] !== null ? ` [${said(curve.low[night])}, ${said(curve.high[night])}]` : "";
    return `${row.title} ${said(curve.values[night])}${bounds}`;
  });
  readout.textContent = `${meta.labels[night]}${meta.notes[night] ? ` (${meta.notes[night]})` : ""}, ${value.title}: ${items.join("; ")}`;
}

for (const button of document.querySelectorAll("#changes button")) {
  button.addEventListener("click", () => {
    valueChoice.value = button.dataset.value;
    nightChoice.value = button.dataset.night;
    draw();
    document.getElementById("curves").scrollIntoView();
  });
}
const onlyWorse = document.getElementById("only-worse");
onlyWorse?.addEventListener("change", () => {
  for (const row of document.querySelectorAll("#changes tbody tr")) row.hidden = onlyWorse.checked && !row.classList.contains("is-worse");
});
document.getElementById("choice").addEventListener("submit", (event) => event.preventDefault());
valueChoice.addEventListener("change", draw);
bandChoice.addEventListener("change", draw);
nightChoice.addEventListener("input", showNight);
let widthBefore = 0;
new ResizeObserver(([entry]) => {
  if (entry.contentRect.width !== widthBefore) {
    widthBefore = entry.contentRect.width;
    draw();
  }
}).observe(document.getElementById("charts"));
