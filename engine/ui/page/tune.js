// The view "Tune": BVHs and indexes, whether they are up to date and of use, and the advisor.

import { button, bytesText, el, numberText, quoted, table } from "./dom.js";
import { runJob } from "./jobs.js";
import { ask, post } from "./server.js";

const BVHS = `
SELECT name, table_name, concat_ws('; ', 'SCAN ' || scan, 'GROUP BY ' || nullif(group_by, ''), 'AGGREGATE ' || nullif(aggregate, '')),
    size_bytes, hits, last_used::VARCHAR, is_stale, newer_rows, dead_rows, merge, obstacle
FROM bvhs() ORDER BY table_name, name`;
const INDEXES = `
SELECT index_name, table_name, is_unique, array_to_string(column_names, ', ') FROM duckdb_indexes()
WHERE database_name = 'raydb' AND index_name NOT IN (SELECT name FROM vector_indexes()) ORDER BY table_name, index_name`;
const VECTORS = `
SELECT name, table_name, column_name, method, metric, lists, vectors, rows_beside, size_bytes FROM vector_indexes() ORDER BY name`;
const CALIBRATIONS = `
SELECT index_name, k, fnr, risk, mean_probes, state, rows_added, searched, recent_probes, log10_martingale, warning
FROM index_calibrations() ORDER BY index_name, k`;

export class TuneView {
  /** show: runs a query in the view "Ask". */
  constructor(show) {
    this.show = show;
    this.said = el("p", { role: "status", class: "faint" });
    this.bar = el("progress", { max: "1", hidden: true, "aria-label": "Progress" });
    this.there = el("div", {});
    this.advice = el("div", {});
    this.element = el("div", { class: "data" },
      el("h2", {}, "Advice"),
      el("p", {}, "The advisor looks at the queries of the history that aggregate in this database, and names the BVHs that serve them with the fewest rows read."),
      el("div", { class: "bar" }, button("Ask the advisor", () => this.advise(), { class: "main" }), this.bar, this.said),
      this.advice, this.there);
  }

  say(text, isBad = false) {
    this.said.textContent = text;
    this.said.classList.toggle("bad", isBad);
  }

  /** Read what there is again. */
  async appear() {
    try {
      const [bvhs, indexes, vectors, calibrations] = await Promise.all([BVHS, INDEXES, VECTORS, CALIBRATIONS].map((sql) => ask(sql)));
      this.there.replaceChildren(...this.bvhs(bvhs.rows), ...this.indexes(indexes.rows), ...this.vectors(vectors.rows), ...drift(calibrations.rows));
    } catch (error) {
      this.there.replaceChildren(el("p", { class: "bad" }, error.message));
    }
  }

  bvhs(rows) {
    const head = el("h2", {}, "BVHs");
    if (!rows.length) return [head, el("p", { class: "faint" }, "There is none yet. The advisor names one once queries have run.")];
    const lines = rows.map(([name, of, parts, size, hits, used, isStale, newer, dead, merge, obstacle]) => [
      name, of, parts, bytesText(size), hits, used === null ? "never" : used.slice(0, 19),
      bvhState({ isStale, newer, dead, merge, obstacle }), this.run("Drop", `DROP BVH ${quoted(name)}`, `Drop ${name}`),
    ]);
    return [head, table(["name", "table", "parts", "size", "queries", "last used", "state", ""], lines, "BVHs of this database"),
      el("p", {}, this.run("Merge what is newer (CHECKPOINT)", "CHECKPOINT"))];
  }

  indexes(rows) {
    if (!rows.length) return [];
    return [el("h2", {}, "Indexes"),
      table(["name", "table", "columns", ""], rows.map(([name, of, isUnique, columns]) => [name, of, `${columns}${isUnique ? ", unique" : ""}`, this.run("Drop", `DROP INDEX ${quoted(name)}`, `Drop ${name}`)]), "Indexes of columns")];
  }

