// The rows of a result, some hundred at a time; the least recently used ones are forgotten.

import { tableFromIPC } from "./vendor/vendor.js";
import { readWindow } from "./server.js";

const ROWS = 200;
const MAX_WINDOWS = 60;

/** Rows by their numbers. first: the values of the first ones, a list a column. arrived: is called when rows have come that were missing. */
export class Windows {
  constructor(result, first, arrived) {
    this.result = result;
    this.first = first;
    this.arrived = arrived;
    this.count = 0;
    this.windows = new Map();
    this.waiting = new Set();
  }

  /** A row as a function of the column: text, or null for NULL; undefined while it is not here. */
  row(number) {
    if (number < (this.first[0]?.length ?? 0)) return (column) => this.first[column][number];
    const place = Math.floor(number / ROWS);
    const found = this.windows.get(place);
    if (found && number - place * ROWS < found.numRows) {
      this.windows.delete(place);
      this.windows.set(place, found);
      return (column) => found.getChildAt(column).get(number - place * ROWS);
    }
    this.fetch(place);
    return undefined;
  }

  /** Read a window. One at a time is on its way of each, and those that nobody sees any more are left out. */
  async fetch(place) {
    if (this.waiting.has(place)) return;
    this.waiting.add(place);
    try {
      await this.load(place);
      this.arrived();
    } catch (error) {
      this.arrived(error);
    } finally {
      this.waiting.delete(place);
    }
  }

  async load(place) {
    const found = tableFromIPC(await readWindow(this.result, place * ROWS, ROWS));
    this.windows.delete(place);
    this.windows.set(place, found);
    while (this.windows.size > MAX_WINDOWS) this.windows.delete(this.windows.keys().next().value);
    return found;
  }

  /** Return some rows as lists of texts and nulls, read where they are not here. */
  async rows(first, end, columns) {
    const made = [];
    for (let number = first; number < end; number += 1) {
      const place = Math.floor(number / ROWS);
      const found = this.windows.get(place);
      const there = found && number - place * ROWS < found.numRows ? found : await this.load(place);
      made.push(columns.map((column) => there.getChildAt(column).get(number - place * ROWS)));
    }
    return made;
  }
}
