// Filters the list by a condition in the language of `mapgauge frames --where`. The server finds the frames.

let kept = null; // which frames meet the condition, one byte each; null if there is no condition
let answered = { query: "", method: "0" }; // the question that `kept` answers
let askTimer = 0; // not 0 while a condition is typed

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
  change({ kept: (state.kept ?? 0) + 1 });
}

// A name in the language of conditions. The parts of PLD have other names there than the numbers of lines.
function nameInConditions(key, of) {
  const name = (["missed", "false"].includes(key) ? `pld_${key}` : key) + (of === "" ? "" : `.${of}`);
  return /^[^\W\d]\w*([:@.]\w+)*$/u.test(name) ? name : `"${name}"`;
}

// The filters of the list as one condition.
function conditionOf(now) {
  const ranges = Object.entries(now.ranges).flatMap(([key, [low, high]]) => [
    ...(Number.isFinite(low) ? [`${nameInConditions(key, now.of)} >= ${low}`] : []),
    ...(Number.isFinite(high) ? [`${nameInConditions(key, now.of)} <= ${high}`] : []),
  ]);
  const own = now.where.trim();
  const scene = now.scene === "" ? [] : [`scene = '${now.scene.replaceAll("'", "''")}'`];
  const others = [...scene, ...ranges];
  return [...(own ? [others.length && /\bor\b/i.test(own) ? `(${own})` : own] : []), ...others].join(" and ");
}

const quoted = (text) => (/^[\w./=,:@+-]+$/.test(text) ? text : /["$`\\!]/.test(text) ? `'${text.replaceAll("'", "'\\''")}'` : `"${text}"`);

// The shell command that lists the same frames.
function commandOf(now) {
  const words = ["mapgauge", "frames", meta.files[Number(now.method.split("-")[0])]];
  const condition = conditionOf(now);
  if (condition) words.push("--where", condition);
  if (now.sort !== DEFAULTS().sort) words.push("--sort", numberKeys.includes(now.sort) ? nameInConditions(now.sort, now.of) : now.sort);
  return words.map(quoted).join(" ");
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
      change({ where: field.value });
    };
    field.addEventListener("input", () => {
      clearTimeout(askTimer);
      askTimer = setTimeout(typed, 250);
    });
    field.addEventListener("change", typed);
    $$("copy-command").addEventListener("click", async () => {
      await copyText(commandOf(state));
      $$("told").textContent = state.text ? "copied, without the filter of tokens" : "copied";
      setTimeout(() => ($$("told").textContent = ""), 3000);
    });
    $$("save-tokens").addEventListener("click", () => download("tokens.txt", "text/plain", rows.map((frame) => `${meta.tokens[frame]}\n`).join("")));
  },

  show(now) {
    const method = now.method.split("-")[0];
    const query = now.where.trim();
    if (!askTimer && $$("where").value.trim() !== query) $$("where").value = now.where;
    if (query !== answered.query || (query !== "" && method !== answered.method)) ask(query, method);
    $$("copy-command").title = commandOf(now);
  },
});
