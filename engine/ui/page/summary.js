// The view "Summary" of a result: for each column what SUMMARIZE says, and how its values are spread.

import { isMoment, isNumber } from "./cells.js";
import { readBins } from "./chart_data.js";
import { el, numberText, quoted, svg } from "./dom.js";
import { askRows } from "./server.js";

const BINS = 30;
const TOP = 8;

/** Make the view of a result. */
export function summaryView(about) {
  const element = el("div", { class: "summary" }, el("p", { class: "faint", role: "status" }, "Reading …"));
  read(about, element).catch((error) => element.replaceChildren(el("p", { class: "bad" }, error.message)));
  return element;
}

async function read(about, element) {
  const { names, rows } = await askRows(about.result, "SUMMARIZE result");
  const cards = rows.map((row, place) => card(about, place, Object.fromEntries(names.map((name, at) => [name, row[at]]))));
  element.replaceChildren(...cards.map(({ made }) => made));
  if (about.column !== undefined) cards[about.column].made.scrollIntoView();
  for (const { spread } of cards) await spread();
}

function card(about, place, facts) {
  const picture = el("div", { class: "spread" });
  const line = (name, value) => (value === null || value === undefined ? [] : [el("dt", {}, name), el("dd", {}, String(value))]);
  const made = el("section", { class: "card", "aria-label": about.names[place] },
    el("h3", {}, about.names[place], " ", el("span", { class: "type" }, about.types[place])),
    el("dl", {}, ...line("NULL", facts.null_percentage === null ? null : `${facts.null_percentage} %`),
      ...line("distinct, about", facts.approx_unique === null ? null : numberText(facts.approx_unique)),
      ...line("from", facts.min), ...line("to", facts.max), ...line("mean", facts.avg && numberText(Number(facts.avg))), ...line("median", facts.q50)),
    picture);
  const spread = async () => {
    try {
      picture.append(isNumber(about.types[place]) || isMoment(about.types[place]) ? await bins(about, place) : await top(about, place));
    } catch (error) {
      picture.append(el("p", { class: "faint" }, error.message));
    }
  };
  return { made, spread };
}

async function bins(about, place) {
  const { values } = await readBins(about, place, BINS);
  const most = Math.max(...values, 1), width = 300 / Math.max(values.length, 1);
  return svg("svg", { viewBox: "0 0 300 70", class: "bars", role: "img", "aria-label": `How the values of ${about.names[place]} are spread`, preserveAspectRatio: "none" },
    ...values.map((count, bin) => svg("rect", { x: bin * width, width: Math.max(width - 1, 0.5), y: 70 - count / most * 68, height: count / most * 68 },
      svg("title", {}, numberText(count)))));
}

async function top(about, place) {
  const name = quoted(about.keys[place]);
  const { rows } = await askRows(about.result, `SELECT ${name}::VARCHAR, count(*) FROM result GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${TOP}`);
  const most = Math.max(...rows.map(([, count]) => count), 1);
  return el("ul", { class: "top" }, ...rows.map(([value, count]) => {
    const bar = el("i", {});
    bar.style.width = `${100 * count / most}%`;
    return el("li", {}, bar, el("span", { class: value === null ? "null" : undefined }, value ?? "NULL"), el("b", {}, numberText(count)));
  }));
}
