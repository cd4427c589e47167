// Shows a scene over time: plays its frames, draws them in the world, leaves a trail, and shows values as curves.

const SPEEDS = ["0.25", "0.5", "1", "2", "4", "8"];
const SPACES = { "": "ego frame", follow: "north up, around the ego", world: "world frame" };
const TRAILS = ["0", "3", "5", "10", "20", "40"];
const [CURVE, CURVE_GAP, CURVE_END] = [34, 6, 8]; // pixels: the height of a curve, the gap between two, the room after them
const [VALUE, AXIS] = [50, 48]; // pixels of a value, and of the numbers of an axis, before a curve
const [USUAL, SHORTEST, LONGEST] = [0.5, 0.04, 2]; // seconds between two frames: if times are unknown, at least, at most
const AHEAD = 8; // frames that are asked for while the scene plays

let inTime = null; // the frames of each scene in the order of time, by name
const precisionsOf = new Map(); // by scene: average precisions of its frames, or null while they are computed
let playing = null; // the timer, while the scene plays
let clock = { scene: null, frames: [], key: "", left: 0, right: 1 }; // the scene that is shown, and the ends of its axis
let seen = { space: "", place: "" }; // what the panels are arranged for

// Names of the scenes come from the results, or later from what has the poses. Frames without scenes are one drive.
const sceneNames = () => meta.scenes ?? known.scenes ?? null;
const ALL_FRAMES = "all frames";
const sceneAt = (frame) => sceneNames()?.[frame] ?? ALL_FRAMES;

// Whether frames follow each other: scenes are known, or at least poses.
const areInTime = () => sceneNames() !== null || Boolean(known.arrays?.tracks);

// The frames of a scene in the order of time. Before the times are read, it is the order of the results.
function framesOfScene(scene) {
  if (!inTime) {
    inTime = new Map();
    const order = known.arrays?.order ?? meta.tokens.keys();
    for (const frame of order) {
      const name = sceneAt(frame);
      if (!inTime.has(name)) inTime.set(name, []);
      inTime.get(name).push(frame);
    }
  }
  return inTime.get(scene);
}

// Where the ego is: position in metres from the first frame of the scene, and heading; null without poses.
function poseOf(frame) {
  const tracks = known.arrays?.tracks;
  if (!tracks) return null;
  const first = framesOfScene(sceneAt(frame))[0];
  const [x, y, heading] = tracks.subarray(3 * frame, 3 * frame + 3);
  return { x: x - tracks[3 * first], y: y - tracks[3 * first + 1], heading };
}

// The motion from a drawing, x to the right and y down, to the world with north up.
function motionOf(frame) {
  const { x, y, heading } = poseOf(frame);
  const [c, s] = [Math.cos(heading), Math.sin(heading)];
  return new DOMMatrix([s, c, -c, s, x, -y]);
}

// How a frame is placed on the paper.
function placement(frame) {
  if (!poseOf(frame) || state.space === "") return new DOMMatrix();
  const motion = motionOf(frame);
  if (state.space === "follow") [motion.e, motion.f] = [0, 0];
  return motion;
}

// The view of everything that is drawn of the scene, in the world or around the ego. Null in the ego frame.
function wholeWorld() {
  if (state.space === "" || !poseOf(state.frame)) return null;
  const [left, right, bottom, top] = source.bounds().map((value) => value / METRE);
  const box = [left, right].flatMap((x) => [bottom, top].map((y) => new DOMPoint(x, -y)));
  const { areas } = known.arrays;
  // Without scenes, all frames are one drive, and others may be in another city.
  const near = framesOfScene(sceneAt(state.frame)).filter((frame) => areas[frame] === areas[state.frame]);
  const corners = near.flatMap((frame) => {
    const motion = motionOf(frame);
    if (state.space === "follow") [motion.e, motion.f] = [0, 0];
    return box.map((corner) => corner.matrixTransform(motion));
  });
  const span = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
  const [[west, east], [south, north]] = [span(corners.map(({ x }) => x)), span(corners.map(({ y }) => -y))];
  const width = MARGIN * Math.max(east - west, (north - south) / 4, 4);
  return { x: (west + east) / 2, y: (south + north) / 2, width, height: Math.max(MARGIN * (north - south), width / 4) };
}

