// Saves a part of the page as a picture: its drawings, its texts and its boxes, as SVG without a style sheet, or as PNG.

const PIXELS = 2; // per pixel of the page, in a PNG

// The lines of a text node, as they are broken on the page: texts with their boxes.
function linesOf(node) {
  const range = document.createRange();
  const lines = [];
  for (const match of node.textContent.matchAll(/\S+/gu)) {
    range.setStart(node, match.index);
    range.setEnd(node, match.index + match[0].length);
    const box = range.getBoundingClientRect();
    if (box.width === 0) continue;
    const last = lines.at(-1);
    if (last && Math.abs(last.box.top - box.top) < 2) last.text += ` ${match[0]}`;
    else lines.push({ text: match[0], box });
  }
  return lines;
}

function textNodes(node, left, top) {
  const style = getComputedStyle(node.parentElement);
  return linesOf(node).map(({ text, box }) => {
    const place = { x: (box.left - left).toFixed(1), y: (box.bottom - top - 0.24 * box.height).toFixed(1) };
    return svgElement("text", { ...place, "font-size": style.fontSize, "font-weight": style.fontWeight, "font-family": "sans-serif", fill: style.color }, text);
  });
}

function boxNodes(node, left, top) {
  const style = getComputedStyle(node);
  const box = node.getBoundingClientRect();
  const isFilled = !/rgba\(\d+, \d+, \d+, 0\)|transparent/.test(style.backgroundColor);
  if (!isFilled || box.width === 0) return [];
  return [svgElement("rect", { x: (box.left - left).toFixed(1), y: (box.top - top).toFixed(1), width: box.width.toFixed(1), height: box.height.toFixed(1), rx: parseFloat(style.borderRadius) || 0, fill: style.backgroundColor })];
}

// A drawing within the page. Lengths of style are pixels, because the page draws strokes without scaling them.
function drawingNode(svg, left, top) {
  const box = svg.getBoundingClientRect();
  const made = svgElement("svg", { x: (box.left - left).toFixed(1), y: (box.top - top).toFixed(1), width: box.width.toFixed(1), height: box.height.toFixed(1) });
  for (const name of ["viewBox", "preserveAspectRatio"]) if (svg.hasAttribute(name)) made.setAttribute(name, svg.getAttribute(name));
  const view = svg.viewBox.baseVal;
  const scaled = view && view.width > 0 && svg.getAttribute("preserveAspectRatio") !== "none";
  made.append(...[...svg.children].flatMap((child) => pictureNode(child, scaled ? view.width / box.width : 1)));
  return made;
}

const KEPT_ATTRIBUTES = ["d", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height", "transform", "text-anchor", "points"];
const KEPT_STYLES = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-linecap", "stroke-linejoin", "opacity", "stroke-dasharray", "stroke-width", "font-size", "font-weight"];

function pictureNode(node, unit) {
  const style = getComputedStyle(node);
  if (style.display === "none" || style.visibility === "hidden" || node.localName === "title") return [];
  const made = svgElement(node.localName, {});
  for (const name of KEPT_ATTRIBUTES) if (node.hasAttribute(name)) made.setAttribute(name, node.getAttribute(name));
  const fixed = style.vectorEffect === "non-scaling-stroke";
  for (const name of KEPT_STYLES) if (style.getPropertyValue(name)) made.setAttribute(name, style.getPropertyValue(name));
  if (fixed) made.setAttribute("vector-effect", "non-scaling-stroke");
  if (node.localName === "text" || node.localName === "tspan") {
    made.setAttribute("font-family", "sans-serif");
    for (const child of node.childNodes) if (child.nodeType === Node.TEXT_NODE) made.append(child.textContent);
  }
  made.append(...[...node.children].flatMap((child) => pictureNode(child, unit)));
  return [made];
}

// A part of the page as an SVG element.
function partPicture(part) {
  const { left, top, width, height } = part.getBoundingClientRect();
  const [paper, nodes] = [getComputedStyle(document.body).backgroundColor, []];
  const add = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return nodes.push(...textNodes(node, left, top));
    if (node.nodeType !== Node.ELEMENT_NODE || !node.checkVisibility() || node.matches(".save-part, script, style, template")) return 0;
    if (node.localName === "svg") return nodes.push(drawingNode(node, left, top));
    nodes.push(...boxNodes(node, left, top));
    return node.childNodes.forEach(add);
  };
  add(part);
  const size = { width: Math.ceil(width), height: Math.ceil(height) };
  return svgElement("svg", { xmlns: SVG, viewBox: `0 0 ${size.width} ${size.height}`, ...size }, svgElement("rect", { ...size, fill: paper }), ...nodes);
}

async function savePart(part, name, kind) {
  const picture = partPicture(part);
  const text = new XMLSerializer().serializeToString(picture);
  if (kind === "svg") return download(`${name}.svg`, "image/svg+xml", text);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = element("canvas", { width: PIXELS * picture.getAttribute("width"), height: PIXELS * picture.getAttribute("height") });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  return download(`${name}.png`, "image/png", blob);
}

// Two small buttons in the heading of each card.
function buildSaves() {
  for (const card of document.querySelectorAll(".card")) {
    const name = card.querySelector("h3").textContent.toLowerCase();
    const buttons = ["svg", "png"].map((kind) => {
      const button = element("button", { type: "button", className: "save-part", textContent: kind.toUpperCase(), title: `Save this panel as ${kind.toUpperCase()}`, ariaLabel: `Save the panel ${name} as ${kind.toUpperCase()}` });
      button.addEventListener("click", () => savePart(card, name, kind));
      return button;
    });
    card.querySelector("h3").after(element("span", { className: "save-part" }, ...buttons));
  }
}
