// Results as files, and what is chosen in the clipboard.

import { button, el } from "./dom.js";
import { post } from "./server.js";

/** The buttons of a result. */
export function downloadButtons(result, grid, told) {
  const save = async (format) => {
    try {
      const { path } = await post("download", { result, format });
      el("a", { href: path, download: `result.${format}` }).click();
    } catch (error) {
      told(error.message);
    }
  };
  return el("span", { class: "downloads", role: "group", "aria-label": "Copy and download" },
    button("Copy", () => grid.copyChosen(), { class: "quiet", title: "Copy the chosen cells (Ctrl-C)" }),
    ...["csv", "parquet", "json"].map((format) =>
      button(format === "parquet" ? "Parquet" : format.toUpperCase(), () => save(format), { class: "quiet", title: `Download all rows as ${format}` })));
}
