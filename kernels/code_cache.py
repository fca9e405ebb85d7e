"""Where compiled loops are kept between processes, and who may have written them.

    <place>/<user>/<toolchain>/<loop>-<hash>.nbc

A place is the folder that RAYDB_CACHE_DIR names; without it the program's own folder, or the user's
cache where that one cannot be written. Whoever compiles writes to a folder of their own there.
Machine code is read from files of this user, of root and of the program's owner alone, who could
put other code into this process anyway. So a place may be shared by users, processes, versions and
kinds of processors. A toolchain is a hash of the sources of all loops and of what
compiles them for which processor; a file is one loop for arguments of some types. It comes into
being whole, under its last name, and is checked by its hash when it is read.

Of a user's processes that want a loop at once one compiles it, and the others wait for its file.
"""

from __future__ import annotations

import functools
import hashlib
import os
import stat
import sys
import tempfile
import threading
import time
from contextlib import suppress
from logging import getLogger
from pathlib import Path
from typing import TYPE_CHECKING

from raydb.values import dataclass

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from io import BufferedWriter

VARIABLE = "RAYDB_CACHE_DIR"

# Set where a loop was asked for that is not kept: this process or another one compiles it.
lacks = threading.Event()

_SOURCES = Path(__file__).parent
_SUFFIX = ".nbc"
_HASH_BYTES = 32

# Others may read what was compiled, as when an image is built by another user, and not write it.
_FILE_MODE, _FOLDER_MODE = 0o644, 0o755
_OTHERS_WRITE = 0o022

# Longer than a loop takes on a busy machine: a process that was stopped stops no other for good.
_WAIT_SECONDS = 60.0
_PAUSE_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Place:
    """What is known of a place: how many loops it has for this process, and in how many bytes.

    obstacle: why nothing can be written there, "" where it can.
    """

    path: Path
    loop_count: int
    size_bytes: int
    obstacle: str


def places() -> list[Path]:
    """Return the places, those that are tried first in front."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return [Path(chosen)]
    found = [_SOURCES / "__pycache__" / "loops"]
    user = user_folder()
    return found if user is None else [*found, user / "loops"]


def user_folder() -> Path | None:
    """Return the folder of the user's cache, None where there is no home."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    try:
        return Path(base or Path.home() / ".cache") / "raydb"
    except RuntimeError:
        return None


def load(toolchain: str, loop: str) -> bytes | None:
    """Return what was kept of a loop, None where nothing is that this process may run."""
    for place in places():
        for folder in _users(place):
            found = _read(folder / toolchain / f"{loop}{_SUFFIX}")
            if found is not None:
                return found
    lacks.set()
    return None


def save(toolchain: str, loop: str, code: bytes) -> None:
    """Keep a loop in the first place that can be written; without one the log tells it, once."""
    obstacles = []
    for place in places():
        try:
            folder = _own_folder(place, toolchain)
            _write(folder / f"{loop}{_SUFFIX}", code)
            return
        except OSError as error:
            obstacles.append(f"'{place}' ({_reason(error)})")
    _warn_once(" and ".join(obstacles))


@dataclass(frozen=True, slots=True)
class Claim:
    """A loop that this process compiles. The system ends it when the process dies."""

    path: Path
    file: BufferedWriter

    def end(self) -> None:
        """Let those go on that wait."""
        with self.file:
            with suppress(OSError):  # The folder may be read-only by now.
                self.path.unlink()
            # A process that was forked meanwhile has the file open, too.
            fcntl.flock(self.file, fcntl.LOCK_UN)


def claim(toolchain: str, loop: str) -> Claim | None:
    """Wait until no other process compiles a loop, which may be kept then.

    Returns None, and the loop is compiled beside others, where nothing can be written or locked, or
    another process has compiled it for a minute.
    """
    if sys.platform == "win32":  # Each process compiles for itself.
        return None
    for place in places():
        try:
            path = _own_folder(place, toolchain) / f"{loop}.lock"
            file = path.open("ab")
        except OSError:
            continue
        if _locked(file):
            return Claim(path, file)
        file.close()
        return None
    return None


