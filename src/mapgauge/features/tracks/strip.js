// Shows the tracks of a scene over time, with a slider through its frames. They take the place of the list.

const [ABSENT, ALONE] = [-2, -1]; // cells of a row; others are predicted tracks
const [LABEL, LEAST_CELL, LINE, BAR, THUMB] = [124, 6, 18, 12, 16]; // pixels: labels, cells, rows, bars, the slider's thumb
const strips = new Map(); // by scene: by method, the strips of the classes
const stripTexts = new Map(); // by scene: why its tracks are not shown yet
let stripShown = { key: "", cell: 1, frames: [] }; // what is in the page now

// The frames of a scene in the order of time. In a report they come with the strips.
const stripFrames = (scene) => (meta.strips.frames ? meta.strips.frames[meta.strips.scenes.indexOf(scene)] : framesOfScene(scene));

// Reads the strips of all methods in some scenes.
function readStrips(arrays, scenes) {
  for (const scene of scenes) strips.set(scene, meta.methods.map(() => []));
  meta.methods.forEach((_, method) => readMethod(arrays, method));
}

// Asks for the tracks of a scene, where a server has them, and returns why they are not shown yet.
function stripText(scene) {
  if (!source.scene) return `The tracks of the scene ${scene} are not in the page.`;
  if (!stripTexts.has(scene)) {
    const answer = source.scene(scene);
    if (!answer) return source.absence();
    stripTexts.set(scene, "Reading the tracks …");
    answer
      .then(({ arrays }) => readStrips(arrays, [scene]))
      .catch((error) => stripTexts.set(scene, error.message))
      .then(() => refresh(state));
  }
  return stripTexts.get(scene);
}

function readMethod(arrays, method) {
  const cells = arrays[`${method}.strip.cells`];
  let at = 0;
  for (const strip of JSON.parse(new TextDecoder().decode(arrays[`${method}.strip.text`]))) {
    const count = stripFrames(strip.scene).length;
    const row = (track, confidence) => ({ track, confidence, cells: cells.subarray(at, (at += count)) });
    strip.trueRows = strip.truth.map((track) => row(track, null));
    strip.falseRows = strip.false.map(([track, confidence]) => row(track, confidence));
    strips.get(strip.scene)[method].push(strip);
  }
}

// A name on one line, without what comes before its last slash, and without the middle of a long one.
function brief(name, most) {
  const line = name.slice(name.lastIndexOf("/", name.length - 2) + 1).replaceAll(/\s+/g, " ");
  const half = Math.max(1, (most - 1) >> 1);
  return line.length > most ? `${line.slice(0, half)}…${line.slice(-half)}` : line;
}

// The runs of equal cells of a row: { from, to, cell }.
function runsOf(cells) {
  const runs = [];
  cells.forEach((cell, i) => {
    const last = runs.at(-1);
    if (last && last.cell === cell) last.to = i;
    else runs.push({ from: i, to: i, cell });
  });
  return runs.filter(({ cell }) => cell !== ABSENT);
}

// Where a true track passes from one predicted track to another: { at, before, after }.
function switchesOf(cells) {
  const found = [];
  let before = ALONE;
  cells.forEach((after, at) => {
    if (after < 0) return;
    if (before >= 0 && before !== after) found.push({ at, before, after });
    before = after;
  });
  return found;
}

const framesText = ({ from, to }) => (from === to ? `frame ${from + 1}` : `frames ${from + 1} to ${to + 1}`);
const plural = (count, word, words = `${word}s`) => `${count.toLocaleString("en")} ${count === 1 ? word : words}`;

// Black or white, whichever can be read on a colour.
function inkOn(colour) {
  const [red, green, blue] = [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16));
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#000000" : "#ffffff";
}

