// What a tab shows below its editor: how far a text is, its rows, and the views of these.

import { button, el, numberText, timeText } from "./dom.js";
import { downloadButtons } from "./download.js";
import { Grid } from "./grid.js";

/** The result of a tab. views: [{name, open(about) -> element, fits(about)?}] beside the rows. */
export class ResultPanel {
  constructor(views) {
    this.views = views;
    this.status = el("span", { class: "status", role: "status", "aria-live": "polite" });
    this.bar = el("progress", { max: "1", hidden: true, "aria-label": "Progress" });
    this.error = el("p", { class: "error", role: "alert", hidden: true });
    this.warnings = el("div", { class: "warnings" });
    this.choices = el("span", { class: "choices", role: "tablist", "aria-label": "Views of the result" });
    this.tools = el("span", {});
    this.body = el("div", { class: "body", role: "tabpanel", "aria-label": "View of the result" });
    this.element = el("section", { class: "result", "aria-label": "Result" },
      el("div", { class: "bar" }, this.choices, this.status, this.bar, el("span", { class: "gap" }), this.tools),
      this.error, this.warnings, this.body);
    this.about = null;
    this.sql = "";
  }

  /** A text begins to run. */
  begin(sql) {
    this.sql = sql;
    this.isRunning = true;
    this.start = performance.now();
    this.error.hidden = true;
    this.warnings.replaceChildren();
    this.hasRows = false;
    this.count = undefined;
    this.say("Running …");
    this.timer = setTimeout(() => { this.bar.hidden = !this.isRunning; }, 300);
    this.bar.removeAttribute("value");
  }

  say(text) {
    this.status.textContent = text;
  }

  /** Hear an event of the run. */
  hear(event) {
    switch (event.event) {
      case "progress":
        this.bar.value = event.share;
        this.say(`${event.step}: ${Math.round(event.share * 100)} %`);
        break;
      case "columns":
        this.show(event);
        break;
      case "rows":
        this.count = event.count;
        if (this.about?.result === event.result) {
          this.grid.setCount(event.count);
          this.about.count = event.count;
          this.about.isWhole = event.is_whole;
          if (!event.is_whole) this.say(`${numberText(event.count)} rows so far …`);
        }
        break;
      case "warning":
        this.warnings.append(el("p", { class: "warning" }, event.sentence));
        break;
      case "done":
        this.end();
        this.say(this.outcome(event));
        break;
      case "failed":
        this.end();
        this.error.textContent = event.sentence;
        this.error.hidden = false;
        this.say(event.is_cancelled ? "Cancelled" : "Failed");
        if (!this.hasRows) this.clear();
        break;
    }
  }

  end() {
    this.isRunning = false;
    clearTimeout(this.timer);
    this.bar.hidden = true;
  }

  outcome(event) {
    const time = timeText(event.time_ms);
    const rows = (count, verb) => `${numberText(count)} ${count === 1 ? "row" : "rows"}${verb}, ${time}`;
    if (this.hasRows) return rows(this.about.count, "") + (this.about.familiarity ? ` · ${this.about.familiarity}` : "");
    this.clear();
    return event.written === null ? `Done, ${time}` : rows(event.written, " written");
  }

  clear() {
    this.about = null;
    this.choices.replaceChildren();
    this.tools.replaceChildren();
    this.body.replaceChildren();
  }

  /** Rows have come: show the grid. */
  show(event) {
    this.hasRows = true;
    this.about = { ...event, isWhole: false };
    this.firstRows = performance.now() - this.start;
    this.grid = new Grid(this.about, (text, isGood) => this.tell(text, isGood), (column) => this.summarize(column));
    this.tools.replaceChildren(downloadButtons(event.result, this.grid, (text) => this.tell(text)));
    const rows = { name: "Rows", open: () => this.grid.element };
    this.opened = [rows, ...this.views.filter(({ fits }) => !fits || fits(event))];
    this.choices.replaceChildren(...this.opened.map((view, place) =>
      button(view.name, () => this.choose(place), { role: "tab", "aria-selected": "false" })));
    this.made = [];
    this.choose(0);
    this.say(`${numberText(event.count)} rows so far …`);
  }

  choose(place) {
    [...this.choices.children].forEach((each, at) => each.setAttribute("aria-selected", String(at === place)));
    // What a view has read stays as long as the rows.
    this.made[place] ??= this.opened[place].open(this.about);
    this.body.replaceChildren(this.made[place]);
    this.body.tabIndex = place === 0 ? -1 : 0;
    if (place === 0) this.grid.paint();
  }

  /** Show the summary of a column. */
  summarize(column) {
    this.about.column = column;
    const place = this.opened.findIndex(({ name }) => name === "Summary");
    this.choose(place);
    this.made[place].children[column]?.scrollIntoView();
  }

  tell(text, isGood = false) {
    if (isGood) {
      this.say(text);
      return;
    }
    this.error.textContent = text;
    this.error.hidden = false;
  }
}
