"""The history: statements that were typed before, in a file that sessions share.

The file is $RAYDB_HISTORY, by default history in $XDG_STATE_HOME/raydb (~/.local/state/raydb);
RAYDB_HISTORY=off keeps nothing. Only its owner can read it: statements may hold what is private.
Those with credentials are not written at all; the session itself goes back to them.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.history import FileHistory, InMemoryHistory

from raydb.engine.shell.secrecy import holds_secret

if TYPE_CHECKING:
    from prompt_toolkit.history import History

# A file with more entries is cut to this many when a session begins.
MAX_ENTRIES = 10_000

# In the file of prompt_toolkit each entry begins with a line '# <time>', after an empty one, and
# each line of the entry with '+'.
_ENTRY = b"\n# "


def history_path() -> Path | None:
    """Return the file of the history, None where none is wanted."""
    chosen = os.environ.get("RAYDB_HISTORY")
    if chosen in {"", "off"}:
        return None
    if chosen is not None:
        return Path(chosen).expanduser()
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "raydb" / "history"


def open_history() -> tuple[History, str]:
    """Return the history, and what is wrong where it cannot be kept (else an empty text)."""
    path = history_path()
    if path is None:
        return InMemoryHistory(), ""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        path.chmod(0o600)
        _forget_oldest(path)
    except OSError as error:
        return InMemoryHistory(), _unkept(path, error)
    return _KeptHistory(path), ""


def _forget_oldest(path: Path) -> None:
    """Keep only the newest entries of a file. Another session's new ones may be lost with them."""
    entries = path.read_bytes().split(_ENTRY)
    if len(entries) - 1 <= MAX_ENTRIES:
        return
    kept = path.with_name(f"{path.name}.{os.getpid()}")
    file = os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(file, "wb") as stream:
            stream.write(b"".join(_ENTRY + entry for entry in entries[-MAX_ENTRIES:]))
        kept.replace(path)
    except OSError:
        with suppress(OSError):
            kept.unlink()
        raise


def _unkept(path: Path, error: OSError) -> str:
    return f"the history is not kept: file '{path}': {(error.strerror or str(error)).lower()}"


class _KeptHistory(FileHistory):
    """A history whose file may fill the disk or vanish; then the session goes on without it."""

    def store_string(self, string: str) -> None:
        """Append an entry to the file, in which bytes that are no text are replaced."""
        if holds_secret(string):
            return
        with suppress(OSError):
            super().store_string(string.encode("utf-8", "replace").decode())
