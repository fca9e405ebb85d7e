"""The dot commands that reach outside: another database, a folder, a program, an editor."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import raydb
from raydb.engine.shell.outside.dump import dump
from raydb.engine.shell.schema import has_external_access
from raydb.errors import OperationalError, ProgrammingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.engine.shell.session import Shell


def open_database(shell: Shell, arguments: Sequence[str]) -> None:
    """Open another database instead; where that fails, the one before stays."""
    paths = [each for each in arguments if each != "--readonly"]
    if len(paths) > 1:
        raise ProgrammingError(".open is used as: .open [--readonly] [DATABASE]")
    access = has_external_access(shell.connection)
    connection = raydb.connect(
        str(Path(paths[0]).expanduser()) if paths else None,
        read_only="--readonly" in arguments,
        external_access=access,
    )
    shell.use(connection)


def change_folder(shell: Shell, arguments: Sequence[str]) -> None:
    """Make a folder the one that relative paths begin at."""
    (path,) = arguments
    try:
        os.chdir(Path(path).expanduser())
    except (OSError, ValueError, RuntimeError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise OperationalError(f"folder '{path}' cannot be entered: {reason}") from error


def run_program(shell: Shell, arguments: Sequence[str]) -> None:
    """Run a line in the system's shell; what it writes goes where the shell's own output goes."""
    if not arguments:
        raise ProgrammingError(".shell is used as: .shell COMMAND")
    sys.stdout.flush()
    done = subprocess.run(arguments[0], shell=True, check=False)  # noqa: S602  (the user's own line)
    if done.returncode:
        raise OperationalError(f"the command ended with code {done.returncode}")


def edit(shell: Shell, arguments: Sequence[str]) -> None:
    """Open an editor on the last statement, and run what is saved."""
    if not has_external_access(shell.connection):
        raise OperationalError(
            "command '.edit' is not allowed: external_access is off for this connection"
        )
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="raydb-") as folder:
        path = Path(folder, "statement.sql")
        path.write_text(shell.last_statement or "", encoding="utf-8")
        try:
            done = subprocess.run([*shlex.split(editor), str(path)], check=False)  # noqa: S603  (the user's own editor)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise OperationalError(f"the editor '{editor}' cannot be run: {reason}") from error
        if done.returncode:
            raise OperationalError(f"the editor '{editor}' ended with code {done.returncode}")
        text = path.read_text(encoding="utf-8")
    if text.strip():
        shell.run_text(text)


def write_dump(shell: Shell, arguments: Sequence[str]) -> None:
    """Write the statements that make tables and views again."""
    with shell.output.writing() as write:
        for statement in dump(shell.connection, *arguments):
            write(f"{statement}\n")
