// Saves a drawing as PNG, and the frames of a scene as a folder of PNG or as a video.

const SHARPNESS = 2; // pixels of a picture for each pixel of the screen

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

// Some drawings as PNG, side by side.
async function pngOf(drawn) {
  const drawings = await Promise.all(drawn.map((panel) => imageOf(svgOf(panel, [meta.tokens[state.frame], meta.methods[panel.method]]))));
  const [width, top] = [drawings.reduce((sum, image) => sum + image.width, 0), Math.max(...drawings.map((image) => image.height))];
  const canvas = element("canvas", { width: Math.round(width * SHARPNESS), height: Math.round(top * SHARPNESS) });
  const paper = canvas.getContext("2d");
  paper.fillStyle = getComputedStyle(document.body).backgroundColor;
  paper.fillRect(0, 0, canvas.width, canvas.height);
  paper.scale(SHARPNESS, SHARPNESS);
  let left = 0;
  for (const image of drawings) {
    paper.drawImage(image, left, 0, image.width, image.height);
    left += image.width;
  }
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

const SLIDE = { width: 1920, height: 1080, head: 76, foot: 44, gap: 14 }; // pixels of a picture of a scene: 16 to 9

// The places of boxes of some shapes (width by height) side by side, as large as they fit into a rectangle.
function sideBySide(shapes, { x, y, width, height }) {
  const gaps = SLIDE.gap * Math.max(shapes.length - 1, 0);
  const tall = Math.min(height, (width - gaps) / shapes.reduce((sum, shape) => sum + shape, 0));
  let left = x;
  return shapes.map((shape) => {
    const box = { x: left, y: y + (height - tall) / 2, width: shape * tall, height: tall };
    left += box.width + SLIDE.gap;
    return box;
  });
}

// The places of boxes in as many columns as make them largest.
function inColumns(shapes, room) {
  let best = [];
  for (let columns = 1; columns <= shapes.length; columns++) {
    const rows = Math.ceil(shapes.length / columns);
    const tall = (room.height - SLIDE.gap * (rows - 1)) / rows;
    const boxes = Array.from({ length: rows }, (_, row) => {
      const y = room.y + row * (tall + SLIDE.gap);
      return sideBySide(shapes.slice(row * columns, (row + 1) * columns), { ...room, y, height: tall });
    }).flat();
    if (!best.length || boxes[0].height > best[0].height) best = boxes;
  }
  return best;
}

// A picture of the frame for a video: names and values of the methods, the drawings, camera images, and a time bar.
async function slideOf(stages) {
  const canvas = element("canvas", { width: SLIDE.width, height: SLIDE.height });
  const paper = canvas.getContext("2d");
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  paper.fillStyle = getComputedStyle(document.body).backgroundColor;
  paper.fillRect(0, 0, SLIDE.width, SLIDE.height);
  const write = (text, x, y, size, { align = "left", name = "--ink", width = SLIDE.width / 2 } = {}) => {
    Object.assign(paper, { font: `${size}px system-ui, sans-serif`, textAlign: align, fillStyle: colour(name) });
    paper.fillText(text, x, y, width);
  };
  const { frames, scene } = clock;
  const at = frames.indexOf(state.frame);
  const seconds = known.arrays?.seconds;
  const time = seconds ? `${(seconds[state.frame] - seconds[frames[0]]).toFixed(1)} s · ` : "";
  write(String(scene), SLIDE.gap, 34, 28);
  write(meta.tokens[state.frame], SLIDE.gap, 62, 18, { name: "--quiet" });
  write(`${time}frame ${at + 1} of ${frames.length}`, SLIDE.width - SLIDE.gap, 34, 24, { align: "right" });
  const room = { x: SLIDE.gap, y: SLIDE.head + 56, width: SLIDE.width - 2 * SLIDE.gap, height: SLIDE.height - SLIDE.head - SLIDE.foot - 56 };
  const shown = drawnPanels();
  const shapes = shown.map(({ size }) => size.width / size.height);
  const photos = stages.map((stage) => stage.clientWidth / stage.clientHeight);
  const needed = shapes.reduce((sum, shape) => sum + shape, 0) * room.height + SLIDE.gap * (shapes.length - 1);
  const [left, high] = [Math.min(needed, 0.6 * room.width), 0.62 * room.height];
  let [forDrawings, forPhotos] = [room, null];
  if (stages.length && (left / needed) * room.height >= high) {
    [forDrawings, forPhotos] = [{ ...room, width: left }, { ...room, x: room.x + left + SLIDE.gap, width: room.width - left - SLIDE.gap }];
  } else if (stages.length) {
    [forDrawings, forPhotos] = [{ ...room, height: high }, { ...room, y: room.y + high + SLIDE.gap, height: room.height - high - SLIDE.gap }];
  }
  const boxes = sideBySide(shapes, forDrawings);
  const used = boxes.at(-1).x + boxes.at(-1).width - boxes[0].x;
  const shift = forPhotos ? 0 : (forDrawings.width - used) / 2;
  for (const [k, panel] of shown.entries()) {
    const box = boxes[k];
    const x = box.x + shift;
    write(meta.methods[panel.method], x, box.y - 32, 22, { width: box.width });
    write(panel.values.textContent, x, box.y - 10, 16, { name: "--quiet", width: box.width });
    paper.drawImage(await imageOf(svgOf(panel, [], 0)), x, box.y, box.width, box.height);
  }
  const places = forPhotos ? inColumns(photos, forPhotos) : [];
  for (const [k, stage] of stages.entries()) {
    const { x, y, width, height } = places[k];
    for (const image of await layersOf(stage)) paper.drawImage(image, x, y, width, height);
  }
  const [start, long, y] = [SLIDE.gap, SLIDE.width - 2 * SLIDE.gap, SLIDE.height - 18];
  paper.fillStyle = colour("--line");
  paper.fillRect(start, y, long, 6);
  paper.fillStyle = colour("--link");
  paper.fillRect(start, y, (long * (at + 1)) / frames.length, 6);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

// The photo of a camera, if it came, and the lines on it.
async function layersOf(stage) {
  const photo = stage.querySelector("img");
  const came = await photo.decode().then(() => true, () => false);
  return [...(came ? [photo] : []), await imageOf(overlayOf(stage.querySelector("svg")))];
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
    const picture = await slideOf(await stagesOf(frame));
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
