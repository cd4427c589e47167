// Holds the state of the page, writes it to the address, and reacts to every control.

const $$ = (id) => document.getElementById(id);

const DEFAULTS = () => ({
  frame: -1,
  method: "0", // or a difference, "1-0"
  of: "", // a class; "" for all
  sort: meta.metrics[0]?.key ?? "token",
  down: meta.metrics[0]?.lower ?? false, // the worst frames first
  text: "",
  scene: "",
  only: false,
  value: numberKeys[0],
  ranges: {}, // by value: [low, high]
  least: 0,
  off: new Set(), // layers
  offClasses: new Set(), // labels
  view: null, // { x, y, width } in metres; null is the whole frame
});

let state = DEFAULTS();
let columns = {};
let rows = [];
let addressTimer = 0;

function addressOf(now) {
  const first = DEFAULTS();
  const said = new URLSearchParams();
  if (now.frame >= 0) said.set("frame", meta.tokens[now.frame]);
  for (const key of ["method", "of", "text", "scene", "value"]) if (now[key] !== first[key]) said.set(key, now[key]);
  if (now.sort !== first.sort || now.down !== first.down) said.set("sort", (now.down ? "-" : "") + now.sort);
  if (now.only) said.set("only", "1");
  for (const [key, [low, high]] of Object.entries(now.ranges)) said.append("range", `${key} ${low} ${high}`);
  if (now.least > 0) said.set("least", now.least);
  for (const layer of now.off) said.append("off", layer);
  for (const label of now.offClasses) said.append("hide", meta.classes[label]);
  if (now.view) said.set("view", [now.view.x, now.view.y, now.view.width].map((value) => value.toFixed(2)).join(" "));
  return `#${said}`;
}

// The state that an address describes. Unknown entries are ignored, so that old links still open.
function stateOf(address) {
  const said = new URLSearchParams(address.slice(1));
  const now = DEFAULTS();
  now.frame = meta.tokens.indexOf(said.get("frame") ?? "");
  const known = { method: methodChoices().map(([value]) => value), of: meta.classes, scene: meta.scenes ?? [], value: numberKeys };
  for (const [key, values] of Object.entries(known)) if (values.includes(said.get(key))) now[key] = said.get(key);
  now.text = said.get("text") ?? "";
  const sort = said.get("sort");
  if (sort && columnKeys.includes(sort.replace(/^-/, ""))) Object.assign(now, { sort: sort.replace(/^-/, ""), down: sort.startsWith("-") });
  now.only = said.get("only") === "1" && meta.drawn.length > 0;
  for (const range of said.getAll("range")) {
    const [key, low, high] = range.split(" ");
    if (numberKeys.includes(key)) now.ranges[key] = [Number(low), Number(high)];
  }
  now.least = Math.min(Math.max(Number(said.get("least")) || 0, 0), 1);
  for (const layer of said.getAll("off")) if (layer in LAYERS) now.off.add(layer);
  for (const name of said.getAll("hide")) if (meta.classes.includes(name)) now.offClasses.add(meta.classes.indexOf(name));
  const view = (said.get("view") ?? "").split(" ").map(Number);
  if (view.length === 3 && view.every(Number.isFinite) && view[2] > 0) now.view = { x: view[0], y: view[1], width: view[2] };
  return now;
}

function methodChoices() {
  const names = meta.methods;
  const pairs = names.flatMap((_, j) => names.slice(0, j).map((_, i) => [`${j}-${i}`, `${names[j]} minus ${names[i]}`]));
  return [...names.map((name, k) => [String(k), name]), ...pairs];
}

// Changes the state and updates only what depends on the change.
function change(changes) {
  const before = state;
  state = { ...state, ...changes };
  refresh(before);
}

