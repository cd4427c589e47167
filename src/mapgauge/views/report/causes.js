// Colours the instances of the drawings by the causes of their costs, and lists the causes of the frame.

const EVERY = "every"; // each instance has the colour of its largest cause
const causeKeys = meta.causes.map(({ key }) => key);
const FAINTEST = 0.25; // opacity of a coloured instance that costs little
const ASIDE = 0.6; // opacity of an instance of another cause, which is grey, if its confidence is 1

// The cause that an instance is coloured by, and its cost: the chosen one, or its largest one. Null if it is not coloured.
function causeShown(instance, chosen) {
  if (chosen === EVERY) return instance.causes[0] ?? null;
  return instance.causes.find(({ cause }) => meta.causes[cause].key === chosen) ?? null;
}

// Colours what costs by the chosen cause, the more the stronger, and dims the rest. "" gives every instance the colour of
// its class.
function applyCauses(panel, chosen) {
  const most = Math.max(...panels.flatMap(({ instances }) => instances.map((instance) => causeShown(instance, chosen)?.cost ?? 0)), 1e-9);
  for (const { layer, instance, node } of panel.nodes) {
    const partner = layer === "pairs" ? instance.match.truth : instance;
    const found = causeShown(instance, chosen) ?? causeShown(partner, chosen);
    node.classList.toggle("aside", chosen !== "" && found === null);
    node.classList.toggle("caused", found !== null);
    const colour = found ? meta.causes[found.cause].colour : meta.colours[instance.label];
    if (layer === "dots") {
      node.querySelector(".outer").setAttribute("stroke", colour);
      node.setAttribute("stroke-opacity", dotsOpacity(instance) * (chosen !== "" && !found ? ASIDE : 1));
    }
    const strength = found && Math.max(Math.sqrt(found.cost / most), FAINTEST);
    if (layer === "truth" || layer === "predictions") colourLine(node, instance, colour, strength, chosen === "" ? 1 : ASIDE);
  }
}

// Colours a line by a cause, or by its class if `strength` is null; then `faint` is the opacity of truth. Light and dark
// colours need an outline to be seen on any paper.
function colourLine(node, instance, colour, strength, faint) {
  const stroke = node.querySelector(".stroke");
  const opacity = strength ?? faint * (instance.side === "truth" ? 1 : Math.max(instance.confidence, 0.1));
  stroke.setAttribute("stroke", colour);
  stroke.setAttribute("stroke-opacity", opacity);
  node.querySelector(".casing")?.remove();
  if (strength !== null) stroke.before(svgElement("path", { class: "casing", d: stroke.getAttribute("d"), "stroke-opacity": opacity }));
}

// Lists the causes of the frame, the largest first. A click chooses a cause and sorts the frames by it.
function showCauses(state, onChoose) {
  const list = $$("cause-key");
  list.hidden = state.cause === "" || !panels[0].geometry;
  if (list.hidden) return list.replaceChildren();
  const there = meta.causes.map((cause) => ({ cause, shares: panels.map((panel) => shareOf(panel, state, cause.key)) }));
  const most = ({ shares }) => Math.max(...shares);
  const kept = there.filter((one) => most(one) > 0 || one.cause.key === state.cause).sort((a, b) => most(b) - most(a));
  const items = kept.map(({ cause, shares }) => {
    const box = svgElement("svg", { width: 12, height: 12, "aria-hidden": "true" }, svgElement("rect", { class: "part", width: 12, height: 12, fill: cause.colour }));
    const text = `${cause.name} ${shares.map((share) => share.toFixed(3)).join(" | ")}`;
    const button = element("button", { type: "button", title: cause.about, ariaPressed: String(state.cause === cause.key) }, box, ` ${text}`);
    button.dataset.cause = cause.key;
    button.addEventListener("click", () => onChoose(state.cause === cause.key ? EVERY : cause.key));
    return element("li", {}, button);
  });
  const focused = document.activeElement?.dataset?.cause;
  list.replaceChildren(element("li", { textContent: meta.shares ? `Parts of ${meta.shares}:` : "Costs:" }), ...items);
  if (focused) list.querySelector(`[data-cause="${focused}"]`)?.focus(); // a click must not lose the place of the keyboard
}

// What the instances of a drawn frame cost by a cause, as a share of its PLD. Without PLD it is the sum of their costs.
function shareOf(panel, state, key) {
  if (numberKeys.includes(key)) return numbersOf(panel.method, key, state.of)[state.frame] || 0;
  const mine = panel.instances.filter(({ label }) => state.of === "" || meta.classes[label] === state.of);
  const costs = mine.flatMap(({ causes }) => causes.filter(({ cause }) => meta.causes[cause].key === key));
  const sum = costs.reduce((total, { cost }) => total + cost, 0);
  return meta.shares ? sum * scaleOf(panel.method, panel.geometry, state.of) : sum;
}
