// The first screen: what is found, where and why it is not, for all methods and classes. Every row is a filter.

let answer = meta.answer; // null until it comes, in `mapgauge view`
let isAnswered = false; // whether an answer that knows predictions and truth has come
let isPanelComing = Boolean(source.panel); // whether the panel "where" comes later, in `mapgauge view`
let openedGroup = ""; // the family of causes whose causes are shown
let searched = ""; // what the names of classes must contain

const SEARCH_FROM = 12; // classes from which the list of classes has a field
const PROPERTIES = [
  ["found", "found", (value) => percent(value), "the share of the length of the true lines that a prediction has found"],
  ["beside", "beside it", (value) => `${value.toFixed(2)} m`, "how far the found parts are beside the truth (median)"],
  ["far", "far off", (value) => percent(value), "the share of what is drawn that has no true line of its class within the cutoff"],
  ["repeated", "repeated", (value) => percent(value), "the share of what is drawn that repeats a line which another prediction has found"],
  ["other_class", "wrong class", (value) => percent(value), "the share of what is drawn that lies on a line of another class"],
];

const percent = (value) => `${Math.round(100 * value)} %`;
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

// The values of a method for all classes ("") or one class: main values and parts by key.
const valuesOf = (method, of) => meta.values[method][of === "" ? "mean" : of] ?? {};
const mainKey = () => meta.metrics[0]?.key; // of the metric that frames have a value of

// The two methods that are compared, the second minus the first. Null if one is looked at, and there are not two.
function pairOf(now) {
  if (now.method.includes("-")) {
    const [second, first] = now.method.split("-").map(Number);
    return [first, second];
  }
  return meta.methods.length === 2 ? [0, 1] : null;
}

const methodName = (method) => element("span", { className: "of-method" }, methodSwatch(method), meta.methods[method]);

function methodSwatch(method) {
  const swatch = element("span", { className: "dot" });
  swatch.style.background = meta.methodColours[method];
  return swatch;
}

// A button in a row that is pressed while its filter is on.
function filterButton(content, pressed, title, onClick) {
  const button = element("button", { type: "button", className: "row", title, ariaPressed: String(pressed) }, ...content);
  button.addEventListener("click", onClick);
  return button;
}

// Dots on an axis: `dots` are { at, colour, low, high, title }, in the units of the axis.
function dotPlot(dots, low, high, zero = null) {
  const x = (value) => (100 * Math.min(Math.max((value - low) / (high - low || 1), 0), 1)).toFixed(2);
  const nodes = [svgElement("line", { class: "rail", x1: 0, x2: 100, y1: 8, y2: 8 })];
  if (zero !== null) nodes.push(svgElement("line", { class: "zero", x1: x(zero), x2: x(zero), y1: 0, y2: 16 }));
  const there = dots.filter(({ at }) => isNumber(at));
  if (there.length > 1) nodes.push(svgElement("line", { class: "span", x1: x(Math.min(...there.map(({ at }) => at))), x2: x(Math.max(...there.map(({ at }) => at))), y1: 8, y2: 8 }));
  for (const { at, colour, low: from, high: to } of there) {
    if (isNumber(from) && isNumber(to)) nodes.push(svgElement("line", { class: "interval", x1: x(from), x2: x(to), y1: 8, y2: 8, stroke: colour }));
    nodes.push(svgElement("path", { class: "dot", d: `M${x(at)} 8h0`, stroke: colour }));
  }
  return svgElement("svg", { class: "dots-plot", viewBox: "0 0 100 16", preserveAspectRatio: "none", "aria-hidden": "true" }, ...nodes);
}

const cell = (...content) => element("td", {}, ...content);

function showWhat(now) {
  const body = $$("what").querySelector(".body");
  const pair = now.method.includes("-") ? pairOf(now) : null;
  const focused = document.activeElement?.id;
  body.replaceChildren(...(meta.methods.length > 2 ? [scrolled("methods", methodTable(now))] : [propertyTable()]), ...(pair ? differenceRows(now, pair) : classRows(now)));
  if (focused && focused !== document.activeElement?.id) $$(focused)?.focus();
}