// The lines of the last frames before one, in the place where they were seen. Older ones are fainter. Truth is grey and lies
// under the lines of the frame; predictions lie over its truth.
function trailOf(panel, frame, side) {
  const count = Number(state.trail);
  if (!count || !poseOf(frame)) return [];
  const frames = framesOfScene(sceneAt(frame));
  const at = frames.indexOf(frame);
  const before = frames.slice(Math.max(0, at - count), at);
  const lacking = before.filter((other) => !source.geometry(other));
  if (lacking.length) Promise.all(lacking.map(request)).then(() => state.frame === frame && lacking.some(source.geometry) && redraw());
  const here = placement(frame).multiply(motionOf(frame).inverse());
  return before.flatMap((other, k) => {
    const geometry = source.geometry(other);
    if (!geometry) return [];
    const { a, b, c, d, e, f } = here.multiply(motionOf(other));
    const strength = (0.45 * (k + 1)) / before.length;
    const paths = state.off.has(side) ? [] : trailPaths(panel.method, geometry, side);
    return [svgElement("g", { class: side === "truth" ? "trail" : "trail-over", transform: `matrix(${[a, b, c, d, e, f].join(" ")})`, "stroke-opacity": strength, "aria-hidden": "true" }, ...paths)];
  });
}

// One path for all lines of a class, so that a long trail has few nodes.
function trailPaths(method, geometry, side) {
  const paths = meta.classes.map(() => "");
  for (const { label, closed, line, confidence } of instancesOf(method, geometry, side)) {
    if (side === "truth" || confidence >= state.least) paths[label] += pathOf(line, closed);
  }
  return paths.flatMap((d, label) => (d && (state.of === "" || state.of === meta.classes[label]) ? [svgElement("path", { class: side, d, stroke: meta.colours[label] })] : []));
}

// What a trail is, for the legend.
function trailMarks(now) {
  if (now.trail === "0" || !poseOf(now.frame)) return [];
  const marks = {
    truth: ["trail: truth of the frames before", sampleLine("found", { "stroke-opacity": 0.45 })],
    predictions: ["trail: predictions of the frames before", sampleLine("thin", { stroke: meta.colours[0], "stroke-opacity": 0.45 })],
  };
  return Object.keys(marks).filter((side) => !now.off.has(side)).map((side) => marks[side]);
}

// Goes to a frame of the scene: `by` frames on.
function stepInTime(by) {
  const { frames } = clock;
  const next = frames[Math.min(Math.max(frames.indexOf(state.frame) + by, 0), frames.length - 1)];
  if (next !== undefined && next !== state.frame) change({ frame: next });
}

function stepInScenes(by) {
  const scenes = [...inTime.keys()];
  const next = scenes[scenes.indexOf(clock.scene) + by];
  if (next !== undefined) change({ frame: framesOfScene(next)[0] });
}

// Seconds from a frame to the next one, as they are played.
function pauseAfter(frame, next) {
  const seconds = known.arrays?.seconds;
  const real = seconds ? seconds[next] - seconds[frame] : USUAL;
  return Math.min(Math.max(real, SHORTEST), LONGEST) / Number(state.speed);
}

// How many frames of the scene are played in a second, on average.
function framesPerSecond() {
  const pauses = clock.frames.slice(1).map((next, k) => pauseAfter(clock.frames[k], next));
  return Number((pauses.length / pauses.reduce((sum, seconds) => sum + seconds, 0) || 1 / USUAL).toFixed(3));
}

// Plays the scene. A frame that has not come yet is waited for.
async function play() {
  const mine = (playing = {});
  showPlaying();
  if (clock.frames.at(-1) === state.frame) change({ frame: clock.frames[0] });
  let due = performance.now();
  while (playing === mine) {
    const at = clock.frames.indexOf(state.frame);
    const next = clock.frames[at + 1];
    if (next === undefined) break;
    due = Math.max(due + 1000 * pauseAfter(state.frame, next), performance.now());
    for (const frame of clock.frames.slice(at + 2, at + 2 + AHEAD)) if (known.state === "ready") request(frame);
    if (known.state === "ready") await request(next);
    await new Promise((resolve) => setTimeout(resolve, due - performance.now()));
    if (playing === mine && clock.frames.includes(state.frame)) change({ frame: next });
  }
  if (playing === mine) pause();
}

function pause() {
  playing = null;
  showPlaying();
}

function showPlaying() {
  $$("play").textContent = playing ? "❚❚ Pause" : "▶\ufe0e Play";
  $$("play").setAttribute("aria-pressed", String(playing !== null));
}

const curveNames = Object.fromEntries([...numberKeys.map((key) => [key, labelOf(key)]), ...Object.entries(meta.precisions)]);

// The value of a curve in a frame of the scene. Average precisions are asked for when they are needed.
function curveValue(method, key, frame) {
  if (key in columnOf) return numbersOf(method, key, state.of)[frame];
  const { scene } = clock;
  if (!precisionsOf.has(scene)) {
    precisionsOf.set(scene, null);
    packedFrom(`precisions?${new URLSearchParams({ name: scene })}`)
      .then(({ arrays }) => precisionsOf.set(scene, { arrays, place: new Map(Array.from(arrays.frames, (number, k) => [number, k])) }))
      .then(() => {
        clock.key = ""; // draws the curves again
        refresh(state);
      })
      .catch((error) => ($$("told").textContent = error.message));
  }
  const found = precisionsOf.get(scene);
  const row = state.of === "" ? 0 : 1 + meta.classes.indexOf(state.of);
  return found ? found.arrays[`${method}.${key}`][row * found.place.size + found.place.get(frame)] : NaN;
}

