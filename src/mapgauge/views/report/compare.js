// Two methods against each other: a point for each frame of the list. Dragging keeps the frames in a box.

const scatter = { size: 300, low: 0, high: 1, pair: null };
let boxed = null; // { x: [low, high], y: [low, high], key, pair, of } of the frames that are kept

const SIDE = { left: 40, right: 16, top: 6, bottom: 34 }; // room beside the axes

const inBox = (frame) => {
  const value = (method) => numbersOf(method, boxed.key, boxed.of)[frame];
  const within = ([low, high], at) => at >= low && at <= high;
  return within(boxed.x, value(boxed.pair[0])) && within(boxed.y, value(boxed.pair[1]));
};

// The box as text of the address, and back.
function boxOf(text) {
  const parts = text.split(" ");
  const numbers = parts.slice(0, 6).map(Number);
  if (parts.length < 7 || !numbers.every(Number.isFinite)) return null;
  const [first, second] = numbers;
  const key = parts[6];
  const of = parts.slice(7).join(" ");
  const isKnown = first in meta.methods && second in meta.methods && numberKeys.includes(key) && (of === "" || meta.classes.includes(of));
  return isKnown ? { pair: [first, second], x: numbers.slice(2, 4), y: numbers.slice(4, 6), key, of } : null;
}

function showScatter(now) {
  const pair = pairOf(now) ?? [0, 1];
  const [first, second] = pair.map((method) => numbersOf(method, now.value, now.of));
  const kept = boxed;
  boxed = null; // all frames are shown, and those in the box are listed
  const frames = passing(now, columns, null);
  boxed = kept;
  const values = frames.flatMap((frame) => [first[frame], second[frame]]).filter((value) => !Number.isNaN(value));
  const low = values.reduce((a, b) => Math.min(a, b), Infinity);
  const high = values.reduce((a, b) => Math.max(a, b), -Infinity);
  Object.assign(scatter, { low: low < high ? low : low - 0.5, high: low < high ? high : low + 0.5, pair });
  const { size } = scatter;
  const { left, right, top, bottom } = SIDE;
  const x = (value) => left + (size * (value - scatter.low)) / (scatter.high - scatter.low);
  const y = (value) => size + top - (size * (value - scatter.low)) / (scatter.high - scatter.low);
  const d = { above: "", below: "", equal: "" };
  const lower = meta.metrics.find(({ key, parts, headlines }) => key === now.value || headlines.includes(key) || parts.some((part) => part.key === now.value))?.lower ?? true;
  for (const frame of frames) {
    if (Number.isNaN(first[frame]) || Number.isNaN(second[frame])) continue;
    const isWorse = lower ? second[frame] > first[frame] : second[frame] < first[frame];
    const kind = first[frame] === second[frame] ? "equal" : isWorse ? "above" : "below";
    d[kind] += `M${x(first[frame]).toFixed(1)} ${y(second[frame]).toFixed(1)}h0`;
  }
  const ticks = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => {
    const value = scatter.low + share * (scatter.high - scatter.low);
    const text = isWhole(now.value) ? String(Math.round(value)) : value.toFixed(2);
    return [
      svgElement("line", { class: "tick", x1: x(value), x2: x(value), y1: top, y2: size + top }),
      svgElement("line", { class: "tick", x1: left, x2: left + size, y1: y(value), y2: y(value) }),
      svgElement("text", { x: x(value), y: size + 19, "text-anchor": "middle" }, text),
      svgElement("text", { x: left - 4, y: y(value) + 4, "text-anchor": "end" }, text),
    ];
  });
  const names = [
    svgElement("text", { x: left + size / 2, y: size + 33, "text-anchor": "middle" }, `${labelOf(now.value)} of ${meta.methods[pair[0]]}`),
    svgElement("text", { x: 0, y: 0, "text-anchor": "middle", transform: `translate(11 ${size / 2}) rotate(-90)` }, `of ${meta.methods[pair[1]]}`),
  ];
  const brush = boxed && boxed.key === now.value ? [svgElement("rect", { class: "brush", x: x(boxed.x[0]), y: y(boxed.y[1]), width: Math.max(x(boxed.x[1]) - x(boxed.x[0]), 1), height: Math.max(y(boxed.y[0]) - y(boxed.y[1]), 1) })] : [];
  const here = first[now.frame] === undefined || Number.isNaN(first[now.frame]) ? [] : [svgElement("path", { class: "here", d: `M${x(first[now.frame])} ${y(second[now.frame])}h0` })];
  const svg = $$("scatter");
  svg.setAttribute("viewBox", `0 0 ${left + size + right} ${top + size + bottom}`);
  svg.setAttribute("aria-label", `${labelOf(now.value)} of ${meta.methods[pair[0]]} and ${meta.methods[pair[1]]}, ${frames.length} frames`);
  svg.replaceChildren(...ticks, svgElement("line", { class: "same", x1: x(scatter.low), y1: y(scatter.low), x2: x(scatter.high), y2: y(scatter.high) }), ...Object.entries(d).map(([kind, path]) => svgElement("path", { class: `points ${kind}`, d: path })), ...names, ...here, ...brush);
  $$("scatter-key").textContent = `Red: ${meta.methods[pair[1]]} is worse. Green: it is better. Drag to keep the frames in a box; click to take it away.`;
}

if (meta.methods.length > 1) {
  extras.push({
    pane: ["scatter", "A against B"],
    defaults: { box: "" },
    allows: (key, text) => boxOf(text) !== null,
    filters: ["box"],
    cleared: { box: "" },
    passes: (frame) => boxed === null || inBox(frame),
    narrows: (now) => now.box !== "",
    chips: (now) => (now.box === "" ? [] : [[`box in ${labelOf(boxOf(now.box).key)}`, { box: "" }]]),

    build(change) {
      const svg = $$("scatter");
      let start = null;
      const valueAt = (event) => {
        const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
        const value = (share) => scatter.low + Math.min(Math.max(share, 0), 1) * (scatter.high - scatter.low);
        return { x: value((at.x - SIDE.left) / scatter.size), y: value((scatter.size + SIDE.top - at.y) / scatter.size), px: event.clientX, py: event.clientY };
      };
      const moved = (event) => Math.hypot(event.clientX - start.px, event.clientY - start.py) > 4;
      svg.addEventListener("pointerdown", (event) => {
        start = valueAt(event);
        svg.setPointerCapture(event.pointerId);
      });
      svg.addEventListener("pointerup", (event) => {
        if (!start) return;
        const end = valueAt(event);
        const sides = [start.x, end.x].sort((a, b) => a - b).concat([start.y, end.y].sort((a, b) => a - b));
        const text = [...scatter.pair, ...sides.map((value) => value.toFixed(4)), state.value, state.of].join(" ");
        change({ box: moved(event) ? text : "" });
        start = null;
      });
      svg.addEventListener("pointercancel", () => (start = null));
    },

    toggle(now) {
      boxed = now.box === "" ? null : boxOf(now.box);
      document.querySelector(".left").classList.toggle("on-scatter", now.pane === "scatter");
    },

    show(now, differs) {
      if (now.pane === "scatter" && differs(...filterKeys, "value", "pane", "frame")) showScatter(now);
    },
  });
}
