// The editor: SQL with completion from the catalog, and errors marked at their place.

import {
  EditorState, EditorView, HighlightStyle, PostgreSQL, Prec, autocompletion, bracketMatching,
  closeBrackets, closeBracketsKeymap, closeCompletion, completionKeymap, defaultKeymap, drawSelection, history,
  historyKeymap, indentOnInput, indentWithTab, keymap, lineNumbers, placeholder, setDiagnostics, sql,
  startCompletion, syntaxHighlighting, tags,
} from "./vendor/vendor.js";
import { post } from "./server.js";

const colors = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword], color: "var(--keyword)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--number)" },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], color: "var(--faint)", fontStyle: "italic" },
  { tag: tags.typeName, color: "var(--type)" },
]);

const look = EditorView.theme({
  "&": { height: "100%", fontSize: "14px", backgroundColor: "var(--paper)", color: "var(--ink)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-gutters": { backgroundColor: "var(--box)", color: "var(--faint)", border: "none" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-placeholder": { color: "var(--faint)" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground":
    { backgroundColor: "var(--chosen)" },
  ".cm-tooltip": { backgroundColor: "var(--paper)", color: "var(--ink)", border: "1px solid var(--line)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionDetail": { fontStyle: "normal", opacity: "0.75", marginLeft: "1.5em" },
  // The library's own mark is a picture in the style sheet, which the page's policy forbids.
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad)" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
});

/** What may stand at the cursor, as the shell has it. */
function completions(tab) {
  return async (context) => {
    const before = context.state.sliceDoc(0, context.pos);
    if (!context.explicit && !/[\w".]$/.test(before)) return null;
    const found = await post("complete", { tab, text: context.state.doc.toString(), before }).catch(() => []);
    if (!found.length) return null;
    const from = context.pos - found[0].replaces;
    return {
      from,
      options: found.filter((each) => each.replaces === found[0].replaces).map((each, place) => ({
        label: each.text, detail: each.meaning, boost: -place / 10,
      })),
      validFor: /^"?\w*$/,
    };
  };
}

/** An editor in an element. act: {run, changed} */
export class Editor {
  constructor(host, tab, text, act) {
    const nonce = document.getElementById("main").nonce;
    const run = (view) => { closeCompletion(view); act.run(); return true; };
    this.view = new EditorView({
      parent: host,
      state: EditorState.create({
        doc: text,
        extensions: [
          EditorView.cspNonce.of(nonce),
          EditorView.contentAttributes.of({ "aria-label": "SQL" }),
          Prec.highest(keymap.of([{ key: "Mod-Enter", run }])),
          lineNumbers(), history(), drawSelection(), indentOnInput(), bracketMatching(), closeBrackets(),
          sql({ dialect: PostgreSQL }), syntaxHighlighting(colors), look,
          autocompletion({ override: [completions(tab)] }),
          keymap.of([
            ...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap,
            { key: "Ctrl-Space", run: startCompletion },
            { key: "Escape", run: () => { this.view.contentDOM.blur(); return true; } },
            indentWithTab,
          ]),
          placeholder("SELECT ...   Ctrl-Enter runs it, or what is selected; Escape leaves the editor"),
          EditorView.lineWrapping,
          EditorView.updateListener.of((update) => { if (update.docChanged) act.changed(this.text); }),
        ],
      }),
    });
  }

  get text() {
    return this.view.state.doc.toString();
  }

  set text(text) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  /** What is to run, and where it begins: what is selected, or all. */
  get chosen() {
    const { from, to } = this.view.state.selection.main;
    return from === to ? { text: this.text, start: 0 } : { text: this.view.state.sliceDoc(from, to), start: from };
  }

  /** Write a text where the cursor is. */
  insert(text) {
    this.view.dispatch(this.view.state.replaceSelection(text));
    this.view.focus();
  }

  /** Mark a part of the text with a sentence; without a part, marks are gone. */
  mark(from, to, message) {
    const length = this.view.state.doc.length;
    const marks = from === undefined ? []
      : [{ from: Math.min(from, length), to: Math.min(to, length), severity: "error", message }];
    this.view.dispatch(setDiagnostics(this.view.state, marks));
  }

  focus() {
    this.view.focus();
  }
}
