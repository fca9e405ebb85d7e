// The picture of the schema: tables with their keys, and arrows along foreign keys. What a fact table
// refers to is at its right, and what that refers to further on.

import { el, numberText, svg } from "./dom.js";
import { ask } from "./server.js";

const KEYS = `
SELECT schema_name, table_name, constraint_type, constraint_column_names, referenced_schema, referenced_table,
    referenced_column_names, coalesce(expression, '')
FROM duckdb_constraints() WHERE database_name = 'raydb' AND constraint_type <> 'NOT NULL'`;

const WIDE = 210, GAP = 110, LINE = 20, SPACE = 26;
const MAX_TABLES = 60;

const nameOf = (schema, table) => (schema === "main" ? table : `${schema}.${table}`);

/** Read the keys: [{table, kind, columns, target, targetColumns, check}]. */
export async function readKeys() {
  const { rows } = await ask(KEYS);
  return rows.map(([schema, table, kind, columns, there, target, targetColumns, check]) => ({
    table: nameOf(schema, table), kind, columns: columns || [], target: target && nameOf(there || "main", target), targetColumns: targetColumns || [], check,
  }));
}

/** Draw tables that refer to each other; null where none does. */
export function starPicture(tables, keys) {
  const references = keys.filter((key) => key.kind === "FOREIGN KEY" && key.target !== key.table);
  const linked = tables.filter(({ name }) => references.some((key) => key.table === name || key.target === name)).slice(0, MAX_TABLES);
  if (!linked.length) return null;
  const level = levels(linked, references);
  const columnOf = new Map();
  const boxes = new Map();
  // In the order of the columns that refer to them, so that few arrows cross.
  const placeOf = ({ name }) => references.findIndex((key) => key.target === name);
  for (const table of [...linked].sort((a, b) => placeOf(a) - placeOf(b))) {
    const lines = [...new Set(keys.filter((key) => key.table === table.name && /KEY/.test(key.kind)).flatMap((key) => key.columns))];
    const at = level.get(table.name), below = columnOf.get(at) ?? SPACE;
    boxes.set(table.name, { table, lines, x: 10 + at * (WIDE + GAP), y: below, high: 34 + lines.length * LINE });
    columnOf.set(at, below + 34 + lines.length * LINE + SPACE);
  }
  const width = Math.max(...[...boxes.values()].map((box) => box.x)) + WIDE + 10;
  const height = Math.max(...columnOf.values());
  const arrows = references.filter((key) => boxes.has(key.table) && boxes.has(key.target)).map((key) => arrow(key, boxes));
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "star", role: "img", "aria-label": describe(references) },
    ...arrows, ...[...boxes.values()].map((box) => drawBox(box, keys)));
  picture.style.maxWidth = `${width}px`;
  return el("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Schema" }, picture);
}

function describe(references) {
  return references.map((key) => `${key.table} (${key.columns.join(", ")}) refers to ${key.target}`).join("; ");
}

/** How many references away from a table to which nobody refers each is; circles end where they began. */
function levels(tables, references) {
  const found = new Map(tables.map(({ name }) => [name, 0]));
  for (let round = 0; round < tables.length; round += 1) {
    let moved = false;
    for (const key of references) {
      const wanted = found.get(key.table) + 1;
      if (found.has(key.target) && wanted > found.get(key.target) && wanted < tables.length) {
        found.set(key.target, wanted);
        moved = true;
      }
    }
    if (!moved) break;
  }
  return found;
}

function drawBox({ table, lines, x, y, high }, keys) {
  const isKey = (column) => keys.some((key) => key.table === table.name && key.kind === "PRIMARY KEY" && key.columns.includes(column));
  const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  return svg("g", { transform: `translate(${x} ${y})` },
    svg("rect", { width: WIDE, height: high, rx: 6 }),
    svg("text", { x: 10, y: 20, class: "title" }, short(table.name, 20)),
    svg("text", { x: WIDE - 10, y: 20, "text-anchor": "end", class: "count" }, table.rowCount === undefined ? "" : numberText(table.rowCount)),
    ...lines.map((column, place) => svg("text", { x: 10, y: 42 + place * LINE, class: isKey(column) ? "key" : undefined }, `${isKey(column) ? "● " : ""}${short(column, 26)}`)));
}

function arrow(key, boxes) {
  const from = boxes.get(key.table), to = boxes.get(key.target);
  const row = (box, columns) => box.y + 38 + Math.max(box.lines.indexOf(columns[0]), 0) * LINE;
  const y1 = row(from, key.columns), y2 = row(to, key.targetColumns);
  const isBack = to.x <= from.x;
  const x1 = from.x + WIDE, x2 = isBack ? to.x + WIDE : to.x;
  const bend = isBack ? GAP : GAP / 2;
  return svg("g", { class: "arrow" },
    svg("path", { d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 + (isBack ? bend : -bend)} ${y2} ${x2} ${y2}` }),
    svg("circle", { cx: x2, cy: y2, r: 4 }));
}
