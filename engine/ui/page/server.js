// What the page asks of its server, and what it is told.
//
// The token comes in the fragment of the address; it is kept for this window and taken out of what
// the window shows. Each load of the page is a page of its own for the server.

const PAGE = crypto.randomUUID();
const KEY = "raydb.token";

const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  sessionStorage.setItem(KEY, given);
  history.replaceState(null, "", location.pathname);
}

function headers() {
  return { "X-RayDB-Token": sessionStorage.getItem(KEY) || "", "X-RayDB-Page": PAGE };
}

/** An answer that is an error: its message is the server's sentence. */
export class Refusal extends Error {}

async function asked(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, { ...options, headers: headers(), cache: "no-store", credentials: "omit" });
  } catch {
    throw new Refusal("the server does not answer; it may have ended");
  }
  if (!answer.ok) {
    const told = await answer.json().catch(() => ({}));
    throw new Refusal(told.sentence || `the server answers with ${answer.status}`);
  }
  return answer;
}

/** Ask or order something by its name; resolves to the answer. */
export async function post(name, body = {}) {
  return (await asked(`/api/${name}`, { method: "POST", body: JSON.stringify(body) })).json();
}

/** Run a statement of the page's own; resolves to {names, types, rows, count}. */
export function ask(sql, parameters = [], more = {}) {
  return post("ask", { sql, parameters, ...more });
}

/** Ask SQL over the rows of a result, which is called `result` in it. */
export function askRows(result, sql) {
  return post("ask", { sql, result });
}

/** Read a window of a result as bytes of Arrow. */
export async function readWindow(result, offset, count) {
  const query = new URLSearchParams({ result, offset, count });
  return new Uint8Array(await (await asked(`/api/rows?${query}`)).arrayBuffer());
}

/** Read one value as it is: a blob, whose type says what it is. */
export async function readCell(result, row, column) {
  return (await asked(`/api/cell?${new URLSearchParams({ result, row, column })}`)).blob();
}

/** Send a file; resolves to the answer. */
export async function upload(path, file) {
  return (await asked(path, { method: "POST", body: file })).json();
}

/** Hear what happens until the server ends; then `gone` is called with a sentence. */
export async function listen(hear, gone) {
  try {
    const answer = await asked("/api/events");
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) if (line) hear(JSON.parse(line));
    }
    gone("The server has ended. Start it again, and open the address that it shows.");
  } catch (error) {
    gone(error instanceof Refusal ? `${error.message[0].toUpperCase()}${error.message.slice(1)}.`
      : "The server has ended. Start it again, and open the address that it shows.");
  }
}
