// The scenes as sceneRows: one row per scene, the worst first, and one cell per frame, in the colour of its value.

const STEPS = 8; // colours
const ROWS_AT_ONCE = 40;
const PACE = 400; // milliseconds per frame
const sceneRows = { scenes: [], made: 0, low: 0, high: 1, signed: false };
let player = 0; // a timer

// The scene of each frame: that of the results, or later in `mapgauge view` that of what has the poses. Null without scenes.
const scenesNow = () => meta.scenes ?? source.scenes?.() ?? null;

// The scene of a frame. Without scenes, runs of frames stand for them.
const sceneOfFrame = (frame) => scenesNow()?.[frame] ?? `frames from ${1 + 100 * Math.floor(frame / 100)}`;

// The frames of each scene, in the order of the results.
function groupedByScene() {
  const found = new Map();
  for (let frame = 0; frame < frameCount; frame++) {
    const name = sceneOfFrame(frame);
    if (!found.has(name)) found.set(name, []);
    found.get(name).push(frame);
  }
  return found;
}

let framesByScene = groupedByScene();

function meanOf(frames, column) {
  let [sum, count] = [0, 0];
  for (const frame of frames) {
    if (Number.isNaN(column[frame])) continue;
    sum += column[frame];
    count += 1;
  }
  return count ? sum / count : NaN;
}

// The colour of a value as the name of a class: 0 is best, STEPS - 1 worst.
function heatOf(value) {
  if (Number.isNaN(value)) return "none";
  const share = (value - sceneRows.low) / (sceneRows.high - sceneRows.low || 1);
  const step = Math.min(Math.max(Math.floor(share * STEPS), 0), STEPS - 1);
  return `${sceneRows.signed ? "diff" : "heat"}-${meta.metrics[0]?.lower === false ? STEPS - 1 - step : step}`;
}

// A strip of cells. Cells of the same colour are one path.
function cellsOfScene(frames, column, listed) {
  const paths = {};
  frames.forEach((frame, k) => {
    const kind = listed.has(frame) ? heatOf(column[frame]) : "off";
    paths[kind] = `${paths[kind] ?? ""}M${k} 0h0.94v10h-0.94z`;
  });
  const nodes = Object.entries(paths).map(([kind, d]) => svgElement("path", { class: kind, d }));
  return svgElement("svg", { class: "strip", viewBox: `0 0 ${frames.length} 10`, preserveAspectRatio: "none", "aria-hidden": "true" }, ...nodes);
}

// The mean of a scene for both methods as two dots, if two are compared.
function dumbbell(frames, now, pair) {
  const values = pair.map((method) => meanOf(frames, numbersOf(method, mainKey(), now.of)));
  const dots = values.map((at, k) => ({ at, colour: meta.methodColours[pair[k]] }));
  const plot = dotPlot(dots, sceneRows.from, sceneRows.to);
  return element("span", { className: "dumbbell", title: values.map((value, k) => `${meta.methods[pair[k]]} ${shown(mainKey(), value)}`).join("\n") }, plot);
}

function growScenes(now, count) {
  const column = columns[mainKey()];
  const listed = sceneRows.listed;
  const pair = pairOf(now);
  const rowsOf = sceneRows.scenes.slice(sceneRows.made, sceneRows.made + count).map(({ name, frames, mean }) => {
    const choose = element("button", { type: "button", className: "row", ariaPressed: String(now.scene === name), title: `Only the frames of ${name}` }, cut(name));
    choose.addEventListener("click", () => change({ scene: now.scene === name ? "" : name }));
    choose.disabled = !meta.scenes;
    const start = element("button", { type: "button", className: "play", textContent: "▶", title: `Play ${name}`, ariaLabel: `Play ${name}` });
    start.addEventListener("click", () => playFrom(frames[0]));
    const strip = element("span", { className: "cells" }, cellsOfScene(frames, column, listed));
    strip.style.setProperty("--cells", frames.length);
    strip.addEventListener("click", (event) => playFrom(frames[frameAt(strip, frames, event)]));
    strip.addEventListener("pointermove", (event) => {
      const frame = frames[frameAt(strip, frames, event)];
      strip.title = `${meta.tokens[frame]}\n${labelOf(mainKey())} ${shown(mainKey(), column[frame], sceneRows.signed)}\nclick: play from here`;
    });
    const row = element("li", {}, start, choose, element("span", { className: "mean", textContent: shown(mainKey(), mean, sceneRows.signed) }), ...(pair ? [dumbbell(frames, now, pair)] : []), strip);
    row.dataset.scene = name;
    return row;
  });
  sceneRows.made += rowsOf.length;
  $$("scene-rows").append(...rowsOf);
}

function frameAt(strip, frames, event) {
  const box = strip.firstChild.getBoundingClientRect();
  return Math.min(Math.max(Math.floor(((event.clientX - box.left) / box.width) * frames.length), 0), frames.length - 1);
}

