// The error map in the panel "where": the road on a canvas, grey where it was found and red where it was not. Without poses,
// it is the area around the vehicle. What it shows stands in the panel as text, which Python wrote.

const ERROR_SHADES = 8; // colours of a share
const DIFFERENCE_SHADES = 7; // colours of a difference
const NEAR_PIECE = 9; // pixels; a pointer so close to a piece is on it
const FINE = 0.6; // pixels per metre; closer, pieces are lines, and farther, dots with the mean of all pieces in them
const DOT = 2; // pixels
const MARKED = 3; // places of a list that have their number on the map
const FEW_MODES = 3; // with more, a list takes the place of buttons
const road = { about: null, data: null, mode: "0", level: 0, view: null, frames: null };

const errorIndex = (mode) => mode.split("-").map(Number);

// The sums of differences, which undo what compresses better.
function summed(steps) {
  const values = new Int32Array(steps.length);
  for (let i = 0, sum = 0; i < steps.length; i++) values[i] = sum += steps[i];
  return values;
}

async function readErrors() {
  const text = document.getElementById("error-map-about");
  const packed = document.getElementById("error-map-data");
  if (!text || !packed) return;
  const about = JSON.parse(text.textContent);
  const binary = atob(packed.textContent.trim());
  text.remove();
  packed.remove();
  const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
  const block = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  const data = Object.fromEntries(unpacked(block, about.arrays));
  if (about.kind === "map") {
    for (const key of ["x", "y", "area"]) data[key] = summed(data[key]);
    for (let k = 0; k < about.names.length; k++) {
      const found = data[`${k}.found`];
      for (let i = about.count; i < found.length; i++) found[i] = found[i - about.count] - found[i];
    }
    data.offsets = new Int32Array(about.count + 1);
    for (let i = 0; i < about.count; i++) data.offsets[i + 1] = data.offsets[i] + data.runs[i];
  } else {
    data.x = new Int32Array(about.columns * about.rows);
    data.y = new Int32Array(about.columns * about.rows);
    about.count = data.x.length;
    about.size = [about.columns * about.cell, about.rows * about.cell];
    for (let i = 0; i < about.count; i++) {
      // Ahead is to the right: the panel is wider than high.
      data.x[i] = 100 * about.cell * (Math.floor(i / about.rows) + 0.5);
      data.y[i] = 100 * about.cell * ((i % about.rows) + 0.5);
    }
  }
  Object.assign(road, { about, data, mode: state.method, level: 0, view: null });
  buildErrors();
}

// The number of frames (or metres around the vehicle) that found a piece.
const foundAt = (method, piece) => road.data[`${method}.found`][road.level * road.about.count + piece];
const seenAt = (piece, method = 0) => (road.data.seen ?? road.data[`${method}.seen`])[piece];

// The share that was not found, or the difference of two shares. NaN without truth.
function errorOf(piece, mode = road.mode) {
  const [method, other] = errorIndex(mode);
  const share = 1 - foundAt(method, piece) / seenAt(piece, method);
  return other === undefined ? share : share - (1 - foundAt(other, piece) / seenAt(piece, other));
}

const isDifference = () => road.mode.includes("-");

function shadeOf(value) {
  if (isDifference()) return Math.min(Math.floor(((value + 1) / 2) * DIFFERENCE_SHADES), DIFFERENCE_SHADES - 1);
  return Math.min(Math.floor(value * ERROR_SHADES), ERROR_SHADES - 1);
}

function errorColours() {
  const style = getComputedStyle(document.documentElement);
  const [letter, count] = isDifference() ? ["d", DIFFERENCE_SHADES] : ["e", ERROR_SHADES];
  return Array.from({ length: count }, (_, k) => style.getPropertyValue(`--${letter}${k}`).trim());
}

// The view that shows everything: the middle in metres, and pixels per metre.
function wholeErrors(width, height) {
  const [wide, high] = road.about.size;
  return { x: wide / 2, y: high / 2, scale: Math.min(width / wide, height / high) };
}

function errorFrame() {
  const canvas = $$("error-canvas");
  const { width, height } = canvas.getBoundingClientRect();
  const { x, y, scale } = road.view ?? wholeErrors(width, height);
  return { canvas, width, height, x, y, scale, left: (at) => (at - x) * scale + width / 2, top: (at) => (y - at) * scale + height / 2 };
}

