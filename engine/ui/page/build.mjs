// Bundles the libraries that the page uses into vendor/: `npm ci && npm run build`.
//
// The bundle lies in the repository, because `pip install` has neither node nor a network.
// vendor/vendor.js has the code, vendor/versions.json what it was made of, vendor/LICENSES.txt the
// licences of all that is in it.

import { build } from "esbuild";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const ENTRY = `
export { autocompletion, closeBrackets, closeBracketsKeymap, closeCompletion, completionKeymap, startCompletion } from "@codemirror/autocomplete";
export { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
export { PostgreSQL, sql } from "@codemirror/lang-sql";
export { HighlightStyle, bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
export { setDiagnostics } from "@codemirror/lint";
export { EditorState, Prec } from "@codemirror/state";
export { EditorView, drawSelection, keymap, lineNumbers, placeholder } from "@codemirror/view";
export { tags } from "@lezer/highlight";
export { tableFromIPC } from "apache-arrow";
export { default as uPlot } from "uplot";
`;

const made = await build({
  stdin: { contents: ENTRY, resolveDir: "." },
  bundle: true,
  format: "esm",
  legalComments: "none",
  metafile: true,
  minify: true,
  outfile: "vendor/vendor.js",
  platform: "browser",
  target: "es2022",
});

// The packages that have a part in the bundle, each with what its own package.json says.
const folders = new Set();
for (const input of Object.keys(made.metafile.inputs)) {
  const found = input.match(/^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//);
  if (found) folders.add(found[1]);
}
const packages = [...folders].map((folder) => {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copyright)/i.test(file));
  return { name, version, license, texts: files.map((file) => readFileSync(join(folder, file), "utf8").trim()) };
});
packages.sort((a, b) => (a.name < b.name ? -1 : 1));

const versions = Object.fromEntries(packages.map(({ name, version }) => [name, version]));
writeFileSync("vendor/versions.json", `${JSON.stringify(versions, null, 2)}\n`);
writeFileSync(
  "vendor/LICENSES.txt",
  packages
    .map(({ name, version, license, texts }) => [`${name} ${version}: ${license}`, ...texts].join("\n\n"))
    .join(`\n\n${"-".repeat(80)}\n\n`) + "\n",
);
writeFileSync("vendor/uplot.css", readFileSync(join(dirname("node_modules/uplot/dist/x"), "uPlot.min.css")));
