// Shows the values of the chosen frame, and the table of frames for printing.

const $$ = (id) => document.getElementById(id);
const ENDING = 12; // letters of a token that are never cut
const PRINTED = 40; // rows of the printed list

// Shows a text whose start is cut if there is no room for it. Tokens of one log differ only at the end. `letter` is the
// width of a letter of the end, in those of a digit.
function showLong(node, start, end, letter = 1) {
  node.replaceChildren(element("span", { className: "start", textContent: start }), end);
  node.style.setProperty("--end", `${letter * end.length}ch`);
  node.title = start + end;
}

// Shows the name and the values of the chosen frame: for each method, for all classes and for each class.
function showFrame(frame) {
  const [token, scene] = [meta.tokens[frame], meta.scenes?.[frame]];
  const [start, end] = [token.slice(0, -ENDING), token.slice(-ENDING)];
  showLong($$("chosen"), start, scene && !token.startsWith(scene) ? `${end} · ${scene}` : end);
  const reasons = reasonsOf(frame);
  $$("reasons").textContent = reasons.length ? `Why it is drawn: ${reasons.join("; ")}.` : "";
  const several = meta.methods.length > 1;
  const bars = meta.metrics.filter((metric) => metric.parts.length);
  const isPart = (key) => bars.some((metric) => metric.parts.some((part) => part.key === key));
  const barKey = (metric) => `parts of ${metric.title}`;
  const head = ["class", ...(several ? ["method"] : []), ...bars.map(barKey), ...numberKeys.filter((key) => !isPart(key))];
  const paper = (key) => (columnOf[key] && !isWhole(key) && !columnOf[key].printed ? "screen" : "");
  const body = [];
  for (const name of ["", ...meta.classes]) {
    meta.methods.forEach((method, m) => {
      const values = frameValues(m, frame, name);
      const names = [name || "all", ...(several ? [method] : [])];
      const cells = head.slice(names.length).map((key) => {
        const metric = bars.find((one) => barKey(one) === key);
        return metric ? element("td", {}, barOf(metric, values)) : element("td", { className: paper(key), textContent: shown(key, values[key]) });
      });
      const heads = names.map((text) => element("th", { scope: "row", textContent: text }));
      body.push(element("tr", {}, ...heads, ...cells));
      if (name === state.of) showCaption(panels[m], values);
    });
  }
  const top = element("tr", {}, ...head.map((key) => element("th", { scope: "col", className: key === "class" || key === "method" ? "text" : paper(key), textContent: labelOf(key) })));
  const table = element("table", {}, element("caption", {}, element("span", { textContent: "Values of this frame" })), element("thead", {}, top), element("tbody", {}, ...body));
  const region = element("div", { className: "wide", tabIndex: 0, ariaLabel: "Values of this frame", role: "region" }, table);
  $$("frame-values").replaceChildren(region);
}

// The values above a drawing: of the class whose lines are drawn, or of all.
function showCaption({ values: caption }, values) {
  const said = meta.metrics.filter((metric) => metric.caption).map((metric) => sentenceOf(metric, values)).join("; ");
  caption.textContent = state.of === "" ? said : `${state.of}: ${said}`;
  caption.title = caption.textContent;
}

// A value and its headline values: "PLD 0.877 = localisation 0.200 + detection 0.677". Brackets if they do not add up.
function sentenceOf(metric, values) {
  const parts = metric.headlines.map((key) => `${labelOf(key)} ${shown(key, values[key])}`);
  const main = `${metric.title} ${shown(metric.key, values[metric.key])}`;
  const rest = metric.headlines.reduce((left, key) => left - values[key], values[metric.key]);
  return !parts.length ? main : Math.abs(rest) < 1e-4 ? `${main} = ${parts.join(" + ")}` : `${main} (${parts.join(", ")})`;
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

// The first rows of the list as a table. It is made for printing, where the list cannot be scrolled.
function showPrinted(rows, columns, choice) {
  const keys = numberKeys.filter((key) => columnOf[key].printed);
  const cells = (frame) => [meta.tokens[frame], ...(meta.scenes ? [meta.scenes[frame]] : []), ...keys.map((key) => shown(key, columns[key][frame], choice.signed))];
  const heads = ["token", ...(meta.scenes ? ["scene"] : [])];
  const isText = (k) => (k < heads.length ? "text" : "");
  const top = element("tr", {}, ...[...heads, ...keys].map((key, k) => element("th", { scope: "col", className: isText(k), textContent: labelOf(key) })));
  const body = rows.slice(0, PRINTED).map((frame) => element("tr", {}, ...cells(frame).map((text, k) => element("td", { className: isText(k), textContent: text }))));
  const more = rows.length > PRINTED ? `, the first ${PRINTED} of ${rows.length.toLocaleString("en")}` : "";
  const caption = `Frames${more}: values of ${choice.name}, ${choice.of === "" ? "all classes" : choice.of}`;
  $$("printed").replaceChildren(element("table", {}, element("caption", {}, element("span", { textContent: caption })), element("thead", {}, top), element("tbody", {}, ...body)));
}