// Calls a function with the ends of all pieces that are seen, in pixels, and with their shades.
function eachPiece({ width, height, left, top }, draw) {
  const { x, y, half } = road.data;
  const { count } = road.about;
  const only = road.about.kind === "map" && state.of !== "" ? road.about.classes.indexOf(state.of) : -1; // the class that is listed
  for (let i = 0; i < count; i++) {
    if (only >= 0 && road.data.label[i] !== only) continue;
    const [across, down] = [left(x[i] / 100), top(y[i] / 100)];
    if (across < -20 || down < -20 || across > width + 20 || down > height + 20) continue;
    const value = errorOf(i);
    if (!Number.isNaN(value)) draw(i, across, down, half ? half[i] / 100 : 0, half ? half[count + i] / 100 : 0, value);
  }
}

// The lines of each shade as [x, y, x, y] in pixels.
function linesOfShades(frame) {
  const lines = errorColours().map(() => []);
  eachPiece(frame, (_, across, down, dx, dy, value) => {
    lines[shadeOf(value)].push([across - dx * frame.scale, down + dy * frame.scale, across + dx * frame.scale, down - dy * frame.scale]);
  });
  return lines;
}

// Shades in the order in which they are drawn: those far from "as it should be" are on top.
function drawnOrder(count) {
  const order = Array.from({ length: count }, (_, k) => k);
  const middle = isDifference() ? (count - 1) / 2 : 0;
  return order.sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle));
}

