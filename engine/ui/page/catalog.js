// The tables and views of the database, with their columns, beside the editor.

import { button, el, numberText, quoted } from "./dom.js";
import { ask } from "./server.js";

const COLUMNS = `
SELECT table_schema, table_name, column_name, data_type, is_nullable
FROM information_schema.columns WHERE table_catalog = 'raydb' AND table_schema <> 'information_schema'
ORDER BY table_schema, table_name, ordinal_position`;
const ROWS = `
SELECT schema_name, table_name, estimated_size FROM duckdb_tables() WHERE database_name = 'raydb'`;

/** Read the tables and views: [{name, sql, rowCount, columns: [{name, type, isNullable}]}]. */
export async function readCatalog() {
  const [columns, counts] = await Promise.all([ask(COLUMNS), ask(ROWS)]);
  const countOf = new Map(counts.rows.map(([schema, table, count]) => [`${schema}.${table}`, count]));
  const found = new Map();
  for (const [schema, table, name, type, nullable] of columns.rows) {
    const key = `${schema}.${table}`;
    if (!found.has(key)) {
      found.set(key, {
        schema, table, name: schema === "main" ? table : key, rowCount: countOf.get(key),
        sql: schema === "main" ? quoted(table) : `${quoted(schema)}.${quoted(table)}`, columns: [],
      });
    }
    found.get(key).columns.push({ name, type, isNullable: nullable === "YES" });
  }
  return [...found.values()];
}

/** The list; insert: gets a text for the editor, show: gets a query to run. */
export class CatalogList {
  constructor(insert, show) {
    this.list = el("div", { class: "catalog" });
    this.element = el("aside", { "aria-label": "Tables" }, el("h2", {}, "Tables"), this.list);
    Object.assign(this, { insert, show });
  }

  async refresh() {
    let found;
    try {
      found = await readCatalog();
    } catch (error) {
      this.list.replaceChildren(el("p", { class: "bad" }, error.message));
      return;
    }
    const open = new Set([...this.list.querySelectorAll("details[open]")].map((each) => each.dataset.name));
    this.list.replaceChildren(...found.map((table) => this.entry(table, open.has(table.name))));
    if (!found.length) this.list.append(el("p", { class: "faint" }, "There is no table yet. CREATE TABLE makes one, and Data reads files."));
  }

  entry(table, isOpen) {
    const count = table.rowCount === undefined ? "view" : numberText(table.rowCount);
    const columns = table.columns.map((column) =>
      el("li", {}, button(column.name, () => this.insert(quoted(column.name).replace(/^"([a-z_][a-z0-9_]*)"$/, "$1")),
        { class: "quiet", title: `Write ${column.name}` }), el("span", { class: "type" }, column.type)));
    return el("details", { open: isOpen, data: { name: table.name } },
      el("summary", {}, el("b", {}, table.name), el("span", { class: "faint" }, count)),
      button("Show rows", () => this.show(`SELECT * FROM ${table.sql} LIMIT 1000`), { class: "small", "aria-label": `Show rows of ${table.name}` }),
      el("ul", {}, ...columns));
  }
}
