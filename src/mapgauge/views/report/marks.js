// Colours the lines of the drawings. One mode at a time: errors, classes, distances or causes. Which lines are matched, and
// how far every piece of a prediction is from the truth, comes with the data (results/marks.py).

const [ERRORS, CLASSES, OFFSET] = ["errors", "classes", "offset"];
const NEAR_TO_FAR = ["#2166ac", "#1b9e9e", "#6a9f00", "#d19a00", "#e0561b", "#b3003c"]; // equal steps up to the cutoff
const BEYOND = "#8e44ad";

// The modes of this page, and their names. The first is the one that the page begins with.
const MODES = [
  ...(meta.matched ? [[ERRORS, "errors"]] : []),
  [CLASSES, "classes"],
  ...(meta.cutoff ? [[OFFSET, "distances"]] : []),
  ...(meta.causes.length ? [[EVERY, "causes"]] : []),
];

// The mode of a choice of colours: a mode itself, or that of causes for a cause or a family of causes.
const modeOf = (chosen) => (MODES.some(([mode]) => mode === chosen) ? chosen : EVERY);

// The colour of a piece of a prediction that is far from the truth; null for one that is near.
function farColour(level) {
  const { near, steps, far } = meta.marks;
  return level < near ? null : far[Math.min(Math.floor(((level - near) * (far.length - 1)) / (steps - near)), far.length - 1)];
}

// The width of a prediction in pixels.
const strokeWidth = ({ confidence }) => meta.marks.thinnest + (meta.marks.widest - meta.marks.thinnest) * confidence;

// The pieces of a prediction as few longer lines of one level: [level, first point, last point].
function stretchesOf({ line, closed, far }) {
  const count = Math.max(closed ? line.x.length : line.x.length - 1, 1);
  const runs = [];
  for (let i = 0; i < count; i++) {
    const level = far ? far[i] : 0;
    if (runs.length && runs.at(-1)[0] === level) runs.at(-1)[2] = i + 1;
    else runs.push([level, i, i + 1]);
  }
  return runs;
}

// The lines of an instance in a drawing: pieces of a prediction by their distance, and the rim and hatches of missed truth.
function strokesOf(instance) {
  const { side, line, closed } = instance;
  if (side === "truth") return lineStrokes(pathOf(line, closed), instance);
  const count = line.x.length;
  const at = (i) => `${line.x[i % count] / METRE} ${-line.y[i % count] / METRE}`;
  return stretchesOf(instance).map(([level, first, last]) => {
    let d = `M${at(first)}`;
    for (let i = first + 1; i <= last && count > 1; i++) d += `L${at(i)}`;
    return pieceStroke(count > 1 ? d : `${d}h0`, level);
  });
}

function pieceStroke(d, level) {
  const stroke = svgElement("path", { class: "stroke", d });
  stroke.dataset.level = level;
  return stroke;
}

function lineStrokes(d, { match }) {
  const stroke = svgElement("path", { class: "stroke", d });
  if (!meta.matched || match) return [stroke];
  return [svgElement("path", { class: "rim", d }), stroke, svgElement("path", { class: "hatch", d })];
}

// Colours all lines of a panel and of its images.
function applyMode(panel, chosen) {
  const mode = modeOf(chosen);
  for (const svg of [panel.svg, ...panel.images]) svg.dataset.mode = mode;
  for (const { layer, instance, node } of panel.nodes) {
    if (layer !== "truth" && layer !== "predictions" && layer !== "dots" && layer !== "pairs") continue;
    node.classList.remove("aside", "caused");
    for (const casing of node.querySelectorAll(".casing")) casing.remove();
    const colour = meta.colours[instance.label];
    if (layer === "dots") node.querySelector(".outer").setAttribute("stroke", colour);
    for (const stroke of node.querySelectorAll(".stroke")) {
      stroke.removeAttribute("stroke-opacity");
      stroke.setAttribute("stroke", layer === "predictions" ? pieceColour(mode, Number(stroke.dataset.level), colour) : colour);
    }
  }
  if (mode === EVERY) applyCauses(panel, chosen);
}

function pieceColour(mode, level, colour) {
  if (mode === ERRORS) return farColour(level) ?? colour;
  if (mode === OFFSET) return NEAR_TO_FAR[level] ?? BEYOND;
  return colour;
}

const sample = (...parts) => svgElement("svg", { class: "sample", width: 26, height: 12, "aria-hidden": "true" }, ...parts);
const sampleLine = (name, properties = {}) => svgElement("path", { class: name, d: "M1 6H25", ...properties });