function drawErrors() {
  if (!road.about) return;
  const frame = errorFrame();
  const { canvas, width, height, scale } = frame;
  if (!width || !height) return;
  const ratio = window.devicePixelRatio;
  [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  const paper = canvas.getContext("2d");
  paper.scale(ratio, ratio);
  const colours = errorColours();
  if (road.about.kind === "ego") drawCells(paper, frame, colours);
  else if (scale >= FINE) {
    const lines = linesOfShades(frame);
    for (const shade of drawnOrder(colours.length)) {
      paper.strokeStyle = colours[shade];
      paper.lineWidth = isDifference() ? 2 : 1.5 + shade * 0.25;
      paper.beginPath();
      for (const [x1, y1, x2, y2] of lines[shade]) {
        paper.moveTo(x1, y1);
        paper.lineTo(x2, y2);
      }
      paper.stroke();
    }
  } else drawDots(paper, frame, colours);
  drawMarks(paper, frame);
  showScale($$("error-scale"), scale);
}

// Far away, many pieces fall into one dot, which gets their mean.
function drawDots(paper, frame, colours) {
  const across = Math.ceil(frame.width / DOT) + 1;
  const sums = new Float64Array(across * (Math.ceil(frame.height / DOT) + 1));
  const weights = new Float64Array(sums.length);
  eachPiece(frame, (i, x, y, dx, dy, value) => {
    const cell = Math.floor(y / DOT) * across + Math.floor(x / DOT);
    if (x < 0 || y < 0 || x >= frame.width || y >= frame.height) return;
    const weight = seenAt(i) * road.data.length[i];
    sums[cell] += weight * value;
    weights[cell] += weight;
  });
  for (let cell = 0; cell < sums.length; cell++) {
    if (!weights[cell]) continue;
    paper.fillStyle = colours[shadeOf(sums[cell] / weights[cell])];
    paper.fillRect((cell % across) * DOT, Math.floor(cell / across) * DOT, DOT, DOT);
  }
}

function drawCells(paper, frame, colours) {
  const size = road.about.cell * frame.scale;
  eachPiece(frame, (_, x, y, dx, dy, value) => {
    paper.fillStyle = colours[shadeOf(value)];
    paper.fillRect(x - size / 2, y - size / 2, size + 0.5, size + 0.5);
  });
  drawEgo(paper, frame);
}

// The arrow of the drawings, with forward to the right, in the middle of the region.
function drawEgo(paper, { canvas, left, top, scale }) {
  paper.save();
  paper.translate(left(road.about.size[0] / 2), top(road.about.size[1] / 2));
  paper.scale(scale, scale);
  paper.rotate(Math.PI / 2);
  paper.fillStyle = getComputedStyle(canvas).color;
  paper.fill(new Path2D(EGO));
  paper.restore();
}

// The lists of places: those that a method misses, or those that it finds less often and more often than the first method.
function shownPlaces() {
  if (road.about.kind !== "map") return [];
  const [method, other] = errorIndex(road.mode);
  const found = road.about.places[method];
  if (!isDifference()) return [{ title: "Worst", sign: "", places: found.missed, isGain: false }];
  if (other > 0) return []; // differences are known to the first method
  return [
    { title: "Worse at", sign: "+", places: found.difference, isGain: false },
    { title: "Better at", sign: "", places: found.gained, isGain: true },
  ];
}

function drawMarks(paper, { left, top, canvas }) {
  const ink = getComputedStyle(canvas).color;
  const { x, y } = road.data;
  if (state.road !== "" && road.about.kind === "map") {
    paper.strokeStyle = ink;
    paper.lineWidth = 2;
    paper.beginPath();
    paper.arc(left(x[state.road] / 100), top(y[state.road] / 100), 8, 0, 2 * Math.PI);
    paper.stroke();
  }
  for (const { places, isGain } of shownPlaces()) {
    places.slice(0, MARKED).forEach(({ piece }, k) => {
      const [across, down] = [left(x[piece] / 100) + 10, top(y[piece] / 100) - 10];
      paper.fillStyle = isGain ? errorColours()[0] : ink;
      paper.beginPath();
      paper.arc(across, down, 7, 0, 2 * Math.PI);
      paper.fill();
      paper.fillStyle = getComputedStyle(document.body).backgroundColor;
      paper.font = "bold 10px sans-serif";
      paper.textAlign = "center";
      paper.textBaseline = "middle";
      paper.fillText(String(k + 1), across, down + 0.5);
    });
  }
}

const percentOf = (value) => (Number.isNaN(value) ? "-" : `${(100 * value).toFixed(0)} %`);

// The values of a piece, a line for each method.
function aboutPiece(piece) {
  const { about, data } = road;
  if (about.kind === "ego") {
    const ahead = about.corner[0] + about.cell * (Math.floor(piece / about.rows) + 0.5);
    const aside = about.corner[1] + about.cell * ((piece % about.rows) + 0.5);
    const values = about.names.map((name, k) => `${name}: ${percentOf(errorOf(piece, String(k)))} of ${seenAt(piece, k).toFixed(0)} m not found`);
    return [`${ahead.toFixed(0)} m ahead, ${aside.toFixed(0)} m to the left`, ...values].join("\n");
  }
  const area = data.area[piece];
  const world = [data.x[piece] / 100 - data.left[area], data.y[piece] / 100 - data.bottom[area]];
  const whole = about.merged ? `${(data.length[piece] / 100).toFixed(1)} m of ` : "";
  const lines = about.names.map((name, k) => {
    const seen = data.seen[piece];
    const offset = data[`${k}.offset`][piece];
    const beside = offset < 0 ? "" : `, ${(offset / 100).toFixed(2)} m beside`;
    const counted = about.merged ? "" : ` (${seen - foundAt(k, piece)} of ${seen} ${seen === 1 ? "frame" : "frames"})`;
    const flips = data.pairs[piece] ? `, ${data[`${k}.flips`][piece]} flips in ${data.pairs[piece]} pairs` : "";
    return `${name}: ${percentOf(errorOf(piece, String(k)))} not found${counted}${beside}${flips}`;
  });
  return [`${whole}${about.classes[data.label[piece]]} at ${world.map((value) => value.toFixed(0)).join(", ")}`, ...lines].join("\n");
}

// The frames that saw a piece: runs in the order of scenes and time.
function framesOfPiece(piece) {
  const { offsets, start, size, order } = road.data;
  const frames = new Set();
  for (let run = offsets[piece]; run < offsets[piece + 1]; run++) {
    for (let k = 0; k < size[run]; k++) frames.add(order[start[run] + k]);
  }
  return frames;
}

function pieceAt(event) {
  const frame = errorFrame();
  const box = frame.canvas.getBoundingClientRect();
  const [across, down] = [event.clientX - box.left, event.clientY - box.top];
  const reach = road.about.kind === "ego" ? 0.75 * road.about.cell * frame.scale : NEAR_PIECE;
  let [best, nearest] = [-1, reach * reach];
  eachPiece(frame, (i, x, y) => {
    const away = (x - across) ** 2 + (y - down) ** 2;
    if (away < nearest) [best, nearest] = [i, away];
  });
  return best;
}

function zoomErrors(factor, at = null) {
  const { width, height, x, y, scale } = errorFrame();
  const least = wholeErrors(width, height).scale;
  const wanted = Math.min(Math.max(scale * factor, 0.8 * least), Math.max(60, least));
  const fixed = at ?? { x, y };
  road.view = { x: fixed.x + ((x - fixed.x) * scale) / wanted, y: fixed.y + ((y - fixed.y) * scale) / wanted, scale: wanted };
  drawErrors();
}

function showPlace(piece) {
  const { width, height } = errorFrame();
  road.view = { x: road.data.x[piece] / 100, y: road.data.y[piece] / 100, scale: Math.max(Math.min(width, height) / 70, wholeErrors(width, height).scale) };
  change({ road: String(piece) });
  drawErrors();
}

function listenToErrors(canvas) {
  let grabbed = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    grabbed = { x: event.clientX, y: event.clientY, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const tip = $$("error-tip");
    if (grabbed && (grabbed.moved || Math.hypot(event.clientX - grabbed.x, event.clientY - grabbed.y) > 3)) {
      const { x, y, scale } = errorFrame();
      road.view = { x: x - (event.clientX - grabbed.x) / scale, y: y + (event.clientY - grabbed.y) / scale, scale };
      grabbed = { x: event.clientX, y: event.clientY, moved: true };
      tip.hidden = true;
      drawErrors();
      return;
    }
    const piece = pieceAt(event);
    tip.hidden = piece < 0;
    if (piece < 0) return;
    tip.textContent = aboutPiece(piece);
    const box = canvas.getBoundingClientRect();
    tip.style.left = `${Math.max(0, Math.min(event.clientX - box.left + 12, box.width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${Math.max(0, Math.min(event.clientY - box.top + 12, box.height - tip.offsetHeight - 4))}px`;
  });
  canvas.addEventListener("pointerup", (event) => {
    const piece = grabbed && !grabbed.moved ? pieceAt(event) : -1;
    if (road.about.kind === "map" && grabbed && !grabbed.moved) change({ road: piece < 0 ? "" : String(piece) });
    grabbed = null;
  });
  canvas.addEventListener("pointercancel", () => (grabbed = null));
  canvas.addEventListener("pointerleave", () => ($$("error-tip").hidden = true));
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // the wheel alone scrolls the page
    event.preventDefault();
    const { x, y, scale, width, height } = errorFrame();
    const box = canvas.getBoundingClientRect();
    const at = { x: x + (event.clientX - box.left - width / 2) / scale, y: y - (event.clientY - box.top - height / 2) / scale };
    zoomErrors(Math.exp(Math.max(-1, Math.min(-event.deltaY * 0.002, 1))), at);
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { x, y, scale, width } = errorFrame();
    const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key] ?? [0, 0];
    if (dx || dy) road.view = { x: x + (dx * width) / 10 / scale, y: y + (dy * width) / 10 / scale, scale };
    else if (event.key === "0") road.view = null;
    else if (event.key !== "+" && event.key !== "=" && event.key !== "-") return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "-") zoomErrors(1 / 1.4);
    else if (event.key === "+" || event.key === "=") zoomErrors(1.4);
    else drawErrors();
  });
}

