"""The dot commands: a table of them, and what each one does."""

from __future__ import annotations

import argparse
import re
import shlex
from typing import TYPE_CHECKING, NoReturn

from raydb.engine.shell.endings import QuitError
from raydb.engine.shell.outside.commands import (
    change_folder,
    edit,
    open_database,
    run_program,
    write_dump,
)
from raydb.engine.shell.render.answer import Answer
from raydb.engine.shell.render.modes import MODES, OTHER_NAMES
from raydb.engine.shell.render.output import default_pager, terminal_columns
from raydb.engine.shell.render.words import padded, plain, width
from raydb.engine.shell.schema import (
    attached_names,
    has_external_access,
    import_statement,
    relation_names,
    schema_statements,
)
from raydb.errors import Error, OperationalError, ProgrammingError, did_you_mean
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raydb.engine.shell.session import Shell

    Run = Callable[[Shell, Sequence[str]], None]

_BVHS = """
SELECT name, table_name, scan, group_by, aggregate, row_count, size_bytes, hits, is_stale, obstacle
FROM bvhs()
"""
_SWITCH = {
    **dict.fromkeys(("on", "yes", "true", "1"), True),
    **dict.fromkeys(("off", "no", "false", "0"), False),
}
_ON_OFF = {True: "on", False: "off"}
_LINE_COLUMNS = 80
_IMPORT_USAGE = "[--csv] [--skip LINES] FILE TABLE"


@dataclass(frozen=True, slots=True)
class Command:
    """A dot command.

    arguments: as `.help` shows them. completes: what its argument is, for completion: command,
    file, mode, switch, table or nothing. takes: the least and the most arguments, or None where the
    rest of the line is one argument as it stands. reaches_outside: whether its arguments name a
    file or a program.
    """

    name: str
    arguments: str
    summary: str
    run: Run
    takes: tuple[int, int] | None = (0, 0)
    completes: str = ""
    details: str = ""
    reaches_outside: bool = False


def run_command(shell: Shell, line: str) -> None:
    """Run the dot command in a line.

    Raises ProgrammingError for a wrong one, OperationalError for one that is not allowed.
    """
    name, _, rest = line.strip().partition(" ")
    command = find_command(name.rstrip(";"))
    rest = rest.strip()
    if command.reaches_outside and rest and not has_external_access(shell.connection):
        raise OperationalError(
            f"command '{command.name}' is not allowed: external_access is off for this connection"
        )
    if command.takes is None:
        command.run(shell, [rest] if rest else [])
        return
    least, most = command.takes
    # What ends statements may end a command too, unless it is all that the command is given.
    text = rest.rstrip("; \t") or rest * bool(least)
    try:
        arguments = shlex.split(text)
    except ValueError as error:
        raise ProgrammingError(f"{command.name}: a quote in '{rest}' does not end") from error
    if not least <= len(arguments) <= most:
        usage = f"{command.name} {command.arguments}".strip()
        raise ProgrammingError(f"{command.name} is used as: {usage}")
    command.run(shell, arguments)


def find_command(name: str) -> Command:
    """Return the command of a name, or of the beginning of only one name."""
    name = name.lower() if name.startswith(".") else f".{name.lower()}"
    if name in COMMANDS:
        return COMMANDS[name]
    if name in _OTHER_NAMES:
        return COMMANDS[_OTHER_NAMES[name]]
    # One letter is not enough: to psql's users \d describes a table, and here it would dump all.
    found = [known for known in COMMANDS if known.startswith(name) and len(name) > 2]
    if len(found) == 1:
        return COMMANDS[found[0]]
    if found:
        raise ProgrammingError(f"command '{name}' may be {' or '.join(found)}")
    near = did_you_mean(name, COMMANDS)
    raise ProgrammingError(f"command '{name}' does not exist{near or '; .help lists them'}")


# -- what the commands do


def _explain(shell: Shell, arguments: Sequence[str]) -> None:
    text = arguments[0] if arguments else ""
    word, _, rest = text.partition(" ")
    is_measured = word.lower() == "analyze"
    query = (rest if is_measured else text).strip() or shell.last_query
    if query is None:
        raise ProgrammingError(".explain needs a query: none was run before")
    shell.run_statement(f"EXPLAIN {'ANALYZE ' if is_measured else ''}{query}", is_plan=True)