function refresh(before = null) {
  const differs = (...keys) => before === null || keys.some((key) => state[key] !== before[key]);
  if (differs("method", "of")) columns = columnsOf(state.method, state.of);
  if (differs("method", "of", "text", "scene", "only", "ranges", "sort", "down")) {
    rows = sorted(passing(state, columns), state, columns);
    if (state.frame < 0) state.frame = rows.find((frame) => drawnAt[frame] >= 0) ?? rows[0] ?? 0;
    markSort(state);
    scroller.scrollTop = 0; // show the first rows after sorting or filtering
    $$("count").textContent = `${rows.length.toLocaleString("en")} of ${frameCount.toLocaleString("en")} frames`;
  }
  if (differs("method", "of", "text", "scene", "only", "ranges", "value")) {
    drawHistogram(state.value, columns[state.value], passing(state, columns, state.value), rows, state.ranges[state.value]);
    showChips();
  }
  if (differs("frame") && rows.includes(state.frame)) scrollToRow(rows.indexOf(state.frame));
  if (differs("frame", "method", "of", "text", "scene", "only", "ranges", "sort", "down")) showRows(state, rows, columns);
  if (differs("frame")) {
    for (const panel of panels) drawScene(panel, state.frame);
    showFrame();
  }
  if (differs("frame", "least", "off", "offClasses")) for (const panel of panels) applyLayers(panel, state);
  if (differs("frame", "view")) for (const panel of panels) applyView(panel, state.view);
  showControls();
  clearTimeout(addressTimer); // browsers limit how often the address may change
  addressTimer = setTimeout(() => history.replaceState(null, "", addressOf(state)), 100);
}

function showControls() {
  for (const key of ["method", "of", "scene", "value"]) $$(key).value = state[key];
  if ($$("text").value !== state.text) $$("text").value = state.text;
  $$("only").checked = state.only;
  const [low, high] = state.ranges[state.value] ?? ["", ""];
  for (const [id, value] of [["low", low], ["high", high]]) {
    const text = Number.isFinite(value) ? String(value) : "";
    const typed = $$(id).value;
    if (text === "" ? typed !== "" : typed === "" || Number(typed) !== value) $$(id).value = text; // keep "0.50" while it is typed
  }
  $$("least").value = state.least;
  $$("least-value").textContent = state.least.toFixed(2);
  for (const box of document.querySelectorAll("[data-layer]")) box.checked = !state.off.has(box.dataset.layer);
  for (const box of document.querySelectorAll("[data-label]")) box.checked = !state.offClasses.has(Number(box.dataset.label));
  const place = rows.indexOf(state.frame);
  $$("previous").disabled = rows.length === 0 || place === 0;
  $$("next").disabled = rows.length === 0 || place === rows.length - 1;
}

function showChips() {
  const chips = Object.entries(state.ranges).map(([key, [low, high]]) => {
    const text = [Number.isFinite(low) ? `${low} ≤ ` : "", labelOf(key), Number.isFinite(high) ? ` ≤ ${high}` : ""].join("");
    const chip = element("button", { type: "button", textContent: `${text} ✕`, ariaLabel: `Remove the filter ${text}` });
    chip.addEventListener("click", () => setRange(key, null));
    return chip;
  });
  $$("chips").replaceChildren(...chips);
}

