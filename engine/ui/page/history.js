// What was run before, here and in the shell; one of it goes into the editor.

import { button, dialog, el } from "./dom.js";
import { post } from "./server.js";

/** Open the list; choose: is called with the text that is chosen. */
export async function openHistory(choose) {
  const texts = await post("history");
  const list = el("ul", { class: "history" });
  const search = el("input", { type: "search", placeholder: "Search", "aria-label": "Search the history", on: { input: () => fill() } });
  const shown = dialog("History", search, list);
  const fill = () => {
    const wanted = search.value.toLowerCase();
    const found = texts.filter((text) => text.toLowerCase().includes(wanted));
    list.replaceChildren(...found.slice(0, 200).map((text) =>
      el("li", {}, button(text.length > 400 ? `${text.slice(0, 400)} …` : text, () => { shown.close(); choose(text); }))));
    if (!found.length) list.append(el("li", { class: "faint" }, texts.length ? "Nothing of the kind was run." : "Nothing was run yet."));
  };
  fill();
  search.focus();
}