// What the marks mean that are drawn in all modes, or in all but one.
function commonMarks(mode) {
  const items = [];
  const add = (text, ...parts) => items.push(element("li", {}, sample(...parts), ` ${text}`));
  if (meta.matched && mode !== OFFSET) {
    const dots = (side, d) => ["outer", "inner"].map((name) => svgElement("path", { class: `${name} of-${side}`, d, stroke: meta.colours[0] }));
    add("matched points", svgElement("path", { class: "ticks", d: "M4 1V11M13 1V11M22 1V11" }));
    add("unmatched points of truth and predictions", ...dots("truth", "M3 6h0M9 6h0"), ...dots("predictions", "M17 6h0M23 6h0"));
    items.push(element("li", { textContent: `points: from ${LEGIBLE} px per metre, zoom in` }));
  }
  for (const link of meta.linkStates) add(`${link} link`, linkSample(link));
  for (const [text, ...parts] of extras.flatMap((extra) => extra.marks?.(state) ?? [])) add(text, ...parts);
  if (meta.ignored) add("ignored truth", sampleLine("dotted", { stroke: meta.colours[0] }));
  if (meta.region) add("region of the protocol", svgElement("rect", { class: "box", x: 1, y: 1, width: 24, height: 10 }));
  if (meta.ego) add("ego", svgElement("path", { class: "ego", d: EGO, transform: "translate(13 7) scale(2.6)" }));
  return items;
}

// A link from the left to the right, as linkNode draws it.
function linkSample(link) {
  return svgElement("g", { class: `link ${link}` }, svgElement("path", { class: "shaft", d: "M2 9Q11 1 21 6" }), svgElement("path", { class: "head", d: "M25 8L19 8.5L21 3Z" }));
}

// What the marks of the mode mean. Causes have their own legend.
function showMarks(chosen) {
  const mode = modeOf(chosen);
  if (mode === EVERY) return;
  $$("cause-key").hidden = !panels[0].geometry;
  $$("cause-key").dataset.mode = mode;
  const metres = (value) => `${Number(value.toFixed(2))} m`;
  const items = [];
  const add = (text, ...parts) => items.push(element("li", {}, sample(...parts), ` ${text}`));
  const near = meta.cutoff ? (meta.cutoff * meta.marks.near) / meta.marks.steps : 0;
  if (mode === ERRORS) {
    add(`truth found: matched by PLD${meta.cutoff ? ` within ${metres(meta.cutoff)}` : ""}`, sampleLine("found"));
    add("by a hidden prediction", sampleLine("found faintly"));
    add("truth missed", sampleLine("rim"), sampleLine("inner"), sampleLine("hatch"));
    add(`prediction up to ${metres(near)} from the truth: colour of its class`, sampleLine("thin", { stroke: meta.colours[0] }));
    meta.marks.far.forEach((colour, k) => {
      const from = near + (k * (meta.cutoff - near)) / (meta.marks.far.length - 1);
      add(`from ${metres(from)}`, sampleLine("thin", { stroke: colour }));
    });
  }
  if (mode === CLASSES) {
    add("truth", sampleLine("band", { stroke: meta.colours[0] }));
    if (meta.matched) add("truth missed", sampleLine("band dashed", { stroke: meta.colours[0] }));
    add("prediction", sampleLine("thin", { stroke: meta.colours[0] }));
  }
  if (mode === OFFSET) {
    add("truth", sampleLine("found"));
    if (meta.matched) add("truth missed", sampleLine("found dashed"));
    NEAR_TO_FAR.forEach((stroke, k) => add(`up to ${metres(((k + 1) * meta.cutoff) / NEAR_TO_FAR.length)}`, sampleLine("thin", { stroke })));
    add(`farther than ${metres(meta.cutoff)} from the truth`, sampleLine("thin", { stroke: BEYOND }));
  }
  if (meta.matched) add("false prediction", sampleLine("thin dashed"));
  items.push(element("li", { textContent: "width: confidence" }), ...commonMarks(mode));
  $$("cause-key").replaceChildren(...items);
}

// The buttons of the modes.
function buildModes(onChoose) {
  $$("modes").hidden = MODES.length < 2;
  for (const [mode, name] of MODES) {
    const button = element("button", { type: "button", textContent: name });
    button.dataset.mode = mode;
    button.addEventListener("click", () => onChoose(mode));
    $$("modes").append(button);
  }
}

function showModes(chosen) {
  for (const button of $$("modes").querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.mode === modeOf(chosen)));
}
