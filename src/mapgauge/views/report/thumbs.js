// Small drawings of frames in the colours of errors: six that explain the findings, and a grid of those in the list.

const EXAMPLES = 6;
const FINDINGS = 24; // findings that the examples may explain
const BATCH = 24; // drawings that the grid makes at once
const UNIT = 10; // of the drawings, in centimetres: enough for their size
let blinkTimer = 0;
let blinkAt = -1; // the method that key b shows now, the number of methods for the truth alone, or -1
const drawnThumbs = new Map(); // by frame: nodes whose geometry has not come

// Whether forward is to the right in small drawings, which are twice as wide as high: if the region is longer than wide.
function thumbsLie() {
  const [length, width] = meta.region ?? [whole.height, whole.width];
  return length >= width;
}

// A path through points, in pieces: `kindOf(i)` names the piece from point i to the next. By kind, as text.
function piecesOf(line, closed, kindOf) {
  const paths = {};
  const count = line.x.length;
  const lies = thumbsLie(); // forward is to the right, otherwise up
  const x = (i) => Math.round((lies ? line.y[i] : line.x[i]) / UNIT);
  const y = (i) => Math.round((lies ? line.x[i] : -line.y[i]) / UNIT);
  let last = null;
  for (let i = 0; i < (closed ? count : count - 1); i++) {
    const kind = kindOf(i, (i + 1) % count);
    paths[kind] ??= "";
    paths[kind] += kind === last ? `L${x((i + 1) % count)} ${y((i + 1) % count)}` : `M${x(i)} ${y(i)}L${x((i + 1) % count)} ${y((i + 1) % count)}`;
    last = kind;
  }
  return paths;
}

// How a true line is drawn: as in the large drawings, it is found, found by a hidden prediction, or missed.
function truthKind({ match }, now) {
  if (!meta.matched) return "found";
  if (!match) return "missed";
  return match.prediction.confidence < now.least ? "found faintly" : "found";
}

// The drawing of one method, with the marks of the large drawings: truth that is found and missed, predictions near, far and false.
function thumbLayers(method, geometry, now) {
  const scene = sceneOf(method, geometry);
  const isShown = ({ label }) => now.of === "" || meta.classes[label] === now.of;
  const truth = {};
  for (const line of scene.truth.filter(isShown)) {
    for (const [kind, text] of Object.entries(piecesOf(line.line, line.closed, () => truthKind(line, now)))) truth[kind] = (truth[kind] ?? "") + text;
  }
  const predictions = new Map(); // by mark and colour
  for (const line of scene.predictions.filter((one) => isShown(one) && one.confidence >= now.least)) {
    const kindOf = (i) => {
      const far = meta.matched && line.far ? farColour(line.far[i]) : null;
      const place = far ? "far" : "near";
      return `${meta.matched && !line.match ? `${place} false` : place}|${far ?? meta.colours[line.label]}`;
    };
    for (const [kind, text] of Object.entries(piecesOf(line.line, line.closed, kindOf))) predictions.set(kind, (predictions.get(kind) ?? "") + text);
  }
  const path = (name, d, colour = {}) => svgElement("path", { class: name, d, ...colour });
  const nodes = ["found", "found faintly"].filter((kind) => kind in truth).map((kind) => path(kind, truth[kind]));
  if (truth.missed) nodes.push(...["missed", "inner", "hatch"].map((name) => path(name, truth.missed)));
  for (const [kind, d] of [...predictions].sort(([a], [b]) => Number(b.includes("false")) - Number(a.includes("false")))) {
    const [name, stroke] = kind.split("|");
    nodes.push(path(name, d, { stroke }));
  }
  return svgElement("g", { class: `of-${method}` }, ...nodes);
}

// What a thumbnail shows: the region, or what the truth of all drawn frames spans.
function thumbBox() {
  const [length, width] = meta.region ?? [whole.height, whole.width];
  const [x, y] = meta.region ? [0, 0] : [whole.y, whole.x];
  const scale = 100 / UNIT;
  const box = thumbsLie() ? [x - length / 2, y - width / 2, length, width] : [y - width / 2, -x - length / 2, width, length];
  return box.map((value) => Math.round(value * scale)).join(" ");
}

// The drawing of a frame, with a group for each method that is drawn. Empty until its geometry is there.
function thumbnail(frame, method, now) {
  const svg = svgElement("svg", { class: "thumb", viewBox: thumbBox(), "aria-hidden": "true" });
  svg.dataset.method = method;
  fillThumb(svg, frame, now);
  return svg;
}

function fillThumb(svg, frame, now) {
  const geometry = source.geometry(frame);
  if (!geometry) {
    drawnThumbs.set(svg, frame);
    return;
  }
  drawnThumbs.delete(svg);
  const ego = meta.ego ? [svgElement("path", { class: "ego", d: EGO, transform: `scale(${METRE / UNIT})${thumbsLie() ? " rotate(90)" : ""}` })] : [];
  const methods = [...new Set([...shownMethods(now), Number(svg.dataset.method)])];
  svg.replaceChildren(...ego, ...methods.map((method) => thumbLayers(method, geometry, now)));
  showLayer(svg);
}

