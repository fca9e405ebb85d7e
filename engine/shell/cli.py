"""The command `raydb`: its options, and the exit code.

    raydb shop.raydb                                  a session on the terminal
    raydb shop.raydb -c "SELECT count(*) FROM sales"
    raydb --csv -c "SELECT * FROM 'sales.parquet' WHERE year = 1994" | head
    raydb shop.raydb --bail < script.sql
    raydb flat inspect pets.flat
    raydb serve shop.raydb
    raydb ui shop.raydb

A session on a terminal begins with the statements and dot commands of ~/.raydbrc; see `rc_file`.

Exit codes: 0 all went well, 1 a statement or a command failed, 2 the options are wrong, 130 it was
interrupted (Ctrl-C), 141 the reader of the output has left.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import raydb
from raydb.engine.shell.endings import BailError, QuitError
from raydb.engine.shell.error_display import complaint
from raydb.engine.shell.process import run_alone
from raydb.engine.shell.render.colors import is_dumb, shows_colors
from raydb.engine.shell.render.modes import MODES, OTHER_NAMES
from raydb.engine.shell.session import Settings, Shell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SUCCESS, FAILURE = 0, 1
# As a program that the signal SIGINT or SIGPIPE ended.
INTERRUPTED, READER_LEFT = 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    if arguments is None:
        return run_alone(lambda: main(sys.argv[1:]))
    given = list(arguments)
    if sys.stderr is None:  # As Python has it where a stream is closed.
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        _complain(raydb.OperationalError("standard output cannot be written: it is closed"))
        return FAILURE
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # What a terminal has no character for is no reason to end.
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(given)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        _drop_output()
        return READER_LEFT
    except KeyboardInterrupt:
        return INTERRUPTED
    except raydb.Error as error:
        _complain(error)
        return FAILURE
    except OSError as error:
        _drop_output()
        reason = (error.strerror or str(error)).lower()
        _complain(raydb.OperationalError(f"standard output cannot be written: {reason}"))
        return FAILURE


def _run(given: list[str]) -> int:
    for words, run in _SUBCOMMANDS.items():
        if tuple(given[: len(words)]) == words:
            return run(given[len(words) :])
    for first, *others in _SUBCOMMANDS:
        if others and given[:1] == [first]:
            # Not a new database: a word was left out or misspelt.
            usage = (
                f"'{first}' is followed by '{others[0]}'; a database of that name is './{first}'"
            )
            argparse.ArgumentParser(prog="raydb").error(usage)
    return _run_shell(given)


def _drop_output() -> None:
    """Let what Python would write at its exit go nowhere, as there is nowhere to go."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(error: raydb.Error) -> None:
    sys.stderr.write(complaint(error, is_colored=shows_colors(sys.stderr)))


def _run_shell(given: list[str]) -> int:
    options = _parser().parse_args(given)
    connection = raydb.connect(options.database, read_only=options.readonly)
    has_terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    is_interactive = not options.scripts and has_terminal
    settings = Settings(options.mode or "box", bail=options.bail, timer=is_interactive)
    shell = Shell(connection, settings, is_interactive=is_interactive)
    try:
        _begin(shell, options)
        if is_interactive:
            _interact(shell, options)
        else:
            _run_scripts(shell, options.scripts or [("file", "-")])
    except QuitError:
        pass
    except BailError:
        shell.failed = True
    finally:
        shell.close()
    return FAILURE if shell.failed and not is_interactive else SUCCESS


def _begin(shell: Shell, options: argparse.Namespace) -> None:
    """Run the file of --init or, on a terminal, the user's own; the command line has the last word.

    What is wrong in the user's own file is told, and keeps nobody from working.
    """
    if options.init is not None:
        _run_scripts(shell, [("file", options.init)])
    elif shell.is_interactive and not options.no_rc:
        with suppress(BailError):
            _run_scripts(shell, [("file", str(path)) for path in rc_files()])
    if options.mode is not None:
        shell.change(mode=options.mode)
    if options.bail:
        shell.change(bail=True)


def rc_files() -> list[Path]:
    """Return the user's own file, the first that exists of two, in a list that may be empty.

    raydb/raydbrc in $XDG_CONFIG_HOME (~/.config), and ~/.raydbrc.
    """
    config = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    paths = (Path(config, "raydb", "raydbrc"), Path("~/.raydbrc"))
    found = []
    for path in paths:
        with suppress(OSError, RuntimeError):  # A home that nobody knows has no files.
            if path.expanduser().exists():
                found.append(path.expanduser())
    return found[:1]


def _run_scripts(shell: Shell, scripts: Sequence[tuple[str, str]]) -> None:
    for kind, text in scripts:
        if kind == "text":
            shell.run_text(text)
        elif text == "-":
            shell.run_lines(_standard_input(), "stdin")
        else:
            try:
                shell.run_file(text)
            except (raydb.DataError, raydb.OperationalError) as error:
                shell.complain(error)
                if shell.settings.bail:
                    raise BailError from error


