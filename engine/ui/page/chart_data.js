// Which chart suits which columns, and the SQL over a result that gives what it draws.

import { isMoment, isNumber } from "./cells.js";
import { quoted } from "./dom.js";
import { askRows } from "./server.js";

export const KINDS = { line: "Line", bar: "Bars", scatter: "Scatter", histogram: "Histogram", heat: "Heat map" };
export const AGGREGATES = ["sum", "avg", "min", "max", "count"];
const MAX_POINTS = 1000;
const MAX_DOTS = 5000;
const MAX_BARS = 40;
const MAX_SERIES = 6;
const BINS = 40;
const HEAT_BINS = 30;

/** Choose a chart from the types of columns: {kind, x, y, series, aggregate}; columns are numbers, -1 for none. */
export function choose({ types }) {
  const places = types.map((_, place) => place);
  const moments = places.filter((place) => isMoment(types[place]));
  const numbers = places.filter((place) => isNumber(types[place]));
  const words = places.filter((place) => !isMoment(types[place]) && !isNumber(types[place]));
  // What is measured has a fraction more often than a key has.
  const measured = numbers.find((place) => /DECIMAL|DOUBLE|REAL/.test(types[place])) ?? numbers.at(-1);
  const chosen = { x: 0, y: -1, series: -1, aggregate: "sum" };
  if (moments.length && numbers.length) return { ...chosen, kind: "line", x: moments[0], y: measured, series: words[0] ?? -1 };
  if (words.length && numbers.length) return { ...chosen, kind: "bar", x: words[0], y: measured };
  if (numbers.length > 1) return { ...chosen, kind: "scatter", x: numbers[0], y: numbers[1] };
  if (numbers.length + moments.length) return { ...chosen, kind: "histogram", x: numbers[0] ?? moments[0] };
  if (words.length > 1) return { ...chosen, kind: "heat", x: words[0], y: words[1], aggregate: "count" };
  return { ...chosen, kind: "bar", aggregate: "count" };
}

/** A column as a number, moments as seconds. */
function number(about, place) {
  const name = quoted(about.keys[place]);
  return isMoment(about.types[place]) ? `epoch(${name}::TIMESTAMP)::DOUBLE` : `${name}::DOUBLE`;
}

function isAxis(about, place) {
  return isMoment(about.types[place]) || isNumber(about.types[place]);
}

function measure(about, { aggregate, y }) {
  if (aggregate === "count" || y < 0) return "count(*)";
  if (isNumber(about.types[y])) return `${aggregate}(${quoted(about.keys[y])}::DOUBLE)`;
  throw new Error(`'${about.names[y]}' is no number: choose another column, or count`);
}

async function range(about, place) {
  const value = number(about, place);
  const { rows: [[low, high, distinct]] } = await askRows(about.result,
    `SELECT min(${value}), max(${value}), count(DISTINCT ${value}) FROM result`);
  return { low, high, distinct, isMoment: isMoment(about.types[place]) };
}

/** Read what a chart draws: {kind, note, ...}. */
export async function readChart(about, chosen) {
  return READ[chosen.kind](about, chosen);
}