// The values that are drawn as curves: those of the address, or the first metric and its headline values. Images need the
// room of the latter.
function curveKeys() {
  const usual = meta.metrics.slice(0, 1).flatMap(({ key, headlines }) => [key, ...(meta.cameras ? [] : headlines)]);
  return (state.curves === "" ? usual : state.curves.split(" ")).filter((key) => key in curveNames);
}

// Where a frame of the scene is on the axis of the curves, in pixels.
const timeAt = (i) => clock.left + (i / Math.max(clock.frames.length - 1, 1)) * (clock.right - clock.left);

// Draws a curve for each value, with a line for each method, above the same axis as the slider.
function drawCurves(frames, keys) {
  const svg = $$("curves");
  const width = Math.max($$("clock").clientWidth, 300);
  $$("clock").style.setProperty("--values", `${VALUE * meta.methods.length + AXIS}px`); // so that no value covers a curve
  clock.left = $$("names-width").clientWidth;
  clock.right = width - CURVE_END;
  const nodes = keys.flatMap((key, row) => {
    const top = row * (CURVE + CURVE_GAP) + 4;
    const series = meta.methods.map((_, method) => frames.map((frame) => curveValue(method, key, frame)));
    const all = series.flat().filter((value) => !Number.isNaN(value));
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const y = (value) => top + CURVE - (high > low ? ((value - low) / (high - low)) * CURVE : CURVE / 2);
    const lines = series.map((values, method) => {
      let d = "";
      values.forEach((value, i) => {
        if (!Number.isNaN(value)) d += `${d && !Number.isNaN(values[i - 1]) ? "L" : "M"}${timeAt(i).toFixed(1)} ${y(value).toFixed(1)}`;
      });
      if (values.length === 1 && d) d += `H${(timeAt(0) + 6).toFixed(1)}`; // a point alone would not be seen
      return svgElement("path", { class: `curve outline-${method % 4}${method ? "" : " first"}`, d, stroke: meta.methodColours[method] });
    });
    const name = svgElement("text", { class: "name", x: 4, y: top + 13 }, curveNames[key]);
    const value = svgElement("text", { class: "now", x: 4, y: top + 28, "data-key": key });
    const range = all.length ? [svgElement("title", {}, `${curveNames[key]}: ${shown(key, low)} to ${shown(key, high)} in this scene. Values: ${meta.methods.join(" | ")}`)] : [];
    const tick = (number, at) => svgElement("text", { class: "axis", x: clock.left - 4, y: at, "text-anchor": "end" }, shown(key, number));
    const axis = all.length ? [tick(high, top + 9), ...(high > low ? [tick(low, top + CURVE)] : [])] : [];
    const box = svgElement("rect", { class: "field", x: clock.left, y: top, width: clock.right - clock.left, height: CURVE }, ...range);
    return [box, ...axis, ...lines, name, value];
  });
  const height = keys.length * (CURVE + CURVE_GAP) + 4;
  for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) svg.setAttribute(name, value);
  svg.replaceChildren(...nodes, svgElement("line", { class: "cursor", y1: 0, y2: height }));
  svg.setAttribute("aria-label", `${keys.map((key) => curveNames[key]).join(", ")} over the ${frames.length} frames of the scene`);
}

// Moves the slider and the cursor to the frame.
function showMoment() {
  const { frames } = clock;
  const at = frames.indexOf(state.frame);
  const seconds = known.arrays?.seconds;
  const time = seconds ? ` · ${(seconds[state.frame] - seconds[frames[0]]).toFixed(1)} s` : "";
  showLong($$("moment"), clock.scene, `: frame ${at + 1} of ${frames.length}${time}`, 0.8);
  Object.assign($$("moments"), { max: frames.length - 1, value: at, disabled: frames.length < 2 });
  $$("moments").setAttribute("aria-valuetext", $$("moment").textContent);
  const cursor = $$("curves").querySelector(".cursor");
  for (const name of ["x1", "x2"]) cursor.setAttribute(name, timeAt(at));
  for (const text of $$("curves").querySelectorAll(".now")) {
    const values = meta.methods.map((_, method) => shown(text.dataset.key, curveValue(method, text.dataset.key, state.frame)));
    text.replaceChildren(...values.flatMap((value, method) => [method ? " | " : "", svgElement("tspan", { class: method ? "" : "first" }, value)]));
  }
  const scenes = [...inTime.keys()];
  $$("step-back").disabled = at === 0;
  $$("step-on").disabled = at === frames.length - 1;
  $$("scene-before").disabled = scenes.indexOf(clock.scene) === 0;
  $$("scene-after").disabled = scenes.indexOf(clock.scene) === scenes.length - 1;
}