def _help(shell: Shell, arguments: Sequence[str]) -> None:
    if arguments:
        command = find_command(arguments[0])
        shell.write(f"{_usage(command)}\n{command.summary}\n{command.details}".rstrip() + "\n")
        return
    widest = max(width(_usage(command)) for command in COMMANDS.values())
    lines = [f"{padded(_usage(c), widest)}  {c.summary}" for c in COMMANDS.values()]
    shell.write("\n".join([*lines, "", *_KEYS]) + "\n")


def _import(shell: Shell, arguments: Sequence[str]) -> None:
    parser = _ImportParser(prog=".import", add_help=False, allow_abbrev=False)
    parser.add_argument("--csv", dest="format", action="store_const", const="csv")
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("file")
    parser.add_argument("table")
    given = parser.parse_args(arguments)
    statement = import_statement(
        shell.connection, given.file, given.table, given.format, given.skip
    )
    try:
        shell.run_statement(statement)
    except Error as error:
        # Its place is in a statement that nobody has written.
        error.position = None
        raise


class _ImportParser(argparse.ArgumentParser):
    """Raises the errors of a dot command."""

    def error(self, message: str) -> NoReturn:
        """Raise ProgrammingError; the message is argparse's, which names the option."""
        raise ProgrammingError(f".import is used as: .import {_IMPORT_USAGE} ({message})")


def _max_rows(shell: Shell, arguments: Sequence[str]) -> None:
    (text,) = arguments
    if not text.isascii() or not text.isdigit():
        raise ProgrammingError(f".maxrows is a number of rows, 0 for all, not '{text}'")
    shell.change(max_rows=int(text))


def _mode(shell: Shell, arguments: Sequence[str]) -> None:
    if not arguments:
        shell.write(f"{shell.settings.mode}\n")
        return
    name = OTHER_NAMES.get(arguments[0].lower(), arguments[0].lower())
    if name not in MODES:
        near = did_you_mean(name, MODES) or f"; there are {', '.join(MODES)}"
        raise ProgrammingError(f"mode '{arguments[0]}' does not exist{near}")
    shell.change(mode=name)


def _output(shell: Shell, arguments: Sequence[str]) -> None:
    if arguments:
        shell.output.choose_file(arguments[0], once=False)
    else:
        shell.output.choose_standard()


def _pager(shell: Shell, arguments: Sequence[str]) -> None:
    match arguments:
        case []:
            shell.write(f"{shell.output.pager or 'off'}\n")
        case ["off"]:
            shell.output.pager = ""
        case ["on"]:
            shell.output.pager = default_pager()
            if not shell.output.pager:
                raise ProgrammingError("there is no pager: PAGER is empty or less is not installed")
        case _:
            shell.output.pager = arguments[0]


def _quit(shell: Shell, arguments: Sequence[str]) -> None:
    raise QuitError


def _schema(shell: Shell, arguments: Sequence[str]) -> None:
    statements = list(schema_statements(shell.connection, *arguments))
    if statements:
        shell.write("\n".join(statements) + "\n")
    elif shell.is_interactive:
        shell.tell("there are no tables yet")


def _show(shell: Shell, arguments: Sequence[str]) -> None:
    settings = shell.settings
    rows = {
        ".bail": _ON_OFF[settings.bail],
        ".headers": _ON_OFF[settings.has_headers],
        ".maxrows": "auto" if settings.max_rows is None else str(settings.max_rows),
        ".mode": settings.mode,
        ".nullvalue": settings.null,
        ".separator": "" if settings.separator is None else repr(settings.separator)[1:-1],
        ".width": " ".join(map(str, settings.widths)),
        ".output": shell.output.path or "",
        ".pager": shell.output.pager or "off",
        ".timer": _ON_OFF[settings.timer],
    }
    shell.write("".join(f"{name:10} {value}".rstrip() + "\n" for name, value in rows.items()))


