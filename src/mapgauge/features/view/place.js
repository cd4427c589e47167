// Shows all frames of the list on one map: the mean of a value in each square of 20 m. A click opens the worst frame there.
// Areas that are far apart are tiles (sheet.py).
// The map of another script, such as the error map, can take its place. It stands in the first screen otherwise.

const CELL = 20; // metres
const WORST = 6; // places that are also buttons, for the keyboard
const RAMP = ["#ffffcc", "#ffeda0", "#fed976", "#feb24c", "#fd8d3c", "#fc4e2a", "#e31a1c", "#bd0026", "#800026"]; // from good to bad
const place = { cells: new Map(), home: null, view: null, whole: null, low: 0, high: 1, made: "" };

// Where a frame is on the map: in the world, or on a tile if scenes are far apart.
function onMap(frame) {
  const { tracks, shift } = known.arrays;
  return [tracks[3 * frame] + shift[2 * frame], tracks[3 * frame + 1] + shift[2 * frame + 1]];
}

// The squares with frames of the list: number of frames, mean of the value, the worst frame, and their corner on the map.
function cellsOf(frames, column, lower) {
  const { tracks, shift } = known.arrays;
  const cells = new Map();
  for (const frame of frames) {
    const value = column[frame];
    const [i, j] = [Math.floor(tracks[3 * frame] / CELL), Math.floor(tracks[3 * frame + 1] / CELL)];
    if (Number.isNaN(value) || !Number.isFinite(i) || !Number.isFinite(j)) continue;
    const key = `${i} ${j}`;
    const cell = cells.get(key) ?? { i, j, x: i * CELL + shift[2 * frame], y: j * CELL + shift[2 * frame + 1], count: 0, sum: 0, worst: frame };
    cell.count += 1;
    cell.sum += value;
    if (lower ? value > column[cell.worst] : value < column[cell.worst]) cell.worst = frame;
    cells.set(key, cell);
  }
  for (const cell of cells.values()) cell.mean = cell.sum / cell.count;
  return cells;
}

// Whether low values of a column are good. Those of a metric and its parts follow the metric; hits are good.
function lowIsGood(key) {
  const metric = meta.metrics.find(({ key: main, headlines, parts }) => main === key || headlines.includes(key) || parts.some((part) => part.key === key));
  return metric ? metric.lower : !key.startsWith("hits");
}

function collect() {
  const lower = lowIsGood(state.value);
  place.cells = cellsOf(rows, columns[state.value], lower);
  const cells = [...place.cells.values()];
  const means = cells.map(({ mean }) => mean).sort((a, b) => a - b);
  const at = (share) => means[Math.min(Math.floor(share * means.length), means.length - 1)] ?? 0;
  [place.low, place.high] = [at(0.02), at(0.98)]; // a few outliers must not make all the others alike
  const span = (values) => [values.reduce((a, b) => Math.min(a, b), Infinity), values.reduce((a, b) => Math.max(a, b), -Infinity) + CELL];
  const [[west, east], [south, north]] = [span(cells.map(({ x }) => x)), span(cells.map(({ y }) => y))];
  place.whole = cells.length ? { x: (west + east) / 2, y: (south + north) / 2, width: 1.08 * (east - west), height: 1.08 * (north - south) } : null;
  const worst = cells.sort((a, b) => (lower ? b.mean - a.mean : a.mean - b.mean)).slice(0, WORST);
  $$("place-worst").replaceChildren(element("li", { textContent: "Worst:" }), ...worst.map((cell) => {
    const text = `${shown(state.value, cell.mean)} at ${Math.round((cell.i + 0.5) * CELL)}, ${Math.round((cell.j + 0.5) * CELL)} m`;
    const button = element("button", { type: "button", textContent: text, title: aboutCell(cell) });
    button.addEventListener("click", () => change({ frame: cell.worst }));
    return element("li", {}, button);
  }));
  $$("place-about").textContent = `mean in ${cells.length.toLocaleString("en")} squares of ${CELL} m, over the frames of the list${known.tiles ? `; ${known.tiles} areas as tiles` : ""}`;
  const ends = [place.low, place.high];
  if (!lower) ends.reverse();
  ["place-low", "place-high"].forEach((id, k) => ($$(id).textContent = shown(state.value, ends[k])));
}

