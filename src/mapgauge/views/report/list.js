// Shows the list of frames, filtered and sorted. Only visible rows are in the page.

const ROW = 26; // pixels; equals --row in page.css
const SPARE = 12; // extra rows above and below the visible ones
const DRAWN = "drawn"; // the filter for all frames that can be drawn; other filters are reasons
const scroller = document.getElementById("scroller");
const list = document.getElementById("list");

const LARGEST = "largest"; // the column with the largest cause of a frame
let listKeys = columnKeys; // the columns that are shown

// The columns that are shown unless others are chosen: those that say how bad a frame is, and why.
function usualColumns() {
  const kept = [meta.metrics[0]?.key, LARGEST, "missed", "false", "predictions", "truth"].filter((key) => key === LARGEST ? causeColumns.length > 0 : numberKeys.includes(key));
  return ["token", ...(meta.scenes ? ["scene"] : []), ...kept.filter((key) => key !== "predictions")];
}

const causeColumns = meta.causes.map(({ key }) => key).filter((key) => numberKeys.includes(key));
const allColumns = [...columnKeys, ...(causeColumns.length ? [LARGEST] : [])];

// The columns of a state: those of its text, and always the one that the list is sorted by.
function columnsShown({ columns, sort }) {
  const chosen = columns === "" ? usualColumns() : columns === "all" ? columnKeys : ["token", ...columns.split(" ")];
  return allColumns.filter((key) => chosen.includes(key) || key === sort).sort((a, b) => placeOf(chosen, a) - placeOf(chosen, b));
}

const placeOf = (chosen, key) => (chosen.includes(key) ? chosen.indexOf(key) : chosen.length);

// The largest cause of a frame, and its value. Null if none costs anything.
function largestCause(columns, frame) {
  let best = null;
  for (const key of causeColumns) {
    const value = columns[key][frame];
    if (Number.isFinite(value) && value !== 0 && (best === null || Math.abs(value) > Math.abs(best.value))) best = { key, value };
  }
  return best;
}

const nameOfCause = (found) => (found ? meta.causes.find(({ key }) => key === found.key).name : "");

// The width of a column in pixels. The longest word of a title must fit. Long tokens are cut.
function widthOf(key) {
  const longest = (texts) => texts.reduce((most, text) => Math.max(most, text.length), 0);
  if (key === LARGEST) return 170;
  if (key === "token") return Math.min(Math.max(8 * longest(meta.tokens) + 38, 110), 246);
  if (key === "scene") return Math.min(Math.max(9 * longest(meta.scenes) + 18, 80), 150);
  return Math.max(76, 8.5 * longest(labelOf(key).split(" ")) + 18);
}

// A long token without its middle. Tokens of one log differ only at the end.
const cut = (token) => (token.length > 26 ? `${token.slice(0, 12)}…${token.slice(-12)}` : token);

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  Object.assign(made, properties);
  made.append(...children);
  return made;
}

// Makes the head of the list for some columns.
function setColumns(keys, onSort) {
  listKeys = keys;
  made.rows = null;
  list.querySelector("colgroup").replaceChildren(
    ...keys.map((key) => {
      const column = element("col");
      column.style.width = `${widthOf(key)}px`;
      return column;
    }),
  );
  const row = element("tr");
  row.setAttribute("aria-rowindex", "1");
  for (const key of keys) {
    const button = element("button", { type: "button", textContent: headOf(key), tabIndex: 0 });
    button.addEventListener("click", () => onSort(key));
    const head = element("th", { scope: "col", className: numberKeys.includes(key) ? "" : "text" }, button);
    head.dataset.key = key;
    row.append(head);
  }
  list.querySelector("thead").replaceChildren(row);
  list.style.width = `${keys.reduce((sum, key) => sum + widthOf(key), 0)}px`;
  list.setAttribute("aria-colcount", String(keys.length));
}

const headOf = (key) => (key === LARGEST ? "largest cause" : labelOf(key));

