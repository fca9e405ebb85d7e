// The view "Plan" of a result: the steps as a tree, the picture of the BVH beside it, and times.

import { button, el, svg, table, timeText } from "./dom.js";
import { drawPicture } from "./picture.js";
import { post } from "./server.js";

const KNOWN = {
  repeated: "The plan of this text was kept: it has run before.",
  "new constants": "A text of this shape has run before, with other constants: its plan was filled in.",
  new: "Nothing of this text was kept: it was parsed and planned.",
};

/** Make the view of a result. */
export function planView(about) {
  const facts = el("dl", { class: "facts" });
  const tree = el("div", { class: "tree" });
  const drawn = el("div", { class: "drawn" });
  const times = el("div", {});
  const said = el("span", { class: "faint", role: "status" });
  const act = async (text, work) => {
    said.classList.remove("bad");
    said.textContent = text;
    try {
      await work();
      said.textContent = "";
    } catch (error) {
      said.textContent = error.message;
      said.classList.add("bad");
    }
  };
  const load = (measures) => act(measures ? "The query runs …" : "Planning …", async () => {
    const found = await post("explain", { sql: about.sql, tab: about.tab, measures });
    const most = mostTime(found.plan);
    facts.replaceChildren(...pairs(about, found));
    tree.replaceChildren(step(found.plan, most));
    drawn.replaceChildren();
    found.pictures.forEach((picture, number) => drawPicture(drawn, picture, number));
  });
  const compare = () => act("The query runs some times with BVHs and without …", async () => {
    times.replaceChildren(timesTable(await post("compare", { sql: about.sql })));
  });
  load(false);
  return el("div", { class: "plan" },
    el("div", { class: "bar tools" },
      button("Run and measure", () => load(true)), button("Compare with and without BVHs", compare), said),
    facts, times, el("div", { class: "sides" }, tree, drawn));
}

function pairs(about, found) {
  const known = about.familiarity ? KNOWN[about.familiarity] : "Its rows are computed as they come; plans of such queries are not kept.";
  return [["path", found.path], ...found.reasons.map((reason) => ["why", reason]), ["text", known],
    ...(found.time_ms === null ? [] : [["time", timeText(found.time_ms)]])]
    .flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]);
}

function mostTime(node) {
  return Math.max(node.time_ms ?? 0, ...node.children.map(mostTime));
}

function step(node, most) {
  const lines = node.lines.map(([name, text]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, text)));
  const bar = most && node.time_ms !== null
    ? [svg("svg", { class: "time", "aria-hidden": "true" }, svg("rect", { width: `${100 * node.time_ms / most}%`, height: "100%" }))] : [];
  const made = el("details", { class: node.is_fused ? "fused" : undefined, open: true },
    el("summary", {}, el("b", {}, node.name), ` ${node.summary}`, ...bar),
    el("table", {}, el("tbody", {}, ...lines)));
  if (!node.children.length) return made;
  return el("div", {}, made, el("ul", {}, ...node.children.map((child) => el("li", {}, step(child, most)))));
}

function timesTable(found) {
  const time = (ms) => (ms === null ? "one run is enough" : timeText(ms));
  const row = (name, key) => [name, found[key].path, time(found[key].new_ms), time(found[key].repeated_ms)];
  return table(["", "path", "first run", "repeated (median)"], [row("with BVHs", "with"), row("without", "without")], "Times of the whole query");
}