// What each method does, in per cent and metres: a row for each property.
function propertyTable() {
  const methods = meta.methods.map((_, k) => k);
  const head = element("tr", {}, element("td", {}), ...methods.map((k) => element("th", { scope: "col" }, methodName(k))));
  const rows = [[mainTitle(), (k) => shown(mainKey(), valuesOf(k, "")[mainKey()] ?? NaN), ""]];
  for (const [key, title, text, about] of PROPERTIES) {
    if (!answer?.methods.some((method) => isNumber(method[key]))) continue;
    rows.push([title, (k) => (isNumber(answer.methods[k][key]) ? text(answer.methods[k][key]) : "-"), about]);
  }
  for (const { key, title } of meta.mains.filter((metric) => metric.key !== mainKey())) rows.push([title, (k) => shown(key, valuesOf(k, "")[key] ?? NaN), ""]);
  const lines = rows.map(([title, text, about]) => element("tr", { title: about }, element("th", { scope: "row", textContent: title }), ...methods.map((k) => cell(text(k)))));
  return element("table", { className: "facts", ariaLabel: "What is found" }, element("thead", {}, head), element("tbody", {}, ...lines));
}

const mainTitle = () => meta.metrics[0]?.title ?? "";

// A row for each method, for three or more. All that tie with the best are marked.
function methodTable(now) {
  const kept = PROPERTIES.filter(([key]) => answer?.methods.some((method) => isNumber(method[key]))).slice(0, 3);
  const metrics = meta.mains;
  const best = Object.fromEntries(metrics.map((metric) => [metric.key, tiedWithBest(metric)]));
  const head = element("tr", {}, ...["method", ...metrics.map(({ title, lower }) => `${title} ${lower ? "↓" : "↑"}`), ...kept.map(([, title]) => title)].map((title) => element("th", { scope: "col", textContent: title })));
  const lines = meta.methods.map((name, k) => {
    const button = filterButton([methodSwatch(k), name], now.method === String(k), `Values of ${name}`, () => change({ method: String(k) }));
    button.id = `what-method-${k}`;
    const values = metrics.map(({ key }) => {
      const text = shown(key, valuesOf(k, now.of)[key] ?? NaN);
      return best[key].includes(k) ? cell(element("strong", { textContent: text, title: "not told from the best" })) : cell(text);
    });
    const facts = kept.map(([key, , text]) => cell(isNumber(answer.methods[k][key]) ? text(answer.methods[k][key]) : "-"));
    return element("tr", {}, element("th", { scope: "row" }, button), ...values, ...facts);
  });
  return element("table", { className: "facts", ariaLabel: "Methods; bold values tie with the best" }, element("thead", {}, head), element("tbody", {}, ...lines));
}

// The methods with the best value, and those whose difference from it is not decided.
function tiedWithBest({ key, lower }) {
  const values = meta.methods.map((_, k) => valuesOf(k, "")[key] ?? NaN);
  const cost = (k) => (lower ? values[k] : -values[k]);
  const there = values.map((_, k) => k).filter((k) => !Number.isNaN(values[k]));
  const best = there.reduce((a, b) => (cost(b) < cost(a) ? b : a), there[0]);
  const isTied = (k) => {
    if (k === best || values[k] === values[best]) return true;
    const [, , , isDecided] = intervalOf(Math.min(k, best), Math.max(k, best), "mean", key) ?? [];
    return isDecided === false; // null: there are too few scenes to say so
  };
  return there.filter(isTied);
}

// The difference between two methods, from the first to the second: its value, the ends of its interval, and whether it is
// decided. Null if it is not known.
const intervalOf = (first, second, of, key) => meta.intervals[`${first}-${second}`]?.[of]?.[key] ?? null;

const classesWorstFirst = (method) => {
  const worst = (name) => {
    const value = valuesOf(method, name)[mainKey()];
    return isNumber(value) ? (meta.metrics[0]?.lower ? value : -value) : -Infinity;
  };
  return [...meta.classes].sort((a, b) => worst(b) - worst(a));
};

