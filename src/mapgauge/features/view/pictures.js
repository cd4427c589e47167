// Saves a drawing as PNG, and the frames of a scene as a folder of PNG or as a video.

const SHARPNESS = 2; // pixels of a picture for each pixel of the screen
const ACROSS = 3; // camera images in a row of a picture

async function imageOf(text) {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  await image.decode();
  URL.revokeObjectURL(image.src);
  return image;
}

// The lines on a camera image. Their widths do not depend on the size of the image.
function overlayOf(svg) {
  const { width, height } = svg.viewBox.baseVal;
  const lines = [...svg.children].flatMap((node) => styledCopy(node, width / svg.clientWidth));
  return new XMLSerializer().serializeToString(svgElement("svg", { xmlns: SVG, viewBox: `0 0 ${width} ${height}`, width, height }, ...lines));
}

// Some drawings as PNG: side by side, with camera images below them.
async function pngOf(drawn, stages = []) {
  const drawings = await Promise.all(drawn.map((panel) => imageOf(svgOf(panel, [meta.tokens[state.frame], meta.methods[panel.method]]))));
  const [width, top] = [drawings.reduce((sum, image) => sum + image.width, 0), Math.max(...drawings.map((image) => image.height))];
  const cell = { width: width / Math.min(stages.length, ACROSS), height: 0 };
  for (const stage of stages) cell.height = Math.max(cell.height, (cell.width * stage.clientHeight) / stage.clientWidth);
  const even = (size) => 2 * Math.round((size * SHARPNESS) / 2); // videos need even sizes
  const canvas = element("canvas", { width: even(width), height: even(top + cell.height * Math.ceil(stages.length / ACROSS)) });
  const paper = canvas.getContext("2d");
  paper.fillStyle = getComputedStyle(document.body).backgroundColor;
  paper.fillRect(0, 0, canvas.width, canvas.height);
  paper.scale(SHARPNESS, SHARPNESS);
  let left = 0;
  for (const image of drawings) {
    paper.drawImage(image, left, 0, image.width, image.height);
    left += image.width;
  }
  for (const [k, stage] of stages.entries()) {
    const place = [(k % ACROSS) * cell.width, top + Math.floor(k / ACROSS) * cell.height, cell.width, (cell.width * stage.clientHeight) / stage.clientWidth];
    const photo = stage.querySelector("img");
    const came = await photo.decode().then(() => true, () => false);
    for (const image of [...(came ? [photo] : []), await imageOf(overlayOf(stage.querySelector("svg")))]) paper.drawImage(image, ...place);
  }
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

// Waits until all of a frame is in the page, and returns the parts of its camera images.
async function stagesOf(frame) {
  await request(frame);
  change({ frame });
  while (meta.cameras && (imagesOf.get(frame) ?? null) === null && known.state === "ready") await new Promise((resolve) => setTimeout(resolve, 20));
  return [...$$("images").querySelectorAll(".stage")];
}

// Pictures of all frames of the scene, in the order of time. `keep` gets each with its name.
async function drawScenePictures(keep) {
  pause();
  const { frames, scene } = clock;
  for (const [k, frame] of frames.entries()) {
    const picture = await pngOf(panels, await stagesOf(frame));
    await keep(fileName(`${scene} ${String(k + 1).padStart(4, "0")}.png`), picture);
    $$("told").textContent = `${k + 1} of ${frames.length} frames`;
  }
}

// Browsers that can write into a folder ask for one; others save the pictures one by one.
async function saveScene() {
  const folder = "showDirectoryPicker" in window ? await window.showDirectoryPicker({ mode: "readwrite" }) : null;
  const { frames, scene } = clock;
  await drawScenePictures(async (name, picture) => {
    if (!folder) return download(name, "image/png", picture);
    const file = await (await folder.getFileHandle(name, { create: true })).createWritable();
    await file.write(picture);
    await file.close();
  });
  const command = `ffmpeg -framerate ${framesPerSecond()} -i ${quoted(fileName(`${scene} `) + "%04d.png")} -pix_fmt yuv420p ${quoted(fileName(`${scene}.mp4`))}`;
  if (!meta.video) await copyText(command).catch(() => {});
  $$("told").textContent = `${frames.length} frames saved.${meta.video ? "" : ` Copied the command for a video: ${command}`}`;
}

async function saveVideo() {
  const { scene } = clock;
  const pictures = [];
  await drawScenePictures((_, picture) => pictures.push(picture));
  $$("told").textContent = "Making the video …";
  const answer = await answerTo(`video?rate=${framesPerSecond()}`, { method: "POST", body: new Blob(pictures) });
  download(`${scene}.mp4`, "video/mp4", await answer.blob());
  $$("told").textContent = "Video saved.";
}

extras.push({
  build() {
    for (const panel of panels) {
      const button = element("button", { type: "button", className: "save png", textContent: "PNG", title: "Save this drawing as PNG", ariaLabel: `Save the drawing of ${meta.methods[panel.method]} as PNG` });
      button.addEventListener("click", async () => download(`${meta.tokens[state.frame]} ${meta.methods[panel.method]}.png`, "image/png", await pngOf([panel])));
      panel.save.before(button);
    }
    $$("save-video").hidden = !meta.video;
    for (const [id, save] of [["save-scene", saveScene], ["save-video", saveVideo]]) {
      $$(id).addEventListener("click", () => save().catch((error) => ($$("told").textContent = error.name === "AbortError" ? "" : error.message)));
    }
  },
});