function buildList(onChoose) {
  list.querySelector("tbody").addEventListener("click", (event) => {
    const chosen = event.target.closest("tr[data-frame]");
    if (chosen) onChoose(Number(chosen.dataset.frame));
  });
}

// The frames that pass all filters. The range of the value `except` is not applied.
function passing(state, columns, except = null) {
  const text = state.text.toLowerCase();
  const ranges = Object.entries(state.ranges).filter(([key]) => key !== except);
  const tests = extras.flatMap((extra) => extra.passes ?? []);
  const frames = [];
  for (let i = 0; i < frameCount; i++) {
    if (!tests.every((passes) => passes(i))) continue;
    if (text && !meta.tokens[i].toLowerCase().includes(text)) continue;
    if (state.scene !== "" && meta.scenes[i] !== state.scene) continue;
    if (state.why === DRAWN ? !canDraw(i) : state.why !== "" && !reasonsOf(i).includes(state.why)) continue;
    if (ranges.every(([key, [low, high]]) => columns[key][i] >= low && columns[key][i] <= high)) frames.push(i);
  }
  return frames;
}

// The frames in the order of a column. Frames without a value come last; equal values keep their order.
function sorted(frames, state, columns) {
  const sign = state.down ? -1 : 1;
  if (numberKeys.includes(state.sort)) {
    const column = columns[state.sort];
    return frames.sort((a, b) => {
      if (Number.isNaN(column[a]) || Number.isNaN(column[b])) return Number.isNaN(column[a]) - Number.isNaN(column[b]);
      return sign * (column[a] - column[b]);
    });
  }
  const column = state.sort === LARGEST ? frames.reduce((names, frame) => Object.assign(names, { [frame]: nameOfCause(largestCause(columns, frame)) }), {}) : state.sort === "scene" ? meta.scenes : meta.tokens;
  return frames.sort((a, b) => sign * (column[a] < column[b] ? -1 : column[a] > column[b] ? 1 : 0));
}

function markSort(state) {
  for (const head of list.querySelectorAll("thead th")) {
    const mine = head.dataset.key === state.sort;
    if (mine) head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
    const arrow = mine ? (state.down ? " ▾" : " ▴") : "";
    head.firstChild.textContent = headOf(head.dataset.key) + arrow;
  }
}

// Scrolls sideways until a column is seen. The first column always is.
function scrollToColumn(key) {
  const head = list.querySelector(`thead th[data-key="${key}"]`);
  const [first, left] = [list.querySelector("thead th").offsetWidth, scroller.getBoundingClientRect().left + scroller.clientLeft];
  if (!head) return;
  const { left: from, right: to } = head.getBoundingClientRect();
  if (listKeys.indexOf(key) < 1) return;
  if (from < left + first || to > left + scroller.clientWidth) scroller.scrollLeft += from - left - first;
}

const largestOf = new WeakMap(); // by columns: the largest absolute value of each

// The share of the width of a cell that its bar takes.
function barShare(columns, key, value) {
  if (!largestOf.has(columns)) largestOf.set(columns, {});
  const known = largestOf.get(columns);
  known[key] ??= columns[key].reduce((most, each) => (Math.abs(each) > most ? Math.abs(each) : most), 0);
  return known[key] > 0 ? Math.abs(value) / known[key] : 0;
}

// A cell of the list. Numbers have a bar behind them.
function cellOf(key, frame, columns, signed) {
  if (key === LARGEST) {
    const found = largestCause(columns, frame);
    const text = found ? `${nameOfCause(found)} ${shown(found.key, found.value, signed).slice(0, signed ? 5 : 4)}` : "-";
    const cell = element("td", { className: "text", textContent: text, title: text });
    if (found) paintBar(cell, Math.min(Math.abs(found.value), 1), meta.causes.find((cause) => cause.key === found.key).colour);
    return cell;
  }
  const isText = !numberKeys.includes(key);
  const text = key === "token" ? meta.tokens[frame] : isText ? meta.scenes[frame] : shown(key, columns[key][frame], signed);
  const cell = element("td", { className: isText ? "text" : "", textContent: key === "token" ? cut(text) : text });
  if (isText) cell.title = text;
  else if (Number.isFinite(columns[key][frame])) paintBar(cell, barShare(columns, key, columns[key][frame]), colourOfColumn[key] ?? "var(--quiet)");
  return cell;
}