function searchField() {
  if (meta.classes.length < SEARCH_FROM) return [];
  const field = element("input", { type: "search", id: "class-search", placeholder: "find a class", value: searched, autocomplete: "off" });
  field.setAttribute("aria-label", "Find a class");
  field.addEventListener("input", () => {
    searched = field.value;
    showWhat(state);
  });
  return [field];
}

const shownClasses = (method) => classesWorstFirst(method).filter((name) => name.toLowerCase().includes(searched.toLowerCase()));

function classButton(now, name) {
  const swatch = element("span", { className: "swatch" });
  swatch.style.background = meta.colours[meta.classes.indexOf(name)];
  const button = filterButton([swatch, name], now.of === name, `Frames and lines of ${name}`, () => change({ of: now.of === name ? "" : name }));
  button.id = `what-class-${meta.classes.indexOf(name)}`;
  return button;
}

// A row for each class, the worst first: the first value of all methods as dots.
function classRows(now) {
  const key = mainKey();
  if (!key) return [];
  const all = meta.classes.flatMap((name) => meta.methods.map((_, k) => valuesOf(k, name)[key])).filter(isNumber);
  const [low, high] = [Math.floor(10 * Math.min(...all, 1)) / 10, Math.ceil(10 * Math.max(...all, 0)) / 10];
  const few = meta.methods.length < 3;
  const rows = shownClasses(pairOf(now)?.[0] ?? Number(now.method.split("-")[0])).map((name) => {
    const dots = meta.methods.map((_, k) => ({ at: valuesOf(k, name)[key], colour: meta.methodColours[k] }));
    const texts = few ? dots.map(({ at }) => cell(shown(key, at ?? NaN))) : [];
    return element("tr", {}, element("th", { scope: "row" }, classButton(now, name)), element("td", { className: "plot", title: dots.map(({ at }, k) => `${meta.methods[k]} ${shown(key, at ?? NaN)}`).join("\n") }, dotPlot(dots, low, high)), ...texts);
  });
  const axis = element("td", { className: "plot" }, element("span", { className: "ends" }, element("span", { textContent: String(low) }), mainTitle(), element("span", { textContent: String(high) })));
  const foot = element("tfoot", {}, element("tr", {}, element("td", {}), axis, ...(few ? meta.methods.map(() => cell()) : [])));
  return [...searchField(), scrolled("classes", element("table", { className: "rows", ariaLabel: `${mainTitle()} of classes, the worst first` }, element("tbody", {}, ...rows), foot))];
}

function scrolled(name, table) {
  return element("div", { className: `scrolled ${name}`, tabIndex: 0, role: "region", ariaLabel: table.ariaLabel }, table);
}

// A row for each class: the differences of all metrics with their intervals, around 0.
function differenceRows(now, [first, second]) {
  const metrics = meta.mains.filter(({ key }) => intervalOf(first, second, "mean", key));
  const most = Math.max(0.01, ...metrics.flatMap(({ key }) => ["mean", ...meta.classes].flatMap((name) => (intervalOf(first, second, name, key) ?? []).filter(isNumber).map(Math.abs))));
  const row = (name, head) => {
    const plots = metrics.map(({ key, lower, title }) => {
      const [at, from, to, isDecided] = intervalOf(first, second, name, key) ?? [NaN, NaN, NaN, null];
      const isBetter = isDecided && at < 0 === lower;
      const isWorse = isDecided && !isBetter;
      const colour = isBetter ? "var(--good)" : isWorse ? "var(--error)" : "var(--quiet)";
      const verdict = isBetter ? "better" : isWorse ? "worse" : isDecided === null ? "undecided with so few scenes" : "undecided";
      const ends = isNumber(from) && isNumber(to) ? ` [${shown(key, from, true)}, ${shown(key, to, true)}]` : "";
      const text = `${title} of ${name}: ${shown(key, at ?? NaN, true)}${ends}, ${verdict}`;
      const plot = dotPlot([{ at, low: from, high: to, colour }], -most, most, 0);
      return element("td", { className: "plot", title: text }, element("span", { className: "unseen", textContent: text }), plot);
    });
    return element("tr", {}, element("th", { scope: "row" }, head), ...plots);
  };
  const rows = [row("mean", "mean"), ...shownClasses(second).map((name) => row(name, classButton(now, name)))];
  const head = element("tr", {}, element("td", { className: "quiet", textContent: "better:" }), ...metrics.map(({ title, lower }) => element("th", { scope: "col", textContent: `${title} ${lower ? "←" : "→"}`, title: `${title}: ${lower ? "left" : "right"} is better` })));
  const axis = element("tr", {}, element("td", {}), ...metrics.map(() => element("td", { className: "plot" }, element("span", { className: "ends" }, element("span", { textContent: `−${most.toFixed(2)}` }), element("span", { textContent: `+${most.toFixed(2)}` })))));
  const name = `${meta.methods[second]} minus ${meta.methods[first]}, with intervals`;
  return [...searchField(), scrolled("classes", element("table", { className: "rows", ariaLabel: name }, element("thead", {}, head), element("tbody", {}, ...rows), element("tfoot", {}, axis)))];
}