// Shows one method of a thumbnail: its own, or the one whose turn it is. The truth alone is that of its own method.
function showLayer(svg) {
  const isTruth = blinkAt === meta.methods.length;
  const wanted = blinkAt < 0 || isTruth ? svg.dataset.method : String(blinkAt);
  for (const group of svg.querySelectorAll("g")) group.style.display = group.classList.contains(`of-${wanted}`) ? "" : "none";
  svg.classList.toggle("truth-alone", isTruth);
}

// Draws the thumbnails whose geometry has come meanwhile.
function fillThumbs() {
  for (const [svg, frame] of drawnThumbs) {
    if (!svg.isConnected) drawnThumbs.delete(svg);
    else fillThumb(svg, frame, state);
  }
}

// A button with the drawing of a frame and a caption.
function thumbButton(frame, method, now, caption) {
  const text = element("span", { className: "caption" }, ...caption);
  const button = element("button", { type: "button", className: "thumb-button", title: meta.tokens[frame] }, thumbnail(frame, method, now), text);
  button.dataset.frame = frame;
  return button;
}

// What the errors of the listed frames consist of: the largest parts of classes, for the methods that are looked at. For two
// methods these are the parts in which one is worse than the other.
function findingsOf(now, frames) {
  const families = familiesOf();
  const known = families.flatMap(({ causes }) => causes).filter((key) => `0.value.${key}` in arrays);
  const keys = known.length ? known : partKeys(); // in `mapgauge view`, the causes of frames come after the answer
  const chosen = keys.includes(now.cause) ? [now.cause] : keys;
  const classes = now.of === "" ? meta.classes : [now.of];
  const pair = pairOf(now);
  const sides = pair ? [[pair[1], pair[0]], [pair[0], pair[1]]] : [[Number(now.method), null]];
  const found = [];
  for (const name of classes) {
    const truths = "truth" in columnOf ? numbersOf(0, "truth", name) : null;
    for (const key of chosen.length ? chosen : [mainKey()].filter(Boolean)) {
      for (const [method, other] of sides) {
        const [mine, theirs] = [numbersOf(method, key, name), other === null ? null : numbersOf(other, key, name)];
        let [sum, most] = [0, 0];
        const amount = (frame) => {
          const value = (mine[frame] || 0) - (theirs ? theirs[frame] || 0 : 0);
          return value > 0 ? value * Math.sqrt(1 + (truths ? truths[frame] : 0)) : 0;
        };
        for (const frame of frames) {
          const value = amount(frame);
          sum += value;
          if (value > most) most = value;
        }
        if (most > 0) found.push({ name, key, method, other, weight: sum / frames.length, most, amount, value: (frame) => (mine[frame] || 0) - (theirs ? theirs[frame] || 0 : 0) });
      }
    }
  }
  return found.sort((a, b) => b.weight - a.weight).slice(0, FINDINGS);
}

// Frames that together show the findings: each adds most of what those before it do not show. A scene is a place, and a frame
// of a scene that was taken counts little.
function examplesOf(now, frames) {
  const findings = findingsOf(now, frames);
  const left = findings.map(({ weight }) => weight);
  const scenes = new Set();
  const taken = [];
  const candidates = frames.filter(canDraw);
  while (taken.length < Math.min(EXAMPLES, candidates.length) && findings.length) {
    let best = { frame: -1, gain: 0, finding: null };
    for (const frame of candidates) {
      if (taken.some((one) => one.frame === frame)) continue;
      const again = scenesNow() && scenes.has(sceneOfFrame(frame)) ? 0.2 : 1;
      let [gain, most, clearest] = [0, 0, null];
      findings.forEach((finding, k) => {
        const part = (left[k] * finding.amount(frame)) / finding.most;
        gain += part;
        if (part > most) [most, clearest] = [part, finding];
      });
      if (gain * again > best.gain) best = { frame, gain: gain * again, finding: clearest };
    }
    if (best.frame < 0) break;
    taken.push(best);
    scenes.add(sceneOfFrame(best.frame));
    findings.forEach((finding, k) => (left[k] *= 1 - finding.amount(best.frame) / finding.most));
  }
  return taken;
}

// Why there are no examples, in words.
function withoutExamples(now) {
  if (!rows.some(canDraw)) return "None of the frames of the list can be drawn.";
  const pair = pairOf(now);
  if (!pair) return "The frames of the list have no errors.";
  return `${meta.methods[pair[0]]} and ${meta.methods[pair[1]]} have the same values in all frames of the list.`;
}