// The share of a zone that was not found by a method, of the class that is listed or of all. NaN without truth.
function zoneShare(zone, method) {
  const zones = road.about.zones.length;
  const seen = road.data[`${method}.zones.seen`];
  const found = road.data[`${method}.zones.found`].subarray(road.level * seen.length);
  const only = state.of === "" ? -1 : meta.classes.indexOf(state.of);
  let [there, matched] = [0, 0];
  for (let at = zone; at < seen.length; at += zones) {
    if (only >= 0 && Math.floor(at / zones) !== only) continue;
    there += seen[at];
    matched += found[at];
  }
  return 1 - matched / there;
}

// Differences of zones are small: the sign alone has a colour.
function zoneColour(value) {
  const colours = errorColours();
  if (!isDifference()) return colours[shadeOf(value)];
  return value < 0 ? colours[0] : colours.at(-1);
}

// What was not found near and far, and ahead, beside and behind: a bar and a number for each zone.
function showZones() {
  const { zones } = road.about;
  const [method, other] = errorIndex(road.mode);
  const values = zones.map((_, zone) => zoneShare(zone, method) - (other === undefined ? 0 : zoneShare(zone, other)));
  const most = Math.max(0.01, ...values.filter((value) => !Number.isNaN(value)).map(Math.abs));
  const title = element("li", { textContent: isDifference() ? "not found, difference" : "not found" });
  const items = zones.map((name, zone) => {
    const value = values[zone];
    const bar = element("span", { className: "zone-bar" }, element("span", {}));
    bar.firstChild.style.width = `${Number.isNaN(value) ? 0 : (100 * Math.abs(value)) / most}%`;
    bar.firstChild.style.background = Number.isNaN(value) ? "" : zoneColour(value);
    const text = Number.isNaN(value) ? "-" : isDifference() ? `${value < 0 ? "−" : "+"}${percentOf(Math.abs(value))}` : percentOf(value);
    return element("li", {}, element("span", { textContent: name }), bar, element("b", { textContent: text }));
  });
  $$("error-zones").replaceChildren(...(items.length ? [title, ...items] : []));
}

