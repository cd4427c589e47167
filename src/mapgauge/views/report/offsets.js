// Colours predictions by the distance to the true lines of their class, piece by piece.

const OFFSET = "offset";
const NEAR_TO_FAR = ["#2166ac", "#1b9e9e", "#6a9f00", "#d19a00", "#e0561b", "#b3003c"]; // equal steps up to the cutoff
const BEYOND = "#8e44ad";

// The true points of a frame by class and square, so that only near ones are compared.
function squaresOf(instances, size) {
  const squares = new Map();
  for (const { side, label, line } of instances) {
    if (side !== "truth") continue;
    for (let i = 0; i < line.x.length; i++) {
      const key = `${label} ${Math.floor(line.x[i] / size)} ${Math.floor(line.y[i] / size)}`;
      if (!squares.has(key)) squares.set(key, []);
      squares.get(key).push([line, i]);
    }
  }
  return squares;
}

// The distance of a point to a segment, both in centimetres.
function toSegment(x, y, line, i, j) {
  const [dx, dy] = [line.x[j] - line.x[i], line.y[j] - line.y[i]];
  const share = Math.min(Math.max(((x - line.x[i]) * dx + (y - line.y[i]) * dy) / (dx * dx + dy * dy || 1), 0), 1);
  return Math.hypot(line.x[i] + share * dx - x, line.y[i] + share * dy - y);
}

function distanceAt(x, y, label, squares, size) {
  let best = Infinity;
  const [column, row] = [Math.floor(x / size), Math.floor(y / size)];
  for (let i = column - 1; i <= column + 1; i++) {
    for (let j = row - 1; j <= row + 1; j++) {
      for (const [line, k] of squares.get(`${label} ${i} ${j}`) ?? []) {
        best = Math.min(best, toSegment(x, y, line, Math.max(k - 1, 0), k), toSegment(x, y, line, k, Math.min(k + 1, line.x.length - 1)));
      }
    }
  }
  return best;
}

// Draws the predictions of a panel in the colours of their distances, or removes these colours.
function applyOffsets(panel, chosen) {
  for (const node of panel.svg.querySelectorAll(".offset")) node.remove();
  panel.svg.classList.toggle("offsets", chosen);
  if (!chosen) return;
  const [size, step] = [meta.cutoff * METRE, (meta.cutoff * METRE) / NEAR_TO_FAR.length];
  const squares = squaresOf(panel.instances, size);
  for (const { side, label, line, closed, node } of panel.instances) {
    if (side === "truth") continue;
    const paths = new Map();
    const count = line.x.length;
    for (let i = 0; i < (closed ? count : count - 1); i++) {
      const j = (i + 1) % count;
      const far = distanceAt((line.x[i] + line.x[j]) / 2, (line.y[i] + line.y[j]) / 2, label, squares, size);
      const colour = NEAR_TO_FAR[Math.floor(far / step)] ?? BEYOND;
      const piece = `M${line.x[i] / METRE} ${-line.y[i] / METRE}L${line.x[j] / METRE} ${-line.y[j] / METRE}`;
      paths.set(colour, (paths.get(colour) ?? "") + piece);
    }
    for (const [stroke, d] of paths) node.lastChild.before(svgElement("path", { class: "offset", d, stroke }));
  }
}

// Explains the colours.
function showOffsets() {
  const step = meta.cutoff / NEAR_TO_FAR.length;
  const texts = NEAR_TO_FAR.map((colour, k) => [colour, `up to ${((k + 1) * step).toFixed(2)} m`]);
  const items = [...texts, [BEYOND, `farther than ${meta.cutoff} m from the truth`]].map(([colour, text]) => {
    const box = svgElement("svg", { width: 12, height: 12, "aria-hidden": "true" }, svgElement("rect", { class: "part", width: 12, height: 12, fill: colour }));
    return element("li", {}, box, ` ${text}`);
  });
  $$("cause-key").hidden = !panels[0].geometry;
  $$("cause-key").replaceChildren(...items);
}

if (meta.cutoff) {
  extras.push({
    colours: [[OFFSET, "of distances to the truth"]],
    show(state, differs) {
      if (differs("frame", "cause")) for (const panel of panels) applyOffsets(panel, state.cause === OFFSET);
      if (state.cause === OFFSET) showOffsets();
    },
  });
}
