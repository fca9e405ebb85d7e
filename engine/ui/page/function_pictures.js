// The view "Picture" of a result whose columns are those of a table function: instances of a motif as
// small graphs, states along a series, neighbours of a vector by their distances.

import { isNumber } from "./cells.js";
import { el, numberText, quoted, svg } from "./dom.js";
import { askRows } from "./server.js";

const MAX_INSTANCES = 24;
const MAX_SEGMENTS = 2000;
const MAX_NEIGHBOURS = 60;
const COLORS = 6;

const KINDS = [
  { fits: (has) => has("instance", "e1_row", "first_time"), draw: motifs },
  { fits: (has) => has("segment", "state", "start_row", "row_count"), draw: states },
  { fits: (has) => has("rank", "distance"), draw: neighbours },
];

function kindOf({ names }) {
  return KINDS.find(({ fits }) => fits((...wanted) => wanted.every((name) => names.includes(name))));
}

/** Whether a result has a picture of its own. */
export function hasPicture(about) {
  return Boolean(kindOf(about));
}

/** Make the view of a result. */
export function pictureView(about) {
  const element = el("div", { class: "pictures" }, el("p", { class: "faint", role: "status" }, "Reading …"));
  kindOf(about).draw(about).then((made) => element.replaceChildren(...made))
    .catch((error) => element.replaceChildren(el("p", { class: "bad" }, error.message)));
  return element;
}

/** Each instance: its vertices on a circle, its edges numbered in the order of time. */
async function motifs(about) {
  const vertices = about.names.slice(about.names.indexOf("instance") + 1, about.names.indexOf("e1_row"));
  const edges = edgesOf(about.sql, vertices);
  const wanted = ["instance", ...vertices, "first_time", "last_time"].map((name) => `${quoted(name)}::VARCHAR`);
  const { rows } = await askRows(about.result, `SELECT ${wanted.join(", ")} FROM result LIMIT ${MAX_INSTANCES}`);
  const said = about.count > rows.length ? `The first ${rows.length} of ${numberText(about.count)} instances.` : "";
  return [el("p", { class: "faint" }, said), el("div", { class: "graphs" }, ...rows.map((row) => instance(row, vertices, edges)))];
}

/** Read the edges out of the motif's text in the query: [[from, to]], places among the vertices. */
function edgesOf(sql, vertices) {
  const motif = /motif\s*=>\s*'([^']*)'/i.exec(sql)?.[1] ?? "";
  return [...motif.matchAll(/(!?)\s*(\w+)\s*(->|--)\s*(\w+)/g)]
    .filter(([, isAbsent, from, , to]) => !isAbsent && vertices.includes(from) && vertices.includes(to))
    .map(([, , from, , to]) => [vertices.indexOf(from), vertices.indexOf(to)]);
}

function instance(row, vertices, edges) {
  const at = vertices.map((_, place) => {
    const angle = 2 * Math.PI * place / vertices.length - Math.PI / 2;
    return [130 + 70 * Math.cos(angle), 105 + 70 * Math.sin(angle)];
  });
  const lines = edges.map(([from, to], number) => {
    const [x1, y1] = at[from], [x2, y2] = at[to];
    // Bent to its left, so that an edge and its answer are two.
    const x = (x1 + x2) / 2 - (y2 - y1) * 0.16, y = (y1 + y2) / 2 + (x2 - x1) * 0.16;
    const length = Math.hypot(x2 - x, y2 - y) || 1, ux = (x2 - x) / length, uy = (y2 - y) / length;
    const [ex, ey] = [x2 - ux * 14, y2 - uy * 14];
    const tip = `${ex} ${ey} ${ex - ux * 9 - uy * 5} ${ey - uy * 9 + ux * 5} ${ex - ux * 9 + uy * 5} ${ey - uy * 9 - ux * 5}`;
    return svg("g", { class: "edge-of" }, svg("path", { d: `M${x1} ${y1}Q${x} ${y} ${ex} ${ey}` }), svg("polygon", { points: tip }),
      svg("text", { x, y: y + 4, "text-anchor": "middle" }, String(number + 1)));
  });
  const dots = vertices.map((name, place) => svg("g", {},
    svg("circle", { cx: at[place][0], cy: at[place][1], r: 11 }),
    svg("text", { x: at[place][0], y: at[place][1] + (at[place][1] < 105 ? -16 : 26), "text-anchor": "middle" }, `${name}: ${(row[place + 1] ?? "NULL").slice(0, 18)}`)));
  const [first, last] = row.slice(-2);
  const label = `Instance ${row[0]}: ${vertices.map((name, place) => `${name} is ${row[place + 1]}`).join(", ")}`;
  return el("figure", {}, svg("svg", { viewBox: "0 0 260 215", role: "img", "aria-label": label }, ...lines, ...dots),
    el("figcaption", {}, first, el("br"), `to ${last}`));
}