extras.push({
  defaults: { space: "", trail: "0", speed: "1", curves: "" },
  allows: (key, text) => ({ space: Object.keys(SPACES), trail: TRAILS, speed: SPEEDS })[key]?.includes(text) ?? true,
  below: (panel, frame) => trailOf(panel, frame, "truth"),
  over: (panel, frame) => trailOf(panel, frame, "predictions"),
  marks: trailMarks,
  whole: wholeWorld,
  passing: () => playing !== null,

  // Plays the rest of a scene, unless the frames have no order.
  playFrom(frame) {
    if (!areInTime()) return false;
    if (clock.frames.at(-1) === frame) pause();
    else play();
    return true;
  },

  placed(frame) {
    const { a, b, c, d, e, f } = placement(frame);
    return state.space === "" ? "" : `matrix(${[a, b, c, d, e, f].join(" ")})`;
  },

  build(change) {
    $$("time").hidden = !areInTime();
    $$("workbench").append($$("time"));
    options("speed", SPEEDS.map((value) => [value, `${value}×`]));
    options("space", Object.entries(SPACES));
    options("trail", TRAILS.map((value) => [value, value === "0" ? "none" : `${value} frames`]));
    for (const key of ["speed", "space", "trail"]) $$(key).addEventListener("change", () => change({ [key]: $$(key).value, ...(key === "space" ? { view: null } : {}) }));
    const chosen = (key, on) => {
      const keys = new Set(curveKeys());
      if (on) keys.add(key);
      else keys.delete(key);
      change({ curves: Object.keys(curveNames).filter((each) => keys.has(each)).join(" ") });
    };
    boxes("curve-boxes", "checkbox", Object.entries(curveNames), "curve", chosen);
    document.addEventListener("click", ({ target }) => ($$("curve-choice").open &&= $$("curve-choice").contains(target)));
    $$("play").addEventListener("click", () => (playing ? pause() : play()));
    $$("step-back").addEventListener("click", () => stepInTime(-1));
    $$("step-on").addEventListener("click", () => stepInTime(1));
    $$("scene-before").addEventListener("click", () => stepInScenes(-1));
    $$("scene-after").addEventListener("click", () => stepInScenes(1));
    $$("moments").addEventListener("input", () => change({ frame: clock.frames[Number($$("moments").value)] }));
    $$("curves").addEventListener("click", (event) => {
      const box = $$("curves").getBoundingClientRect();
      const share = (event.clientX - box.left - clock.left) / (clock.right - clock.left);
      const frame = clock.frames[Math.round(share * (clock.frames.length - 1))];
      if (frame !== undefined) change({ frame });
    });
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, button, summary")) return;
      if (event.key === " ") playing ? pause() : play();
      else if (event.key === "," || event.key === ".") stepInTime(event.key === "," ? -1 : 1);
      else return;
      event.preventDefault();
    });
  },

  // What is drawn may depend on the frame, so the panels are arranged before they are drawn.
  toggle(now) {
    const place = `${sceneAt(now.frame)} ${known.arrays?.areas?.[now.frame]}`;
    if (now.space === seen.space && (now.space !== "world" || place === seen.place)) return;
    seen = { space: now.space, place };
    fitPanels();
  },

  ready() {
    inTime = null;
    clock.key = "";
    $$("time").hidden = !areInTime();
    const moves = Boolean(known.arrays?.tracks);
    for (const id of ["space", "trail"]) {
      $$(id).disabled = !moves;
      $$(`${id}-label`).title = moves ? "" : "The files have no poses.";
    }
    if (moves && state.space !== "") fitPanels();
  },

  show(now, differs) {
    if (!areInTime()) return;
    const scene = sceneAt(now.frame);
    const key = JSON.stringify([scene, now.curves, now.of, now.method, $$("clock").clientWidth]);
    if (key !== clock.key) {
      clock = { scene, frames: framesOfScene(scene), key };
      drawCurves(clock.frames, curveKeys());
    }
    showMoment();
    for (const id of ["speed", "space", "trail"]) $$(id).value = now[id];
    for (const box of document.querySelectorAll("[data-curve]")) box.checked = curveKeys().includes(box.dataset.curve);
    if (!differs("frame") && differs("space", "trail", ...(now.trail === "0" ? [] : ["least", "off", "of"]))) redraw();
  },
});
