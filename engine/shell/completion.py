"""Completion: what may come next in a statement or a dot command.

    SELECT am|                 columns (those of the tables in FROM first), functions, keywords
    FROM sa|                   tables and views, table functions
    FROM motif_count(sales, s| the arguments of table functions
    s.|                        the columns of the table that s stands for
    'sal|                      files
    SET |                      settings
    .mode |                    the argument of a dot command

No SQL is parsed for it: what stands before the cursor mostly is no statement yet.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, Any

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

import raydb
from raydb.engine.context.setting import SETTINGS
from raydb.engine.shell.commands import COMMANDS
from raydb.engine.shell.render.modes import MODES
from raydb.engine.shell.schema import (
    ColumnInfo,
    attached_names,
    columns_by_relation,
    has_external_access,
)
from raydb.engine.table_functions.registered import TABLE_FUNCTIONS
from raydb.keywords import KEYWORDS, Scanner, quoted
from raydb.names import fold, index_names
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# After these words comes the name of a table.
_BEFORE_TABLE = {"FROM", "JOIN", "INTO", "UPDATE", "TABLE", "DESCRIBE", "SUMMARIZE", "REFERENCES"}
# As the first word of a statement, the name of a setting.
_BEFORE_SETTING = {"SET", "RESET", "SHOW"}
_NAME = re.compile(r'"(?:[^"]|"")*"?|[^\W\d]\w*|[.,()]')
_TYPED = re.compile(r'(?:"(?:[^"]|"")*"?|[^\W\d]\w*)?$')


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The names that a statement may use.

    functions: the kind of each, such as 'aggregate'. attached: the tables and views of databases.
    """

    relations: Mapping[str, list[ColumnInfo]] = field(default_factory=dict)
    functions: Mapping[str, str] = field(default_factory=dict)
    attached: Mapping[str, list[str]] = field(default_factory=dict)


def read_vocabulary(connection: Any) -> Vocabulary:
    """Return the names that a database knows; none while it cannot be read."""
    try:
        functions = dict(connection.execute("SELECT name, kind FROM functions()").fetchall())
        return Vocabulary(columns_by_relation(connection), functions, attached_names(connection))
    except raydb.Error:
        return Vocabulary()


