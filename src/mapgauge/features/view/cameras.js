// Shows the camera images of a frame with the lines of a method. Lines of images and drawings are marked together.

const CAMERAS_KEPT = 60;
const imagesOf = new Map(); // by frame: what the cameras see, or a text if that did not come
let imagesShown = ""; // the frame and the method in the page

function askCameras(frame) {
  if (imagesOf.has(frame) || known.state !== "ready") return;
  imagesOf.set(frame, null);
  packedFrom(`cameras/${frame}`)
    .then((answer) => imagesOf.set(frame, answer))
    .catch((error) => imagesOf.set(frame, error.message))
    .then(() => {
      for (const old of imagesOf.keys()) if (imagesOf.size > CAMERAS_KEPT && old !== state.frame) imagesOf.delete(old);
      if (frame === state.frame) refresh(state);
    });
}

// One image with the lines that its camera sees.
function imageNode(frame, camera, panel, arrays) {
  const { number } = camera;
  const [width, height] = camera.size;
  const image = element("img", { src: `image/${frame}/${number}`, alt: `Image of ${camera.name}`, draggable: false });
  const lost = element("p", { className: "none", hidden: true });
  image.addEventListener("error", async () => {
    lost.textContent = await answerTo(`image/${frame}/${number}`).then(() => "The image cannot be shown.", (error) => error.message);
    lost.hidden = false;
  });
  const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Lines in the image of ${camera.name}` });
  const nodes = ["truth", "predictions"].flatMap((side) => {
    const of = (name) => arrays[`${panel.method}.${side}.${number}.${name}`];
    const paths = new Map(); // by instance: a path for each level of distance to the truth
    of("instance").forEach((instance, piece) => {
      let d = "";
      const level = of("level")[piece];
      if (!paths.has(instance)) paths.set(instance, new Map());
      const levels = paths.get(instance);
      for (let i = of("offsets")[piece]; i < of("offsets")[piece + 1]; i++) d += `${d ? "L" : "M"}${of("points")[2 * i].toFixed(1)} ${of("points")[2 * i + 1].toFixed(1)}`;
      levels.set(level, (levels.get(level) ?? "") + d);
    });
    return panel.instances.filter((instance) => instance.side === side && paths.has(instance.number)).map((instance) => {
      const levels = [...paths.get(instance.number)];
      const d = levels.map(([, path]) => path).join("");
      const strokes = side === "truth" ? lineStrokes(d, instance) : levels.map(([level, path]) => pieceStroke(path, level));
      const lonely = meta.matched && !instance.match ? " lonely" : "";
      const node = svgElement("g", { class: `instance ${side}${lonely}` }, ...strokes, svgElement("path", { class: "reach", d }), svgElement("title", {}, describe(panel, instance).join("\n")));
      if (side !== "truth") node.style.setProperty("--width", `${strokeWidth(instance).toFixed(2)}px`);
      node.addEventListener("pointerenter", () => look(panel, instance, null));
      node.addEventListener("pointerleave", leave);
      node.addEventListener("click", (event) => pin(panel, instance, event));
      instance.seen = [...(instance.seen ?? []), node];
      panel.nodes.push({ layer: side, label: instance.label, confidence: side === "truth" ? 1 : instance.confidence, instance, node });
      return node;
    });
  });
  svg.append(...nodes);
  panel.images.push(svg);
  const larger = element("button", { type: "button", className: "larger", textContent: camera.name, title: "Show this image larger, or all again" });
  larger.addEventListener("click", () => change({ camera: state.camera === camera.name ? "" : camera.name }));
  svg.addEventListener("click", unpin);
  const stage = element("div", { className: "stage" }, image, svg, lost);
  const figure = element("figure", { className: "panel camera" }, larger, stage);
  figure.style.setProperty("--shape", width / height);
  figure.dataset.camera = camera.name;
  return figure;
}

extras.push({
  defaults: { camera: "" }, // the one that is larger
  allows: () => true,

  build() {
    $$("cameras").hidden = !meta.cameras;
    $$("workbench").append($$("cameras"));
  },

  show(now, differs) {
    if (!meta.cameras) return;
    askCameras(now.frame);
    const chosen = panels[Number(now.method.split("-")[0])];
    const panel = chosen.figure.hidden ? drawnPanels()[0] : chosen; // a hidden panel has the lines of an earlier frame
    const found = imagesOf.get(now.frame);
    const isThere = Boolean(found?.cameras) && panel.geometry !== null && !panel.svg.classList.contains("waiting");
    const note = found === undefined || found === null ? (known.state === "ready" ? "Reading the cameras …" : source.absence()) : typeof found === "string" ? found : "";
    const several = meta.methods.length > 1 ? `Lines of ${meta.methods[panel.method]}. ` : "";
    $$("cameras-note").textContent = note || (found.cameras.length ? `${several}Lines without height lie on the ground under the vehicle.` : "The data set has no images of this frame.");
    const key = `${now.frame} ${panel.method} ${isThere}`;
    const drawnAgain = differs("frame"); // then the instances are new
    if (isThere && (key !== imagesShown || drawnAgain)) {
      imagesShown = key;
      for (const each of panels) each.images = [];
      for (const instance of panel.instances) instance.seen = [];
      panel.nodes = panel.nodes.filter(({ node }) => !node.closest("#images"));
      $$("images").replaceChildren(...found.cameras.map((camera) => imageNode(now.frame, camera, panel, found.arrays)));
      applyLayers(panel, now);
      applyMode(panel, now.cause);
    }
    for (const figure of $$("images").children) figure.classList.toggle("large", figure.dataset.camera === now.camera);
    for (const figure of $$("images").children) figure.querySelector("button").setAttribute("aria-pressed", String(figure.dataset.camera === now.camera));
  },
});
