// The page: its views, and what is heard of the server.

import { AskView } from "./ask.js";
import { chartView } from "./chart.js";
import { DataView } from "./data.js";
import { button } from "./dom.js";
import { hasPicture, pictureView } from "./function_pictures.js";
import { planView } from "./plan.js";
import { hearJob, stopJobs } from "./jobs.js";
import { listen, post } from "./server.js";
import { summaryView } from "./summary.js";
import { startTheme } from "./theme.js";
import { TuneView } from "./tune.js";

const ask = new AskView([{ name: "Chart", open: chartView }, { name: "Summary", open: summaryView }, { name: "Plan", open: planView }, { name: "Picture", open: pictureView, fits: hasPicture }]);
const openQuery = (sql, name) => { open(0); ask.openQuery(sql, name); };
const data = new DataView(openQuery);
const views = [{ name: "Ask", view: ask }, { name: "Data", view: data }, { name: "Tune", view: new TuneView(openQuery) }];
const home = document.getElementById("main-view");
const nav = document.getElementById("views");

function open(place) {
  home.replaceChildren(views[place].view.element);
  [...nav.children].forEach((each, at) => {
    if (at === place) each.setAttribute("aria-current", "page");
    else each.removeAttribute("aria-current");
  });
  views[place].view.appear();
}

async function begin() {
  const facts = await post("facts");
  const name = facts.database || "a database in memory";
  document.getElementById("database").textContent = facts.is_read_only ? `${name}, read only` : name;
  document.title = `${facts.database ? `${facts.database} · ` : ""}RayDB`;
  open(0);
  document.documentElement.dataset.ready = "yes";
}

function tell(sentence) {
  const notice = document.getElementById("notice");
  notice.textContent = sentence;
  notice.hidden = false;
  ask.stop(sentence);
  stopJobs(sentence);
}

startTheme(document.getElementById("theme"));
nav.append(...views.map(({ name }, place) => button(name, () => open(place))));
listen((event) => {
  if (event.event === "open") begin().catch((error) => tell(error.message));
  else if (!hearJob(event) && event.tab) ask.hear(event);
}, tell);
