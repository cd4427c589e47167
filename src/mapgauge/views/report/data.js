// Reads the data of the page: names and settings as JSON, numbers as typed arrays. `source` has the arrays.

const meta = JSON.parse(document.getElementById("meta").textContent);
const frameCount = meta.tokens.length;
const classCount = meta.classes.length;

const arrays = {}; // the values of all frames, and in a report the geometry of those that can be drawn
const extras = []; // what scripts of sections add to the page; explorer.js says what they can do

// Named arrays in a block, which begin at `base`.
function unpacked(block, directory, base = 0) {
  const types = { int16: Int16Array, int32: Int32Array, uint8: Uint8Array, float32: Float32Array, float64: Float64Array };
  return Object.entries(directory).map(([name, [type, start, size]]) => [name, new types[type](block, base + start, size)]);
}

// The columns of the list. The titles of columns with numbers come with the data.
const columnOf = Object.fromEntries(meta.columns.map((column) => [column.key, column]));
const numberKeys = meta.columns.map((column) => column.key);
const columnKeys = ["token", ...(meta.scenes ? ["scene"] : []), ...numberKeys];

const labelOf = (key) => columnOf[key]?.title ?? key.replaceAll("_", " ");
const isWhole = (key) => columnOf[key]?.whole ?? false;

function shown(key, value, signed) {
  if (Number.isNaN(value)) return "-";
  const text = isWhole(key) ? String(value) : value.toFixed(3);
  return signed && value > 0 ? `+${text}` : text;
}

// The numbers of all frames, for all classes pooled ("") or for one class.
function numbersOf(method, key, className) {
  const start = (className === "" ? 0 : 1 + meta.classes.indexOf(className)) * frameCount;
  return arrays[`${method}.value.${key}`].subarray(start, start + frameCount);
}

// The numbers of one frame by key.
function frameValues(method, frame, className) {
  return Object.fromEntries(numberKeys.map((key) => [key, numbersOf(method, key, className)[frame]]));
}

// All columns of the list. `choice` is a method ("0") or a difference ("1-0": method 1 minus method 0).
function columnsOf(choice, className) {
  const [first, second] = choice.split("-");
  const difference = (key) => {
    const minus = numbersOf(second, key, className);
    return Float64Array.from(numbersOf(first, key, className), (value, frame) => value - minus[frame]);
  };
  return Object.fromEntries(
    numberKeys.map((key) => [key, second === undefined ? Float64Array.from(numbersOf(first, key, className)) : difference(key)]),
  );
}

// The index of a frame among those that can be drawn, or -1. `meta.drawn` is null if all can.
const drawnAt = meta.drawn ? new Int32Array(frameCount).fill(-1) : Int32Array.from({ length: frameCount }, (_, frame) => frame);
meta.drawn?.forEach((frame, place) => (drawnAt[frame] = place));
const drawnCount = meta.drawn ? meta.drawn.length : frameCount;

// In a report, the geometry of most frames is in further blocks, which are read after the first drawing.
const laterAt = new Int32Array(frameCount).fill(-1); // the block of a frame
(meta.later ?? []).forEach(({ frames }, block) => frames.forEach((frame) => (laterAt[frame] = block)));
const canDraw = (frame) => drawnAt[frame] >= 0 || laterAt[frame] >= 0;
const drawableCount = meta.drawn ? drawnCount + (meta.later ?? []).reduce((sum, { frames }) => sum + frames.length, 0) : frameCount;

// The reasons why a frame was chosen to be drawn.
const reasonsOf = (frame) => (meta.why[drawnAt[frame]] ?? []).map((k) => meta.reasons[k]);

// Coordinates to the right and up from those of the data, which have x forward and y to the left.
const upright = ({ x, y }) => ({ x: y.map((value) => -value), y: x });
const uprightSize = ([length, width]) => [width, length];

// The two columns of a polyline from their differences. The sums wrap around, as the differences did.
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

// The instances of one side of a drawn frame, from `source.geometry`. `match` is set later.
function instancesOf(method, { arrays, place }, side) {
  const of = (name) => arrays[`${method}.${side}.${name}`];
  const found = [];
  for (let i = of("frames")[place]; i < of("frames")[place + 1]; i++) {
    found.push({
      side,
      number: found.length,
      label: of("label")[i],
      closed: of("closed")[i] === 1, // ignored lines have no flag
      confidence: of("confidence")[i],
      line: upright(lineOf(of("coords"), of("points")[i], of("points")[i + 1])),
      far: of("far")?.subarray(of("points")[i], of("points")[i + 1]), // of predictions: a level for each piece
      causes: meta.causes.length && of("causes") ? causesOf(of, i) : [],
      match: null,
    });
  }
  return found;
}

// The first cause of each instance, from the numbers of causes.
const firsts = new WeakMap();
function firstCauses(counts) {
  if (!firsts.has(counts)) {
    const first = new Int32Array(counts.length + 1);
    counts.forEach((count, i) => (first[i + 1] = first[i] + count));
    firsts.set(counts, first);
  }
  return firsts.get(counts);
}

// The causes of the costs of an instance, the largest first.
function causesOf(of, i) {
  const found = [];
  const first = firstCauses(of("causes"));
  for (let k = first[i]; k < first[i + 1]; k++) found.push({ cause: of("cause")[k], cost: of("cost")[k] });
  return found.sort((a, b) => b.cost - a.cost);
}

// The factor from a cost to its share of PLD in a drawn frame: of one class, or of all classes pooled (""). Classes without
// lines have the factor 0.
function scaleOf(method, { arrays, place }, className) {
  const scales = arrays[`${method}.scale`].subarray(place * classCount, (place + 1) * classCount);
  if (className !== "") return scales[meta.classes.indexOf(className)];
  return 1 / scales.reduce((sum, scale) => sum + (scale > 0 ? 1 / scale : 0), 0);
}

// A drawn frame of one method: predictions, truth, matches, and lines that are ignored. Matched instances refer to their match.
function sceneOf(method, geometry) {
  const { arrays, place } = geometry;
  const predictions = instancesOf(method, geometry, "predictions");
  const truth = instancesOf(method, geometry, "truth");
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
  const ignored = `${method}.ignored.frames` in arrays ? instancesOf(method, geometry, "ignored") : [];
  return { predictions, truth, matches, ignored, links: linksOf(method, geometry, predictions, truth) };
}

// The links between lanes of a drawn frame. States are in the order of drawing.
function linksOf(method, { arrays, place }, predictions, truth) {
  const of = (name) => arrays[`${method}.links.${name}`];
  const found = [];
  for (let i = of("frames")[place]; i < of("frames")[place + 1]; i++) {
    const side = of("predicted")[i] === 1 ? predictions : truth;
    found.push({ state: meta.linkStates[of("state")[i]], source: side[of("source")[i]], target: side[of("target")[i]], score: of("score")[i] });
  }
  return found;
}