// Shows the name and the values of the chosen frame: for each method, for all classes and for each class.
function showFrame() {
  const frame = state.frame;
  const kind = drawnAt[frame] >= 0 ? meta.kinds[drawnAt[frame]] : "all";
  $$("chosen").textContent = [meta.tokens[frame], meta.scenes?.[frame], kind === "all" ? null : kind].filter(Boolean).join(" · ");
  const several = meta.methods.length > 1;
  const bars = meta.metrics.filter((metric) => metric.parts.length);
  const isPart = (key) => bars.some((metric) => metric.parts.some((part) => part.key === key));
  const barKey = (metric) => `parts of ${metric.title}`;
  const head = ["class", ...(several ? ["method"] : []), ...bars.map(barKey), ...numberKeys.filter((key) => !isPart(key))];
  const body = [];
  for (const name of ["", ...meta.classes]) {
    meta.methods.forEach((method, m) => {
      const values = frameValues(m, frame, name);
      const names = [name || "all", ...(several ? [method] : [])];
      const cells = head.slice(names.length).map((key) => {
        const metric = bars.find((one) => barKey(one) === key);
        return metric ? element("td", {}, barOf(metric, values)) : element("td", { textContent: shown(key, values[key]) });
      });
      const heads = names.map((text) => element("th", { scope: "row", textContent: text }));
      body.push(element("tr", {}, ...heads, ...cells));
      if (name === "") panels[m].values.textContent = meta.metrics.map((metric) => sentenceOf(metric, values)).join("; ");
    });
  }
  const top = element("tr", {}, ...head.map((key) => element("th", { scope: "col", className: key === "class" || key === "method" ? "text" : "", textContent: labelOf(key) })));
  const table = element("table", {}, element("caption", { textContent: "Values of this frame" }), element("thead", {}, top), element("tbody", {}, ...body));
  const region = element("div", { className: "wide", tabIndex: 0, ariaLabel: "Values of this frame", role: "region" }, table);
  $$("frame-values").replaceChildren(region);
}

// A value and its headline values: "PLD 0.877 = localisation 0.200 + detection 0.677".
function sentenceOf(metric, values) {
  const parts = metric.headlines.map((key) => `${labelOf(key)} ${shown(key, values[key])}`);
  return `${metric.title} ${shown(metric.key, values[metric.key])}${parts.length ? ` = ${parts.join(" + ")}` : ""}`;
}

function barOf(metric, values) {
  let at = 0;
  const boxes = metric.parts.map(({ key, colour }) => {
    const width = 100 * (values[key] || 0);
    const box = svgElement("rect", { class: "part", x: at, y: 1, width, height: 14, fill: colour }, svgElement("title", {}, `${labelOf(key)} ${shown(key, values[key])}`));
    at += width;
    return box;
  });
  return svgElement("svg", { class: "bar", viewBox: "0 0 100 16", preserveAspectRatio: "none", "aria-hidden": "true" }, svgElement("rect", { class: "track", width: 100, height: 16 }), ...boxes);
}

function setRange(key, range) {
  const ranges = { ...state.ranges };
  if (range) ranges[key] = range;
  else delete ranges[key];
  change({ ranges });
}

function go(by) {
  const place = rows.indexOf(state.frame);
  const next = place < 0 ? rows[0] : rows[Math.min(Math.max(place + by, 0), rows.length - 1)];
  if (next === undefined) return;
  change({ frame: next });
  scrollToRow(rows.indexOf(next)); // needed if the frame did not change but was scrolled out of sight
}

function options(id, pairs) {
  $$(id).replaceChildren(...pairs.map(([value, text]) => element("option", { value, textContent: text })));
}

function boxes(id, entries, attribute, onChange) {
  for (const [value, text, colour] of entries) {
    const box = element("input", { type: "checkbox" });
    box.dataset[attribute] = value;
    box.addEventListener("change", () => onChange(value, box.checked));
    const swatch = element("span", { className: "swatch" });
    swatch.style.background = colour ?? "";
    $$(id).append(element("label", {}, box, " ", ...(colour ? [swatch] : []), text));
  }
}

const toggled = (set, value, on) => {
  const copy = new Set(set);
  if (on) copy.delete(value);
  else copy.add(value);
  return copy;
};

