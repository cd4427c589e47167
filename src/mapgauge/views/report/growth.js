// Draws the values of a whole map after a share of its frames, one chart for each method.

const GROWN = { network_completeness: "#0072b2", network_correctness: "#d55e00", network_pld: "#009e73" };
const [CHART_WIDTH, CHART_HEIGHT, CHART_LEFT, CHART_BOTTOM] = [420, 200, 34, 34]; // pixels

function growthOf(name, values) {
  const x = (share) => CHART_LEFT + share * (CHART_WIDTH - CHART_LEFT - 20);
  const y = (value) => (1 - value) * (CHART_HEIGHT - CHART_BOTTOM - 8) + 8;
  const label = (at, text, anchor) => svgElement("text", { ...at, "text-anchor": anchor }, text);
  const ticks = [0, 0.2, 0.4, 0.6, 0.8, 1];
  const drawn = Object.keys(GROWN).filter((key) => values.some((row) => row[key] !== null));
  const lines = drawn.map((key) => {
    const points = values.filter((row) => row[key] !== null).map((row) => `${x(row.share)} ${y(row[key])}`);
    return svgElement("path", { class: "grown", d: `M${points.join("L")}`, stroke: GROWN[key] });
  });
  const grid = ticks.flatMap((tick) => [
    svgElement("line", { class: "metre", x1: CHART_LEFT, x2: CHART_WIDTH - 20, y1: y(tick), y2: y(tick) }),
    label({ x: CHART_LEFT - 6, y: y(tick) + 4 }, tick.toFixed(1), "end"),
    label({ x: x(tick), y: CHART_HEIGHT - CHART_BOTTOM + 16 }, `${Math.round(100 * tick)} %`, "middle"),
  ]);
  const last = values.at(-1);
  const said = drawn.map((key) => `${labelOf(key)} from ${values[0][key]?.toFixed(3) ?? "-"} to ${last[key]?.toFixed(3) ?? "-"}`).join(", ");
  const about = label({ x: x(0.5), y: CHART_HEIGHT - 4 }, "share of the frames", "middle");
  const svg = svgElement("svg", { viewBox: `0 0 ${CHART_WIDTH} ${CHART_HEIGHT}`, role: "img", "aria-label": `${name}: ${said}` }, ...grid, ...lines, about);
  return element("figure", {}, element("figcaption", {}, element("strong", { textContent: name })), svg);
}

if (meta.growth.some((values) => values.length)) {
  extras.push({
    build() {
      const charts = meta.growth.flatMap((values, k) => (values.length ? [growthOf(meta.methods[k], values)] : []));
      const key = Object.entries(GROWN).map(([name, colour]) => {
        const swatch = element("span", { className: "swatch" });
        swatch.style.background = colour;
        return element("li", {}, swatch, labelOf(name));
      });
      $$("growth").append(...charts, element("ul", { className: "legend" }, ...key));
      $$("growth").hidden = false;
    },
  });
}