// What the numbers of the examples are, in words. A cause and a part may have the same name.
function aboutExamples(taken) {
  const keys = taken.map(({ finding }) => finding.key);
  const metric = mainTitle();
  const what = keys.every((key) => causeKeys.includes(key)) ? `causes of ${metric}` : keys.every((key) => partKeys().includes(key)) ? `parts of ${metric}` : "values";
  const more = taken.some(({ finding }) => finding.other !== null) ? ", beside the other method" : "";
  return `${what}, for a class in a frame${more}`;
}

function showExamples(now) {
  const body = $$("examples").querySelector(".body");
  const about = $$("examples-about");
  about.textContent = "";
  const taken = examplesOf(now, rows);
  if (!taken.length) {
    body.replaceChildren(element("p", { className: "quiet", textContent: withoutExamples(now) }));
    return;
  }
  const buttons = taken.map(({ frame, finding }) => {
    const said = `${causeTitle(finding.key)}, ${finding.name}`;
    const amount = finding.value(frame).toFixed(2);
    const whose = finding.other === null ? "" : `${meta.methods[finding.method]} has ${amount} more: `;
    const value = finding.other === null ? ` ${amount}` : "";
    const button = thumbButton(frame, finding.method, now, [methodSwatch(finding.method), whose, element("b", { textContent: said }), value]);
    button.addEventListener("click", () => {
      change({ frame });
      $$("workbench").scrollIntoView({ block: "start" });
    });
    return element("li", {}, button);
  });
  about.textContent = aboutExamples(taken);
  body.replaceChildren(element("ul", { className: "thumbs" }, ...buttons));
}

let isExamplesLate = 0; // a timer: the examples are found after the list is shown

extras.push({
  show(now, differs) {
    if (differs(...filterKeys, "cause", "shown", "least")) {
      clearTimeout(isExamplesLate);
      isExamplesLate = setTimeout(() => showExamples(state), 0);
    }
  },
});

// The grid: a drawing of each frame of the list, in its order. More are made when it is scrolled.
const gridState = { made: 0, rows: null, key: "" };

function growGrid(now, count) {
  const method = pairOf(now)?.[1] ?? Number(now.method);
  const next = gridState.rows.slice(gridState.made, gridState.made + count);
  gridState.made += next.length;
  const buttons = next.map((frame) => {
    const value = shown(mainKey(), columns[mainKey()]?.[frame] ?? NaN, now.method.includes("-"));
    const button = thumbButton(frame, now.method.includes("-") ? method : Number(now.method), now, [element("b", { textContent: value }), ` ${cut(meta.tokens[frame])}`]);
    button.addEventListener("click", () => change({ frame }));
    return button;
  });
  $$("grid-frames").append(...buttons);
}

function fillGrid(now) {
  const view = $$("grid-frames");
  while (gridState.made < gridState.rows.length && view.scrollTop + 2 * view.clientHeight > view.scrollHeight - 100) growGrid(now, BATCH);
}

extras.push({
  pane: ["grid", "grid"],
  view: ["2", "grid"],

  build() {
    $$("grid-frames").addEventListener("scroll", () => fillGrid(state), { passive: true });
  },

  toggle: (now) => document.querySelector(".left").classList.toggle("on-grid", now.pane === "grid"),

  show(now, differs) {
    if (now.pane !== "grid") return;
    if (gridState.rows !== rows || differs("pane", "of", "method", "least", "shown")) {
      Object.assign(gridState, { made: 0, rows });
      $$("grid-frames").replaceChildren();
      $$("grid-frames").scrollTop = 0;
      fillGrid(now);
    }
    for (const button of $$("grid-frames").children) button.setAttribute("aria-pressed", String(Number(button.dataset.frame) === now.frame));
  },
});

// Key b: the methods and the truth alone, one after the other, in the same place, so that the eye sees what moves.
const BLINK = 700; // milliseconds

function blinkStep() {
  const order = [...shownMethods(state), meta.methods.length];
  const next = order[(order.indexOf(blinkAt) + 1) % order.length];
  setBlink(next);
}

function setBlink(at) {
  blinkAt = at;
  document.body.dataset.blink = at < 0 ? "" : at === meta.methods.length ? "truth" : String(at);
  document.body.classList.toggle("blinks", at >= 0);
  const only = at === meta.methods.length ? shownMethods(state)[0] : at;
  for (const panel of panels) panel.figure.classList.toggle("resting", at >= 0 && panel.method !== only);
  for (const svg of document.querySelectorAll(".thumb")) showLayer(svg);
  $$("blinking").textContent = at < 0 ? "" : at === meta.methods.length ? "truth" : meta.methods[at];
  for (const panel of panels) panel.size = null;
  for (const panel of panels) applyView(panel, state.view);
}

// Begins or ends. Who wants less motion goes on by one with each press.
function blink() {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
    const order = [...shownMethods(state), meta.methods.length];
    return blinkAt === order.at(-1) ? setBlink(-1) : blinkStep();
  }
  if (blinkTimer) {
    clearInterval(blinkTimer);
    blinkTimer = 0;
    return setBlink(-1);
  }
  blinkTimer = setInterval(blinkStep, BLINK);
  return blinkStep();
}
