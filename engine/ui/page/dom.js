// Elements of the page. Whatever comes from the database becomes a text node: nothing is parsed.

/**
 * Make an element. `on` has listeners, `data` data attributes; true attributes are empty, and false
 * or undefined ones left out.
 * @param {string} name
 * @param {Object<string, any>} [attributes]
 * @param {...(Node|string)} children
 */
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  fill(made, attributes);
  made.append(...children);
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

/** Make an element of SVG, as `el` does. */
export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  fill(made, attributes);
  made.append(...children);
  return made;
}

function fill(made, { on = {}, data = {}, ...attributes }) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== undefined) made.setAttribute(key, value);
  }
  Object.assign(made.dataset, data);
  for (const [event, listener] of Object.entries(on)) made.addEventListener(event, listener);
}

/** Make a button. */
export function button(text, act, attributes = {}) {
  return el("button", { type: "button", on: { click: act }, ...attributes }, text);
}

/** Make a table of rows of texts; numbers stand at the right, null is NULL. */
export function table(names, rows, caption) {
  const head = el("tr", {}, ...names.map((name) => el("th", { scope: "col" }, name)));
  const body = rows.map((row) =>
    el("tr", {}, ...row.map((value) =>
      value instanceof Node ? el("td", {}, value)
        : value === null ? el("td", { class: "null" }, "NULL")
          : el("td", { class: typeof value === "number" ? "number" : undefined }, textOf(value)))));
  const made = el("table", {}, el("thead", {}, head), el("tbody", {}, ...body));
  if (caption) made.prepend(el("caption", {}, caption));
  return el("div", { class: "table", tabindex: "0", role: "region", "aria-label": caption || "Table" }, made);
}

/** Return a value as text: numbers with few digits, lists as SQL writes them. */
export function textOf(value) {
  if (typeof value === "number") return numberText(value);
  return Array.isArray(value) ? value.join(", ") : String(value);
}

/** Return a number as a reader wants it. */
export function numberText(value) {
  return Number.isInteger(value) ? value.toLocaleString("en")
    : value.toLocaleString("en", { maximumSignificantDigits: 6 });
}

/** Return bytes as a reader wants them. */
export function bytesText(value) {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  let place = 0;
  while (value >= 1000 && place < units.length - 1) { value /= 1000; place += 1; }
  return `${place ? value.toFixed(1) : value} ${units[place]}`;
}

/** Return milliseconds as a reader wants them. */
export function timeText(ms) {
  return ms < 1000 ? `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

/** Return a name as SQL has to write it. */
export function quoted(name) {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Return a text as a literal of SQL. */
export function literal(text) {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Open a dialog with a title; it is gone when it is closed. */
export function dialog(title, ...children) {
  const close = button("Close", () => made.close(), { class: "quiet" });
  const made = el("dialog", { "aria-label": title, on: { close: () => made.remove() } },
    el("header", {}, el("h2", {}, title), el("span", { class: "gap" }), close), ...children);
  document.body.append(made);
  made.showModal();
  return made;
}
