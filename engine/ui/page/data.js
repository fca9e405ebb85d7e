// The view "Data": files come in, and tables are browsed with their columns and keys.

import { readCatalog } from "./catalog.js";
import { button, el, numberText, table } from "./dom.js";
import { Importer } from "./import.js";
import { readKeys, starPicture } from "./star.js";

export class DataView {
  /** show: runs a query in the view "Ask". */
  constructor(show) {
    this.show = show;
    this.importer = new Importer(() => this.appear());
    this.tables = el("div", {});
    this.element = el("div", { class: "data" }, el("h2", {}, "Import a file"), this.importer.element, this.tables);
  }

  /** Read tables and keys again. */
  async appear() {
    try {
      const [tables, keys] = await Promise.all([readCatalog(), readKeys()]);
      const picture = starPicture(tables, keys);
      this.tables.replaceChildren(
        ...(picture ? [el("h2", {}, "The tables and what they refer to"), picture] : []),
        el("h2", {}, tables.length ? "Tables and views" : "There is no table yet"),
        ...tables.map((each) => this.entry(each, keys.filter((key) => key.table === each.name))));
    } catch (error) {
      this.tables.replaceChildren(el("p", { class: "bad" }, error.message));
    }
  }

  entry(each, keys) {
    const count = each.rowCount === undefined ? "view" : `${numberText(each.rowCount)} ${each.rowCount === 1 ? "row" : "rows"}`;
    const keysOf = (column) => keys.filter((key) => key.columns.includes(column)).map((key) =>
      key.kind === "FOREIGN KEY" ? `refers to ${key.target} (${key.targetColumns.join(", ")})`
        : key.kind === "CHECK" ? `CHECK ${key.check}` : key.kind).join("; ");
    const rows = each.columns.map(({ name, type, isNullable }) => [name, type, isNullable ? "" : "NOT NULL", keysOf(name)]);
    return el("details", { class: "entry" },
      el("summary", {}, el("b", {}, each.name), " ", el("span", { class: "faint" }, count)),
      el("div", { class: "bar" },
        button("Show rows", () => this.show(`SELECT * FROM ${each.sql} LIMIT 1000`, each.name)),
        button("Summary of its columns", () => this.show(`SUMMARIZE ${each.sql}`, each.name))),
      table(["column", "type", "", "key"], rows, `Columns of ${each.name}`));
  }
}