def _separator(shell: Shell, arguments: Sequence[str]) -> None:
    (text,) = arguments
    for written, meant in (("\\t", "\t"), ("\\n", "\n"), ("\\\\", "\\")):
        text = text.replace(written, meant)
    shell.change(separator=text)


def _width(shell: Shell, arguments: Sequence[str]) -> None:
    if not all(re.fullmatch("-?[0-9]{1,9}", each) for each in arguments):
        raise ProgrammingError(f".width is numbers of columns, not '{' '.join(arguments)}'")
    shell.change(widths=tuple(map(int, arguments)))


def _databases(shell: Shell, arguments: Sequence[str]) -> None:
    rows = shell.connection.execute("PRAGMA database_list").fetchall()
    shell.write("".join(f"{plain(name)}: {file or 'in memory'}\n" for _, name, file in rows))


def _tables(shell: Shell, arguments: Sequence[str]) -> None:
    names = [plain(name) for name in sorted(relation_names(shell.connection, *arguments))]
    if not arguments:
        names += [
            plain(f"{database}.{name}")
            for database, tables in attached_names(shell.connection).items()
            for name in tables
        ]
    if names:
        limit = terminal_columns() if shell.output.is_terminal else _LINE_COLUMNS
        shell.write(_in_columns(names, limit))
    elif arguments:
        near = did_you_mean(arguments[0], relation_names(shell.connection))
        raise ProgrammingError(f"there is no table or view '{arguments[0]}'{near}")
    elif shell.is_interactive:
        shell.tell("there are no tables yet")


def _switch(command: str, setting: str = "") -> Run:
    """Return what a command does that turns a setting, by default its namesake, on or off."""

    def run(shell: Shell, arguments: Sequence[str]) -> None:
        if arguments[0].lower() not in _SWITCH:
            raise ProgrammingError(f".{command} is on or off, not '{arguments[0]}'")
        shell.change(**{setting or command: _SWITCH[arguments[0].lower()]})

    return run


def _query(sql: str) -> Run:
    """Return what a command does that shows the answer of a query."""
    return lambda shell, _: shell.show(Answer.of(shell.connection.execute(sql)))


def _usage(command: Command) -> str:
    return f"{command.name} {command.arguments}".rstrip()