// The families of causes, or the parts of the first metric if there are no causes: { name, colour, causes }.
function familiesOf() {
  if (meta.groups.length) return meta.groups;
  const metric = meta.metrics[0];
  return (metric?.parts ?? []).map(({ key, colour }) => ({ name: labelOf(key), colour, causes: [key] }));
}

const partKeys = () => (meta.metrics[0]?.parts ?? []).map(({ key }) => key).filter((key) => numberKeys.includes(key));

const amountOf = (family, method, of) => family.causes.reduce((sum, key) => sum + (valuesOf(method, of)[key] ?? 0), 0);

function showWhy(now) {
  const body = $$("why-card").querySelector(".body");
  const families = familiesOf();
  const focused = document.activeElement?.id;
  const pair = pairOf(now);
  if (!families.length || !mainKey()) body.replaceChildren(element("p", { className: "quiet", textContent: "No metric was computed that splits into causes." }));
  else if (pair) body.replaceChildren(...waterfall(now, families, pair));
  else body.replaceChildren(...familyBars(now, families, Number(now.method)));
  if (focused && focused !== document.activeElement?.id) $$(focused)?.focus();
}

const causeTitle = (key) => meta.causes.find((cause) => cause.key === key)?.name ?? labelOf(key);
const causeColour = (key, family) => meta.causes.find((cause) => cause.key === key)?.colour ?? family.colour;

// A stacked bar of a method's parts from 0 to 1.
function stackedBar(families, method, of) {
  let at = 0;
  const boxes = families.map((family) => {
    const width = 100 * amountOf(family, method, of);
    const box = svgElement("rect", { class: "part", x: at.toFixed(2), y: 1, width: width.toFixed(2), height: 14, fill: family.colour }, svgElement("title", {}, `${family.name} ${(width / 100).toFixed(3)}`));
    at += width;
    return box;
  });
  return svgElement("svg", { class: "bar", viewBox: "0 0 100 16", preserveAspectRatio: "none", "aria-hidden": "true" }, svgElement("rect", { class: "track", width: 100, height: 16 }), ...boxes);
}

// A bar from one value to another on an axis from `low` to `high`.
function spanBar(from, to, low, high, colour) {
  const x = (value) => (100 * (value - low)) / (high - low || 1);
  const [left, right] = [Math.min(x(from), x(to)), Math.max(x(from), x(to))];
  return svgElement(
    "svg",
    { class: "fall", viewBox: "0 0 100 16", preserveAspectRatio: "none", "aria-hidden": "true" },
    svgElement("rect", { class: "part", x: left.toFixed(2), y: 2, width: Math.max(right - left, 0.4).toFixed(2), height: 12, fill: colour }),
    svgElement("line", { class: "rail", x1: x(to).toFixed(2), x2: x(to).toFixed(2), y1: 0, y2: 16 }),
  );
}