/** The segments of a series as bands, a colour a state. */
async function states(about) {
  const has = (name) => about.names.includes(name);
  const times = has("start_time") ? `"start_time"::VARCHAR, "end_time"::VARCHAR` : "NULL, NULL";
  const score = has("score") ? `"score"::DOUBLE` : "NULL";
  const { rows } = await askRows(about.result,
    `SELECT "segment", "state", "start_row", "row_count", ${score}, ${times} FROM result ORDER BY "start_row" LIMIT ${MAX_SEGMENTS}`);
  const total = Math.max(...rows.map(([, , start, count]) => start + count - 1), 1);
  const found = [...new Set(rows.map(([, state]) => state))].sort((a, b) => a - b);
  const hue = (state) => `var(--s${found.indexOf(state) % COLORS + 1})`;
  const bands = rows.map(([segment, state, start, count, scored, from, to]) => {
    const band = svg("rect", { x: (start - 1) / total * 1000, y: found.indexOf(state) * 34 + 4, width: Math.max(count / total * 1000, 1), height: 26, rx: 2 },
      svg("title", {}, `segment ${segment}, state ${state}: rows ${numberText(start)} to ${numberText(start + count - 1)}${from === null ? "" : `, ${from} to ${to}`}${scored === null ? "" : `, score ${scored.toFixed(3)}`}`));
    band.style.fill = hue(state);
    return band;
  });
  const names = found.map((state, place) => el("span", {}, `state ${state}`));
  names.forEach((name, place) => { name.style.borderColor = hue(found[place]); });
  const label = `${rows.length} segments in ${found.length} states along ${total} rows`;
  return [el("p", { class: "states-of" }, ...names, el("span", { class: "faint" }, label)),
    svg("svg", { viewBox: `0 0 1000 ${found.length * 34 + 4}`, class: "bands", role: "img", "aria-label": label, preserveAspectRatio: "none" }, ...bands)];
}

/** Neighbours by rank: a bar is a distance. */
async function neighbours(about) {
  const shown = about.names.map((name, place) => ({ name, type: about.types[place] }))
    .filter(({ name, type }) => !["rank", "distance"].includes(name) && !/\[\d*\]$|BLOB/.test(type));
  const best = shown.find(({ type }) => !isNumber(type)) ?? shown[0];
  const name = best ? `${quoted(best.name)}::VARCHAR` : "NULL";
  const { rows } = await askRows(about.result,
    `SELECT "rank", "distance"::DOUBLE, ${name} FROM result ORDER BY "rank" LIMIT ${MAX_NEIGHBOURS}`);
  const most = Math.max(...rows.map(([, distance]) => distance ?? 0), 1e-300);
  const lines = rows.map(([rank, distance, text]) => {
    const bar = el("i", {});
    bar.style.width = `${100 * Math.max(distance ?? 0, 0) / most}%`;
    return el("li", {}, bar, el("b", {}, String(rank)), el("span", {}, text ?? ""), el("b", {}, distance === null ? "NULL" : numberText(distance)));
  });
  return [el("p", { class: "faint" }, "A bar is the distance from the vector that was asked for."), el("ol", { class: "neighbours" }, ...lines)];
}