// The bars of one track, with its name on the left.
function rowNode(strip, { track, cells, confidence }, y, cell) {
  const predicted = confidence !== null;
  const middle = y + LINE / 2;
  const switches = predicted ? [] : switchesOf(cells);
  const told = switches.map(({ at, before, after }) => `frame ${at + 1}: taken over from ${strip.names[before]} by ${strip.names[after]}`);
  const [there, matched] = [cells.filter((value) => value > ABSENT).length, cells.filter((value) => value >= 0).length];
  const kind = predicted ? `predicted track, mean confidence ${confidence.toFixed(2)}` : "true track";
  const about = [`${strip.of}, ${kind} ${track}: matched in ${matched} of ${plural(there, "frame")}`, ...told];
  const name = svgElement("text", { x: LABEL - 8, y: middle + 4, "text-anchor": "end" }, brief(track, 17));
  name.append(svgElement("title", {}, about.join("\n")));
  const nodes = [name, svgElement("line", { class: "between", x1: LABEL, x2: LABEL + cells.length * cell, y1: middle, y2: middle })];
  for (const run of runsOf(cells)) {
    const [x, width] = [LABEL + run.from * cell, (run.to - run.from + 1) * cell];
    const box = { x: x + 0.5, y: middle - BAR / 2, width: Math.max(width - 1, 1), height: BAR };
    const style = run.cell >= 0 ? { fill: strip.colours[run.cell] } : predicted ? { class: "false" } : { class: "missed", fill: "url(#strip-hatch)" };
    const partner = run.cell >= 0 ? (predicted ? "matched" : `matched by ${strip.names[run.cell]}`) : predicted ? "false" : "missed";
    nodes.push(svgElement("rect", { ...box, ...style }, svgElement("title", {}, `${track}\n${framesText(run)}: ${partner}`)));
    const text = run.cell >= 0 && !predicted ? brief(strip.names[run.cell], 14) : "";
    if (text && 6.2 * text.length + 8 < width) {
      nodes.push(svgElement("text", { class: "inside", x: x + 5, y: middle + 4, style: `fill: ${inkOn(strip.colours[run.cell])}` }, text));
    }
  }
  switches.forEach(({ at }, k) => {
    const x = LABEL + at * cell;
    const d = `M${x} ${middle + 1}L${x - 5} ${y - 1}H${x + 5}ZM${x - 1} ${middle}H${x + 1}V${y + LINE}H${x - 1}Z`;
    nodes.push(svgElement("path", { class: "switch", d }, svgElement("title", {}, `${track}\n${told[k]}`)));
  });
  return svgElement("g", { class: predicted ? "row predicted" : "row true", role: "img", "aria-label": about.join("; ") }, ...nodes);
}

function hatch() {
  const lines = svgElement("path", { class: "hatch", d: "M-1 1L1 -1M0 6L6 0M5 7L7 5" });
  return svgElement("defs", {}, svgElement("pattern", { id: "strip-hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse" }, lines));
}

// Draws all rows of some strips. The rows of each class come under a heading.
function drawStrips(chosen, count) {
  const room = document.getElementById("strip-scroller").clientWidth - LABEL - 10;
  const cell = Math.max(LEAST_CELL, room / count);
  const width = LABEL + count * cell + 8;
  const nodes = [hatch()];
  let y = 4;
  const heading = (text, note, small) => {
    const made = svgElement("text", { x: 6, y: y + 14, class: small ? "small" : "", "font-weight": small ? 400 : 600 }, text);
    made.append(svgElement("tspan", { "font-weight": 400 }, note));
    nodes.push(made);
    y += small ? 18 : 22;
  };
  const rowsOf = (strip, rows) => rows.forEach((row) => {
    nodes.push(rowNode(strip, row, y, cell));
    y += LINE;
  });
  for (const strip of chosen) {
    const switches = strip.trueRows.reduce((sum, row) => sum + switchesOf(row.cells).length, 0);
    const value = strip.value === null ? "" : `, T-PLD ${strip.value.toFixed(3)}`;
    heading(strip.of, `: ${plural(strip.truth.length, "true track")}${value}, ${plural(switches, "switch", "switches")}`);
    rowsOf(strip, strip.trueRows);
    if (strip.falseRows.length) {
      const some = strip.falseRows.length < strip.falseCount ? `${strip.falseRows.length} of ${strip.falseCount.toLocaleString("en")}, the most confident ones` : strip.falseCount;
      heading(`Predicted tracks that are false in most of their frames (${some})`, "", true);
      rowsOf(strip, strip.falseRows);
    }
    y += 8;
  }
  const rows = document.getElementById("strip-rows");
  const size = { width, height: y, viewBox: `0 0 ${width} ${y}` };
  for (const [key, value] of Object.entries(size)) rows.setAttribute(key, value);
  rows.replaceChildren(...nodes, svgElement("rect", { class: "cursor", x: 0, y: 0, width: cell, height: y }));
  return cell;
}

// Draws the numbers of the frames. A dot marks those that can be drawn, unless all can.
function drawAxis(frames, cell) {
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((size) => size * cell >= 26) ?? 2000;
  const middle = (i) => LABEL + (i + 0.5) * cell;
  const nodes = frames.flatMap((_, i) => (i % step ? [] : [svgElement("text", { x: middle(i), y: 12, "text-anchor": "middle" }, i + 1)]));
  nodes.push(svgElement("text", { x: LABEL - 8, y: 12, "text-anchor": "end" }, "frame"));
  if (frames.some((frame) => drawnAt[frame] < 0)) {
    frames.forEach((frame, i) => {
      if (drawnAt[frame] >= 0) nodes.push(svgElement("circle", { class: "drawable", cx: middle(i), cy: 18, r: 2 }));
    });
  }
  const axis = document.getElementById("strip-axis");
  const width = LABEL + frames.length * cell + 8;
  for (const [key, value] of Object.entries({ width, height: 22, viewBox: `0 0 ${width} 22` })) axis.setAttribute(key, value);
  axis.replaceChildren(...nodes);
  const slider = document.getElementById("strip-slider");
  slider.max = frames.length - 1;
  slider.disabled = frames.length < 2;
  slider.style.width = `${(frames.length - 1) * cell + THUMB}px`;
  slider.style.marginLeft = `${LABEL + cell / 2 - THUMB / 2}px`;
}