def _locked(file: BufferedWriter) -> bool:
    until = time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < until:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE_SECONDS)
        except OSError:
            return False  # A file system without locks.
        else:
            return True
    return False


@functools.cache
def _warn_once(obstacles: str) -> None:
    getLogger("raydb").warning(
        "compiled loops cannot be kept, so every process compiles them anew: %s cannot be written"
        " to; %s names another folder, which 'raydb compile' fills",
        obstacles,
        VARIABLE,
    )


def examine(toolchain: str) -> list[Place]:
    """Return what is known of the places, up to the first that can be written."""
    found = []
    for place in places():
        found.append(_examine(place, toolchain))
        if not found[-1].obstacle:
            break
    return found


@functools.cache
def sources_hash() -> bytes:
    """Return a hash of all that loops are made of.

    A loop holds the code of those it calls, which may lie in other files than its own.
    """
    found = hashlib.sha256()
    for path in sorted(_SOURCES.rglob("*.py")):
        found.update(path.relative_to(_SOURCES).as_posix().encode() + b"\0")
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.digest()


# -- files


def _examine(place: Path, toolchain: str) -> Place:
    sizes: dict[str, int] = {}
    for folder in _users(place):
        try:
            for entry in os.scandir(folder / toolchain):
                if entry.name.endswith(_SUFFIX):
                    sizes.setdefault(entry.name, entry.stat().st_size)
        except OSError:
            continue  # Nothing was kept there.
    try:
        tempfile.TemporaryFile(dir=_own_folder(place, toolchain)).close()
        obstacle = ""
    except OSError as error:
        obstacle = _reason(error)
    return Place(place, len(sizes), sum(sizes.values()), obstacle)


def _users(place: Path) -> list[Path]:
    """Return the folders of all users at a place; whose files they are, `_read` looks at."""
    try:
        return sorted(place.iterdir())
    except OSError:
        return []


def _own_name() -> str:
    return str(os.geteuid()) if hasattr(os, "geteuid") else "user"


def _is_trusted(found: os.stat_result) -> bool:
    """Tell whether this process may run what a file holds."""
    if not hasattr(os, "geteuid"):
        return True
    owners = {os.geteuid(), 0, _SOURCES.stat().st_uid}
    return found.st_uid in owners and not found.st_mode & _OTHERS_WRITE


def _own_folder(place: Path, toolchain: str) -> Path:
    """Make this user's folder at a place. Raises OSError where it cannot be had."""
    place.mkdir(parents=True, exist_ok=True)
    own = place / _own_name()
    try:
        own.mkdir()
        own.chmod(_FOLDER_MODE)  # The umask may keep more or less from others.
    except FileExistsError:
        found = own.lstat()
        if not stat.S_ISDIR(found.st_mode) or not _is_trusted(found):
            raise PermissionError(0, f"others can write to '{own}'") from None
    folder = own / toolchain
    if not folder.is_dir():
        folder.mkdir(exist_ok=True)
        folder.chmod(_FOLDER_MODE)
    return folder


def _write(path: Path, code: bytes) -> None:
    """Write a file, which is there whole or not at all."""
    descriptor, name = tempfile.mkstemp(prefix=".", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(hashlib.sha256(code).digest() + code)
        Path(name).chmod(_FILE_MODE)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _read(path: Path) -> bytes | None:
    """Return what a file holds, None for one that is absent, damaged or of somebody else."""
    try:
        with path.open("rb") as file:
            if not _is_trusted(os.fstat(file.fileno())):
                return None
            text = file.read()
    except OSError:
        return None
    code = text[_HASH_BYTES:]
    return code if hashlib.sha256(code).digest() == text[:_HASH_BYTES] else None


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
