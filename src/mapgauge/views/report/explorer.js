// Holds the state of the page, writes it to the address, and reacts to every control.

const DEFAULTS = () => ({
  frame: -1,
  absent: "", // the frame that the address names, if there is none of that name
  method: "0", // or a difference, "1-0"
  of: "", // the class whose values are listed and whose instances are drawn; "" for all
  sort: meta.metrics[0]?.key ?? "token",
  down: meta.metrics[0]?.lower ?? false, // the worst frames first
  text: "",
  scene: "",
  why: "", // a reason why frames are drawn, or DRAWN; "" for all frames
  value: numberKeys[0],
  ranges: {}, // by value: [low, high]
  least: meta.least ?? 0, // hides the faintest predictions, unless there are few
  cause: MODES[0][0], // a mode of marks.js; or the cause or the family of causes that colours the instances
  off: new Set(), // layers
  view: null, // { x, y, width } in metres; null is the whole frame
  pane: "", // the pane of an extra, which takes the place of the list
  columns: "", // the columns of the list: keys, "all", or "" for the usual ones
  shown: "", // the two methods that are drawn, if there are many; "" for the first ones
  ...Object.assign({}, ...extras.map(({ defaults }) => defaults)),
});

// An extra has some of these: `pane`, its name and title; `view`, a key and a name, if the pane has a button; `defaults`, further texts of the state, and `allows(key, text)`,
// whether an address may have them; `filters`, keys that the list depends on, passes(frame), and `cleared`, their values
// without a filter; in drawings, below(panel, frame), nodes under the lines, over(panel, frame), nodes over the truth, placed(frame), the transform of the lines,
// whole(), the view of everything, and marks(state), what of it the legend explains: texts and nodes of a sample; build(change); toggle(state), before anything is drawn; show(state, differs), at the end;
// order(state), the frames that the keys go through, or null; passing(), whether frames pass by themselves; narrows(state),
// whether it has a filter that no condition can say; chips(state), names of such filters and the changes that take them
// away; playFrom(frame), which plays the rest of a scene and returns whether it can; map, its title and element(), a map that others
// may show in a larger place, or null.
const panes = extras.flatMap(({ pane }) => (pane ? [pane] : []));
const filterKeys = ["method", "of", "text", "scene", "why", "ranges", ...extras.flatMap(({ filters }) => filters ?? [])];
const noFilters = Object.assign({ text: "", scene: "", why: "" }, ...extras.map((extra) => extra.cleared));
const ownKeys = extras.flatMap(({ defaults }) => Object.keys(defaults ?? {}));

let state = DEFAULTS();
let columns = {};
let rows = [];
let addressTimer = 0;
let changedAt = Infinity; // when the state changed last, in milliseconds; before that there is nothing to go back to
let isNewEntry = false; // whether the next address is a new entry of the history
let seenHash = location.hash; // the address that the state was taken from or written to

const hasAddress = location.protocol !== "about:"; // in a notebook, the page has no address of its own
const SETTLED = 1000; // milliseconds; a state that was seen for so long can be gone back to

function addressOf(now) {
  const first = DEFAULTS();
  const said = new URLSearchParams();
  if (now.frame >= 0) said.set("frame", meta.tokens[now.frame]);
  for (const key of ["method", "of", "text", "scene", "value", "why", "pane", "cause", "columns", "shown", ...ownKeys]) if (now[key] !== first[key]) said.set(key, now[key]);
  if (now.sort !== first.sort || now.down !== first.down) said.set("sort", (now.down ? "-" : "") + now.sort);
  for (const [key, [low, high]] of Object.entries(now.ranges)) said.append("range", `${key} ${low} ${high}`);
  if (now.least !== first.least) said.set("least", now.least);
  for (const layer of now.off) said.append("off", layer);
  if (now.view) said.set("view", [now.view.x, now.view.y, now.view.width].map((value) => value.toFixed(2)).join(" "));
  return `#${said}`;
}