function showScenes(now) {
  const body = $$("scenes-card").querySelector(".body");
  const column = columns[mainKey()];
  if (!column) return body.replaceChildren(element("p", { className: "quiet", textContent: "No metric was computed that has a value for each frame." }));
  const sign = (meta.metrics[0].lower ? 1 : -1) * 1;
  sceneRows.signed = now.method.includes("-");
  sceneRows.listed = new Set(rows);
  const values = rows.map((frame) => column[frame]).filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
  const at = (share) => values[Math.min(Math.floor(share * values.length), values.length - 1)] ?? 0;
  const most = Math.max(Math.abs(at(0.02)), Math.abs(at(0.98)), 1e-3);
  Object.assign(sceneRows, sceneRows.signed ? { low: -most, high: most } : { low: at(0.02), high: at(0.98) });
  sceneRows.scenes = [...framesByScene].map(([name, frames]) => ({ name, frames, mean: meanOf(frames.filter((frame) => sceneRows.listed.has(frame)), column) })).filter(({ mean }) => !Number.isNaN(mean)).sort((a, b) => sign * (b.mean - a.mean));
  const pair = pairOf(now);
  const means = pair ? sceneRows.scenes.flatMap(({ frames }) => pair.map((method) => meanOf(frames, numbersOf(method, mainKey(), now.of)))).filter((value) => !Number.isNaN(value)) : [];
  Object.assign(sceneRows, { from: means.reduce((a, b) => Math.min(a, b), Infinity), to: means.reduce((a, b) => Math.max(a, b), -Infinity), made: 0 });
  const list = element("ul", { id: "scene-rows", tabIndex: 0 });
  list.setAttribute("aria-label", `${sceneRows.scenes.length} scenes, the worst first`);
  list.addEventListener("scroll", () => growNear(list), { passive: true });
  const stop = element("button", { type: "button", id: "stop", textContent: "Stop", hidden: player === 0 });
  stop.addEventListener("click", stopPlaying);
  const scale = element("span", { className: "ramp" }, element("span", { textContent: shown(mainKey(), sceneRows.low, sceneRows.signed) }), rampOf(), element("span", { textContent: shown(mainKey(), sceneRows.high, sceneRows.signed) }));
  const noun = scenesNow() ? `${sceneRows.scenes.length.toLocaleString("en")} ${sceneRows.scenes.length === 1 ? "scene" : "scenes"}` : "frames";
  const said = element("span", { className: "quiet", textContent: `${noun}, worst first: ${labelOf(mainKey())} of ${choiceOf(now).name}. Click a cell to play from it.` });
  body.replaceChildren(element("div", { className: "toolbar" }, said, scale, stop), list);
  growScenes(now, ROWS_AT_ONCE);
  return markMoment(now);
}

function growNear(list) {
  if (sceneRows.made < sceneRows.scenes.length && list.scrollTop + 2 * list.clientHeight > list.scrollHeight) growScenes(state, ROWS_AT_ONCE);
}

function rampOf() {
  const boxes = Array.from({ length: STEPS }, (_, k) => {
    const step = meta.metrics[0]?.lower === false ? STEPS - 1 - k : k;
    return svgElement("rect", { class: `${sceneRows.signed ? "diff" : "heat"}-${step}`, x: k, width: 1, height: 1 });
  });
  return svgElement("svg", { class: "ramp-boxes", viewBox: `0 0 ${STEPS} 1`, preserveAspectRatio: "none", "aria-hidden": "true" }, ...boxes);
}

// Marks the frame that is drawn, in the strip of its scene.
function markMoment(now) {
  for (const old of document.querySelectorAll("#scene-rows .moment")) old.remove();
  const name = sceneOfFrame(now.frame);
  const row = [...document.querySelectorAll("#scene-rows li")].find((one) => one.dataset.scene === name);
  if (!row) return;
  const k = framesByScene.get(name).indexOf(now.frame);
  row.querySelector(".strip").append(svgElement("rect", { class: "moment", x: k, y: 0, width: 0.94, height: 10 }));
}

// Plays the rest of a scene from a frame. `mapgauge view` has a player of its own, which knows the time.
function playFrom(frame) {
  stopPlaying();
  change({ frame });
  $$("workbench").scrollIntoView({ block: "start" });
  if (extras.some((extra) => extra.playFrom?.(frame))) return;
  player = setInterval(() => {
    if (source.waiting(state.frame)) return;
    const frames = framesByScene.get(sceneOfFrame(state.frame));
    const next = frames[frames.indexOf(state.frame) + 1];
    if (next === undefined) stopPlaying();
    else change({ frame: next });
  }, PACE);
  if ($$("stop")) $$("stop").hidden = false;
}

function stopPlaying() {
  clearInterval(player);
  player = 0;
  if ($$("stop")) $$("stop").hidden = true;
}

extras.push({
  passing: () => player !== 0,

  // In `mapgauge view`, after poses were read.
  ready() {
    if (meta.scenes || !scenesNow()) return;
    framesByScene = groupedByScene();
    showScenes(state);
  },

  show(now, differs) {
    if (differs(...filterKeys)) showScenes(now);
    else if (differs("frame")) markMoment(now);
  },
});