function build() {
  options("method", methodChoices());
  options("of", [["", "all"], ...meta.classes.map((name) => [name, name])]);
  options("scene", [["", "all"], ...[...new Set(meta.scenes ?? [])].map((name) => [name, name])]);
  options("value", numberKeys.map((key) => [key, labelOf(key)]));
  $$("method-label").hidden = meta.methods.length === 1;
  $$("scene-label").hidden = !meta.scenes;
  $$("only-label").hidden = meta.drawn.length === 0 || meta.drawn.length === frameCount;
  $$("layers").hidden = meta.drawn.length === 0;
  if (meta.methods.length > 1) {
    // Drawings side by side need the whole width. The list moves below them, also in the order of the tab key.
    const both = document.querySelector(".columns");
    both.classList.add("several");
    both.prepend(document.querySelector(".right"));
    both.append($$("frame-values"));
  }
  buildList((key) => change(key === state.sort ? { down: !state.down } : { sort: key, down: numberKeys.includes(key) }), (frame) => change({ frame }));
  const onView = (make) => change({ view: make(state.view) });
  buildPanels(onView);
  const layers = Object.entries(LAYERS).filter(([key]) => meta.matched || key === "truth" || key === "predictions");
  boxes("layer-boxes", layers, "layer", (key, on) => change({ off: toggled(state.off, key, on) }));
  const classes = meta.classes.map((name, label) => [label, name, meta.colours[label]]);
  boxes("class-boxes", classes, "label", (label, on) => change({ offClasses: toggled(state.offClasses, label, on) }));
  for (const key of ["method", "of", "scene", "value"]) $$(key).addEventListener("change", () => change({ [key]: $$(key).value }));
  $$("text").addEventListener("input", () => change({ text: $$("text").value }));
  $$("only").addEventListener("change", () => change({ only: $$("only").checked }));
  $$("least").addEventListener("input", () => change({ least: Number($$("least").value) }));
  for (const id of ["low", "high"]) {
    $$(id).addEventListener("input", () => {
      const [low, high] = [$$("low").value, $$("high").value];
      const range = [low === "" ? -Infinity : Number(low), high === "" ? Infinity : Number(high)];
      setRange(state.value, low === "" && high === "" ? null : range);
    });
  }
  onBrush((range) => setRange(state.value, range));
  $$("clear").addEventListener("click", () => change({ text: "", scene: "", only: false, ranges: {} }));
  for (const form of document.forms) form.addEventListener("submit", (event) => event.preventDefault());
  $$("previous").addEventListener("click", () => go(-1));
  $$("next").addEventListener("click", () => go(1));
  $$("closer").addEventListener("click", () => onView((view) => zoomed(view, 0.7)));
  $$("farther").addEventListener("click", () => onView((view) => zoomed(view, 1 / 0.7)));
  $$("whole").addEventListener("click", () => onView(() => null));
  scroller.addEventListener("scroll", () => showRows(state, rows, columns), { passive: true });
  document.addEventListener("keydown", (event) => onKey(event, onView));
  window.addEventListener("resize", () => {
    for (const panel of panels) panel.width = 0;
    refresh();
  });
  window.addEventListener("hashchange", () => {
    if ($$(location.hash.slice(1))) return; // a link within the page, not a state
    clearTimeout(addressTimer);
    state = stateOf(location.hash);
    refresh();
  });
}

function onKey(event, onView) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  const inList = event.target === list;
  const page = Math.floor(scroller.clientHeight / ROW) - 2;
  const steps = { j: 1, k: -1, ArrowRight: 1, ArrowLeft: -1 };
  if (inList) Object.assign(steps, { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -frameCount, End: frameCount });
  if (event.key in steps) go(steps[event.key]);
  else if (event.key === "+" || event.key === "=") onView((view) => zoomed(view, 0.7));
  else if (event.key === "-") onView((view) => zoomed(view, 1 / 0.7));
  else if (event.key === "0") onView(() => null);
  else return;
  event.preventDefault();
}

try {
  await unpack();
  build();
  state = stateOf(location.hash);
  refresh();
  document.body.dataset.ready = "true";
} catch (error) {
  $$("failure").textContent = `The list of frames cannot be shown: ${error.message}`;
  throw error;
}