// The state that an address describes. Unknown entries are ignored, so that old links still open.
function stateOf(address) {
  const said = new URLSearchParams(address.slice(1));
  const now = DEFAULTS();
  now.frame = said.has("frame") ? meta.tokens.indexOf(said.get("frame")) : -1;
  now.absent = said.has("frame") && now.frame < 0 ? said.get("frame") : "";
  const known = {
    method: methodChoices().map(([value]) => value),
    of: meta.classes,
    scene: meta.scenes ?? [],
    value: numberKeys,
    why: [DRAWN, ...meta.reasons],
    pane: panes.map(([name]) => name),
    cause: [...MODES.map(([mode]) => mode), ...familyKeys, ...causeKeys],
  };
  for (const [key, values] of Object.entries(known)) if (values.includes(said.get(key))) now[key] = said.get(key);
  for (const { defaults = {}, allows } of extras) {
    for (const key of Object.keys(defaults)) if (said.has(key) && allows(key, said.get(key))) now[key] = said.get(key);
  }
  now.text = said.get("text") ?? "";
  const chosen = (said.get("columns") ?? "").split(" ").filter((key) => key === "all" || allColumns.includes(key));
  now.columns = chosen.includes("all") ? "all" : chosen.join(" ");
  if (isShownText(said.get("shown") ?? "")) now.shown = said.get("shown");
  const sort = said.get("sort");
  if (sort && allColumns.includes(sort.replace(/^-/, ""))) Object.assign(now, { sort: sort.replace(/^-/, ""), down: sort.startsWith("-") });
  for (const range of said.getAll("range")) {
    const [key, low, high] = range.split(" ");
    if (numberKeys.includes(key)) now.ranges[key] = [Number(low), Number(high)];
  }
  if (said.has("least")) now.least = Math.min(Math.max(Number(said.get("least")) || 0, 0), 1);
  for (const layer of said.getAll("off")) if (layer in LAYERS) now.off.add(layer);
  const view = (said.get("view") ?? "").split(" ").map(Number);
  if (view.length === 3 && view.every(Number.isFinite) && view[2] > 0) now.view = clamped({ x: view[0], y: view[1], width: view[2] });
  return now;
}

function methodChoices() {
  const names = meta.methods;
  const pairs = names.flatMap((_, j) => names.slice(0, j).map((_, i) => [`${j}-${i}`, `${names[j]} minus ${names[i]}`]));
  return [...names.map((name, k) => [String(k), name]), ...pairs];
}

// What the list shows, in words.
const choiceOf = (now) => ({ name: methodChoices().find(([value]) => value === now.method)[1], of: now.of, signed: now.method.includes("-") });

// What the histogram shows: all methods, or one difference.
function seriesOf(now) {
  if (now.method.includes("-")) return [[{ name: choiceOf(now).name, column: columns[now.value] }], 0];
  return [meta.methods.map((name, k) => ({ name, colour: meta.methodColours[k], column: numbersOf(k, now.value, now.of) })), Number(now.method)];
}

const ALL_DRAWN = 3; // methods up to which all are drawn; of more, two
const isShownText = (text) => /^\d+ \d+$/.test(text) && text.split(" ").every((k) => Number(k) < meta.methods.length);

// The methods that are drawn: all, or the two that were chosen, or those of a difference.
function shownMethods(now) {
  if (meta.methods.length <= ALL_DRAWN) return meta.methods.map((_, k) => k);
  if (now.shown !== "") return [...new Set(now.shown.split(" ").map(Number))];
  if (now.method.includes("-")) return now.method.split("-").map(Number).reverse();
  return Number(now.method) === 0 ? [0, 1] : [0, Number(now.method)];
}

// Whether the drawing shows the first frame of the list after some changes. An answer of the server comes later, when another
// frame may have been chosen.
function leadsToFirst(changes) {
  if ("frame" in changes) return false;
  const keys = ["of", "sort", "down", "text", "scene", "why", "ranges", ...extras.flatMap(({ filters }) => filters ?? [])];
  return keys.some((key) => key !== "kept" && key in changes);
}

// Changes the state and updates only what depends on the change.
function change(changes, toFirst = leadsToFirst(changes)) {
  const before = state;
  const now = performance.now();
  isNewEntry ||= now - changedAt > SETTLED && !extras.some((extra) => extra.passing?.());
  changedAt = now;
  state = { ...state, ...("frame" in changes ? { absent: "" } : {}), ...changes };
  refresh(before, toFirst);
}