function paintBar(cell, share, colour) {
  cell.style.backgroundImage = `linear-gradient(to right, color-mix(in srgb, ${colour} 26%, transparent) ${(100 * share).toFixed(1)}%, transparent 0)`;
}

// The colours of columns that are parts of a metric.
const colourOfColumn = Object.fromEntries(meta.metrics.flatMap(({ parts }) => parts.map(({ key, colour }) => [key, colour])));

let made = { rows: null, columns: null, first: 0, last: 0 }; // what is in the page now

// Rows that are seen, between two that stand for those that are not. While those in the page do, they stay.
function showRows(state, rows, columns) {
  const seenFirst = Math.min(Math.floor(scroller.scrollTop / ROW), rows.length);
  const seenLast = Math.min(rows.length, Math.ceil((scroller.scrollTop + scroller.clientHeight) / ROW));
  const same = made.rows === rows && made.columns === columns;
  if (!same || seenFirst < made.first || seenLast > made.last) {
    made = { rows, columns, first: Math.max(0, seenFirst - SPARE), last: Math.min(rows.length, seenLast + SPARE) };
    makeRows(state, made);
  }
  for (const row of list.querySelectorAll('[aria-selected="true"]')) row.setAttribute("aria-selected", "false");
  const chosen = document.getElementById(`row-${state.frame}`);
  chosen?.setAttribute("aria-selected", "true");
  if (chosen) list.setAttribute("aria-activedescendant", chosen.id);
  else list.removeAttribute("aria-activedescendant");
}

function makeRows(state, { rows, columns, first, last }) {
  const signed = state.method.includes("-");
  const space = (count) => {
    const row = element("tr", { className: "space", ariaHidden: "true" }, element("td", { colSpan: listKeys.length }));
    row.style.height = `${count * ROW}px`;
    return row;
  };
  const nodes = [];
  for (let i = first; i < last; i++) {
    const frame = rows[i];
    const row = element("tr", { id: `row-${frame}` });
    row.dataset.frame = frame;
    row.setAttribute("aria-rowindex", String(i + 2));
    row.setAttribute("aria-selected", "false");
    for (const key of listKeys) {
      const cell = cellOf(key, frame, columns, signed);
      if (key === "token" && canDraw(frame) && drawableCount < frameCount) {
        cell.prepend(element("span", { textContent: "● ", title: `can be drawn: ${reasonsOf(frame).join("; ")}` }));
      }
      row.append(cell);
    }
    nodes.push(row);
  }
  document.getElementById("empty").hidden = rows.length > 0;
  list.querySelector("tbody").replaceChildren(space(first), ...nodes, space(rows.length - last));
  list.setAttribute("aria-rowcount", String(rows.length + 1));
}

function scrollToRow(place) {
  const head = list.tHead.offsetHeight;
  const top = place * ROW;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (top + ROW + head > scroller.scrollTop + scroller.clientHeight) {
    scroller.scrollTop = top + ROW + head - scroller.clientHeight;
  }
}

// The field for a condition, before the other filters. Errors are below it.
function conditionField() {
  const field = element("input", { id: "where", type: "search", size: 36, autocomplete: "off", spellcheck: false, placeholder: "pld > 0.8 and missed.boundary > 2" });
  field.setAttribute("aria-describedby", "where-wrong");
  const wrong = element("pre", { id: "where-wrong", hidden: true, tabIndex: 0 });
  wrong.setAttribute("role", "alert");
  document.getElementById("filters").prepend(element("label", { id: "where-label" }, "Where ", field), wrong);
  return field;
}

function showWrong(message) {
  const wrong = document.getElementById("where-wrong");
  wrong.textContent = message;
  wrong.hidden = message === "";
  document.getElementById("where").setAttribute("aria-invalid", String(message !== ""));
}