// The picture as it is seen, as SVG.
function svgOfErrors() {
  const frame = errorFrame();
  const colours = errorColours();
  let shapes;
  if (road.about.kind === "ego") {
    const size = road.about.cell * frame.scale;
    const squares = [];
    eachPiece(frame, (_, x, y, dx, dy, value) => squares.push(`<rect x="${(x - size / 2).toFixed(1)}" y="${(y - size / 2).toFixed(1)}" width="${size.toFixed(1)}" height="${size.toFixed(1)}" fill="${colours[shadeOf(value)]}"/>`));
    shapes = squares;
  } else {
    const lines = linesOfShades(frame);
    shapes = drawnOrder(colours.length).map((shade) => {
      const d = lines[shade].map(([x1, y1, x2, y2]) => `M${x1.toFixed(1)} ${y1.toFixed(1)}L${x2.toFixed(1)} ${y2.toFixed(1)}`).join("");
      return `<path d="${d}" fill="none" stroke="${colours[shade]}" stroke-width="1.5"/>`;
    });
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${frame.width.toFixed(0)}" height="${frame.height.toFixed(0)}" viewBox="0 0 ${frame.width.toFixed(0)} ${frame.height.toFixed(0)}">${shapes.join("")}</svg>\n`;
}

// All methods and all differences of two, as those of the list.
const errorModes = () => methodChoices();

// A list of places as buttons. `rule` says which predictions they count, if the slider says otherwise.
function placeList({ title, sign, places, isGain }, rule) {
  const items = places.map((place, k) => {
    const scenes = place.scenes ? `, ${place.scenes} ${place.scenes === 1 ? "scene" : "scenes"}` : "";
    const number = element("b", { textContent: k + 1 });
    const text = ` ${place.class} ${place.length} m, ${sign}${place.share.replaceAll("-", "−")}`;
    const button = element("button", { type: "button", title: `${place.frames} ${place.frames === 1 ? "frame" : "frames"}${scenes} saw it` }, number, text);
    button.addEventListener("click", () => showPlace(place.piece));
    return element("li", {}, button);
  });
  return element("ul", { className: isGain ? "gains" : "" }, element("li", { textContent: `${title}${rule}:` }), ...items);
}

function showErrorBar() {
  for (const button of document.querySelectorAll("#error-bar [data-mode]")) button.setAttribute("aria-pressed", String(button.dataset.mode === road.mode));
  if ($$("error-choice")) $$("error-choice").value = road.mode;
  const { about } = road;
  const least = about.levels[road.level];
  $$("error-least").textContent = least.toFixed(1);
  const what = isDifference() ? "blue: found more often, red: less often" : "grey: found, red: not found";
  const merged = about.merged ? `; pieces within ${about.merged} m are one` : "";
  const where = about.kind === "ego" ? "around the vehicle, ahead is to the right" : about.areas > 1 ? `${about.areas.toLocaleString("en")} areas as tiles` : "";
  $$("error-about").textContent = [what, `within ${about.cutoff} m`, where].filter(Boolean).join("; ") + merged;
  const rule = about.least === least && least === 0 ? "" : ` (confidence ≥ ${about.least})`; // they do not follow the slider
  const lists = shownPlaces().filter(({ places }) => places.length);
  $$("error-places").replaceChildren(...lists.map((list) => placeList(list, rule)));
  const canvas = $$("error-canvas");
  canvas.setAttribute("aria-label", `${methodChoices().find(([mode]) => mode === road.mode)[1]}: ${$$("error-about").textContent}.${lists.length ? " The places are the buttons below." : ""}`);
}

function buildErrors() {
  const { about } = road;
  const modes = errorModes();
  const choices = [];
  if (modes.length > FEW_MODES) {
    const choice = element("select", { id: "error-choice", ariaLabel: "Whose map is shown" }, ...modes.map(([mode, text]) => element("option", { value: mode, textContent: text })));
    choice.addEventListener("change", () => change({ method: choice.value }));
    choices.push(choice);
  } else if (modes.length > 1) {
    for (const [mode, text] of modes) {
      const button = element("button", { type: "button", textContent: text, title: text });
      button.dataset.mode = mode;
      button.addEventListener("click", () => change({ method: mode }));
      choices.push(button);
    }
  }
  const slider = element("input", { type: "range", min: 0, max: about.levels.length - 1, step: 1, value: 0 });
  slider.setAttribute("aria-label", "Least confidence of a prediction that finds the road");
  slider.addEventListener("input", () => {
    road.level = Number(slider.value);
    showErrorBar();
    showZones();
    drawErrors();
  });
  const button = (text, label, act) => {
    const made = element("button", { type: "button", textContent: text, title: label, ariaLabel: label });
    made.addEventListener("click", act);
    return made;
  };
  const tools = [
    button("+", "Closer", () => zoomErrors(1.4)),
    button("−", "Farther", () => zoomErrors(1 / 1.4)),
    button("whole", "Show the whole map", () => { road.view = null; drawErrors(); }),
    button("SVG", "Save the map as SVG", () => download("errors.svg", "image/svg+xml", svgOfErrors())),
  ];
  const canvas = element("canvas", { id: "error-canvas", tabIndex: 0 });
  canvas.setAttribute("role", "img");
  const tip = element("div", { id: "error-tip", hidden: true });
  const stage = element("div", { id: "error-stage" }, canvas, element("span", { id: "error-scale", className: "scale" }), element("div", { id: "error-tools" }, ...tools), tip);
  const level = element("label", {}, "confidence ≥ ", element("output", { id: "error-least" }), " ", slider);
  const bar = element("div", { id: "error-bar" }, ...choices, level);
  document.querySelector(".error-sentences")?.remove();
  const zones = element("ul", { id: "error-zones", ariaLabel: "Not found, by distance from the vehicle and by side" });
  $$("error-map").replaceChildren(bar, element("div", { id: "error-middle" }, stage, zones), element("div", { id: "error-places" }), element("p", { id: "error-about" }));
  listenToErrors(canvas);
  new ResizeObserver(drawErrors).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawErrors);
  showErrorBar();
  showZones();
  drawErrors();
  refresh(state.road === "" ? state : null); // others may show the map, and a piece of an address filters only now
}

