// The tabs of the editor: names and texts, which the browser keeps.

const KEY = "raydb.tabs";

function read() {
  try {
    const found = JSON.parse(localStorage.getItem(KEY));
    if (Array.isArray(found?.tabs) && found.tabs.length) return found;
  } catch { /* What is there is no list of ours. */ }
  return { tabs: [made(1)], active: null, next: 2 };
}

function made(number) {
  return { id: crypto.randomUUID(), name: `Query ${number}`, text: "" };
}

const kept = read();

function keep() {
  try {
    localStorage.setItem(KEY, JSON.stringify(kept));
  } catch { /* The browser keeps nothing, or is full: the page goes on without. */ }
}

/** All tabs: {id, name, text}. */
export function tabs() {
  return kept.tabs;
}

/** The id of the tab that is shown. */
export function activeTab() {
  return kept.tabs.some((tab) => tab.id === kept.active) ? kept.active : kept.tabs[0].id;
}

/** Show another tab from now on. */
export function activate(id) {
  kept.active = id;
  keep();
}

/** Add a tab and return it. */
export function addTab(text = "", name = undefined) {
  const tab = { ...made(kept.next), text };
  if (name) tab.name = name;
  kept.next += 1;
  kept.tabs.push(tab);
  keep();
  return tab;
}

/** Remove a tab; one is left. */
export function removeTab(id) {
  kept.tabs = kept.tabs.filter((tab) => tab.id !== id);
  if (!kept.tabs.length) kept.tabs.push(made(kept.next++));
  keep();
}

/** Change a tab's name or text. */
export function changeTab(id, change) {
  Object.assign(kept.tabs.find((tab) => tab.id === id), change);
  keep();
}
