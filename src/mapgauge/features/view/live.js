// The source of the data in `mapgauge view`: its server. Values come at once, the geometry of a frame when it is shown.

const KEPT = 400; // frames whose geometry is in memory
const heldFrames = new Map(); // by frame: its geometry, the last used ones at the end
const asked = new Map(); // by frame: the promise of its geometry
const failures = new Map(); // by frame: why its geometry did not come
const opened = performance.now();
let unchecked; // the promise that a frame is drawn before all are read, or that it cannot be
let known = { state: "reading", failure: "", bounds: null }; // about predictions and truth, from the server

// The answer to a request. The address of the page ends with a slash, so that `path` is below it.
async function answerTo(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("The server has ended. Start mapgauge view again.");
  }
  if (!answer.ok) throw new Error(await answer.text());
  return answer;
}

// Arrays and further values, as server.py packs them.
async function packedFrom(path) {
  const bytes = await (await answerTo(path)).arrayBuffer();
  const length = new DataView(bytes).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 8, length)));
  return { ...header, arrays: Object.fromEntries(unpacked(bytes, header.arrays, 8 + length)) };
}

// Asks for the geometry of a frame, unless it is there or on its way.
function request(frame) {
  if (heldFrames.has(frame) || failures.has(frame)) return Promise.resolve();
  if (!asked.has(frame)) {
    const answer = packedFrom(`frame/${frame}`)
      .then(({ arrays }) => heldFrames.set(frame, { arrays, place: 0 }))
      .catch((error) => failures.set(frame, error.message))
      .then(() => {
        asked.delete(frame);
        for (const old of heldFrames.keys()) if (heldFrames.size > KEPT && old !== state.frame) heldFrames.delete(old);
        if (frame === state.frame) redraw();
        fillThumbs(); // the examples and the grid have waited for it
      });
    asked.set(frame, answer);
  }
  return asked.get(frame);
}

// Waits until the chosen frame can be drawn, if one is chosen.
const firstDrawing = async () => state.frame === null || request(state.frame);

// Draws the chosen frame before all frames are read, if it can be read alone. It is asked for again after that: only then
// it is known whether the files have what was evaluated.
async function drawUnchecked() {
  const frame = state.frame;
  if (frame === null) return;
  try {
    const { found, bounds, arrays } = await packedFrom(`unchecked/${frame}`);
    if (!found) return;
    heldFrames.set(frame, { arrays, place: 0 });
    known.bounds = bounds;
  } catch {
    return; // reading all frames says what is wrong
  }
  fitPanels();
  showStatus();
  redraw();
}

// Waits until predictions and truth are read, and draws the frame.
async function awaitGeometry() {
  do {
    try {
      known = { bounds: known.bounds, ...(await packedFrom("geometry")) };
    } catch (error) {
      known = { state: "failed", failure: error.message };
    }
    if (known.state === "reading") showStatus();
  } while (known.state === "reading");
  heldFrames.clear(); // the frame that was not checked
  if (known.state === "ready") {
    meta.ego = !known.world;
    if (known.world) meta.region = null;
    fitPanels();
  }
  for (const extra of extras) extra.ready?.(known);
  showStatus();
  redraw();
  if (known.state === "ready") firstDrawing().then(fillThumbs); // asks for their frames
}

// What is read, with how much of it is done if that is known.
function readingNow() {
  const { done, count } = known;
  const seconds = Math.round((performance.now() - opened) / 1000);
  const methods = count > 1 ? `, ${done} of ${count} methods` : "";
  const drawn = heldFrames.size ? " The drawn frame is not checked yet." : "";
  return `Reading predictions and truth${methods}${seconds > 1 ? `, ${seconds} s` : ""} …${drawn}`;
}

function showStatus() {
  const status = document.getElementById("status");
  const texts = { reading: readingNow(), failed: `Frames cannot be drawn: ${known.failure}`, ready: known.note ? `There are no poses: ${known.note}` : "" };
  status.textContent = texts[known.state];
  status.classList.toggle("failed", known.state === "failed" || Boolean(known.note));
}

const source = {
  async load() {
    Object.assign(arrays, (await packedFrom("values")).arrays);
    showStatus();
    unchecked = new Promise((resolve) => setTimeout(resolve)).then(drawUnchecked); // the page is built before the timer
    unchecked.finally(awaitGeometry);
    if (meta.tabs) tellTabs();
  },

  geometry(frame) {
    const found = heldFrames.get(frame) ?? null;
    if (found) heldFrames.delete(frame); // put at the end
    if (found) heldFrames.set(frame, found);
    else if (known.state === "ready") request(frame);
    return found;
  },

  // Whether the geometry of a frame is on its way, so that the drawing before it may stay.
  waiting: (frame) => asked.has(frame),

  absence() {
    if (known.state === "failed") return `This frame cannot be drawn: ${known.failure}`;
    return failures.get(state.frame) ?? readingNow();
  },

  // Asks for what sections of the page show of a whole scene. Returns nothing as long as the data are read.
  scene: (name) => (known.state === "ready" ? packedFrom(`scene?${new URLSearchParams({ name })}`) : null),

  // What needs the geometry is asked for after the first drawing, which would otherwise come later.
  async answer(what) {
    await (what === "geometry" ? firstDrawing() : unchecked);
    return (await answerTo(`answer/${what}`)).json();
  },

  // The causes of all frames, which are known after the answer.
  async causes() {
    Object.assign(arrays, (await packedFrom("causes")).arrays);
  },

  // The panel "where". Calls a function with how much of it is done, a text.
  async panel(tell) {
    await firstDrawing();
    for (;;) {
      const found = await (await answerTo("panel")).json();
      if (found.state === "failed") throw new Error(found.failure);
      if (found.state === "ready") return found.body;
      const share = found.total ? Math.floor((100 * found.done) / found.total) : 0;
      const what = share < 100 ? `${share} %` : "finding the worst places";
      tell(`Map of ${found.frames.toLocaleString("en")} ${found.frames === 1 ? "frame" : "frames"}: ${what}`);
    }
  },

  scenes: () => known.scenes ?? null,

  bounds: () => known.bounds ?? [Infinity, -Infinity, Infinity, -Infinity],
};

// Tells the server that this tab is open, and when it is closed, so that the server can end with the last one.
function tellTabs() {
  const tab = crypto.randomUUID();
  const alive = () => fetch(`alive/${tab}`).catch(() => {});
  alive();
  setInterval(alive, 20_000);
  addEventListener("pageshow", alive);
  addEventListener("pagehide", () => fetch(`closed/${tab}`, { keepalive: true }).catch(() => {}));
}