def _in_columns(names: Sequence[str], limit: int) -> str:
    """Return names in columns, read from above, as `ls` writes them.

    >>> print(_in_columns(["a", "b", "c"], 5), end="")
    a  c
    b
    """
    columns = max(map(width, names)) + 2
    per_line = max((limit + 2) // columns, 1)
    lines = -(-len(names) // per_line)
    return "".join(
        "".join(padded(name, columns) for name in names[line::lines]).rstrip() + "\n"
        for line in range(lines)
    )


_LISTED = (
    Command(
        ".bail", "on|off", "stop a script at its first error", _switch("bail"), (1, 1), "switch",
        "Without it a script goes on. The exit code is 1 in both cases.",
    ),
    Command(
        ".bvhs", "", "list the BVHs, their size and how often queries used them", _query(_BVHS)
    ),
    Command(
        ".cd", "FOLDER", "make a folder the one that relative paths begin at",
        change_folder, (1, 1), "file", reaches_outside=True,
    ),
    Command(".databases", "", "list the databases that are attached, and their files", _databases),
    Command(
        ".dump", "[NAME]", "write the statements that make tables and views again, rows and all",
        write_dump, (0, 1), "table",
        "The name may be a pattern such as lo_%. The shell reads them again with .read or -f, and"
        " other databases but for what is RayDB's own, which comes last.",
    ),
    Command(
        ".edit", "", "open $VISUAL or $EDITOR on the last statement, and run what is saved", edit
    ),
    Command(
        ".explain", "[analyze] [QUERY]", "show the plan of a query, or of the last one",
        _explain, None, "",
        "With analyze the query runs, and the plan has its times.",
    ),
    Command(
        ".headers", "on|off", "show the names of the columns",
        _switch("headers", "has_headers"), (1, 1), "switch",
        "Markdown tables always have them, and so have line and both JSON modes.",
    ),
    Command(".help", "[COMMAND]", "list the commands, or explain one", _help, (0, 1), "command"),
    Command(
        ".import", _IMPORT_USAGE, "read a file into a table, which is made where it is absent",
        _import, (0, 6), "file",
        "The extension of the file tells its format: .csv, .tsv, .jsonl, .parquet, .flat, .tbl,"
        " .xlsx; --csv says that it is CSV. --skip leaves out lines at its beginning. A new table"
        " has the columns and types that FROM 'FILE' finds.",
        reaches_outside=True,
    ),
    Command(".indexes", "", "list the indexes", _query("SELECT * FROM indexes()")),
    Command(
        ".maxrows", "NUMBER", "show at most so many rows in a box or table, 0 for all",
        _max_rows, (1, 1), "",
        "By default a terminal without a pager gets 40 rows, the first 20 and the last 20; a pager,"
        " a pipe or a file gets all.",
    ),
    Command(
        ".mode", "[NAME]", "choose the shape of answers, or tell it", _mode, (0, 1), "mode",
        f"The shapes are {', '.join(MODES)}.",
    ),
    Command(
        ".nullvalue", "TEXT", "choose what stands for NULL",
        lambda shell, words: shell.change(null=plain(words[0])), (1, 1), "",
        "CSV, TSV and JSON are for programs and keep their own.",
    ),
    Command(
        ".once", "FILE", "write the next answer to a file",
        lambda shell, words: shell.output.choose_file(words[0], once=True), (1, 1), "file",
        reaches_outside=True,
    ),
    Command(
        ".open", "[--readonly] [DATABASE]", "open another database, or one in memory",
        open_database, (0, 2), "file",
        "The one before is closed, and an open transaction in it rolled back.",
        reaches_outside=True,
    ),
    Command(
        ".output", "[FILE]", "write answers to a file, or to the terminal again",
        _output, (0, 1), "file",
        "A file that exists is replaced.",
        reaches_outside=True,
    ),
    Command(
        ".pager", "[on|off|PROGRAM]", "show long answers in a pager, or tell which one",
        _pager, (0, 1), "switch",
        "On a terminal, an answer that is longer than it goes to $PAGER, or to less.",
        reaches_outside=True,
    ),
    Command(
        ".print", "[TEXT]", "write a text where answers go",
        lambda shell, words: shell.write("".join(words) + "\n"), None,
    ),
    Command(".quit", "", "leave the shell; an open transaction is rolled back", _quit),
    Command(
        ".read", "FILE", "run the statements and dot commands of a file",
        lambda shell, words: shell.run_file(words[0]), (1, 1), "file",
        reaches_outside=True,
    ),
    Command(
        ".schema", "[NAME]", "write the statements that make the tables and views",
        _schema, (0, 1), "table",
        "The name may be a pattern such as lo_%.",
    ),
    Command(
        ".separator", "TEXT", "choose what stands between the values of list and CSV",
        _separator, (1, 1), "",
        "\\t is a tab. CSV takes one character.",
    ),
    Command(
        ".shell", "COMMAND", "run a command in the system's shell",
        run_program, None, "file", reaches_outside=True,
    ),
    Command(".show", "", "show what the commands have set", _show),
    Command(
        ".tables", "[NAME]", "list the tables and views", _tables, (0, 1), "table",
        "The name may be a pattern such as lo_%.",
    ),
    Command(
        ".timer", "on|off", "tell the rows and the time of each statement",
        _switch("timer"), (1, 1), "switch",
        "It is on at first on a terminal.",
    ),
    Command(
        ".width", "[NUMBER ...]", "choose how wide the columns of a box are, from the left",
        _width, (0, 1000), "",
        "0 is what a column needs, and below 0 texts are at the right. Without numbers all columns"
        " have what they need.",
    ),
)  # fmt: skip
COMMANDS = {command.name: command for command in _LISTED}
_OTHER_NAMES = {
    ".exit": ".quit",
    ".q": ".quit",
    ".system": ".shell",
    ".header": ".headers",
    ".indices": ".indexes",
}

_KEYS = (
    "A statement ends with ';' and may have many lines. Tab completes, Ctrl-R searches what was",
    "typed before, Ctrl-C forgets a line or cancels a statement, Ctrl-D leaves.",
)
