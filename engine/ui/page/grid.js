// A grid that shows any number of rows: only those that are seen exist.
//
// Browsers know no elements higher than some 30 million pixels. Beyond MAX_PIXELS the scroll bar
// stands for a share of the rows, and the wheel and the keys move by rows.

import { el } from "./dom.js";
import { inspect, isNumber, showValue } from "./cells.js";
import { Windows } from "./windows.js";

const ROW = 26;
const HEAD = 44;
const MAX_PIXELS = 8_000_000;
const MAX_COPIED = 200_000;
let grids = 0;

export class Grid {
  /**
   * about: {result, names, types, first, count}. told: is called with a sentence about what went wrong,
   * titled: with the number of a column whose title was clicked.
   */
  constructor(about, told, titled) {
    Object.assign(this, about, { told, titled });
    this.rows = new Windows(about.result, about.first, (error) => { if (error) told(error.message); this.draw(); });
    this.id = `grid${grids += 1}`;
    this.top = 0;
    this.focus = { row: 0, column: 0 };
    this.anchor = null;
    this.widths = about.names.map((name, place) => Math.min(Math.max(name.length * 8.8, about.types[place].length * 7.5) + 24, 260));
    this.isSized = false;
    this.head = el("div", { class: "head", role: "row", "aria-rowindex": "1" });
    this.layer = el("div", { class: "layer", role: "rowgroup" });
    this.space = el("div", { class: "space", role: "presentation" }, this.layer);
    this.element = el("div", {
      class: "grid", role: "grid", tabindex: "0", "aria-label": "Rows", "aria-colcount": about.names.length, "aria-multiselectable": "true",
      on: {
        keydown: (event) => this.key(event), copy: (event) => this.copy(event), scroll: () => this.scrolled(),
        wheel: (event) => this.wheel(event), pointerdown: (event) => this.press(event), dblclick: () => this.open(),
      },
    }, el("div", { role: "rowgroup", class: "heads" }, this.head), this.space);
    new ResizeObserver(() => this.draw()).observe(this.element);
    this.setCount(about.count);
  }

  /** Say how many rows there are by now. */
  setCount(count) {
    this.count = count;
    this.element.setAttribute("aria-rowcount", count + 1);
    this.space.style.height = `${Math.min(count * ROW, MAX_PIXELS)}px`;
    this.draw();
  }

  /** The height that is for rows. */
  get view() {
    return Math.max(this.element.clientHeight - HEAD, 0);
  }

  get seen() {
    return Math.max(Math.floor(this.view / ROW), 1);
  }

  get last() {
    return Math.max(this.count - this.view / ROW, 0);
  }

  get isScaled() {
    return this.count * ROW > MAX_PIXELS;
  }

  /** The scroll bar has moved, or was moved by `moveTo`. */
  scrolled() {
    const range = this.element.scrollHeight - this.element.clientHeight;
    if (this.element.scrollTop !== this.placed) {
      this.top = this.isScaled ? this.element.scrollTop / Math.max(range, 1) * this.last : this.element.scrollTop / ROW;
      this.placed = undefined;
    }
    this.draw();
  }

  /** Show the rows from one on, which may be a fraction. */
  moveTo(top) {
    this.top = Math.min(Math.max(top, 0), this.last);
    const range = this.element.scrollHeight - this.element.clientHeight;
    this.element.scrollTop = this.isScaled ? this.top / Math.max(this.last, 1) * range : this.top * ROW;
    this.placed = this.element.scrollTop;
    this.draw();
  }

  wheel(event) {
    if (!this.isScaled || event.ctrlKey || !event.deltaY) return;
    event.preventDefault();
    this.moveTo(this.top + event.deltaY / (event.deltaMode ? 1 : ROW));
  }