  vectors(rows) {
    if (!rows.length) return [];
    const lines = rows.map(([name, of, column, method, metric, lists, vectors, beside, size]) => [
      name, `${of}.${column}`, method, metric, lists, vectors, beside, bytesText(size), this.run("REINDEX", `REINDEX INDEX ${quoted(name)}`, `REINDEX ${name}`)]);
    return [el("h2", {}, "Vector indexes"), table(["name", "column", "method", "metric", "lists", "vectors", "rows beside it", "size", ""], lines, "Indexes of vectors")];
  }

  /** A button that runs a statement and shows what has changed. */
  run(text, sql, label) {
    const made = button(text, async () => {
      made.disabled = true;
      await this.work(sql);
      await this.appear();
    }, { "aria-label": label, title: sql });
    return made;
  }

  async work(sql) {
    this.say("Running …");
    this.bar.hidden = false;
    this.bar.removeAttribute("value");
    try {
      await runJob(sql, (step, share) => { this.bar.value = share; this.say(`${step}: ${Math.round(share * 100)} %`); });
      this.say("Done");
      return true;
    } catch (error) {
      this.say(error.message, true);
      return false;
    } finally {
      this.bar.hidden = true;
    }
  }

  async advise() {
    this.say("Looking at the history …");
    try {
      const found = await post("advise");
      this.say(found.queries.length ? "" : "No query of the history aggregates in this database yet.");
      this.advice.replaceChildren(
        ...found.proposals.map((proposal) => this.proposal(proposal, found.queries)),
        ...(found.queries.length && !found.proposals.length ? [el("p", {}, "No BVH would serve them better than what there is.")] : []),
        ...(found.refused.length ? [table(["query", "why no BVH serves it"], found.refused.map(({ query, reason }) => [short(found.queries[query - 1]), reason]), "Queries that stay as they are")] : []));
    } catch (error) {
      this.say(error.message, true);
    }
  }

  proposal(proposal, queries) {
    const share = 100 * proposal.rows_touched / Math.max(proposal.rows_total, 1);
    const create = button("Create it", async () => {
      create.disabled = true;
      if (await this.work(proposal.statement)) made.remove();
      else create.disabled = false;
      await this.appear();
    }, { class: "main", "aria-label": `Create it: ${proposal.name}` });
    const made = el("section", { class: "card", "aria-label": proposal.name },
      el("pre", {}, proposal.statement),
      el("p", {}, `Its ${proposal.queries.length === 1 ? "query reads" : `${proposal.queries.length} queries together read`} ${numberText(proposal.rows_touched)} of ${numberText(proposal.rows_total)} rows (${share.toPrecision(3)} %); it takes ${bytesText(proposal.size_bytes)}.`),
      el("ul", {}, ...proposal.queries.map((number) => el("li", {}, button(short(queries[number - 1]), () => this.show(queries[number - 1]), { class: "quiet query-text" })))),
      create);
    return made;
  }
}

function bvhState({ isStale, newer, dead, merge, obstacle }) {
  const parts = [];
  if (obstacle) parts.push(obstacle);
  if (isStale) parts.push("outdated: it is built anew when it is next asked");
  if (newer) parts.push(`${numberText(newer)} newer ${newer === 1 ? "row" : "rows"}`);
  if (dead) parts.push(`${numberText(dead)} dead ${dead === 1 ? "row" : "rows"}`);
  if (merge) parts.push(`merge ${merge}`);
  return parts.join("; ") || "up to date";
}

function drift(rows) {
  if (!rows.length) return [];
  const lines = rows.map(([name, k, fnr, risk, probes, state, added, searched, recent, martingale, warning]) => [
    name, k, fnr, risk, probes, recent ?? "", searched, added, warning ?? state, martingale ?? ""]);
  return [el("h2", {}, "Promised recall"),
    table(["index", "k", "may miss", "missed when measured", "lists scanned then", "lately", "searches since", "rows added", "state", "evidence of drift (log10)"], lines, "Calibrations of vector indexes")];
}

function short(text) {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > 160 ? `${line.slice(0, 159)}…` : line;
}
