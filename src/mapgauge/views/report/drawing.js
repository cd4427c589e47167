// Draws the chosen frame in bird's-eye view, in one panel per method. All panels show the same view. Coordinates have forward
// up; view.js turns the paper if a frame is larger so.

const METRE = 100; // coordinates are in centimetres
const LAYERS = { truth: "truth", predictions: "predictions", pairs: "matched pairs", dots: "unmatched points", links: "links of lanes", ignored: "ignored truth" };
const panels = []; // one per method: { figure, values, svg, paper, scale, none, save, size, nodes, instances, images, geometry }
let pointed = null; // the instance under the pointer or with focus: { panel, instance }
const lineTip = element("div", { id: "line-tip", className: "tip", hidden: true });
let pinned = false; // whether it stays marked, because it was clicked

// Arranges the panels by the shape of what they show.
function fitPanels() {
  whole = wholeView();
  const parent = document.getElementById("panels");
  parent.classList.toggle("stacked", whole.width > 1.3 * whole.height);
  parent.style.setProperty("--aspect", `${whole.width} / ${whole.height}`);
  for (const panel of panels) panel.size = null;
}

function buildPanels(onView, onSave) {
  fitPanels();
  document.getElementById("workbench").append(lineTip);
  const parent = document.getElementById("panels");
  meta.methods.forEach((name, method) => {
    const values = element("span");
    const paper = svgElement("g", { class: "paper" });
    const svg = svgElement("svg", { tabindex: "0", role: "group", "aria-label": `Drawing of ${name}` }, paper);
    const scale = element("div", { className: "scale", ariaHidden: "true" });
    const none = element("p", { className: "none", hidden: true });
    const stage = element("div", { className: "stage" }, svg, scale, none);
    const save = element("button", { type: "button", className: "save", textContent: "SVG", title: "Save this drawing as SVG", ariaLabel: `Save the drawing of ${name} as SVG` });
    const caption = element("figcaption", {}, element("strong", { textContent: name }), save, values);
    const figure = element("figure", { className: "panel" }, caption, stage);
    const panel = { method, figure, values, svg, paper, scale, none, save, size: null, nodes: [], instances: [], images: [], geometry: null };
    panels.push(panel);
    parent.append(figure);
    save.addEventListener("click", () => onSave(panel));
    listen(panel, onView);
  });
}

function pathOf(line, closed) {
  let path = "";
  for (let i = 0; i < line.x.length; i++) path += `${i ? "L" : "M"}${line.x[i] / METRE} ${-line.y[i] / METRE}`;
  return line.x.length === 1 ? `${path}h0` : closed ? `${path}Z` : path;
}

const dotsOf = (line, places) => places.map((i) => `M${line.x[i] / METRE} ${-line.y[i] / METRE}h0`).join("");

function unmatchedPoints(instance) {
  const all = Array.from(instance.line.x.keys());
  if (!instance.match) return all;
  const taken = new Set(instance.side === "truth" ? instance.match.pairs.y : instance.match.pairs.x);
  return all.filter((i) => !taken.has(i));
}

function pairsPath({ prediction, truth, pairs }) {
  let path = "";
  for (let k = 0; k < pairs.x.length; k++) {
    const [i, j] = [pairs.x[k], pairs.y[k]];
    path += `M${prediction.line.x[i] / METRE} ${-prediction.line.y[i] / METRE}`;
    path += `L${truth.line.x[j] / METRE} ${-truth.line.y[j] / METRE}`;
  }
  return path;
}

const EGO = "M0 -2.2L1 1.6L0 0.9L-1 1.6Z"; // an arrow, in metres; all drawings have the same

const INSIDE = 2.5; // metres: an arrow begins so far before the end of a lane, and ends so far behind the start of the next

// The point so far behind the start of a line, or its middle if the line is short.
function inside({ x, y }, backward) {
  const at = Array.from(x, (value, i) => [value / METRE, -y[i] / METRE]);
  if (backward) at.reverse();
  const walked = [0];
  for (let i = 1; i < at.length; i++) walked.push(walked[i - 1] + Math.hypot(at[i][0] - at[i - 1][0], at[i][1] - at[i - 1][1]));
  const far = Math.min(INSIDE, walked.at(-1) / 2);
  const i = Math.max(1, walked.findIndex((value) => value >= far));
  if (at.length < 2) return at[0];
  const share = (far - walked[i - 1]) / (walked[i] - walked[i - 1] || 1);
  return [0, 1].map((k) => at[i - 1][k] + share * (at[i][k] - at[i - 1][k]));
}

