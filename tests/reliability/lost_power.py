"""A model of a disk that may lose power: what is synced stays, and of the rest anything.

    disk = Disk(root)
    for call in recorded(log): disk.apply(call)
    disk.cut_power(random)         {"db/CURRENT": b"...", "db/wal/": None, ...}

What POSIX promises and no more: fsync of a file makes its bytes durable, not its name; fsync of a
folder its names. Writes that are not synced may be kept or lost in any order, torn at sectors of
512 bytes, or leave zeros where only the size was kept; names likewise, each rename whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

    from system_calls import Call

SECTOR = 512

# They would change files behind the model's back.
UNKNOWN = {
    *("creat", "open", "writev", "pwritev", "pwritev2", "truncate", "fallocate", "msync"),
    *("symlink", "symlinkat", "copy_file_range", "sendfile", "splice"),
}


class UnknownCallError(AssertionError):
    """The model does not know what a call does to a file."""


@dataclass(eq=False)
class File:
    """Bytes: what is on disk, what is read now, and the writes between the two."""

    durable: bytes = b""
    now: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)  # None: cut off there

    def write(self, offset: int, data: bytes) -> None:
        _put(self.now, offset, data)
        self.pending.append((offset, data))

    def cut(self, size: int) -> None:
        _resize(self.now, size)
        self.pending.append((size, None))

    def sync(self) -> None:
        self.durable = bytes(self.now)
        self.pending.clear()

    def after_crash(self, random: Random) -> bytes:
        """Return what may be left."""
        if not self.pending:
            return self.durable
        left = bytearray(self.durable)
        for (offset, data), kept in zip(
            self.pending, _choose(len(self.pending), random), strict=True
        ):
            if data is None:
                if kept:
                    _resize(left, offset)
            elif kept and random.random() < 0.7:
                _put(left, offset, data)
            elif kept:
                _tear(left, offset, data, random)
            elif random.random() < 0.3 and len(left) < offset + len(data):
                _resize(left, offset + len(data))
        return bytes(left)


@dataclass(eq=False)
class Folder:
    """Names: those on disk, those of now, and the changes between the two, each of some names."""

    durable: dict[str, File | Folder] = field(default_factory=dict)
    now: dict[str, File | Folder] = field(default_factory=dict)
    pending: list[dict[str, File | Folder | None]] = field(default_factory=list)

    def change(self, names: dict[str, File | Folder | None]) -> None:
        _update(self.now, names)
        self.pending.append(names)

    def sync(self) -> None:
        self.durable = dict(self.now)
        self.pending.clear()

    def after_crash(self, random: Random) -> dict[str, File | Folder]:
        """Return what may be left: of two changes of one name the second not without the first."""
        left = dict(self.durable)
        lost: set[str] = set()
        for names, kept in zip(self.pending, _choose(len(self.pending), random), strict=True):
            if kept and lost.isdisjoint(names):
                _update(left, names)
            else:
                lost |= names.keys()
        return left


class Disk:
    """The files below a folder, as the calls of a process leave them."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.top = Folder()
        self._positions: dict[int, int] = {}

    def apply(self, call: Call) -> bool:
        """Do what a call did; return whether it may have changed the disk."""
        if call.result < 0 or not any(self.root in argument for argument in call.arguments):
            return False
        if call.name in UNKNOWN:
            raise UnknownCallError(f"{call.name}{call.arguments}")
        handler = getattr(self, f"_{call.name}", None)
        return bool(handler and handler(call))

    def cut_power(self, random: Random) -> dict[str, bytes | None]:
        """Return the files that may be left, and None for each folder, by path."""
        left: dict[str, bytes | None] = {}

        def visit(folder: Folder, prefix: str) -> None:
            for name, node in folder.after_crash(random).items():
                if isinstance(node, Folder):
                    left[prefix + name] = None
                    visit(node, f"{prefix}{name}/")
                else:
                    left[prefix + name] = node.after_crash(random)

        visit(self.top, "")
        return left

    def find(self, path: str) -> File | Folder | None:
        """Return what has a path now; None for one that is not below the root."""
        node: File | Folder | None = self.top
        if path == self.root:
            return node
        if not path.startswith(self.root + "/"):
            return None
        for name in path[len(self.root) + 1 :].split("/"):
            node = node.now.get(name) if isinstance(node, Folder) else None
        return node

    def _parent(self, path: str) -> tuple[Folder, str]:
        whole = PurePosixPath(path)
        folder = self.find(str(whole.parent))
        assert isinstance(folder, Folder), path
        return folder, whole.name

    # -- the calls, by name; a path that is not below the root changes nothing

    def _openat(self, call: Call) -> bool:
        path, flags = call.path(1), call.arguments[2].split("|")
        self._positions[call.result] = 0
        if not path.startswith(self.root) or "O_TMPFILE" in flags:
            assert "O_TMPFILE" not in flags, path
            return False
        node = self.find(path)
        if node is None and "O_CREAT" in flags:
            folder, name = self._parent(path)
            folder.change({name: File()})
            return True
        if isinstance(node, File):
            if "O_TRUNC" in flags:
                node.cut(0)
                return True
            assert "O_APPEND" not in flags or not node.now or path.endswith("LOCK"), path
        return False

    def _lseek(self, call: Call) -> bool:
        self._positions[call.descriptor] = call.result
        return False

    def _write(self, call: Call) -> bool:
        offset = self._positions[call.descriptor]
        self._positions[call.descriptor] = offset + call.result
        return self._put(call, offset)

    def _pwrite64(self, call: Call) -> bool:
        return self._put(call, int(call.arguments[3]))

    def _put(self, call: Call, offset: int) -> bool:
        node = self.find(call.path())
        if node is None:
            assert call.path().endswith("(deleted)"), call
            return False
        assert isinstance(node, File), call
        node.write(offset, call.data[: call.result])
        return True

    def _ftruncate(self, call: Call) -> bool:
        node = self.find(call.path())
        assert isinstance(node, File), call
        node.cut(int(call.arguments[1]))
        return True

    def _fsync(self, call: Call) -> bool:
        node = self.find(call.path())
        if node is not None:
            node.sync()
        return node is not None

    _fdatasync = _fsync

    def _rename(self, call: Call) -> bool:
        source, old = self._parent(call.path(0))
        target, new = self._parent(call.path(1))
        assert source is target, "a rename between folders"
        source.change({new: source.now[old], old: None})
        return True

    def _link(self, call: Call) -> bool:
        node = self.find(call.path(0))
        assert isinstance(node, File), call
        folder, name = self._parent(call.path(1))
        folder.change({name: node})
        return True

    def _unlink(self, call: Call) -> bool:
        folder, name = self._parent(call.path())
        folder.change({name: None})
        return True

    _rmdir = _unlink

    def _mkdir(self, call: Call) -> bool:
        folder, name = self._parent(call.path())
        folder.change({name: Folder()})
        return True

    def _mmap(self, call: Call) -> bool:
        if "PROT_WRITE" in call.arguments[2] and "MAP_SHARED" in call.arguments[3]:
            raise UnknownCallError(f"writes through a map: {call.arguments}")
        return False


