// The filters of the list as a condition, and the shell command that lists the same frames.

const MOST_NAMED = 200; // frames that a command may name one by one

// A name in the language of conditions. The parts of PLD have other names there than the numbers of lines.
function nameInConditions(key, of) {
  const name = (["missed", "false"].includes(key) ? `pld_${key}` : key) + (of === "" ? "" : `.${of}`);
  return /^[^\W\d]\w*([:@.]\w+)*$/u.test(name) ? name : `"${name}"`;
}

const textInConditions = (text) => `'${text.replaceAll("'", "''")}'`;

// The filters that a condition can say. The others need the names of the frames.
function conditionOf(now) {
  const ranges = Object.entries(now.ranges).flatMap(([key, [low, high]]) => [
    ...(Number.isFinite(low) ? [`${nameInConditions(key, now.of)} >= ${low}`] : []),
    ...(Number.isFinite(high) ? [`${nameInConditions(key, now.of)} <= ${high}`] : []),
  ]);
  const own = now.where.trim();
  const scene = now.scene === "" ? [] : [`scene = ${textInConditions(now.scene)}`];
  const others = [...scene, ...ranges];
  return [...(own ? [others.length && /\bor\b/i.test(own) ? `(${own})` : own] : []), ...others].join(" and ");
}

// Whether the list has filters that no condition can say: a part of a token, a reason, a range of a difference.
function needsNames(now) {
  if (now.text !== "" || now.why !== "") return true;
  if (now.method.includes("-") && (Object.keys(now.ranges).length > 0 || now.where.trim() !== "")) return true;
  return extras.some((extra) => extra.narrows?.(now));
}

const quoted = (text) => (/^[\w./=,:@+-]+$/.test(text) ? text : /["$`\\!]/.test(text) ? `'${text.replaceAll("'", "'\\''")}'` : `"${text}"`);

// The shell command that lists the same frames. Empty if there are too many to name.
function commandOf(now, frames) {
  const words = ["mapgauge", "frames", meta.files[Number(now.method.split("-")[0])]];
  if (needsNames(now)) {
    if (frames.length > MOST_NAMED) return "";
    words.push("--where", `token in (${frames.map((frame) => textInConditions(meta.tokens[frame])).join(", ")})`);
  } else if (conditionOf(now)) {
    words.push("--where", conditionOf(now));
  }
  const canSort = now.sort !== "largest" && !now.method.includes("-");
  if (canSort && now.sort !== DEFAULTS().sort) words.push("--sort", numberKeys.includes(now.sort) ? nameInConditions(now.sort, now.of) : now.sort);
  return words.map(quoted).join(" ");
}