function refresh(before = null, toFirst = false) {
  const differs = (...keys) => before === null || keys.some((key) => state[key] !== before[key]);
  for (const extra of extras) extra.toggle?.(state);
  if (differs("method", "of")) columns = columnsOf(state.method, state.of);
  if (differs("columns", "sort")) setListColumns();
  if (differs(...filterKeys, "sort", "down")) {
    rows = sorted(passing(state, columns), state, columns);
    if (toFirst) state.frame = rows.find(canDraw) ?? rows[0] ?? state.frame;
    if (state.frame < 0) state.frame = firstFrame();
    markSort(state);
    if (differs("sort")) scrollToColumn(state.sort);
    scroller.scrollTop = 0; // show the first rows after sorting or filtering
    $$("count").textContent = `${rows.length.toLocaleString("en")} of ${frameCount.toLocaleString("en")} frames`;
  }
  if (differs(...filterKeys, "value", "pane")) {
    drawHistogram(state.value, ...seriesOf(state), passing(state, columns, state.value), rows, state.ranges[state.value]);
  }
  if (differs("frame", ...filterKeys, "sort", "down", "pane", "columns")) {
    showRows(state, rows, columns);
    if (differs("frame", "pane") && rows.includes(state.frame)) {
      scrollToRow(rows.indexOf(state.frame)); // only a list with rows can be scrolled
      showRows(state, rows, columns);
    }
  }
  if (differs("shown", "method")) choosePanels();
  if (differs("frame", "shown", "method")) for (const panel of drawnPanels()) if (differs("frame") || panel.frame !== state.frame) drawScene(Object.assign(panel, { frame: state.frame }), state.frame);
  if (differs("frame", "of")) showFrame(state.frame);
  if (differs("frame", "least", "off", "of", "shown", "method")) for (const panel of drawnPanels()) applyLayers(panel, state);
  if (differs("frame", "cause", "shown", "method")) for (const panel of drawnPanels()) applyMode(panel, state.cause);
  if (differs("frame", "cause", "of")) showKey();
  if (differs("frame", "view", "shown", "method")) for (const panel of drawnPanels()) applyView(panel, state.view);
  for (const extra of extras) extra.show?.(state, differs);
  showControls();
  $$("absent").hidden = state.absent === "";
  $$("absent").textContent = state.absent === "" ? "" : `The link names the frame ${state.absent}, which is not in this report.`;
  $$("outside").hidden = orderOf().includes(state.frame);
  clearTimeout(addressTimer); // browsers limit how often the address may change
  addressTimer = setTimeout(writeAddress, 100);
}

// Writes the state to the address. Where a link or the button "back" has changed the address, its event is on its way and
// the state of before must not replace it.
function writeAddress() {
  if (!hasAddress || location.hash !== seenHash) return;
  const address = addressOf(state);
  if (address !== location.hash) history[isNewEntry ? "pushState" : "replaceState"](null, "", address);
  seenHash = location.hash;
  isNewEntry = false;
}

// Draws the frame again, after its geometry came.
const redraw = () => refresh({ ...state, frame: -1 });

// The first frame of the list that can be drawn and has both sides. Frames without predictions or truth explain little.
function firstFrame() {
  const both = (frame) => ["predictions", "truth"].every((key) => !(key in columnOf) || numbersOf(0, key, "")[frame] > 0);
  const drawable = rows.filter(canDraw);
  return drawable.find(both) ?? drawable[0] ?? rows[0] ?? 0;
}

