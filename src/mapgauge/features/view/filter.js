// Filters the list by a condition in the language of `mapgauge frames --where`. The server finds the frames.

let kept = null; // which frames meet the condition, one byte each; null if there is no condition
let answered = { query: "", method: "0" }; // the question that `kept` answers
let askTimer = 0; // not 0 while a condition is typed
let isTyped = false; // whether the condition was typed since the last answer, and is not from the address

// Asks the server for the frames of a condition, and shows what is wrong with it. Then the list stays as it was.
async function ask(query, method) {
  answered = { query, method };
  let message = "";
  let found = query === "" ? null : kept;
  if (query !== "") {
    try {
      const answer = await answerTo(`where?${new URLSearchParams({ query, method })}`);
      if (answer.headers.get("Content-Type") === "application/json") {
        const { wrong: what, place, remedy } = await answer.json();
        message = `${what}\n  ${query}\n  ${" ".repeat(place)}^${remedy ? `\n${remedy}` : ""}`;
      } else {
        const bytes = await answer.arrayBuffer();
        const length = new DataView(bytes).getUint32(0, true);
        found = new Uint8Array(frameCount);
        for (const frame of new Int32Array(bytes, 8 + length)) found[frame] = 1;
      }
    } catch (error) {
      message = error.message;
    }
  }
  if (answered.query !== query || answered.method !== method) return; // another question came after it
  showWrong(message);
  kept = found;
  change({ kept: (state.kept ?? 0) + 1 }, isTyped);
  isTyped = false;
}

extras.push({
  defaults: { where: "" },
  allows: () => true,
  filters: ["kept"],
  cleared: { where: "" },
  passes: (frame) => kept === null || kept[frame] === 1,

  build(change) {
    const field = conditionField();
    const typed = () => {
      clearTimeout(askTimer);
      askTimer = 0;
      isTyped = true;
      change({ where: field.value });
    };
    field.addEventListener("input", () => {
      clearTimeout(askTimer);
      askTimer = setTimeout(typed, 250);
    });
    field.addEventListener("change", typed);
    $$("save-tokens").addEventListener("click", () => download("tokens.txt", "text/plain", rows.map((frame) => `${meta.tokens[frame]}\n`).join("")));
  },

  show(now) {
    const method = now.method.split("-")[0];
    const query = now.where.trim();
    if (!askTimer && $$("where").value.trim() !== query) $$("where").value = now.where;
    if (query !== answered.query || (query !== "" && method !== answered.method)) ask(query, method);
  },
});
