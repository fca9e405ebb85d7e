// One value in the grid, and the whole of it in a dialog.

import { dialog, el, svg } from "./dom.js";
import { readCell } from "./server.js";

// How the texts of PNG and JPEG bytes begin.
const PICTURE = /^\\x(89504e470d0a1a0a|ffd8ff)/;
const NUMBER = /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|UINTEGER|DECIMAL.*|REAL|DOUBLE)$/;

/** Whether values of a SQL type are numbers. */
export function isNumber(type) {
  return NUMBER.test(type);
}

/** Whether values of a SQL type are dates or times. */
export function isMoment(type) {
  return /^(DATE|TIMESTAMP)/.test(type);
}

/** Put a value into a cell. at: {result, row, column} */
export function showValue(cell, text, type, at) {
  if (text === null) {
    cell.classList.add("null");
    cell.textContent = "NULL";
  } else if (type === "BLOB" && PICTURE.test(text)) {
    picture(cell, at);
  } else {
    cell.textContent = text;
  }
}

const pictures = new Map();

/** Show a picture; those that were seen last are kept. */
async function picture(cell, at) {
  const key = `${at.result} ${at.row} ${at.column}`;
  if (!pictures.has(key)) {
    pictures.set(key, readCell(at.result, at.row, at.column).then((blob) => URL.createObjectURL(blob)));
    if (pictures.size > 200) {
      const [first] = pictures.keys();
      pictures.get(first).then((old) => URL.revokeObjectURL(old));
      pictures.delete(first);
    }
  }
  try {
    const picture = el("img", { src: await pictures.get(key), alt: `picture of row ${at.row + 1}` });
    picture.addEventListener("error", () => picture.replaceWith("not a whole picture"));
    cell.append(picture);
  } catch (error) {
    cell.textContent = error.message;
  }
}

/** Open a dialog with the whole of a value. */
export async function inspect(name, type, at) {
  const title = `${name}: ${type}, row ${(at.row + 1).toLocaleString("en")}`;
  let blob;
  try {
    blob = await readCell(at.result, at.row, at.column);
  } catch (error) {
    dialog(title, el("p", { class: "bad" }, error.message));
    return;
  }
  if (blob.type.startsWith("image/")) {
    const url = URL.createObjectURL(blob);
    const shown = dialog(title, el("img", { src: url, alt: title }));
    shown.addEventListener("close", () => URL.revokeObjectURL(url));
    return;
  }
  const text = await blob.text();
  const numbers = vectorOf(text, type);
  dialog(title, ...(numbers ? [bars(numbers)] : []), el("pre", { tabindex: "0" }, text));
}

function vectorOf(text, type) {
  if (!/\[\d*\]$/.test(type) || !/^\[[-+\d.e, ]+\]$/.test(text)) return null;
  const numbers = text.slice(1, -1).split(",").map(Number);
  return numbers.length > 2 && numbers.every(Number.isFinite) ? numbers : null;
}

/** The numbers of a vector as bars from zero. */
function bars(numbers) {
  const most = Math.max(...numbers.map(Math.abs), 1e-300);
  const width = 640 / numbers.length;
  return svg("svg", { viewBox: "0 0 640 80", class: "bars", role: "img", "aria-label": `${numbers.length} numbers as bars` },
    ...numbers.map((value, place) => svg("rect", {
      x: place * width, width: Math.max(width * 0.9, 0.5),
      y: 40 - Math.max(value, 0) / most * 38, height: Math.max(Math.abs(value) / most * 38, 0.5),
    })));
}
