// What the page holds: names and settings as JSON, numbers as typed arrays, and values derived from them.

const meta = JSON.parse(document.getElementById("meta").textContent);
const frameCount = meta.tokens.length;
const classCount = meta.classes.length;
const SUMS = 6; // of PLD, by frame and class: five parts and the mass
const MASS = 5;

const TYPES = { int16: Int16Array, int32: Int32Array, uint8: Uint8Array, float32: Float32Array };
const arrays = {};

async function unpack() {
  const text = atob(document.getElementById("data").textContent.trim());
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const block = await new Response(stream).arrayBuffer();
  for (const [name, [type, start, size]] of Object.entries(meta.arrays)) {
    arrays[name] = new TYPES[type](block, start, size);
  }
}

// The columns of the list. Text columns have no numbers to compute with.
const pldKeys = !meta.pld
  ? []
  : meta.order === 1
    ? ["pld", "localisation", "detection", ...meta.parts.map((part) => part.key)]
    : ["pld"];
const numberKeys = [...pldKeys, "predictions", "truth", ...meta.hits];
const columnKeys = ["token", ...(meta.scenes ? ["scene"] : []), ...numberKeys];
const METRIC_NAMES = { ap_chamfer: "Chamfer", ap_frechet: "Fréchet", ap_sospa: "SOSPA" };

function labelOf(key) {
  if (key === "pld") return "PLD";
  if (!key.startsWith("hits:")) return key.replaceAll("_", " ");
  const [metric, threshold] = key.slice(5).split("@");
  return `${METRIC_NAMES[metric] ?? metric} hits at ${threshold}`;
}

const isWhole = (key) => key.startsWith("hits:") || key === "predictions" || key === "truth";

function shown(key, value, signed) {
  if (Number.isNaN(value)) return "-";
  const text = isWhole(key) ? String(value) : value.toFixed(3);
  return signed && value > 0 ? `+${text}` : text;
}

// Which classes a choice of the list means: one, or all of them pooled.
const classesOf = (name) => (name === "" ? meta.classes.map((_, c) => c) : [meta.classes.indexOf(name)]);

// Values of one frame, as Results.frames has them; NaN where there is nothing to have a value.
function frameValues(method, frame, classes, out = {}) {
  let predictions = 0;
  let truth = 0;
  for (const c of classes) {
    predictions += arrays[`${method}.predicted`][frame * classCount + c];
    truth += arrays[`${method}.true`][frame * classCount + c];
  }
  out.predictions = predictions;
  out.truth = truth;
  meta.hits.forEach((key, h) => {
    out[key] = 0;
    for (const c of classes) out[key] += arrays[`${method}.hits`][(h * frameCount + frame) * classCount + c];
  });
  if (meta.pld) {
    const sums = sumsOf(method, frame, classes);
    const value = sums.slice(0, MASS).reduce((a, b) => a + b, 0) ** (1 / meta.order);
    const mass = sums[MASS] ** (1 / meta.order);
    const factor = mass > 0 ? 2 / (mass + value) : 0;
    const there = predictions + truth > 0;
    out.pld = there ? Math.min(value * factor, 1) : NaN;
    if (meta.order === 1) {
      meta.parts.forEach((part, k) => (out[part.key] = there ? sums[k] * factor : NaN));
      out.localisation = out[meta.parts[0].key];
      out.detection = there ? (value - sums[0]) * factor : NaN;
    }
  }
  return out;
}

function sumsOf(method, frame, classes) {
  const sums = new Array(SUMS).fill(0);
  for (const c of classes) {
    for (let k = 0; k < SUMS; k++) sums[k] += arrays[`${method}.parts`][(frame * classCount + c) * SUMS + k];
  }
  return sums;
}

// All columns of the list. `choice` is a method ("0"), or two of them ("1-0"): the first minus the second.
function columnsOf(choice, className) {
  const classes = classesOf(className);
  const [first, second] = choice.split("-");
  const columns = Object.fromEntries(numberKeys.map((key) => [key, new Float64Array(frameCount)]));
  const one = {};
  const other = {};
  for (let frame = 0; frame < frameCount; frame++) {
    frameValues(first, frame, classes, one);
    if (second !== undefined) frameValues(second, frame, classes, other);
    for (const key of numberKeys) columns[key][frame] = second === undefined ? one[key] : one[key] - other[key];
  }
  return columns;
}

// Where a frame is among those that can be drawn; -1 if it cannot.
const drawnAt = new Int32Array(frameCount).fill(-1);
meta.drawn.forEach((frame, place) => (drawnAt[frame] = place));

// Undo differences: `steps` has two columns one after the other; the sums wrap around as the differences did.
function lineOf(steps, begin, end) {
  const half = steps.length / 2;
  const x = new steps.constructor(end - begin);
  const y = new steps.constructor(end - begin);
  for (let i = 0; i < x.length; i++) {
    x[i] = steps[begin + i] + (i ? x[i - 1] : 0);
    y[i] = steps[half + begin + i] + (i ? y[i - 1] : 0);
  }
  return { x, y };
}

// The instances of a drawn frame: of one side, with what is known of their partners.
function instancesOf(method, place, side) {
  const of = (name) => arrays[`${method}.${side}.${name}`];
  const found = [];
  for (let i = of("frames")[place]; i < of("frames")[place + 1]; i++) {
    found.push({
      side,
      number: found.length,
      label: of("label")[i],
      closed: of("closed")[i] === 1,
      confidence: of("confidence")[i],
      line: lineOf(of("coords"), of("points")[i], of("points")[i + 1]),
      match: null,
    });
  }
  return found;
}

// A drawn frame of one method: predictions, truth, and matches, which both sides of them know.
function sceneOf(method, place) {
  const predictions = instancesOf(method, place, "predictions");
  const truth = instancesOf(method, place, "truth");
  const of = (name) => arrays[`${method}.matches.${name}`];
  const matches = [];
  for (let i = of("frames")[place]; i < of("frames")[place + 1]; i++) {
    const match = {
      prediction: predictions[of("prediction")[i]],
      truth: truth[of("truth")[i]],
      distance: of("distance")[i],
      costs: Array.from(of("costs").subarray(3 * i, 3 * i + 3)),
      pairs: lineOf(of("pairs"), of("points")[i], of("points")[i + 1]),
    };
    match.prediction.match = match;
    match.truth.match = match;
    matches.push(match);
  }
  return { predictions, truth, matches };
}
