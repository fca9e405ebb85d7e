// Light or dark: as the system has it, until somebody chooses.

const KEY = "raydb.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set();

/** Whether the page is dark. */
export function isDark() {
  const chosen = localStorage.getItem(KEY);
  return chosen ? chosen === "dark" : system.matches;
}

/** Call a function whenever the theme changes; returns what ends that. */
export function onTheme(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Return the value of a colour of style.css, such as "ink". */
export function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Let a button switch the theme. */
export function startTheme(button) {
  const apply = () => {
    document.documentElement.dataset.theme = isDark() ? "dark" : "light";
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
    listeners.forEach((listener) => listener());
  };
  button.addEventListener("click", () => {
    localStorage.setItem(KEY, isDark() ? "light" : "dark");
    apply();
  });
  system.addEventListener("change", apply);
  apply();
}
