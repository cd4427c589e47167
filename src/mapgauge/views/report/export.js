// Saves what the page shows: the list as CSV, a drawing as SVG, and the token of a frame on the clipboard.

// The start of a text that a spreadsheet takes for a formula, and numbers, which are none. As in the CSV of the shell.
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]./su;
const NUMBER = /^\s*[+-]?((\d+(_\d+)*\.?(\d+(_\d+)*)?|\.\d+(_\d+)*)(e[+-]?\d+(_\d+)*)?|inf|infinity|nan)\s*$/iu;

function csvCell(value) {
  if (typeof value === "number") return Number.isNaN(value) ? "" : String(Number(value.toPrecision(7))); // of 32 bits
  const text = FORMULA.test(value) && !NUMBER.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// The list in its order, with all columns.
function csvOf(rows, columns, choice) {
  const head = ["token", ...(meta.scenes ? ["scene"] : []), "method", "class", ...numberKeys, ...(meta.reasons.length ? ["reasons"] : [])];
  const lines = rows.map((frame) => [
    meta.tokens[frame],
    ...(meta.scenes ? [meta.scenes[frame]] : []),
    choice.name,
    choice.of === "" ? "all" : choice.of,
    ...numberKeys.map((key) => columns[key][frame]),
    ...(meta.reasons.length ? [reasonsOf(frame).join("; ")] : []),
  ]);
  return [head, ...lines].map((line) => `${line.map(csvCell).join(",")}\n`).join("");
}

const fileName = (text) => text.replaceAll(/[^\p{L}\p{N}._-]+/gu, "-");

function download(name, type, content) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  element("a", { href: address, download: fileName(name) }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = element("textarea", { value: text }); // browsers that give pages from files no clipboard
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}

const CAPTION = 60; // pixels below the drawing, for the scale and two lines
const LENGTHS_OF_STYLE = ["stroke-width", "stroke-dasharray"];
const STYLE = ["fill", "stroke", "stroke-opacity", "stroke-linecap", "stroke-linejoin", "opacity", ...LENGTHS_OF_STYLE];

// A copy of a visible node with its style as attributes. `unit` is the size of a pixel in the drawing.
function styledCopy(node, unit) {
  if (node.classList.contains("reach") || node.localName === "title" || getComputedStyle(node).display === "none") return [];
  const made = svgElement(node.localName, {});
  for (const name of ["d", "x", "y", "x1", "x2", "y1", "y2", "width", "height", "transform"]) if (node.hasAttribute(name)) made.setAttribute(name, node.getAttribute(name));
  if (node.hasAttribute("aria-label")) made.append(svgElement("title", {}, node.getAttribute("aria-label")));
  const style = getComputedStyle(node);
  for (const name of STYLE) {
    const value = style.getPropertyValue(name);
    const scaled = LENGTHS_OF_STYLE.includes(name) && value !== "none";
    made.setAttribute(name, scaled ? value.split(/[ ,]+/).map((part) => (parseFloat(part) * unit).toFixed(5)).join(" ") : value);
  }
  made.append(...[...node.children].flatMap((child) => styledCopy(child, unit)));
  return [made];
}

// The drawing of a panel as a file of its own, with a scale and a caption of some pixels.
function svgOf(panel, lines, caption = CAPTION) {
  const { svg, size } = panel;
  const [left, top, width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  const unit = width / size.width; // metres per pixel
  const room = caption * unit;
  const copy = svgElement("svg", { xmlns: SVG, viewBox: [left, top, width, height + room].join(" "), width: size.width, height: size.height + caption });
  copy.append(svgElement("title", {}, lines.join(" · ")));
  const paper = getComputedStyle(svg).backgroundColor;
  const ink = getComputedStyle(svg).color;
  const sheet = { x: left, y: top, width };
  copy.append(svgElement("clipPath", { id: "frame" }, svgElement("rect", { ...sheet, height })), svgElement("rect", { ...sheet, height: height + room, fill: paper }));
  copy.append(svgElement("g", { "clip-path": "url(#frame)" }, ...[...svg.children].flatMap((node) => styledCopy(node, unit))));
  const words = (text, x, y, anchor) => {
    const letters = Math.min(12, (size.width - 16) / (0.6 * text.length)); // pixels; long names must fit
    return svgElement("text", { x, y: top + height + y * unit, "text-anchor": anchor, "font-size": letters * unit, "font-family": "sans-serif", fill: ink }, text);
  };
  const [bar, right] = [panel.scale.offsetWidth * unit, left + width - 8 * unit];
  const scale = `M${right - bar} ${top + height + 8 * unit}H${right}`;
  if (!caption) return new XMLSerializer().serializeToString(copy);
  copy.append(svgElement("path", { d: scale, stroke: ink, "stroke-width": 2 * unit }), words(panel.scale.textContent, right, 22, "end"));
  copy.append(...lines.map((text, k) => words(text, left + 8 * unit, 38 + 15 * k, "start")));
  return new XMLSerializer().serializeToString(copy);
}
