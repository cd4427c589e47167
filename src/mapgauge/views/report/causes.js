// Colours the instances of the drawings by the causes of their costs, and lists the causes of the frame.

const EVERY = "every"; // each instance has the colour of the family of its largest cause
const FAMILY = "family:"; // before the name of a family: its causes have their own shades
const causeKeys = meta.causes.map(({ key }) => key);
const familyNames = Object.keys(meta.families ?? {});
const familyKeys = causeKeys.length ? familyNames.map((name) => FAMILY + name) : [];
const FAINTEST = 0.25; // opacity of a coloured instance that costs little

// The family that a choice opens: the chosen one, or that of the chosen cause. "" if none is open.
function openFamily(chosen) {
  if (chosen.startsWith(FAMILY)) return chosen.slice(FAMILY.length);
  return meta.causes.find(({ key }) => key === chosen)?.family ?? "";
}

// The cause that an instance is coloured by, and its cost: the chosen one, or its largest one. Null if it is not coloured.
function causeShown(instance, chosen) {
  if (chosen === EVERY) return instance.causes[0] ?? null;
  if (chosen.startsWith(FAMILY)) return instance.causes.find(({ cause }) => FAMILY + meta.causes[cause].family === chosen) ?? null;
  return instance.causes.find(({ cause }) => meta.causes[cause].key === chosen) ?? null;
}

// Colours what costs by the chosen cause, the more the stronger, and dims the rest.
function applyCauses(panel, chosen) {
  const most = Math.max(...panels.flatMap(({ instances }) => instances.map((instance) => causeShown(instance, chosen)?.cost ?? 0)), 1e-9);
  for (const { layer, instance, node } of panel.nodes) {
    const partner = layer === "pairs" ? instance.match.truth : instance;
    const found = causeShown(instance, chosen) ?? causeShown(partner, chosen);
    node.classList.toggle("aside", found === null);
    node.classList.toggle("caused", found !== null);
    if (found === null) continue;
    const cause = meta.causes[found.cause];
    const colour = chosen === EVERY ? meta.families[cause.family] : cause.colour;
    if (layer === "dots") node.querySelector(".outer").setAttribute("stroke", colour);
    if (layer === "truth" || layer === "predictions") colourLine(node, colour, Math.max(Math.sqrt(found.cost / most), FAINTEST));
  }
}

// Colours a line by a cause. Light and dark colours need an outline to be seen on any paper.
function colourLine(node, colour, strength) {
  for (const stroke of node.querySelectorAll(".stroke")) {
    stroke.setAttribute("stroke", colour);
    stroke.setAttribute("stroke-opacity", strength);
    stroke.before(svgElement("path", { class: "casing", d: stroke.getAttribute("d"), "stroke-opacity": strength }));
  }
}

// Lists the families of causes of the frame, the largest first. A click opens a family: its causes with their shades and
// pictures. A click on a cause chooses it, and sorts the frames by it.
function showCauses(state, onChoose) {
  const list = $$("cause-key");
  list.hidden = !panels[0].geometry;
  list.dataset.mode = EVERY;
  if (list.hidden) return list.replaceChildren();
  const open = openFamily(state.cause);
  const sharesOf = (keys) => panels.map((panel) => keys.reduce((sum, key) => sum + shareOf(panel, state, key), 0));
  const most = ({ shares }) => Math.max(...shares);
  const keysOf = (family) => meta.causes.filter((cause) => cause.family === family).map(({ key }) => key);
  const families = familyNames.map((name) => ({ name, key: FAMILY + name, colour: meta.families[name], shares: sharesOf(keysOf(name)) }));
  const nodes = families.filter((one) => most(one) > 0 || one.name === open).sort((a, b) => most(b) - most(a)).flatMap((family) => {
    const about = meta.causes.filter((cause) => cause.family === family.name).map(({ name }) => name).join(", ");
    const pressed = family.name === open;
    const button = causeButton(family, about, pressed, () => onChoose(pressed ? EVERY : family.key));
    if (!pressed) return [button];
    const causes = meta.causes.filter((cause) => cause.family === open).map((cause) => ({ ...cause, shares: sharesOf([cause.key]) }));
    const kept = causes.filter((one) => most(one) > 0 || one.key === state.cause).sort((a, b) => most(b) - most(a));
    return [button, ...kept.map((cause) => causeButton(cause, cause.about, state.cause === cause.key, () => onChoose(state.cause === cause.key ? family.key : cause.key)))];
  });
  const focused = document.activeElement?.dataset?.cause;
  list.replaceChildren(element("li", { textContent: meta.shares ? `Parts of ${meta.shares}:` : "Costs:" }), ...nodes, ...commonMarks(EVERY));
  if (focused) list.querySelector(`[data-cause="${focused}"]`)?.focus(); // a click must not lose the place of the keyboard
}

// A button for a family or a cause, in its colour. Causes have a small picture.
function causeButton({ key, name, colour, shares, picture }, about, pressed, onClick) {
  const box = svgElement("svg", { width: 12, height: 12, "aria-hidden": "true" }, svgElement("rect", { class: "part", width: 12, height: 12, fill: colour }));
  const text = ` ${name} ${shares.map((share) => share.toFixed(3)).join(" | ")}`;
  const button = element("button", { type: "button", title: about, ariaPressed: String(pressed) }, box, ...(picture ? [" ", pictureOf(picture, colour)] : []), text);
  button.dataset.cause = key;
  button.addEventListener("click", onClick);
  return element("li", { className: picture ? "cause" : "family" }, button);
}

// The scene of a cause as in the documentation: truth wide and grey, predictions above it.
function pictureOf(picture, colour) {
  const lines = Object.entries(picture).map(([name, d]) => svgElement("path", { class: name, d, ...(name === "truth" ? {} : { stroke: colour }) }));
  return svgElement("svg", { class: "picture", width: 34, height: 18, "aria-hidden": "true" }, ...lines);
}

// What the instances of a drawn frame cost by a cause, as a share of its PLD. Without PLD it is the sum of their costs.
function shareOf(panel, state, key) {
  if (numberKeys.includes(key)) return numbersOf(panel.method, key, state.of)[state.frame] || 0;
  const mine = panel.instances.filter(({ label }) => state.of === "" || meta.classes[label] === state.of);
  const costs = mine.flatMap(({ causes }) => causes.filter(({ cause }) => meta.causes[cause].key === key));
  const sum = costs.reduce((total, { cost }) => total + cost, 0);
  return meta.shares ? sum * scaleOf(panel.method, panel.geometry, state.of) : sum;
}