// The button of a family or of a cause: a click opens the family, and shows the cause in the list and the drawings.
function whyButton(now, family, key = null) {
  const swatch = element("span", { className: "swatch" });
  swatch.style.background = key ? causeColour(key, family) : family.colour;
  const pressed = key ? now.cause === key || now.sort === key : family.causes.length > 1 ? openedGroup === family.name : now.sort === family.causes[0];
  const about = key ? (meta.causes.find((cause) => cause.key === key)?.about ?? "") : "";
  const choose = () => {
    const isOff = key !== null && now.cause === key;
    if (key === null && family.causes.length > 1) {
      openedGroup = openedGroup === family.name ? "" : family.name;
      return showWhy(state);
    }
    return isOff ? change({ cause: "", sort: mainKey(), down: meta.metrics[0].lower }) : chooseCause(key ?? family.causes[0]);
  };
  const mark = key === null && family.causes.length > 1 ? (openedGroup === family.name ? " ▾" : " ▸") : "";
  const button = filterButton([swatch, (key ? causeTitle(key) : family.name) + mark], pressed, about, choose);
  button.id = `why-${key ?? `family-${family.name}`}`;
  if (key === null && family.causes.length > 1) button.setAttribute("aria-expanded", String(openedGroup === family.name));
  return button;
}

// The rows of families, and of the causes of the open one. `row` makes one from a button, an amount and a colour.
function causeRows(now, families, row) {
  return families.flatMap((family) => [
    row(whyButton(now, family), (method) => amountOf(family, method, now.of), family.colour, ""),
    ...(openedGroup === family.name && family.causes.length > 1
      ? family.causes.map((key) => row(whyButton(now, family, key), (method) => valuesOf(method, now.of)[key] ?? 0, causeColour(key, family), "sub"))
      : []),
  ]);
}

function familyBars(now, families, method) {
  const sorted = [...families].sort((a, b) => amountOf(b, method, now.of) - amountOf(a, method, now.of));
  const most = Math.max(amountOf(sorted[0], method, now.of), 1e-9);
  const total = valuesOf(method, now.of)[mainKey()] ?? 0;
  const rows = causeRows(now, sorted, (button, amount, colour, className) => {
    const value = amount(method);
    const share = total > 0 ? `${Math.round((100 * value) / total)} %` : "";
    return element("tr", { className }, element("th", { scope: "row" }, button), element("td", { className: "plot" }, spanBar(0, value, 0, most, colour)), cell(value.toFixed(3)), cell(share));
  });
  const title = `${mainTitle()} of ${meta.methods[method]} ${now.of === "" ? "" : `for ${now.of} `}${shown(mainKey(), total)}: its ${meta.groups.length ? "causes" : "parts"}`;
  return [element("p", { className: "lead" }, methodSwatch(method), title), scrolled("causes", element("table", { className: "rows", ariaLabel: title }, element("tbody", {}, ...rows)))];
}

// The way from the value of the first method to that of the second, family by family, the largest change first.
function waterfall(now, families, [first, second]) {
  const [from, to] = [first, second].map((method) => valuesOf(method, now.of)[mainKey()] ?? NaN);
  const change = (amount) => amount(second) - amount(first);
  const of = (family) => Math.abs(amountOf(family, second, now.of) - amountOf(family, first, now.of));
  const ordered = [...families].sort((a, b) => of(b) - of(a));
  let at = from;
  const ends = [from, to];
  for (const family of ordered) ends.push((at += amountOf(family, second, now.of) - amountOf(family, first, now.of)));
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const room = Math.max((high - low) * 0.05, 0.002);
  at = from;
  const rows = causeRows(now, ordered, (button, amount, colour, className) => {
    const by = change(amount);
    const start = at;
    if (className === "") at += by;
    const bar = className === "" ? spanBar(start, at, low - room, high + room, colour) : spanBar(0, by, -(high - low), high - low, colour);
    return element("tr", { className }, element("th", { scope: "row" }, button), element("td", { className: "plot" }, bar), cell(by.toFixed(3).replace("-", "−").replace(/^(?!−)/, "+")));
  });
  const bars = [first, second].map((method) =>
    element("div", { className: "stack" }, methodName(method), stackedBar(families, method, now.of), element("span", { textContent: shown(mainKey(), valuesOf(method, now.of)[mainKey()] ?? NaN) })),
  );
  const title = `${mainTitle()}${now.of === "" ? "" : ` of ${now.of}`} from ${shown(mainKey(), from)} (${meta.methods[first]}) to ${shown(mainKey(), to)} (${meta.methods[second]})`;
  return [...bars, element("p", { className: "lead", textContent: `The way from ${shown(mainKey(), from)} to ${shown(mainKey(), to)}, by ${meta.groups.length ? "cause" : "part"}` }), scrolled("causes", element("table", { className: "rows", ariaLabel: title }, element("tbody", {}, ...rows)))];
}

