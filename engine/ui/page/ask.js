// The view "Ask": tabs with an editor and a result each, beside the list of tables.

import { CatalogList } from "./catalog.js";
import { button, el } from "./dom.js";
import { Editor } from "./editor.js";
import { openHistory } from "./history.js";
import { ResultPanel } from "./result.js";
import { post } from "./server.js";
import { activate, activeTab, addTab, changeTab, removeTab, tabs } from "./tabs.js";

export class AskView {
  /** views: of a result beside its rows, see ResultPanel. */
  constructor(views) {
    this.views = views;
    this.open = new Map();
    this.catalog = new CatalogList((text) => this.shown.editor.insert(text), (sql) => this.openQuery(sql));
    this.strip = el("div", { class: "tabs", role: "group", "aria-label": "Queries" });
    this.work = el("div", { class: "work" });
    this.element = el("div", { class: "ask" }, this.catalog.element,
      el("div", { class: "queries" }, el("div", { class: "bar" }, this.strip,
        button("+", () => this.add(), { class: "quiet", "aria-label": "New query" })), this.work));
    this.select(activeTab());
  }

  /** The view is on the page now. */
  appear() {
    this.catalog.refresh();
    this.shown.editor.focus();
  }

  /** Open a query in a tab of its own and run it. */
  openQuery(sql, name) {
    const empty = tabs().find((tab) => !tab.text.trim() && !this.open.get(tab.id)?.result.isRunning);
    const tab = empty || addTab("", name);
    this.select(tab.id);
    this.shown.editor.text = sql;
    this.run(tab.id);
  }

  add() {
    this.select(addTab().id);
    this.shown.editor.focus();
  }

  remove(id) {
    post("close_tab", { tab: id }).catch(() => {});
    this.open.delete(id);
    removeTab(id);
    this.select(activeTab());
  }

  select(id) {
    activate(id);
    if (!this.open.has(id)) this.open.set(id, this.make(id));
    this.shown = this.open.get(id);
    this.work.replaceChildren(this.shown.element);
    this.strip.replaceChildren(...tabs().map((tab) => this.handle(tab)));
    this.shown.result.grid?.draw();
  }

  handle(tab) {
    const rename = () => {
      const name = prompt("The name of the query", tab.name);
      if (name?.trim()) { changeTab(tab.id, { name: name.trim().slice(0, 60) }); this.select(tab.id); }
    };
    const isShown = tab.id === activeTab();
    return el("span", { class: "tab" },
      button(tab.name, () => {}, { "aria-current": isShown && "true", title: "A double click renames it", on: { click: () => this.select(tab.id), dblclick: rename } }),
      button("×", () => this.remove(tab.id), { class: "quiet close", "aria-label": `Close ${tab.name}`, tabindex: isShown ? undefined : "-1" }));
  }

  /** Make what belongs to a tab. */
  make(id) {
    const place = el("div", { class: "editor" });
    const result = new ResultPanel(this.views);
    const run = button("Run", () => this.run(id), { class: "main", title: "Ctrl-Enter" });
    const cancel = button("Cancel", () => post("cancel", { tab: id }).catch(() => {}), { disabled: true });
    const more = button("History", () => openHistory((text) => { editor.text = text; editor.focus(); }), { class: "quiet" });
    const element = el("div", { class: "query" }, place, el("div", { class: "bar tools" }, run, cancel, more), result.element);
    const text = tabs().find((tab) => tab.id === id).text;
    const editor = new Editor(place, id, text, {
      run: () => this.run(id),
      changed: (changed) => { changeTab(id, { text: changed }); editor.mark(); },
    });
    return { element, editor, result, run, cancel };
  }

  async run(id) {
    const { editor, result, run, cancel } = this.open.get(id);
    const { text, start } = editor.chosen;
    if (!text.trim() || result.isRunning) return;
    this.open.get(id).start = start;
    editor.mark();
    run.disabled = true;
    cancel.disabled = false;
    result.begin(text);
    try {
      await post("run", { tab: id, text });
    } catch (error) {
      this.hear({ tab: id, event: "failed", sentence: error.message });
    }
  }

  /** Hear an event of a tab. */
  hear(event) {
    const tab = this.open.get(event.tab);
    if (!tab) return;
    tab.result.hear(event);
    if (event.event !== "done" && event.event !== "failed") return;
    tab.run.disabled = false;
    tab.cancel.disabled = true;
    if (event.start !== undefined && !event.is_cancelled) tab.editor.mark(tab.start + event.start, tab.start + event.end, event.sentence);
    // A query alone changes no table.
    if (!tab.result.about?.is_query || event.event === "failed") this.catalog.refresh();
  }

  /** The server has gone: nothing runs any more. */
  stop(sentence) {
    for (const [id, { result }] of this.open) if (result.isRunning) this.hear({ tab: id, event: "failed", sentence });
  }
}
