// Filters the list by a condition, which the page itself applies.

// The columns that conditions name, for a choice as in columnsOf. The values of each class follow the pooled values.
function queryColumns(choice) {
  const [first, second] = choice.split("-");
  const numbers = (name, place) => {
    const of = (method) => arrays[`${method}.where.${name}`]?.subarray(place * frameCount, (place + 1) * frameCount);
    const [values, minus] = [of(first), of(second)];
    const kind = values instanceof Int32Array ? "count" : "number";
    return values && { kind, values: minus ? Float64Array.from(values, (value, frame) => value - minus[frame]) : values };
  };
  const named = (name) => {
    if (name in meta.tags) return meta.tags[name];
    if (name === "token" || (name === "scene" && meta.scenes)) return { kind: "text", values: meta[`${name}s`] };
    const bases = meta.classes.map((of) => (name.endsWith(`.${of}`) ? name.slice(0, -of.length - 1) : ""));
    const place = bases.findIndex((base) => `${first}.where.${base}` in arrays);
    return numbers(name, 0) ?? (place < 0 ? undefined : numbers(bases[place], 1 + place));
  };
  return { named, known: meta.where, classes: meta.classes };
}

let held = null; // whether each frame meets the condition; null without a condition, or with one that has an error
let applied = ""; // the condition and the method that `held` belongs to

extras.push({
  defaults: { where: "" },
  allows: () => true,
  filters: ["where"],
  cleared: { where: "" },
  passes: (frame) => held === null || held[frame],

  build(change) {
    const field = conditionField();
    field.addEventListener("input", () => change({ where: field.value }));
  },

  toggle({ where, method }) {
    if (applied === `${method} ${where}`) return;
    applied = `${method} ${where}`;
    held = null;
    let wrong = "";
    try {
      if (where.trim()) held = holdsFor(where, queryColumns(method), frameCount);
    } catch (error) {
      if (!(error instanceof InvalidQuery)) throw error;
      wrong = error.pointer;
    }
    if ($$("where").value !== where) $$("where").value = where;
    showWrong(wrong);
  },
});