// Ranges ahead of the ego, if no section fills the panel.
function showWhere() {
  const slot = $$("where-slot");
  if (slot.dataset.own !== "true" && slot.childNodes.length) return; // a section has filled it
  slot.dataset.own = "true";
  const ranges = answer?.methods[0]?.ranges ?? [];
  const has = (key) => ranges.some((_, r) => answer.methods.some((method) => isNumber(method.ranges[r]?.[key])));
  const key = has("found") ? "found" : "pld"; // what is found is known only with predictions and truth
  if (!has(key) || (isPanelComing && key === "pld")) {
    const about = isPanelComing ? "The map is made after predictions and truth are read." : "There is no map of places for these results. Evaluate with --ranges to see the values near and far.";
    slot.replaceChildren(element("p", { className: "quiet", textContent: about }));
    return;
  }
  const title = key === "found" ? "found" : "PLD (lower is better)";
  const textOf = (value) => (!isNumber(value) ? "-" : key === "found" ? percent(value) : value.toFixed(3));
  const rows = ranges.map(({ from, to }, r) => {
    const bars = meta.methods.map((name, k) => {
      const value = answer.methods[k].ranges[r]?.[key];
      const bar = element("div", { className: "hbar", title: `${name}: ${textOf(value)} ${title}` });
      bar.style.width = `${100 * (value ?? 0)}%`;
      bar.style.background = meta.methodColours[k];
      return element("div", { className: "hbar-row" }, element("div", { className: "hbar-track" }, bar), element("span", { textContent: textOf(value) }));
    });
    const ring = isNumber(to) ? `${from} to ${to} m` : `beyond ${from} m`;
    return element("tr", {}, element("th", { scope: "row", textContent: ring }), element("td", { className: "plot" }, ...bars));
  });
  const about = "A range does not filter the list: values by distance are those of all frames together, and no frame has one of its own.";
  const caption = `${title}, by distance from the ego`;
  slot.replaceChildren(element("table", { className: "rows", ariaLabel: caption }, element("caption", { textContent: caption }), element("tbody", {}, ...rows)), element("p", { className: "quiet", textContent: about }));
}

// The filters that are on, as buttons that take them away.
function chipsOf(now) {
  const chips = [];
  const add = (text, changes) => chips.push([text, () => change(changes)]);
  if (now.of !== "") add(now.of, { of: "" });
  if (causeKeys.includes(now.cause)) add(`cause ${causeTitle(now.cause)}`, { cause: "", sort: mainKey() ?? "token", down: meta.metrics[0]?.lower ?? false });
  if (now.scene !== "") add(`scene ${now.scene}`, { scene: "" });
  for (const [key, [low, high]] of Object.entries(now.ranges)) {
    const text = [Number.isFinite(low) ? `${low} ≤ ` : "", labelOf(key), Number.isFinite(high) ? ` ≤ ${high}` : ""].join("");
    chips.push([text, () => setRange(key, null)]);
  }
  if (now.text !== "") add(`token contains ${now.text}`, { text: "" });
  if (now.why !== "") add(now.why === DRAWN ? "can be drawn" : now.why, { why: "" });
  if (now.where?.trim()) add(`where ${now.where}`, { where: "" });
  for (const extra of extras) for (const [text, changes] of extra.chips?.(now) ?? []) add(text, changes);
  return chips;
}

