// The view "Chart" of a result: what is drawn is chosen from the types, and may be changed.

import { AGGREGATES, KINDS, choose, readChart } from "./chart_data.js";
import { el } from "./dom.js";
import { draw } from "./draw.js";
import { onTheme } from "./theme.js";

/** Make the view of a result. */
export function chartView(about) {
  const chosen = choose(about);
  const note = el("span", { class: "faint", role: "status" });
  const host = el("div", { class: "chart" });
  const columns = about.names.map((name, place) => [String(place), name]);
  const none = [["-1", "none"]];
  const select = (label, key, options, isNumber) => {
    const made = el("select", { on: { change: () => { chosen[key] = isNumber ? Number(made.value) : made.value; load(); } } },
      ...options.map(([value, text]) => el("option", { value, selected: String(chosen[key]) === value }, text)));
    return el("label", {}, `${label} `, made);
  };
  const form = el("div", { class: "bar tools" },
    select("Chart", "kind", Object.entries(KINDS)), select("x", "x", columns, true), select("y", "y", [...none, ...columns], true),
    select("of each", "aggregate", AGGREGATES.map((name) => [name, name])), select("Lines by", "series", [...none, ...columns], true), note);
  let chart = null, turn = 0;

  const paint = () => {
    if (!chart || !host.isConnected) return;
    const y = chosen.y < 0 || chosen.aggregate === "count" || chart.kind === "histogram" ? "count" : `${chosen.aggregate} of ${about.names[chosen.y]}`;
    const plain = chart.kind === "scatter" || chart.kind === "heat";
    draw(host, chart, { x: about.names[chosen.x], y: plain ? about.names[chosen.y] : y });
  };
  const load = async () => {
    const mine = turn += 1;
    note.textContent = "Reading …";
    note.classList.remove("bad");
    try {
      const found = await readChart(about, chosen);
      if (mine !== turn) return;
      chart = found;
      note.textContent = chart.note;
      paint();
    } catch (error) {
      if (mine !== turn) return;
      chart = null;
      host.replaceChildren();
      note.textContent = error.message;
      note.classList.add("bad");
    }
  };
  onTheme(() => paint());
  new ResizeObserver(() => paint()).observe(host);
  load();
  return el("div", { class: "look" }, form, host);
}
