// Lists the frames whose truth is nearest by PLD to that of a frame.

const alike = new Map(); // by frame: { frames, distances }, a text if they did not come, or null while they are computed

function askAlike(frame) {
  if (alike.has(frame) || known.state !== "ready") return;
  alike.set(frame, null);
  packedFrom(`like/${frame}`)
    .then(({ arrays }) => alike.set(frame, arrays))
    .catch((error) => alike.set(frame, error.message))
    .then(() => refresh(state));
}

function showAlike(frame) {
  askAlike(frame);
  const found = alike.get(frame);
  const isThere = found && typeof found !== "string";
  $$("similar-about").textContent = isThere
    ? `Truth nearest to that of ${meta.tokens[frame]}. The distance is PLD between the two truths.`
    : (found ?? (known.state === "ready" ? "Comparing with all frames …" : source.absence()));
  const main = meta.metrics[0]?.key;
  $$("similar-value").textContent = main ? labelOf(main) : "";
  const method = state.method.split("-")[0];
  const line = (other, k) => {
    const button = element("button", { type: "button", textContent: cut(meta.tokens[other]), title: meta.tokens[other] });
    button.addEventListener("click", () => change({ frame: other }));
    const cells = [element("th", { scope: "row", className: "text" }, button), element("td", { className: "text", textContent: meta.scenes?.[other] ?? "" })];
    const values = [found.distances[k].toFixed(3), main ? shown(main, numbersOf(method, main, state.of)[other]) : ""];
    const row = element("tr", {}, ...cells, ...values.map((text) => element("td", { textContent: text })));
    row.classList.toggle("chosen", other === state.frame);
    return row;
  };
  $$("similar-list").tBodies[0].replaceChildren(...(isThere ? Array.from(found.frames, line) : []));
}

// The frame that others are like. An address may have any token.
const likeFrame = (now) => (now.like === "" ? -1 : meta.tokens.indexOf(now.like));

extras.push({
  pane: ["like", "more like this"],
  defaults: { like: "" },
  allows: (key, text) => meta.tokens.includes(text),

  build(change) {
    const button = element("button", { id: "more-like", type: "button", textContent: "More like this", title: "Frames whose truth is nearest to the truth of this one, by PLD" });
    $$("copy").after(button);
    button.addEventListener("click", () => change({ pane: "like", like: meta.tokens[state.frame] }));
  },

  toggle(now) {
    if (now.pane === "like" && now.like === "" && now.frame >= 0) state.like = meta.tokens[now.frame];
    document.querySelector(".left").classList.toggle("on-like", now.pane === "like");
  },

  show(now) {
    if (now.pane === "like" && likeFrame(now) >= 0) showAlike(likeFrame(now));
  },

  order(now) {
    const found = now.pane === "like" ? alike.get(likeFrame(now)) : null;
    return found?.frames ? [likeFrame(now), ...found.frames] : null;
  },
});