  draw() {
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => { this.waits = false; this.paint(); });
  }

  /** Make the rows and the columns that are seen. */
  paint() {
    if (!this.element.isConnected) return;
    const first = Math.floor(Math.min(this.top, this.last));
    const end = Math.min(first + this.seen + 2, this.count);
    if (!this.isSized) this.size(first, Math.min(end, first + 50));
    const lefts = [0];
    for (const width of this.widths) lefts.push(lefts.at(-1) + width);
    const all = lefts.at(-1);
    this.space.style.width = `${all}px`;
    const left = this.element.scrollLeft, right = left + this.element.clientWidth;
    const columns = this.names.map((_, place) => place).filter((place) => lefts[place + 1] > left && lefts[place] < right);
    const lines = [];
    for (let row = first; row < end; row += 1) lines.push(this.line(row, columns, lefts, all));
    const moved = (Math.min(this.top, this.last) - first) * ROW;
    this.layer.style.transform = `translateY(${this.element.scrollTop - moved}px)`;
    this.layer.replaceChildren(...lines);
    this.head.style.width = `${all}px`;
    this.head.replaceChildren(...columns.map((place) => this.title(place, lefts)));
    const active = document.getElementById(`${this.id}-active`);
    if (active) this.element.setAttribute("aria-activedescendant", active.id);
    else this.element.removeAttribute("aria-activedescendant");
  }

  line(row, columns, lefts, all) {
    const valueOf = this.rows.row(row);
    const made = el("div", { class: "line", role: "row", "aria-rowindex": row + 2, data: { row } });
    made.style.top = `${(row - Math.floor(Math.min(this.top, this.last))) * ROW}px`;
    made.style.width = `${all}px`;
    for (const column of columns) {
      const isActive = row === this.focus.row && column === this.focus.column;
      const cell = el("div", {
        class: isNumber(this.types[column]) ? "cell number" : "cell", role: "gridcell", "aria-colindex": column + 1,
        "aria-selected": String(this.isChosen(row, column)), id: isActive ? `${this.id}-active` : undefined, data: { column },
      });
      if (isActive) cell.classList.add("active");
      cell.style.left = `${lefts[column]}px`;
      cell.style.width = `${this.widths[column]}px`;
      if (valueOf) showValue(cell, valueOf(column), this.types[column], { result: this.result, row, column });
      else cell.textContent = "…";
      made.append(cell);
    }
    return made;
  }

  title(place, lefts) {
    const made = el("div", { class: isNumber(this.types[place]) ? "cell number" : "cell", role: "columnheader", "aria-colindex": place + 1, title: "A click summarizes the column", on: { click: () => this.titled(place) } },
      el("b", {}, this.names[place]), el("span", { class: "type" }, this.types[place]),
      el("i", { class: "edge", "aria-hidden": "true", on: { pointerdown: (event) => this.resize(event, place), click: (event) => event.stopPropagation() } }));
    made.style.left = `${lefts[place]}px`;
    made.style.width = `${this.widths[place]}px`;
    return made;
  }

  /** Make the columns as wide as the first rows need. */
  size(first, end) {
    for (let row = first; row < end; row += 1) {
      const valueOf = this.rows.row(row);
      if (!valueOf) return;
      this.names.forEach((_, place) => {
        const text = valueOf(place) ?? "NULL";
        this.widths[place] = Math.max(this.widths[place], Math.min(text.length * 8 + 24, 360));
      });
    }
    this.isSized = end > first;
  }

  resize(event, place) {
    event.stopPropagation();
    const start = event.clientX - this.widths[place];
    const move = (moved) => { this.widths[place] = Math.max(moved.clientX - start, 40); this.draw(); };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", () => window.removeEventListener("pointermove", move), { once: true });
  }

  // -- what is chosen ----------------------------------------------------------------------------

  isChosen(row, column) {
    const { rows, columns } = this.range;
    return row >= rows[0] && row <= rows[1] && column >= columns[0] && column <= columns[1];
  }

  get range() {
    const from = this.anchor || this.focus, to = this.focus;
    const order = (a, b) => [Math.min(a, b), Math.max(a, b)];
    return { rows: order(from.row, to.row), columns: order(from.column, to.column) };
  }

  go(row, column, keepsAnchor) {
    if (!this.count) return;
    this.anchor = keepsAnchor ? this.anchor || this.focus : null;
    this.focus = { row: Math.min(Math.max(row, 0), this.count - 1), column: Math.min(Math.max(column, 0), this.names.length - 1) };
    const below = this.focus.row - this.top - this.seen + 1;
    if (this.focus.row < this.top) this.moveTo(this.focus.row);
    else if (below > 0) this.moveTo(this.top + below);
    const left = this.widths.slice(0, this.focus.column).reduce((sum, width) => sum + width, 0);
    const right = left + this.widths[this.focus.column];
    if (left < this.element.scrollLeft) this.element.scrollLeft = left;
    else if (right > this.element.scrollLeft + this.element.clientWidth) this.element.scrollLeft = right - this.element.clientWidth;
    this.draw();
  }

  key(event) {
    const { row, column } = this.focus, far = event.ctrlKey || event.metaKey;
    const moves = {
      ArrowDown: [far ? this.count : row + 1, column], ArrowUp: [far ? 0 : row - 1, column],
      ArrowRight: [row, far ? this.names.length : column + 1], ArrowLeft: [row, far ? 0 : column - 1],
      PageDown: [row + this.seen, column], PageUp: [row - this.seen, column],
      Home: [far ? 0 : row, 0], End: [far ? this.count : row, this.names.length],
    };
    if (moves[event.key]) this.go(...moves[event.key], event.shiftKey);
    else if (event.key === "Enter") this.open();
    else if (far && event.key === "a") { this.anchor = { row: 0, column: 0 }; this.focus = { row: this.count - 1, column: this.names.length - 1 }; this.draw(); }
    else return;
    event.preventDefault();
  }

  press(event) {
    const cell = event.target.closest(".layer .cell");
    if (!cell) return;
    const at = (target) => [Number(target.parentElement.dataset.row), Number(target.dataset.column)];
    this.go(...at(cell), event.shiftKey);
    this.element.focus({ preventScroll: true });
    const move = (moved) => {
      const over = document.elementFromPoint(moved.clientX, moved.clientY)?.closest(".layer .cell");
      if (over && this.element.contains(over) && moved.buttons) this.go(...at(over), true);
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", () => window.removeEventListener("pointermove", move), { once: true });
    event.preventDefault();
  }

  open() {
    const { row, column } = this.focus;
    if (this.count) inspect(this.names[column], this.types[column], { result: this.result, row, column });
  }

  copy(event) {
    event?.preventDefault();
    return this.copyChosen();
  }

  /** Copy what is chosen as lines with tabs between the values; long values are cut as they are seen. */
  async copyChosen() {
    const { rows, columns } = this.range;
    const places = Array.from({ length: columns[1] - columns[0] + 1 }, (_, place) => columns[0] + place);
    if (!this.count || (rows[1] - rows[0] + 1) * places.length > MAX_COPIED) {
      this.told(`More than ${MAX_COPIED.toLocaleString("en")} values are not copied; download them as a file`);
      return;
    }
    const found = await this.rows.rows(rows[0], rows[1] + 1, places);
    const clean = (text) => (text ?? "").replaceAll(/[\t\r\n]+/g, " ");
    const lines = found.map((row) => row.map(clean).join("\t"));
    if (rows[1] > rows[0]) lines.unshift(places.map((place) => clean(this.names[place])).join("\t"));
    await navigator.clipboard.writeText(lines.join("\n"));
    this.told(`${found.length.toLocaleString("en")} ${found.length === 1 ? "row" : "rows"} copied`, true);
  }
}