// What explorer.js needs: the filter of the frames that saw a piece.
extras.push({
  defaults: { road: "" }, // a piece of the road
  map: { title: "road: not found", element: () => (road.about ? document.getElementById("error-map") : null) },
  allows: (_, text) => /^\d{1,8}$/.test(text),
  filters: ["road"],
  cleared: { road: "" },
  passes: (frame) => road.frames === null || road.frames.has(frame),
  chips: (now) => (now.road === "" || !road.data ? [] : [[`saw ${aboutPiece(Number(now.road)).split("\n")[0]}`, { road: "" }]]),

  build() {
    const slot = document.getElementById("where-slot");
    if (!slot) return;
    const read = () => readErrors().catch((error) => tellFailure(`The error map cannot be shown: ${error.message}`, error));
    new MutationObserver(read).observe(slot, { childList: true }); // in `mapgauge view` the panel comes later
    read();
  },

  narrows: (now) => now.road !== "",

  toggle(now) {
    const known = road.data && road.about.kind === "map" && Number(now.road) < road.about.count;
    road.frames = now.road === "" || !known ? null : framesOfPiece(Number(now.road));
  },

  show(now, differs) {
    if (!road.about) return;
    road.mode = now.method;
    if (differs("method")) showErrorBar();
    if (differs("method", "of")) showZones();
    if (differs("road", "of", "method")) drawErrors();
  },
});