function showControls() {
  if (state.scene !== "") fillScenes();
  showModes(state.cause);
  for (const key of ["method", "scene", "value", "why"]) $$(key).value = state[key];
  if ($$("class-choice")) $$("class-choice").value = state.of;
  for (const box of document.querySelectorAll("[data-of]")) box.checked = state.of === box.dataset.of;
  for (const button of document.querySelectorAll("[data-view]")) button.setAttribute("aria-pressed", String(state.pane === button.dataset.view));
  for (const box of document.querySelectorAll("[data-pane]")) box.checked = state.pane === box.dataset.pane;
  if ($$("text").value !== state.text) $$("text").value = state.text;
  const [low, high] = state.ranges[state.value] ?? ["", ""];
  for (const [id, value] of [["low", low], ["high", high]]) {
    const text = Number.isFinite(value) ? String(value) : "";
    const typed = $$(id).value;
    if (text === "" ? typed !== "" : typed === "" || Number(typed) !== value) $$(id).value = text; // keep "0.50" while it is typed
  }
  $$("clear").hidden = Object.keys(state.ranges).length === 0 && Object.entries(noFilters).every(([key, value]) => state[key] === value);
  $$("least").value = state.least;
  $$("least-value").textContent = state.least.toFixed(2) + hiddenInWords(state.least);
  $$("gains").hidden = !state.method.includes("-") || !meta.metrics.length;
  for (const box of document.querySelectorAll("[data-layer]")) box.checked = !state.off.has(box.dataset.layer);
  const order = orderOf();
  const place = order.indexOf(state.frame);
  $$("save-list").disabled = rows.length === 0;
  $$("previous").disabled = order.length === 0 || place === 0;
  $$("next").disabled = order.length === 0 || place === order.length - 1;
}

// How many predictions of the frame the minimum confidence hides, in words.
function hiddenInWords(least) {
  const counts = drawnPanels().map(({ instances }) => instances.filter(({ side, confidence }) => side !== "truth" && confidence < least).length);
  return counts.some((count) => count > 0) ? `, hides ${counts.join(" and ")} fainter` : "";
}

// Sorts a difference by the first metric: the largest gain of the first named method first, or its largest loss.
function sortGains(gain) {
  const { key, lower } = meta.metrics[0];
  change({ sort: key, down: gain !== lower });
}

// Shows what the lines mean.
function showKey() {
  if (modeOf(state.cause) === EVERY) showCauses(state, chooseCause);
  else showMarks(state.cause);
}

// Shows a cause in the drawings, and the frames with most of it first.
function chooseCause(cause) {
  change(numberKeys.includes(cause) ? { cause, sort: cause, down: true } : { cause });
}

// The frames that the keys and buttons go through: those of the list, or those of an extra.
const orderOf = () => extras.map((extra) => extra.order?.(state)).find(Boolean) ?? rows;

const drawnPanels = () => panels.filter(({ figure }) => !figure.hidden);

// Shows the panels of the methods that are drawn.
function choosePanels() {
  const kept = shownMethods(state);
  for (const panel of panels) {
    panel.figure.hidden = !kept.includes(panel.method);
    panel.size = null;
  }
  ["shown-first", "shown-second"].forEach((id, k) => ($$(id).value = String(kept[k] ?? kept[0])));
}

// Makes the head of the list for the chosen columns.
function setListColumns() {
  const keys = columnsShown(state);
  if (list.tHead.rows.length && keys.join() === listKeys.join()) return;
  setColumns(keys, (key) => change(key === state.sort ? { down: !state.down } : { sort: key, down: numberKeys.includes(key) }));
  for (const box of document.querySelectorAll("[data-column]")) box.checked = keys.includes(box.dataset.column);
}

function chooseColumn(key, on) {
  const keys = new Set(columnsShown(state));
  if (on) keys.add(key);
  else keys.delete(key);
  const text = allColumns.filter((each) => keys.has(each) && each !== "token").join(" ");
  change({ columns: keys.size === columnKeys.length && columnKeys.every((each) => keys.has(each)) ? "all" : text });
}

function setRange(key, range) {
  const ranges = { ...state.ranges };
  if (range) ranges[key] = range;
  else delete ranges[key];
  change({ ranges });
}

function go(by) {
  const order = orderOf();
  const place = order.indexOf(state.frame);
  const next = place < 0 ? order[0] : order[Math.min(Math.max(place + by, 0), order.length - 1)];
  if (next === undefined) return;
  change({ frame: next });
  scrollToRow(rows.indexOf(next)); // needed if the frame did not change but was scrolled out of sight
  showRows(state, rows, columns);
}

function options(id, pairs) {
  $$(id).replaceChildren(...pairs.map(([value, text]) => element("option", { value, textContent: text })));
}

// Offers all scenes, unless that was done.
function fillScenes() {
  if ($$("scene").options.length === 1) $$("scene").append(...[...new Set(meta.scenes ?? [])].map((name) => element("option", { value: name, textContent: name })));
}