const aboutCell = ({ count, mean, worst }) => `${count} ${count === 1 ? "frame" : "frames"}, mean ${labelOf(state.value)} ${shown(state.value, mean)}\nworst: ${meta.tokens[worst]}, ${shown(state.value, columns[state.value][worst])}`;

// Metres per pixel, and the middle of the map.
function placeFrame() {
  const { width, height } = $$("place-map").getBoundingClientRect();
  const { x, y, width: across, height: up } = place.view ?? place.whole;
  return { x, y, unit: Math.max(across / width, (up ?? (across * height) / width) / height), width, height };
}

function colourOf(mean) {
  const share = (mean - place.low) / (place.high - place.low || 1);
  const bad = lowIsGood(state.value) ? share : 1 - share;
  return RAMP[Math.min(Math.max(Math.floor(bad * RAMP.length), 0), RAMP.length - 1)];
}

function drawPlace() {
  const canvas = $$("place-map");
  if (!place.whole) return;
  const { x, y, unit, width, height } = placeFrame();
  const ratio = window.devicePixelRatio;
  [canvas.width, canvas.height] = [width * ratio, height * ratio];
  const paper = canvas.getContext("2d");
  paper.scale(ratio, ratio);
  const [left, top] = [(east) => (east - x) / unit + width / 2, (north) => (y - north) / unit + height / 2];
  const size = Math.max(CELL / unit, 5); // a square of a large city is still seen
  for (const cell of place.cells.values()) {
    paper.fillStyle = colourOf(cell.mean);
    paper.fillRect(left(cell.x), top(cell.y + CELL), size, size);
  }
  const { areas } = known.arrays;
  const path = sceneNames() ? framesOfScene(sceneAt(state.frame)) : [state.frame];
  const ink = getComputedStyle(canvas).color;
  Object.assign(paper, { strokeStyle: ink, lineWidth: 2 });
  paper.beginPath();
  path.forEach((frame, k) => {
    const [east, north] = onMap(frame);
    const isNext = k > 0 && areas[frame] === areas[path[k - 1]]; // no line leads from tile to tile
    paper[isNext ? "lineTo" : "moveTo"](left(east), top(north));
  });
  paper.stroke();
  paper.beginPath();
  const [here, up] = onMap(state.frame);
  paper.arc(left(here), top(up), 7, 0, 2 * Math.PI);
  paper.stroke();
  showScale($$("place-bar"), 1 / unit);
  canvas.setAttribute("aria-label", `Map of ${labelOf(state.value)} over ${place.cells.size} squares of ${CELL} m. The worst places are the buttons below it.`);
}

function cellAt(event) {
  const box = $$("place-map").getBoundingClientRect();
  const { x, y, unit, width, height } = placeFrame();
  const [east, north] = [x + (event.clientX - box.left - width / 2) * unit, y - (event.clientY - box.top - height / 2) * unit];
  let best = null;
  const distance = (cell) => Math.hypot(cell.x + CELL / 2 - east, cell.y + CELL / 2 - north);
  for (const cell of place.cells.values()) if (!best || distance(cell) < distance(best)) best = cell;
  return best && distance(best) < Math.max(CELL, 6 * unit) ? best : null;
}

function zoomPlace(factor, at = null) {
  const now = place.view ?? place.whole;
  const { unit, width } = placeFrame();
  const across = Math.min(Math.max(unit * width * factor, 3 * CELL), 4 * Math.max(place.whole.width, place.whole.height));
  const grown = across / (unit * width);
  const fixed = at ?? now;
  place.view = { x: fixed.x + (now.x - fixed.x) * grown, y: fixed.y + (now.y - fixed.y) * grown, width: across };
  drawPlace();
}