function showChips() {
  const chips = chipsOf(state).map(([text, remove]) => {
    const chip = element("button", { type: "button", textContent: `${text} ✕`, ariaLabel: `Remove the filter ${text}` });
    chip.addEventListener("click", remove);
    return chip;
  });
  $$("chips").replaceChildren(element("span", { id: "chips-count", textContent: $$("count").textContent }), ...chips);
  const command = commandOf(state, rows);
  $$("copy-command").disabled = command === "";
  $$("copy-command").title = command || `Too many frames to name (more than ${MOST_NAMED}) in a command`;
}

function buildFirst() {
  $$("copy-command").addEventListener("click", async () => {
    await copyText(commandOf(state, rows));
    $$("told").textContent = "copied";
    setTimeout(() => ($$("told").textContent = ""), 3000);
  });
  const who = $$("who");
  if (who && meta.methods.length === 2) {
    for (const [value, text] of methodChoices()) {
      const button = element("button", { type: "button", textContent: text });
      button.dataset.method = value;
      button.addEventListener("click", () => change({ method: value }));
      who.append(button);
    }
  }
  buildSaves();
  if (answer === null) source.answer("values").then((found) => isAnswered || takeAnswer(found)).catch((error) => tellFailure(`The answer cannot be shown: ${error.message}`, error));
}

extras.push({
  build: buildFirst,

  // In `mapgauge view`, after predictions and truth were read: the answer with what only they tell, and the panel where.
  async ready({ state: reading }) {
    if (reading !== "ready") {
      isPanelComing = false;
      showWhere();
      return;
    }
    if (source.panel) await takePanel(); // first, because it takes less time
    if (!source.answer) return;
    const more = element("p", { className: "quiet", textContent: "Comparing all frames for the rest of the answer …" });
    $$("answer").append(more);
    try {
      const found = await source.answer("geometry");
      isAnswered = true;
      await source.causes();
      takeAnswer(found);
    } catch (error) {
      tellFailure(`The rest of the answer cannot be shown: ${error.message}`, error);
    }
    more.remove();
  },

  show(now, differs) {
    if (differs("method", "of", "cause", "sort")) {
      showWhat(now);
      showWhy(now);
    }
    if (differs("method")) showWhere();
    for (const button of document.querySelectorAll("#who [data-method]")) button.setAttribute("aria-pressed", String(now.method === button.dataset.method));
    showChips();
  },
});

// The panel "where" beside the drawing, in the place of the list. `mapgauge view` has a pane with maps of its own.
if (!source.panel) {
  extras.push({
    pane: ["where", "where"],
    view: ["3", "map"],

    toggle: (now) => document.querySelector(".left").classList.toggle("on-where", now.pane === "where"),

    show(now) {
      const home = $$(now.pane === "where" ? "where-pane" : "where-card");
      if ($$("where-slot").parentElement === home) return;
      $$("where-moved").hidden = now.pane !== "where";
      home.append($$("where-slot"));
    },
  });
}

// Shows an answer that came later, as in `mapgauge view`.
function takeAnswer(found) {
  answer = found.answer;
  Object.assign(meta, { intervals: found.intervals, values: found.values, groups: found.groups });
  $$("answer").replaceChildren(...answer.statements.map(({ text }) => element("p", { textContent: text })));
  showWhat(state);
  showWhy(state);
  showWhere();
  showExamples(state); // causes may be known only now
}

// Shows the panel "where" when the server has made it, and meanwhile how much of it is done.
async function takePanel() {
  const progress = $$("where-progress");
  try {
    const body = await source.panel((text) => {
      progress.hidden = false;
      progress.textContent = text;
    });
    isPanelComing = false;
    progress.hidden = true;
    if (body) {
      $$("where-slot").dataset.own = "false";
      $$("where-slot").innerHTML = body; // of sections, which escape every text
    }
    showWhere();
  } catch (error) {
    isPanelComing = false;
    progress.hidden = true;
    showWhere();
    $$("where-slot").append(element("p", { className: "quiet", textContent: `The map cannot be made: ${error.message}` }));
  }
}