// An arrow from the end of a lane to the start of the next one.
function linkNode({ state, source, target, score }) {
  const [from, to] = [inside(source.line, true), inside(target.line, false)];
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const bend = [(from[0] + to[0]) / 2 + 0.15 * dy, (from[1] + to[1]) / 2 - 0.15 * dx];
  const angle = Math.atan2(to[1] - bend[1], to[0] - bend[0]);
  const head = [2.7, -2.7].map((turn) => [to[0] + 0.9 * Math.cos(angle + turn), to[1] + 0.9 * Math.sin(angle + turn)]);
  const side = source.side === "truth" ? "truth" : "prediction";
  const said = `${state} link from ${side} ${source.number} to ${side} ${target.number}${side === "truth" ? "" : `, score ${score.toFixed(3)}`}`;
  return svgElement(
    "g",
    { class: `link ${state}` },
    svgElement("path", { class: "shaft", d: `M${from.join(" ")}Q${bend.join(" ")} ${to.join(" ")}` }),
    svgElement("path", { class: "head", d: `M${to.join(" ")}L${head[0].join(" ")}L${head[1].join(" ")}Z` }),
    svgElement("title", {}, said),
  );
}

// The grid. Its lines are those of the paper, whatever is drawn on it.
function grid() {
  const nodes = [];
  const reach = FARTHEST * 1.5 * Math.max(whole.width, whole.height); // panels may be wider or taller than the view
  const step = 10 * 10 ** Math.max(0, Math.ceil(Math.log10(reach / 1000))); // metres
  const from = (middle) => Math.floor((middle - reach) / step) * step;
  const [left, bottom] = [from(whole.x), from(whole.y)];
  for (let x = left; x <= whole.x + reach; x += step) {
    nodes.push(svgElement("line", { class: "metre", x1: x, x2: x, y1: -bottom, y2: -bottom - 2 * reach }));
  }
  for (let y = bottom; y <= whole.y + reach; y += step) {
    nodes.push(svgElement("line", { class: "metre", x1: left, x2: left + 2 * reach, y1: -y, y2: -y }));
  }
  return nodes;
}

// The region and the ego.
function surroundings() {
  const nodes = [];
  if (meta.region) {
    const [width, height] = uprightSize(meta.region);
    nodes.push(svgElement("rect", { class: "region", x: -width / 2, y: -height / 2, width, height }));
  }
  if (meta.ego) nodes.push(svgElement("path", { class: "ego", d: EGO }, svgElement("title", {}, "the ego, heading forward")));
  return nodes;
}