const READ = {
  async line(about, chosen) {
    if (!isAxis(about, chosen.x)) throw new Error(`'${about.names[chosen.x]}' is neither a number nor a moment: bars suit it`);
    const { low, high, distinct, isMoment: isTime } = await range(about, chosen.x);
    const width = distinct > MAX_POINTS ? (high - low) / MAX_POINTS : 0;
    const value = number(about, chosen.x);
    const x = width ? `floor(${value} / ${width}) * ${width}` : value;
    const names = await seriesOf(about, chosen);
    const series = chosen.series < 0 ? "''" : `coalesce(${quoted(about.keys[chosen.series])}::VARCHAR, 'NULL')`;
    const { rows } = await askRows(about.result,
      `SELECT ${x} AS x, ${series} AS s, ${measure(about, chosen)} AS y FROM result WHERE ${value} IS NOT NULL GROUP BY 1, 2 ORDER BY 1`);
    const places = new Map([...new Set(rows.map(([at]) => at))].map((at, place) => [at, place]));
    const lines = names.map((name) => ({ name, values: new Array(places.size).fill(null) }));
    const lineOf = new Map(lines.map((line) => [line.name, line]));
    for (const [at, name, y] of rows) if (lineOf.has(name)) lineOf.get(name).values[places.get(at)] = y;
    return { kind: "line", isTime, x: [...places.keys()], lines, note: width ? `Values of ${distinct.toLocaleString("en")} places are drawn as ${MAX_POINTS}.` : "" };
  },

  async bar(about, chosen) {
    const name = quoted(about.keys[chosen.x]);
    const order = isAxis(about, chosen.x) ? "1" : "2 DESC, 1";
    const { rows, count } = await askRows(about.result,
      `SELECT ${name} AS x, ${measure(about, chosen)} AS y FROM result GROUP BY 1 ORDER BY ${order}`);
    const shown = rows.slice(0, MAX_BARS);
    return { kind: "bar", labels: shown.map(([x]) => (x === null ? "NULL" : String(x))), values: shown.map(([, y]) => y),
      note: count > MAX_BARS ? `The first ${MAX_BARS} of ${count.toLocaleString("en")} are drawn.` : "" };
  },

  async scatter(about, chosen) {
    if (chosen.y < 0 || !isAxis(about, chosen.x) || !isAxis(about, chosen.y)) throw new Error("a scatter needs two columns of numbers or moments");
    const sampled = about.count > MAX_DOTS;
    const { rows } = await askRows(about.result,
      `SELECT ${number(about, chosen.x)} AS x, ${number(about, chosen.y)} AS y FROM result${sampled ? ` USING SAMPLE ${MAX_DOTS} ROWS` : ""}`);
    const dots = rows.filter(([x, y]) => x !== null && y !== null).sort(([a], [b]) => a - b);
    return { kind: "scatter", isTime: isMoment(about.types[chosen.x]), x: dots.map(([x]) => x), y: dots.map(([, y]) => y),
      note: sampled ? `These are ${MAX_DOTS.toLocaleString("en")} rows by chance of ${about.count.toLocaleString("en")}.` : "" };
  },

  async histogram(about, chosen) {
    if (!isAxis(about, chosen.x)) throw new Error(`'${about.names[chosen.x]}' is neither a number nor a moment: bars suit it`);
    const bins = await readBins(about, chosen.x, BINS);
    return { kind: "histogram", ...bins, note: "" };
  },

  async heat(about, chosen) {
    if (chosen.y < 0) throw new Error("a heat map needs two columns");
    const [x, y] = await Promise.all([chosen.x, chosen.y].map((place) => binned(about, place)));
    const { rows } = await askRows(about.result, `SELECT ${x.sql} AS x, ${y.sql} AS y, count(*) FROM result GROUP BY 1, 2`);
    const labels = (axis, place) => {
      const found = [...new Set(rows.map((row) => row[place]))].filter((value) => value !== null);
      return axis.isNumber ? found.sort((a, b) => a - b) : found.sort().slice(0, HEAT_BINS);
    };
    return { kind: "heat", x: { ...x, values: labels(x, 0) }, y: { ...y, values: labels(y, 1) }, cells: rows, note: "" };
  },
};

async function seriesOf(about, chosen) {
  if (chosen.series < 0) return [""];
  const { rows } = await askRows(about.result,
    `SELECT coalesce(${quoted(about.keys[chosen.series])}::VARCHAR, 'NULL'), count(*) FROM result GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${MAX_SERIES}`);
  return rows.map(([name]) => name);
}

async function binned(about, place) {
  if (!isAxis(about, place)) return { sql: `coalesce(${quoted(about.keys[place])}::VARCHAR, 'NULL')`, isNumber: false };
  const { low, high, distinct, isMoment: isTime } = await range(about, place);
  const value = number(about, place);
  if (distinct <= HEAT_BINS) return { sql: value, isNumber: true, isTime, width: 0 };
  const width = (high - low) / HEAT_BINS;
  return { sql: `least(floor((${value} - ${low}) / ${width}), ${HEAT_BINS - 1}) * ${width} + ${low}`, isNumber: true, isTime, width };
}

/** Count the values of a column in bins of one width: {x, values, width, isTime}. */
export async function readBins(about, place, most) {
  const { low, high, distinct, isMoment: isTime } = await range(about, place);
  if (low === null) return { x: [], values: [], width: 1, isTime };
  const value = number(about, place);
  const width = (high - low) / Math.min(most, Math.max(distinct, 1)) || 1;
  const { rows } = await askRows(about.result,
    `SELECT least(floor((${value} - ${low}) / ${width}), ${most - 1})::INTEGER AS bin, count(*) FROM result WHERE ${value} IS NOT NULL GROUP BY 1 ORDER BY 1`);
  const count = Math.max(Math.round((high - low) / width), 1);
  const values = new Array(count).fill(0);
  for (const [bin, found] of rows) values[Math.min(bin, count - 1)] += found;
  return { x: values.map((_, bin) => low + bin * width), values, width, isTime };
}