class SqlCompleter(Completer):
    """Completes statements and dot commands on the names of a connection.

    The names are read when they are first needed after `forget`.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._vocabulary: Vocabulary | None = None

    def forget(self, connection: Any = None) -> None:
        """Read the names again next time, of another connection where one is given.

        A statement may have changed them.
        """
        self._connection = connection or self._connection
        self._vocabulary = None

    def get_completions(
        self,
        document: Document,
        complete_event: CompleteEvent,  # noqa: ARG002
    ) -> Iterator[Completion]:
        """Yield what may stand at the cursor."""
        before = document.text_before_cursor
        if before.lstrip().startswith(".") and "\n" not in before.strip():
            yield from self._command_completions(before.lstrip())
            return
        scanner = Scanner()
        pieces = list(scanner.scan(before))
        if pieces and pieces[-1][0] == "comment":
            return
        if scanner.opener == "'":
            yield from self._files(pieces[-1][1][1:])
        elif not scanner.opener or scanner.opener == '"':
            yield from complete_sql(document.text, before, self._known())

    def _files(self, typed: str) -> Iterator[Completion]:
        if has_external_access(self._connection):
            yield from PathCompleter(expanduser=True).get_completions(
                Document(typed, len(typed)), CompleteEvent(completion_requested=True)
            )

    def _known(self) -> Vocabulary:
        if self._vocabulary is None:
            self._vocabulary = read_vocabulary(self._connection)
        return self._vocabulary

    def _command_completions(self, before: str) -> Iterator[Completion]:
        name, space, argument = before.partition(" ")
        if not space:
            for command in COMMANDS.values():
                if command.name.startswith(name.lower()):
                    yield Completion(
                        command.name, start_position=-len(name), display_meta=command.summary
                    )
            return
        known = COMMANDS.get(name.lower())
        match "" if known is None else known.completes:
            case "file":
                yield from self._files(argument)
            case "mode":
                yield from _starting(argument, MODES)
            case "switch":
                yield from _starting(argument, ("on", "off"))
            case "table":
                yield from _starting(argument, sorted(self._known().relations))
            case "command":
                yield from _starting(argument, COMMANDS)
        if name.lower() == ".explain":
            yield from complete_sql(argument, argument, self._known())


def complete_sql(text: str, before: str, known: Vocabulary) -> Iterator[Completion]:
    """Yield the completions of a statement whose text before the cursor is given."""
    found = _TYPED.search(before)
    typed = "" if found is None else found[0]
    words = _names(before[: len(before) - len(typed)])
    if words[-1:] == ["."]:
        source = fold(_plain(words[-2])) if len(words) > 1 else ""
        relation = _sources(text, known).get(source)
        yield from _columns(typed, [] if relation is None else [relation], known)
        for name, tables in known.attached.items():
            if fold(name) == source:
                yield from _starting(typed, tables, f"table of {name}", quotes=True)
        return
    last = words[-1].upper() if words else ""
    if last in _BEFORE_SETTING and len(words) == 1:
        yield from _starting(typed, sorted(SETTINGS), "setting")
    call = TABLE_FUNCTIONS.get(_open_call(words))
    if call is not None and last == ",":
        for name in call.named:
            if name.startswith(typed.lower()):
                yield Completion(f"{name} => ", start_position=-len(typed), display_meta=call.name)
    if call is not None and call.searches and last == "(":
        for name in sorted(known.relations):
            yield from _starting(typed, [name], "table", quotes=True)
        return
    if last in _BEFORE_TABLE or (last == "," and _is_in_from(words)):
        for name in sorted(known.relations):
            yield from _starting(typed, [name], "table", quotes=True)
        yield from _starting(typed, known.attached, "database", quotes=True)
        yield from _functions(typed, known, {"table"})
        return
    if not typed and not words:
        return
    sources = list(dict.fromkeys(_sources(text, known).values()))
    yield from _columns(typed, sources, known)
    if not typed:
        return
    others = [name for name in known.relations if name not in sources]
    yield from _starting(typed, sources + others, "table", quotes=True)
    yield from _functions(typed, known, {"scalar", "aggregate", "window"})
    keywords = sorted(KEYWORDS)
    yield from _starting(
        typed, [word.lower() for word in keywords] if typed.islower() else keywords, "keyword"
    )
    if not sources:
        yield from _columns(typed, list(known.relations), known)


def _names(text: str) -> list[str]:
    """Return the names, dots, commas and brackets of a text, without strings and comments."""
    pieces = Scanner().scan(text)
    code = "".join(piece if kind in {"code", "name"} else " ; " for kind, piece in pieces)
    return _NAME.findall(code.rpartition(";")[2] if code.strip().endswith(";") else code)


def _open_call(words: list[str]) -> str:
    """Return the name of the function whose parenthesis is the last open one, '' if none is."""
    depth = 0
    for place in range(len(words) - 1, 0, -1):
        depth += (words[place] == ")") - (words[place] == "(")
        if depth < 0:
            return words[place - 1].lower()
    return ""


def _is_in_from(words: list[str]) -> bool:
    """Say whether the last clause that begins before the end is FROM."""
    clauses = {"SELECT", "FROM", "WHERE", "GROUP", "ORDER", "HAVING", "ON", "USING", "("}
    last = next((word.upper() for word in reversed(words) if word.upper() in clauses), "")
    return last == "FROM"


def _sources(text: str, known: Vocabulary) -> dict[str, str]:
    """Return the tables that a statement names, by their folded names and those given to them."""
    relations = list(known.relations)
    index, words = index_names(relations), _names(text)
    sources: dict[str, str] = {}
    for place, word in enumerate(words):
        found = index.places(_plain(word))
        if not found or words[place + 1 : place + 2] == ["."]:
            continue
        name = relations[found[0]]
        sources[fold(name)] = name
        after = [w for w in words[place + 1 : place + 3] if w.upper() != "AS"]
        if after and after[0] not in ".,()" and after[0].upper() not in KEYWORDS:
            sources[fold(_plain(after[0]))] = name
    return sources


def _plain(word: str) -> str:
    return word.strip('"').replace('""', '"')


def _columns(typed: str, relations: Iterable[str], known: Vocabulary) -> Iterator[Completion]:
    seen = set()
    for relation in relations:
        for column in known.relations[relation]:
            if column.name not in seen:
                seen.add(column.name)
                meta = f"{relation}: {column.type}"
                yield from _starting(typed, [column.name], meta, quotes=True)


def _functions(typed: str, known: Vocabulary, kinds: set[str]) -> Iterator[Completion]:
    for name, kind in sorted(known.functions.items()):
        if kind in kinds and typed and name.startswith(typed.lower()):
            yield Completion(f"{name}(", start_position=-len(typed), display_meta=kind)


def _starting(
    typed: str, names: Iterable[str], meta: str = "", *, quotes: bool = False
) -> Iterator[Completion]:
    """Yield the names that begin with what was typed, in any case."""
    prefix = fold(typed.lstrip('"'))
    for name in names:
        if fold(name).startswith(prefix):
            text = quoted(name) if quotes else name
            if typed.startswith('"') and not text.startswith('"'):
                text = f'"{text}"'
            yield Completion(text, start_position=-len(typed), display_meta=meta)