def _choose(count: int, random: Random) -> list[bool]:
    """Return which of some changes are kept: all, none, the first ones, or some."""
    match random.randrange(4):
        case 0:
            return [True] * count
        case 1:
            return [False] * count
        case 2:
            first = random.randint(0, count)
            return [place < first for place in range(count)]
    return [random.random() < 0.5 for _ in range(count)]


def _resize(content: bytearray, size: int) -> None:
    del content[size:]
    content.extend(bytes(size - len(content)))


def _put(content: bytearray, offset: int, data: bytes) -> None:
    if len(content) < offset:
        _resize(content, offset)
    content[offset : offset + len(data)] = data


def _tear(content: bytearray, offset: int, data: bytes, random: Random) -> None:
    """Write some of the sectors: the first ones, the last ones, or any."""
    ends = [0, *range(SECTOR - offset % SECTOR, len(data), SECTOR), len(data)]
    kept = _choose(len(ends) - 1, random)
    if random.random() < 0.5:
        kept.reverse()
    if random.random() < 0.5:
        _resize(content, max(len(content), offset + len(data)))
    for start, end, is_kept in zip(ends, ends[1:], kept, strict=False):
        if is_kept:
            _put(content, offset + start, data[start:end])


def _update(names: dict[str, File | Folder], changes: dict[str, File | Folder | None]) -> None:
    for name, node in changes.items():
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node