// Moves the cursor to a frame, and scrolls sideways if it is out of sight.
function moveCursor(frame, seconds) {
  const { frames, cell } = stripShown;
  const at = frames.indexOf(frame);
  const slider = document.getElementById("strip-slider");
  slider.value = at;
  const time = seconds ? ` · ${seconds[at].toFixed(1)} s` : "";
  const text = `frame ${at + 1} of ${frames.length}${time}`;
  slider.setAttribute("aria-valuetext", `${text}, ${meta.tokens[frame]}`);
  document.getElementById("strip-now").textContent = text;
  const x = LABEL + at * cell;
  document.querySelector("#strip-rows .cursor")?.setAttribute("x", x);
  const box = document.getElementById("strip-scroller");
  if (x < box.scrollLeft + LABEL || x + cell > box.scrollLeft + box.clientWidth) box.scrollLeft = x - box.clientWidth / 2;
}

// What explorer.js needs: to build the elements, to show a state, and the order of the frames.
extras.push({
  pane: ["time", "tracks over time"],

  build(change) {
    if (meta.strips.frames) readStrips(arrays, meta.strips.scenes);
    options("strip-scene", meta.strips.scenes.map((name) => [name, name]));
    const { scenes, all } = meta.strips;
    const some = scenes.length < all ? `The page has the tracks of ${scenes.length.toLocaleString("en")} of ${all.toLocaleString("en")} scenes, from the highest T-PLD. ` : "";
    document.getElementById("strip-about").textContent = `${some}A bar has the colour of the predicted track that T-PLD assigns to the true track. Move through the frames with the slider, the arrow keys, or a click.`;
    const sample = (shape) => svgElement("svg", { width: 16, height: 14, "aria-hidden": "true" }, shape);
    const box = { x: 0.5, y: 1.5, width: 15, height: 11 };
    const entries = [
      [svgElement("rect", { ...box, class: "missed", fill: "url(#strip-hatch)" }), "missed"],
      [svgElement("rect", { ...box, class: "false" }), "false"],
      [svgElement("path", { class: "switch", d: "M8 8L3 1H13ZM7 7H9V14H7Z" }), "another predicted track takes over"],
    ];
    document.getElementById("strip-key").append(...entries.map(([shape, text]) => element("li", {}, sample(shape), text)));
    document.getElementById("strip-scene").addEventListener("change", (event) => {
      const frames = stripFrames(event.target.value);
      change({ frame: frames.find((frame) => drawnAt[frame] >= 0) ?? frames[0] });
    });
    document.getElementById("strip-slider").addEventListener("input", (event) => change({ frame: stripShown.frames[Number(event.target.value)] }));
    document.getElementById("strip-rows").addEventListener("click", (event) => {
      const x = event.clientX - document.getElementById("strip-rows").getBoundingClientRect().left - LABEL;
      const frame = stripShown.frames[Math.floor(x / stripShown.cell)];
      if (x >= 0 && frame !== undefined) change({ frame });
    });
  },

  // Shows the list or the tracks. This comes before both are drawn, because what is hidden has no size.
  toggle(state) {
    document.querySelector(".left").classList.toggle("over-time", state.pane === "time");
  },

  show(state) {
    if (state.pane !== "time") return;
    const scene = meta.scenes[state.frame];
    const method = Number(state.method.split("-")[0]);
    const there = strips.has(scene);
    for (const id of ["strip-scroller", "strip-key"]) document.getElementById(id).hidden = !there;
    const absent = document.getElementById("strip-absent");
    absent.hidden = there;
    if (!there) absent.textContent = stripText(scene);
    document.getElementById("strip-scene").value = there ? scene : "";
    if (!there) {
      document.getElementById("strip-now").textContent = "";
      stripShown = { key: "", cell: 1, frames: [] };
      return;
    }
    const chosen = strips.get(scene)[method].filter((strip) => state.of === "" || strip.of === state.of);
    const key = JSON.stringify([scene, method, state.of, document.getElementById("strip-scroller").clientWidth]);
    if (key !== stripShown.key) {
      const frames = stripFrames(scene);
      stripShown = { key, frames, cell: drawStrips(chosen, frames.length) };
      drawAxis(frames, stripShown.cell);
    }
    moveCursor(state.frame, strips.get(scene)[method][0]?.seconds);
  },

  // The frames of the scene in the order of time, or null if the list is shown.
  order: (state) => (state.pane === "time" && stripShown.frames.includes(state.frame) ? stripShown.frames : null),
});
