// The view of the drawings: which part of the frame they show. It is zoomed and moved by pointer, wheel and keys.

const MARGIN = 1.06;
const LEGIBLE = 8; // pixels of a metre from which matched and unmatched points are drawn
const [CLOSEST, FARTHEST] = [2, 1.5]; // the narrowest view in metres; the widest, in widths of the whole view
const SCALES = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000]; // metres
const TURN_GAIN = 1.1; // how much larger a frame must be with forward to the right than with forward up, to be drawn so
let whole = null; // the view of the whole frame in metres: { x, y, width, height, fixed: whether it is never turned }

// The view that contains the region of the protocol and all drawn truth, which may lie outside the region.
function wholeView() {
  const other = extras.map((extra) => extra.whole?.()).find(Boolean);
  if (other) return { ...other, fixed: true }; // north is up
  const region = meta.region && uprightSize(meta.region);
  let [left, right, bottom, top] = region
    ? [-region[0] / 2, region[0] / 2, -region[1] / 2, region[1] / 2]
    : [Infinity, -Infinity, Infinity, -Infinity];
  const truth = source.bounds();
  [left, bottom] = [Math.min(left, truth[0] / METRE), Math.min(bottom, truth[2] / METRE)];
  [right, top] = [Math.max(right, truth[1] / METRE), Math.max(top, truth[3] / METRE)];
  if (left > right) [left, right, bottom, top] = [-15, 15, -30, 30];
  const width = Math.max(right - left, (top - bottom) / 4, 4) * MARGIN;
  const height = Math.max((top - bottom) * MARGIN, width / 4);
  return { x: (left + right) / 2, y: (bottom + top) / 2, width, height, fixed: !meta.ego };
}

// A view within the limits: not closer or farther than the eye needs, and with its centre in the whole view.
function clamped(view) {
  const width = Math.min(Math.max(view.width, Math.min(CLOSEST, whole.width)), FARTHEST * whole.width);
  const within = (value, middle, size) => Math.min(Math.max(value, middle - size / 2), middle + size / 2);
  return { x: within(view.x, whole.x, whole.width), y: within(view.y, whole.y, whole.height), width };
}

// A view that is `factor` times as wide. The point `at` keeps its place.
function zoomed(view, factor, at = null) {
  const now = view ?? whole;
  const { width } = clamped({ ...now, width: now.width * factor });
  const grown = width / now.width;
  const fixed = at ?? now;
  return clamped({ x: fixed.x + (now.x - fixed.x) * grown, y: fixed.y + (now.y - fixed.y) * grown, width });
}

function moved(view, dx, dy) {
  const now = view ?? whole;
  return clamped({ x: now.x + dx, y: now.y + dy, width: now.width });
}

function sizeOf(panel) {
  if (!panel.size?.width) panel.size = { width: panel.svg.clientWidth, height: panel.svg.clientHeight }; // reading it forces a layout
  return panel.size;
}

// Pixels of a metre, if something of a width and a height in metres fits into a size in pixels.
const fitOf = (size, width, height) => Math.min(size.width / width, size.height / height);

// Whether forward is to the right in all panels instead of up, because a frame is larger so.
function isTurned() {
  if (whole.fixed) return false;
  const size = panels.map(sizeOf).find(({ width, height }) => width > 0 && height > 0);
  return size !== undefined && fitOf(size, whole.height, whole.width) > TURN_GAIN * fitOf(size, whole.width, whole.height);
}

// Shows a view in a panel. The view fits into the panel, which may show more on two sides.
function applyView(panel, view) {
  const { x, y, width } = view ?? whole;
  const height = (width * whole.height) / whole.width;
  const turned = isTurned();
  const [across, down] = turned ? [height, width] : [width, height];
  const [left, top] = turned ? [y, x] : [x, -y]; // the centre on the paper
  const size = sizeOf(panel);
  const pixels = size.height ? fitOf(size, across, down) : 0;
  const shown = pixels ? [size.width / pixels, size.height / pixels] : [across, down];
  if (turned) panel.paper.setAttribute("transform", "rotate(90)");
  else panel.paper.removeAttribute("transform");
  panel.svg.setAttribute("viewBox", [left - shown[0] / 2, top - shown[1] / 2, ...shown].map((value) => value.toFixed(4)).join(" "));
  panel.svg.classList.toggle("zoomed", view !== null);
  panel.svg.classList.toggle("small", pixels < LEGIBLE);
  showScale(panel.scale, pixels);
}

// Gives a scale bar a round length in metres, of which each has some pixels.
function showScale(bar, pixels) {
  const length = SCALES.find((metres) => metres * pixels >= 45) ?? SCALES.at(-1);
  bar.style.width = `${length * pixels}px`;
  bar.textContent = `${length} m`;
}

function listen(panel, onView) {
  const metres = (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(panel.svg.getScreenCTM().inverse());
    return isTurned() ? { x: at.y, y: at.x } : { x: at.x, y: -at.y };
  };
  panel.svg.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // the wheel alone scrolls the page
      event.preventDefault();
      const at = metres(event);
      onView((view) => zoomed(view, Math.exp(Math.max(-1, Math.min(event.deltaY * 0.002, 1))), at));
    },
    { passive: false },
  );
  panel.svg.addEventListener("click", unpin);
  let grabbed = null;
  panel.svg.addEventListener("pointerdown", (event) => {
    if (event.button === 0) grabbed = { at: metres(event), x: event.clientX, y: event.clientY, moving: false };
  });
  panel.svg.addEventListener("pointermove", (event) => {
    if (!grabbed) return;
    if (!grabbed.moving && Math.hypot(event.clientX - grabbed.x, event.clientY - grabbed.y) < 3) return;
    if (!grabbed.moving) panel.svg.setPointerCapture(event.pointerId);
    grabbed.moving = true;
    panel.svg.classList.add("dragged");
    const at = metres(event);
    onView((view) => moved(view, grabbed.at.x - at.x, grabbed.at.y - at.y));
  });
  const drop = () => {
    grabbed = null;
    panel.svg.classList.remove("dragged");
  };
  panel.svg.addEventListener("pointerup", drop);
  panel.svg.addEventListener("pointercancel", drop);
  panel.svg.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [right, up] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key] ?? [0, 0];
    const [dx, dy] = isTurned() ? [-up, right] : [right, up];
    if (dx || dy) onView((view) => moved(view, (dx * (view ?? whole).width) / 10, (dy * (view ?? whole).width) / 10));
    else if (event.key === "n" || event.key === "p") step(panel, event.key === "n" ? 1 : -1);
    else if (event.key === "Escape") {
      unpin();
      panel.svg.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
}