// Draws one frame in a panel. `panel.nodes` says what each node shows, so that layers can be hidden.
function drawScene(panel, frame) {
  const geometry = source.geometry(frame);
  const stays = !geometry && panel.geometry !== null && source.waiting(frame);
  panel.svg.classList.toggle("waiting", stays);
  if (stays) return;
  unpin();
  panel.svg.style.display = geometry ? "" : "none";
  panel.scale.hidden = !geometry;
  panel.save.hidden = !geometry;
  panel.none.hidden = geometry !== null;
  panel.nodes = [];
  panel.instances = [];
  panel.geometry = geometry;
  if (!geometry) {
    panel.none.textContent = source.absence();
    panel.paper.replaceChildren();
    return;
  }
  const scene = sceneOf(panel.method, geometry);
  const add = (layer, instance, node) => {
    panel.nodes.push({ layer, label: instance.label, confidence: instance.side === "truth" ? 1 : instance.confidence, instance, node });
    return node;
  };
  const lines = (instances) =>
    instances.map((instance) => {
      const lonely = meta.matched && !instance.match ? " lonely" : "";
      const node = svgElement(
        "g",
        { class: `instance ${instance.side}${lonely}`, tabindex: "-1", role: "img", "aria-label": describe(panel, instance).join(", ") },
        ...strokesOf(instance),
        svgElement("path", { class: "reach", d: pathOf(instance.line, instance.closed) }),
      );
      if (instance.side !== "truth") node.style.setProperty("--width", `${strokeWidth(instance).toFixed(2)}px`);
      instance.node = node;
      node.addEventListener("pointerenter", (event) => look(panel, instance, event));
      node.addEventListener("pointerleave", leave);
      node.addEventListener("focus", () => look(panel, instance, null));
      node.addEventListener("blur", leave);
      node.addEventListener("click", (event) => pin(panel, instance, event));
      panel.instances.push(instance);
      return add(instance.side, instance, node);
    });
  const marks = (instances) =>
    instances.flatMap((instance) => {
      const d = dotsOf(instance.line, unmatchedPoints(instance));
      if (!d || !meta.matched) return [];
      const colour = meta.colours[instance.label];
      const dots = [svgElement("path", { class: "outer", d, stroke: colour }), svgElement("path", { class: "inner", d })];
      instance.dots = svgElement("g", { class: `dots ${instance.side}${instance.match ? "" : " lonely"}` }, ...dots);
      return [add("dots", instance, instance.dots)];
    });
  const pairs = scene.matches.map((match) => {
    match.node = svgElement("path", { class: "pairs", d: pairsPath(match) });
    return add("pairs", match.prediction, match.node);
  });
  const ignored = scene.ignored.map((instance) => {
    const said = svgElement("title", {}, `ignored, ${meta.classes[instance.label]}: neither right nor wrong`);
    return add("ignored", instance, svgElement("path", { class: "ignored", d: pathOf(instance.line, false), stroke: meta.colours[instance.label] }, said));
  });
  const links = scene.links.map((link) => add("links", link.source, linkNode(link)));
  const weak = [...scene.predictions].sort((a, b) => a.confidence - b.confidence); // the most confident on top
  const below = extras.flatMap((extra) => extra.below?.(panel, frame) ?? []);
  const placed = extras.map((extra) => extra.placed?.(frame)).find(Boolean);
  const over = extras.flatMap((extra) => extra.over?.(panel, frame) ?? []);
  const group = (...nodes) => svgElement("g", placed ? { transform: placed } : {}, ...nodes);
  const content = [...pairs, ...lines(weak), ...marks(scene.truth), ...marks(weak), ...links];
  panel.paper.replaceChildren(...grid(), ...below, group(...surroundings(), ...ignored, ...lines(scene.truth)), ...over, group(...content));
  panel.instances.sort((a, b) => (a.side === b.side ? a.number - b.number : a.side === "truth" ? -1 : 1));
}

function applyLayers(panel, state) {
  for (const { layer, label, confidence, instance, node } of panel.nodes) {
    const side = (layer === "dots" || layer === "links") && state.off.has(instance.side);
    const hidden = state.off.has(layer) || side || (state.of !== "" && meta.classes[label] !== state.of) || confidence < state.least;
    node.style.display = hidden ? "none" : "";
    if (layer === "truth") node.classList.toggle("faintly", (instance.match?.prediction.confidence ?? 1) < state.least);
  }
}

const COSTS = ["matched points", "unmatched points", "confidence"]; // the columns of `matches.costs`

// The description of an instance, line by line.
function describe({ method, geometry }, instance) {
  const said = [`${instance.side === "truth" ? "truth" : "prediction"} ${instance.number}, ${meta.classes[instance.label]}`];
  if (instance.side !== "truth") said.push(`confidence ${instance.confidence.toFixed(3)}`);
  if (!meta.matched) return said;
  const scale = scaleOf(method, geometry, meta.classes[instance.label]);
  const share = (cost) => (cost * scale).toFixed(4);
  const of = meta.shares ? `share of the ${meta.shares} of the class` : "cost";
  const why = instance.causes.map(({ cause, cost }) => `${meta.causes[cause].name} ${share(cost)}`);
  const causes = why.length ? [`${why.length > 1 ? "causes" : "cause"}: ${why.join(", ")}`] : [];
  if (!instance.match) {
    const kind = instance.side === "truth" ? "missed" : "false";
    said.push(`unmatched: ${kind}`, `${of}: ${share(instance.confidence / 2)}`, ...causes);
    return said;
  }
  const { prediction, truth, distance, pairs, costs } = instance.match;
  const partner = instance.side === "truth" ? `prediction ${prediction.number}, confidence ${prediction.confidence.toFixed(3)}` : `truth ${truth.number}`;
  said.push(
    `partner: ${partner}`,
    `distance ${distance.toFixed(3)} (normalised SOSPA)`,
    `${pairs.x.length} matched points, unmatched: ${prediction.line.x.length - pairs.x.length} predicted, ${truth.line.x.length - pairs.x.length} true`,
    `${of}: ${share(costs[0] + costs[1] + costs[2])}`,
    ...costs.map((cost, k) => `${COSTS[k]} ${share(cost)}`),
    ...causes,
  );
  return said;
}