function listenToPlace(change) {
  const canvas = $$("place-map");
  let grabbed = null;
  canvas.addEventListener("pointerdown", (event) => {
    grabbed = { x: event.clientX, y: event.clientY, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (grabbed && (grabbed.moved || Math.hypot(event.clientX - grabbed.x, event.clientY - grabbed.y) > 3)) {
      const { x, y, unit, width } = placeFrame();
      place.view = { x: x - (event.clientX - grabbed.x) * unit, y: y + (event.clientY - grabbed.y) * unit, width: unit * width };
      grabbed = { x: event.clientX, y: event.clientY, moved: true };
      drawPlace();
    }
    const cell = grabbed ? null : cellAt(event);
    const tip = $$("place-tip");
    tip.hidden = !cell;
    if (!cell) return;
    tip.textContent = aboutCell(cell);
    const box = $$("place-stage").getBoundingClientRect();
    tip.style.left = `${Math.min(event.clientX - box.left + 14, box.width - tip.offsetWidth - 4)}px`;
    tip.style.top = `${Math.min(event.clientY - box.top + 14, box.height - tip.offsetHeight - 4)}px`;
  });
  canvas.addEventListener("pointerup", (event) => {
    const cell = grabbed?.moved ? null : cellAt(event);
    grabbed = null;
    if (cell) change({ frame: cell.worst });
  });
  canvas.addEventListener("pointerleave", () => ($$("place-tip").hidden = true));
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    const { x, y, unit, width, height } = placeFrame();
    zoomPlace(Math.exp(Math.max(-1, Math.min(event.deltaY * 0.002, 1))), { x: x + (event.clientX - box.left - width / 2) * unit, y: y - (event.clientY - box.top - height / 2) * unit });
  }, { passive: false });
  $$("place-closer").addEventListener("click", () => zoomPlace(0.6));
  $$("place-farther").addEventListener("click", () => zoomPlace(1 / 0.6));
  $$("place-whole").addEventListener("click", () => {
    place.view = null;
    drawPlace();
  });
}

const ROAD = "road"; // the choice of the map of another script, beside the keys of columns

// The map of another script: its title, and its element, which is null until it is there.
const otherMap = () => extras.find((extra) => extra.map)?.map ?? null;

// Puts the map of the other script here, or back to where it was.
function moveMap(isHere) {
  const found = otherMap()?.element();
  if (!found) return false;
  if (isHere === $$("place-road").contains(found)) return isHere;
  if (isHere) {
    place.home = element("p", { className: "quiet", textContent: "The map stands beside the drawing." });
    found.replaceWith(place.home);
    $$("place-road").append(found);
  } else {
    place.home.replaceWith(found);
    place.home = null;
  }
  return isHere;
}

extras.push({
  pane: ["place", "map of all frames"],
  view: ["3", "map"],
  defaults: { ground: "" }, // what the map shows: squares, or the map of another script
  allows: (_, text) => text === "" || text === ROAD,

  build(change) {
    const others = otherMap() ? [[ROAD, otherMap().title]] : [];
    options("place-value", [...others, ...numberKeys.map((key) => [key, labelOf(key)])]);
    $$("place-value").addEventListener("change", () => {
      const chosen = $$("place-value").value;
      change(chosen === ROAD ? { ground: ROAD } : { ground: "", value: chosen });
    });
    $$("place-ramp").style.background = `linear-gradient(to right, ${RAMP.join(", ")})`;
    listenToPlace(change);
  },

  toggle: (now) => document.querySelector(".left").classList.toggle("on-map", now.pane === "place"),

  ready: () => (place.made = ""),

  show(now) {
    const isRoad = now.pane === "place" && now.ground === ROAD;
    const isMoved = moveMap(isRoad);
    if (now.pane !== "place") return;
    $$("place-road").hidden = !isRoad;
    const moves = Boolean(known.arrays?.tracks);
    for (const id of ["place-about", "place-buttons", "place-scale", "place-worst"]) $$(id).hidden = isRoad || !moves;
    if (isRoad) {
      $$("place-value").value = ROAD;
      $$("place-stage").hidden = true;
      $$("place-absent").hidden = isMoved;
      $$("place-absent").textContent = "The map is not there yet, or cannot be made. The panel Where says why.";
      return;
    }
    $$("place-absent").hidden = moves;
    $$("place-stage").hidden = !moves;
    $$("place-absent").textContent = known.state === "ready" ? "The files have no poses, so the places of the frames are not known." : source.absence();
    if (!moves) return;
    $$("place-value").value = now.value;
    const made = [rows, now.value, columns];
    if (!place.made || made.some((part, k) => part !== place.made[k])) {
      place.made = made;
      collect();
    }
    drawPlace();
  },
});
