// Statements that the page runs for itself and that may take long: each on a connection of its own.

import { post } from "./server.js";

const PREFIX = "job-";
const waiting = new Map();

/** Run a text; told gets (step, share) meanwhile. Resolves to what was heard at its end. */
export async function runJob(text, told) {
  const tab = PREFIX + crypto.randomUUID();
  try {
    const ended = new Promise((resolve) => { waiting.set(tab, { resolve, told }); });
    await post("run", { tab, text, is_typed: false });
    const event = await ended;
    if (event.event === "failed") throw new Error(event.sentence);
    return event;
  } finally {
    waiting.delete(tab);
    post("close_tab", { tab }).catch(() => {});
  }
}

/** Hear an event; returns whether it was one of a job. */
export function hearJob(event) {
  if (!event.tab?.startsWith(PREFIX)) return false;
  const job = waiting.get(event.tab);
  if (event.event === "progress") job?.told(event.step, event.share);
  else if (event.event === "done" || event.event === "failed") job?.resolve(event);
  return true;
}

/** The server has gone: no job comes to its end. */
export function stopJobs(sentence) {
  for (const { resolve } of waiting.values()) resolve({ event: "failed", sentence });
}
