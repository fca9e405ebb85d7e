// A file that is dropped on the page: what is found in it, and its way into a table.

import { button, el, numberText, quoted, literal, table, timeText } from "./dom.js";
import { runJob } from "./jobs.js";
import { ask, post, upload } from "./server.js";

const TYPES = ["BOOLEAN", "INTEGER", "BIGINT", "DOUBLE", "DECIMAL(18, 2)", "DATE", "TIMESTAMP", "TIME", "UUID", "VARCHAR"];
const ROWS = 50;

/** The part of the view where files are dropped. done: is called when a table has new rows. */
export class Importer {
  constructor(done) {
    this.done = done;
    this.said = el("p", { role: "status", class: "faint" });
    this.bar = el("progress", { max: "1", hidden: true, "aria-label": "Progress of the import" });
    this.found = el("div", {});
    const choose = el("input", { type: "file", id: "file", class: "file", on: { change: () => { if (choose.files[0]) this.take(choose.files[0]); choose.value = ""; } } });
    this.zone = el("div", {
      class: "zone",
      on: {
        dragover: (event) => { event.preventDefault(); this.zone.classList.add("over"); },
        dragleave: () => this.zone.classList.remove("over"),
        drop: (event) => {
          event.preventDefault();
          this.zone.classList.remove("over");
          if (event.dataTransfer.files[0]) this.take(event.dataTransfer.files[0]);
        },
      },
    }, el("label", { for: "file" }, "Drop a CSV, Parquet, JSON or Excel file here, or choose one: "), choose);
    this.element = el("section", { "aria-label": "Import" }, this.zone, this.said, this.bar, this.found);
  }

  say(text, isBad = false) {
    this.said.textContent = text;
    this.said.classList.toggle("bad", isBad);
  }

  /** Send a file to the server and show what is found in it. */
  async take(file) {
    this.drop();
    this.found.replaceChildren();
    this.say(`Sending ${file.name} …`);
    try {
      const { path } = await upload(`/api/upload?${new URLSearchParams({ name: file.name })}`, file);
      this.path = path;
      const rows = await ask(`SELECT * FROM ${literal(path)} LIMIT ${ROWS}`);
      this.say(`${file.name}: the first ${numberText(rows.rows.length)} rows`);
      this.preview(file.name, rows);
    } catch (error) {
      this.say(this.plain(error.message, file.name), true);
      this.drop();
    }
  }

  /** The server's sentence with the file's own name. */
  plain(sentence, name) {
    return this.path ? sentence.replaceAll(this.path, name) : sentence;
  }

  drop() {
    if (this.path) post("drop_upload", { path: this.path }).catch(() => {});
    this.path = undefined;
  }

  preview(fileName, rows) {
    const stem = fileName.replace(/\..*$/, "").replaceAll(/\W+/g, "_").replace(/^_+|_+$/g, "").toLowerCase() || "file";
    const name = el("input", { value: stem, "aria-label": "Table", size: "24" });
    const columns = rows.names.map((column, place) => ({
      column, found: rows.types[place],
      name: el("input", { value: column, size: "14", "aria-label": `Name of column ${place + 1}` }),
      type: el("select", { "aria-label": `Type of ${column}` }, ...[...new Set([rows.types[place], ...TYPES])].map((type) => el("option", {}, type))),
    }));
    const start = button("Import", () => this.start(fileName, name.value.trim(), columns, start), { class: "main" });
    const heads = columns.map((each) => el("div", { class: "found" }, each.name, each.type));
    const shown = table(heads.map(() => ""), rows.rows, "What is found in the file");
    [...shown.querySelectorAll("th")].forEach((cell, place) => cell.append(heads[place]));
    this.found.replaceChildren(
      el("div", { class: "bar" }, el("label", {}, "Table ", name), start, button("Discard", () => { this.drop(); this.found.replaceChildren(); this.say(""); }, { class: "quiet" })),
      shown);
  }

  /** The statement: a new table, or more rows of one that is there; and what to say of its rows. */
  async statement(table, columns) {
    if (!table) throw new Error("The table needs a name.");
    const { rows: [[exists]] } = await ask("SELECT count(*) FROM duckdb_tables() WHERE database_name = 'raydb' AND schema_name = 'main' AND table_name = ?", [table]);
    const items = columns.map(({ column, found, name, type }) => {
      const value = type.value === found ? quoted(column) : `CAST(${quoted(column)} AS ${type.value})`;
      return `${value} AS ${quoted(name.value)}`;
    });
    const select = `SELECT ${items.join(", ")} FROM ${literal(this.path)}`;
    if (!exists) return { text: `CREATE TABLE ${quoted(table)} AS ${select}`, said: "are in" };
    return { text: `INSERT INTO ${quoted(table)} (${columns.map(({ name }) => quoted(name.value)).join(", ")}) ${select}`, said: "were added to" };
  }

  async start(fileName, table, columns, start) {
    start.disabled = true;
    try {
      const { text, said } = await this.statement(table, columns);
      this.bar.hidden = false;
      this.bar.removeAttribute("value");
      this.say(`Importing ${fileName} …`);
      const event = await runJob(text, (step, share) => {
        this.bar.value = share;
        this.say(`${step}: ${Math.round(share * 100)} %`);
      });
      this.say(`${event.written === null ? "All" : numberText(event.written)} rows of ${fileName} ${said} '${table}', ${timeText(event.time_ms)}`);
      this.found.replaceChildren();
      this.drop();
    } catch (error) {
      this.say(this.plain(error.message, fileName), true);
    } finally {
      start.disabled = false;
      this.bar.hidden = true;
      this.done();
    }
  }
}