function look(panel, instance, event) {
  if (pinned) return;
  leave();
  pointed = { panel, instance };
  const { truth } = instance.side === "truth" ? { truth: instance } : (instance.match ?? {});
  for (const other of panels) {
    const same = other === panel ? instance : other.instances.find(({ side, label, number }) => side === "truth" && number === truth?.number && label === truth?.label);
    if (same) mark(other, same);
  }
  lineTip.textContent = describe(panel, instance).join("\n");
  lineTip.hidden = false;
  placeTip(panel, instance, event);
}

// Marks an instance and its match, and dims the others.
function mark(panel, instance) {
  for (const svg of [panel.svg, ...panel.images]) svg.classList.add("looking");
  const both = instance.match ? [instance.match.prediction, instance.match.truth] : [instance];
  for (const node of [...both.flatMap(({ node, dots, seen = [] }) => [node, dots, ...seen]), instance.match?.node]) node?.classList.add("looked");
}

const GAP = 18; // pixels between the pointer and the tooltip

// Puts the tooltip where it covers the fewest points of the line that it explains: beside the pointer, in a corner of the
// drawing, or outside the drawing.
function placeTip(panel, { line, node }, event) {
  const stage = panel.svg.getBoundingClientRect();
  const matrix = node.getScreenCTM();
  const points = Array.from(line.x, (x, i) => new DOMPoint(x / METRE, -line.y[i] / METRE).matrixTransform(matrix));
  const at = event ? { x: event.clientX, y: event.clientY } : (points[points.length >> 1] ?? { x: stage.left, y: stage.top });
  const [width, height] = [lineTip.offsetWidth, lineTip.offsetHeight];
  const [left, top, right, bottom] = [stage.left + 4, stage.top + 4, stage.right - width - 4, stage.bottom - height - 4];
  const beside = [at.x + GAP, at.x - GAP - width].flatMap((x) => [at.y + GAP, at.y - GAP - height].map((y) => [x, y]));
  const inside = beside.filter(([x, y]) => x >= left && y >= top && x <= right && y <= bottom);
  const corners = [left, right].flatMap((x) => [top, bottom].map((y) => [x, y]));
  const outside = [[stage.left - width - 4, top], [stage.right + 4, top], [left, stage.bottom + 4], [left, stage.top - height - 4]];
  const limit = document.documentElement.clientWidth - width - 4;
  const places = [...inside, ...[...corners, ...outside].map(([x, y]) => [Math.max(Math.min(x, limit), 4), Math.max(y, 4)])];
  const covered = ([x, y]) => points.filter((point) => point.x > x - 4 && point.x < x + width + 4 && point.y > y - 4 && point.y < y + height + 4).length;
  const [x, y] = places.reduce((best, place) => (covered(place) < covered(best) ? place : best));
  const bench = lineTip.offsetParent.getBoundingClientRect();
  lineTip.style.left = `${x - bench.left}px`;
  lineTip.style.top = `${y - bench.top}px`;
}

// Keeps an instance marked in all panels and images, until another one or nothing is clicked.
function pin(panel, instance, event) {
  unpin();
  look(panel, instance, event);
  pinned = true;
  event.stopPropagation();
}

function unpin() {
  pinned = false;
  leave();
}

function leave() {
  if (!pointed || pinned) return;
  for (const { svg, images } of panels) {
    for (const drawing of [svg, ...images]) {
      drawing.classList.remove("looking");
      for (const node of drawing.querySelectorAll(".looked")) node.classList.remove("looked");
    }
  }
  lineTip.hidden = true;
  pointed = null;
}

// Moves the focus to the next or previous visible instance. Screen readers read its label.
function step(panel, by) {
  const there = panel.instances.filter((instance) => instance.node.style.display !== "none");
  if (!there.length) return;
  const now = there.indexOf(pointed?.panel === panel ? pointed.instance : null);
  unpin();
  there[now < 0 ? (by > 0 ? 0 : there.length - 1) : (now + by + there.length) % there.length].node.focus({ preventScroll: true });
}