function boxes(id, type, entries, attribute, onChange) {
  for (const [value, text, colour] of entries) {
    const box = element("input", { type, name: id });
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
  const fewScenes = new Set(meta.scenes ?? []).size <= 500;
  options("scene", [["", "all"]]);
  if (fewScenes) fillScenes(); // thousands of options take the browser a third of a second
  else $$("scene").addEventListener("focus", fillScenes);
  options("value", numberKeys.map((key) => [key, labelOf(key)]));
  $$("method-label").hidden = meta.methods.length === 1;
  $$("scene-label").hidden = !meta.scenes;
  for (const id of ["shown-first", "shown-second"]) options(id, meta.methods.map((name, k) => [String(k), name]));
  $$("shown-label").hidden = meta.methods.length <= ALL_DRAWN;
  for (const id of ["shown-first", "shown-second"]) $$(id).addEventListener("change", () => change({ shown: `${$$("shown-first").value} ${$$("shown-second").value}` }));
  boxes("column-boxes", "checkbox", allColumns.filter((key) => key !== "token").map((key) => [key, headOf(key)]), "column", chooseColumn);
  document.addEventListener("click", ({ target }) => ($$("columns-choice").open &&= $$("columns-choice").contains(target)));
  options("why", [["", "all frames"], [DRAWN, "all that can be drawn"], ...meta.reasons.map((reason) => [reason, reason])]);
  $$("why-label").hidden = drawableCount === 0 || (drawableCount === frameCount && meta.reasons.length === 0);
  $$("layers").hidden = drawableCount === 0;
  buildModes((cause) => change({ cause }));
  $$("workbench").classList.add(`methods-${Math.min(meta.methods.length, 3)}`);
  setListColumns();
  buildList((frame) => change({ frame }));
  const onView = (make) => change({ view: make(state.view) });
  const nameOf = (panel) => [meta.tokens[state.frame], meta.methods[panel.method]];
  buildPanels(onView, (panel) => download(`${nameOf(panel).join(" ")}.svg`, "image/svg+xml", svgOf(panel, nameOf(panel))));
  const layers = Object.entries(LAYERS).filter(([key]) => ({ truth: true, predictions: true, links: meta.linkStates.length, ignored: meta.ignored })[key] ?? meta.matched);
  boxes("layer-boxes", "checkbox", layers, "layer", (key, on) => change({ off: toggled(state.off, key, on) }));
  const classes = meta.classes.map((name, label) => [name, name, meta.colours[label]]);
  if (meta.classes.length < SEARCH_FROM) boxes("class-boxes", "radio", [["", "all"], ...classes], "of", (of) => change({ of }));
  else {
    const choice = element("select", { id: "class-choice" }, ...[["", "all"], ...classesWorstFirst(0).map((name) => [name, name])].map(([value, text]) => element("option", { value, textContent: text })));
    choice.setAttribute("aria-label", "Class");
    choice.addEventListener("change", () => change({ of: choice.value }));
    $$("class-boxes").append(choice);
  }
  for (const key of ["method", "scene", "value", "why"]) $$(key).addEventListener("change", () => change({ [key]: $$(key).value }));
  $$("text").addEventListener("input", () => change({ text: $$("text").value }));
  $$("least").addEventListener("input", () => change({ least: Number($$("least").value) }));
  for (const id of ["low", "high"]) {
    $$(id).addEventListener("input", () => {
      const [low, high] = [$$("low").value, $$("high").value];
      const range = [low === "" ? -Infinity : Number(low), high === "" ? Infinity : Number(high)];
      setRange(state.value, low === "" && high === "" ? null : range);
    });
  }
  onBrush((range) => setRange(state.value, range));
  for (const id of ["clear", "clear-empty"]) $$(id).addEventListener("click", () => change({ ...noFilters, ranges: {} }));
  $$("largest-gain").addEventListener("click", () => sortGains(true));
  $$("largest-loss").addEventListener("click", () => sortGains(false));
  $$("save-list").addEventListener("click", () => download("frames.csv", "text/csv", csvOf(rows, columns, choiceOf(state))));
  $$("copy").addEventListener("click", async () => {
    await copyText(meta.tokens[state.frame]);
    $$("copied").textContent = "copied";
    setTimeout(() => ($$("copied").textContent = ""), 2000);
  });
  if (panes.length) boxes("panes", "radio", [["", "list of frames"], ...panes], "pane", (pane) => change({ pane }));
  $$("panes").hidden = panes.length === 0;
  for (const extra of extras) extra.build?.(change);
  buildViews();
  for (const form of document.forms) form.addEventListener("submit", (event) => event.preventDefault());
  $$("previous").addEventListener("click", () => go(-1));
  $$("next").addEventListener("click", () => go(1));
  $$("closer").addEventListener("click", () => onView((view) => zoomed(view, 0.7)));
  $$("farther").addEventListener("click", () => onView((view) => zoomed(view, 1 / 0.7)));
  $$("whole").addEventListener("click", () => onView(() => null));
  scroller.addEventListener("scroll", () => showRows(state, rows, columns), { passive: true });
  document.addEventListener("keydown", (event) => onKey(event, onView));
  window.addEventListener("resize", () => {
    for (const panel of panels) panel.size = null;
    refresh();
  });
  const fit = () => {
    for (const panel of panels) panel.size = null;
    for (const panel of panels) applyView(panel, state.view);
    if (rows.includes(state.frame)) scrollToRow(rows.indexOf(state.frame));
    showRows(state, rows, columns);
  };
  const watch = new ResizeObserver(fit); // what is below the panels, and captions in them, may change their height
  for (const node of [$$("panels"), ...panels.map(({ svg }) => svg)]) watch.observe(node);
  window.addEventListener("beforeprint", () => showPrinted(rows, columns, choiceOf(state)));
  window.addEventListener("hashchange", () => {
    seenHash = location.hash;
    if ($$(location.hash.slice(1))) return; // a link within the page, not a state
    restore();
    scrollToFrame();
  });
}

// Takes the state from the address.
function restore() {
  clearTimeout(addressTimer);
  isNewEntry = false;
  changedAt = performance.now();
  seenHash = location.hash;
  state = stateOf(location.hash);
  refresh();
}

// Scrolls to the frame that the address names, or to the list that it sorts. The list is visible too if it is beside the
// drawing.
function scrollToFrame() {
  const said = new URLSearchParams(location.hash.slice(1));
  if (!said.has("frame") && !said.has("sort")) return;
  const [bench, drawing] = [$$("workbench"), document.querySelector(".right")];
  const beside = drawing.offsetLeft > bench.offsetLeft + 50;
  const wanted = state.absent ? $$("absent") : beside || !said.has("frame") ? bench : drawing;
  const { top } = wanted.getBoundingClientRect();
  if (top < 0 || top > innerHeight / 6) wanted.scrollIntoView();
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
  else if (event.key === "b") blink();
  else if (event.key === "?") showHelp();
  else if (event.key === "Escape" && blinkAt >= 0) blink();
  else if (VIEWS.has(event.key)) showPane(VIEWS.get(event.key).pane);
  else return;
  event.preventDefault();
}

// What stands beside the drawing and has a key and a button: by key, the pane and the name of the button. The first pane
// that asks for a key has it.
const VIEWS = new Map([["1", { pane: "", name: "list" }]]);
for (const { pane, view } of extras) if (view && !VIEWS.has(view[0])) VIEWS.set(view[0], { pane: pane[0], name: view[1] });

// Shows what stands beside the drawing, which is below the first screen.
function showPane(pane) {
  change({ pane });
  $$("workbench").scrollIntoView({ block: "start" });
}

// Buttons in the head of the page for the list, the grid and the map.
function buildViews() {
  for (const key of [...VIEWS.keys()].sort()) {
    const { pane, name } = VIEWS.get(key);
    const button = element("button", { type: "button", textContent: `${name} ${key}`, title: `Key ${key}` });
    button.dataset.view = pane;
    button.addEventListener("click", () => showPane(pane));
    $$("views").append(button);
  }
  $$("help-button").addEventListener("click", showHelp);
}

try {
  const loading = source.load();
  if (loading) await loading;
  build();
  restore();
  // A page that is reloaded keeps its place.
  if (performance.getEntriesByType("navigation")[0]?.type !== "reload") scrollToFrame();
  document.body.dataset.ready = "true";
} catch (error) {
  tellFailure(`The list of frames cannot be shown: ${error.message}`, error);
  throw error;
}