def _standard_input() -> Iterator[str]:
    """Yield the lines of standard input as they come, without a byte order mark."""
    # Python has no stdin where it is closed.
    for number, line in enumerate(() if sys.stdin is None else sys.stdin.buffer, 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise raydb.DataError(f"standard input, line {number} is not UTF-8") from error


def _interact(shell: Shell, options: argparse.Namespace) -> None:
    if is_dumb():
        from raydb.engine.shell.input import read_lines  # noqa: PLC0415  (for terminals only)

        read_lines(shell)
        return
    # prompt_toolkit takes longer to import than a script to run.
    from raydb.engine.shell.repl import greet, read_statements  # noqa: PLC0415

    greet(shell, options.database, is_read_only=options.readonly)
    read_statements(shell)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="raydb",
        description="Run SQL statements and show their answers: those of -c and -f, else those of"
        " standard input, which may be a terminal.",
        epilog="Exit codes: 0 all went well, 1 a statement failed, 2 the options are wrong, 130"
        " interrupted, 141 the reader of the output has left. 'raydb flat inspect FILE' draws a"
        " FlatStor file: its chunks, encodings and sizes. 'raydb doctor' says which backends this"
        " machine has, and checks and times each. 'raydb serve DATABASE' is a Flight SQL server."
        " 'raydb ui DATABASE' shows it on a page in the browser."
        " 'raydb compile' compiles the loops that otherwise"
        " the first statements wait for. In a session, .help lists the commands.",
        allow_abbrev=False,
    )
    parser.add_argument("database", nargs="?", help="a database directory; in memory without one")
    parser.add_argument(
        "-c", dest="scripts", action="append", type=lambda text: ("text", text), metavar="SQL",
        help="run statements or a dot command; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "-f", dest="scripts", action="append", type=lambda path: ("file", path), metavar="FILE",
        help="run a file of them, - for standard input",
    )  # fmt: skip
    parser.add_argument(
        "--init", metavar="FILE", help="run a file first, instead of ~/.raydbrc on a terminal"
    )
    parser.add_argument("--no-rc", action="store_true", help="run no ~/.raydbrc")
    parser.add_argument("--bail", action="store_true", help="stop at the first error")
    parser.add_argument("--readonly", action="store_true", help="leave the database as it is")
    parser.add_argument("--version", action="version", version=f"RayDB {raydb.__version__}")
    shape = parser.add_mutually_exclusive_group()
    for name in (*MODES, *OTHER_NAMES):
        hidden = argparse.SUPPRESS if name in OTHER_NAMES else f"write answers as {name}"
        chosen = OTHER_NAMES.get(name, name)
        shape.add_argument(
            f"--{name}", dest="mode", action="store_const", const=chosen, help=hidden
        )
    parser.set_defaults(scripts=[], mode=None)
    return parser


def _inspect(given: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="raydb flat inspect")
    parser.add_argument("file", help="the FlatStor file to draw")
    sys.stdout.write(f"{raydb.flatstor.inspect(parser.parse_args(given).file)}\n")
    return SUCCESS


def _doctor(given: list[str]) -> int:
    """`raydb doctor`: which backends this machine has, checked and timed."""
    from raydb.engine.doctor import main  # noqa: PLC0415  (asked for seldom)

    argparse.ArgumentParser(
        prog="raydb doctor",
        description="Say which backends this machine has, and check and time each.",
    ).parse_args(given)
    return main()


def _compile(given: list[str]) -> int:
    """`raydb compile`: compiles what later processes then load."""
    from raydb.engine.compile_loops import main  # noqa: PLC0415  (asked for seldom)

    argparse.ArgumentParser(
        prog="raydb compile",
        description="Compile the loops that queries, vector searches and motifs need, and keep them"
        " in the folder RAYDB_CACHE_DIR, or else where 'raydb doctor' says. It takes some minutes.",
    ).parse_args(given)
    return main()


def _serve(given: list[str]) -> int:
    """`raydb serve`: a Flight SQL server."""
    from raydb.engine.serve.command import main  # noqa: PLC0415  (it imports pyarrow.flight)

    return main(given)


def _ui(given: list[str]) -> int:
    """`raydb ui`: a page in the browser."""
    from raydb.engine.ui.command import main  # noqa: PLC0415  (an extra)

    return main(given)


# Other commands by the words that they begin with; each gets the rest of the command line.
_SUBCOMMANDS: dict[tuple[str, ...], Callable[[list[str]], int]] = {
    ("compile",): _compile,
    ("doctor",): _doctor,
    ("flat", "inspect"): _inspect,
    ("serve",): _serve,
    ("ui",): _ui,
}
