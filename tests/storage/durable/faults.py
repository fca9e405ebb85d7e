"""A disk in memory that forgets at a crash what was not synced, and fails where it is told to.

What it promises is what POSIX and a disk promise, and no more:

- A file's content is durable after `sync` of the file. Before that, each write may be kept, lost,
  torn at any byte, kept in some sectors only, replaced by zeros or by old bytes, or overtaken by a
  later one.
- A name is durable after `sync_directory`. Before that, each change of names may be kept or lost,
  whatever became of the others and of the content.
- A `sync` that fails has written some of it, and the disk takes the rest for written: a second sync
  reports success and writes nothing.
- A process that dies loses its locks and nothing else.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

SECTOR = 512


class Crash(BaseException):
    """The process is dead: nothing that it still does reaches the disk."""


@dataclass(eq=False)
class Inode:
    """A file: what the processes see, what a loss of power leaves, and the changes between them.

    A change is (offset, bytes) for a write and a size for a truncation.
    """

    content: bytearray = field(default_factory=bytearray)
    durable: bytearray = field(default_factory=bytearray)
    changes: list[tuple[int, bytes] | int] = field(default_factory=list)
    readers: int = 0
    writers: int = 0


@dataclass(eq=False)
class Folder:
    """A directory: names now, names after a loss of power, and the changes between them."""

    names: dict[str, Node] = field(default_factory=dict)
    durable: dict[str, Node] = field(default_factory=dict)
    changes: list[dict[str, Node | None]] = field(default_factory=list)

    def change(self, names: dict[str, Node | None]) -> None:
        rename(self.names, names)
        self.changes.append(names)


Node = Inode | Folder


@dataclass(frozen=True)
class Fault:
    """Which operation fails, counted from 1, and with what; `lasting`: all after it as well.

    A full disk (ENOSPC) can be read, and when that lasts, files can be cut, synced and removed.
    """

    operation: int
    number: int
    lasting: bool = False


class SimulatedDisk:
    """A file system (`FileSystem`) of one empty directory, at `root`."""

    def __init__(self, root: Path, random: Random, boot: int = 1) -> None:
        self.root = root
        self.random = random
        self.boot_number = boot
        self.folder = Folder()
        self.operations = 0
        self.fault: Fault | None = None
        self.crash_at: int | None = None
        self.observe: Callable[[], None] | None = None

    @property
    def boot(self) -> str:
        return f"{self.boot_number:08x}-b007"

    # What becomes of it

    def kill(self) -> SimulatedDisk:
        """Return the disk after the death of all processes: what they saw is still there."""
        return self._copy(_same, _same_names, self.boot_number)

    def cut_power(self, keep: float) -> SimulatedDisk:
        """Return a disk as a loss of power may leave it.

        `keep` is the chance of each change that was not synced to be there at least in part.
        """
        random = self.random

        def fate(inode: Inode) -> Inode:
            content = bytearray(inode.durable)
            changes = [change for change in inode.changes if random.random() < keep]
            if keep < 1 and random.random() < 0.3:
                random.shuffle(changes)
            for change in changes:
                if keep == 1:
                    apply(content, change)
                else:
                    tear(content, change, len(inode.durable), random)
            return Inode(content, bytearray(content))

        def names(folder: Folder) -> Folder:
            entries = dict(folder.durable)
            for change in folder.changes:
                if random.random() < keep:
                    rename(entries, change)
            return Folder(entries, dict(entries))

        return self._copy(fate, names, self.boot_number + 1)

    def _copy(
        self,
        copy_file: Callable[[Inode], Inode],
        copy_folder: Callable[[Folder], Folder],
        boot: int,
    ) -> SimulatedDisk:
        known: dict[int, Node] = {}

        def copy(node: Node) -> Node:
            if id(node) not in known:
                if isinstance(node, Inode):
                    known[id(node)] = copy_file(node)
                else:
                    folder = known[id(node)] = copy_folder(node)
                    assert isinstance(folder, Folder)
                    folder.names = {name: copy(child) for name, child in folder.names.items()}
                    folder.durable = {name: copy(child) for name, child in folder.durable.items()}
                    folder.changes = [
                        {name: child and copy(child) for name, child in change.items()}
                        for change in folder.changes
                    ]
            return known[id(node)]

        disk = SimulatedDisk(self.root, self.random, boot)
        folder = copy(self.folder)
        assert isinstance(folder, Folder)
        disk.folder = folder
        return disk

    def peek(self, path: Path) -> bytes:
        """Return a file's content, for the test itself: this is no operation and does not fail."""
        return bytes(self._inode(path).content)

    # The calls of a file system

    def create(self, path: Path) -> Handle:
        folder = self._folder(path.parent)
        if path.name in folder.names:
            raise _error(errno.EEXIST, path)
        inode = Inode()
        self._do(path, lambda: folder.change({path.name: inode}), grows=True)
        return Handle(self, path, inode)

    def open(self, path: Path) -> Handle:
        self._do(path)
        return Handle(self, path, self._inode(path))

    def read(self, path: Path, offset: int = 0, size: int = -1) -> bytes:
        self._do(path)
        content = self._inode(path).content
        return bytes(content[offset : None if size < 0 else offset + size])

    def size(self, path: Path) -> int:
        self._do(path)
        return len(self._inode(path).content)

    def names(self, directory: Path) -> list[str]:
        self._do(directory)
        return list(self._folder(directory).names)

    def make_directory(self, path: Path) -> None:
        folder = self._folder(path.parent)
        if path.name in folder.names:
            raise _error(errno.EEXIST, path)
        self._do(path, lambda: folder.change({path.name: Folder()}), grows=True)

    def check_directory(self, path: Path) -> None:
        self._folder(path)

    def sync_directory(self, path: Path) -> None:
        folder = self._folder(path)

        def sync() -> None:
            folder.durable = dict(folder.names)
            folder.changes = []

        def fail() -> None:
            # The journal keeps what it could not write, and tries again at the next sync.
            done = self.random.randint(0, len(folder.changes))
            for change in folder.changes[:done]:
                rename(folder.durable, change)
            del folder.changes[:done]

        self._do(path, sync, fail)

    def rename(self, source: Path, target: Path) -> None:
        inode, folder = self._inode(source), self._folder(target.parent)
        self._do(source, lambda: folder.change({source.name: None, target.name: inode}))

    def link(self, source: Path, target: Path) -> None:
        inode, folder = self._inode(source), self._folder(target.parent)
        if target.name in folder.names:
            raise _error(errno.EEXIST, target)
        change: dict[str, Node | None] = {target.name: inode}
        # An error of a link does not say that there is no link.
        maybe = (lambda: folder.change(change)) if self.random.random() < 0.5 else None
        self._do(target, lambda: folder.change(change), maybe, grows=True)

    def unlink(self, path: Path) -> None:
        self._inode(path)
        folder = self._folder(path.parent)
        self._do(path, lambda: folder.change({path.name: None}))

    def lock(self, path: Path, *, exclusive: bool, create: bool) -> HeldLock | None:
        if create and path.name not in self._folder(path.parent).names:
            self.create(path).close()
        self._do(path)
        inode = self._inode(path)
        if inode.writers or (exclusive and inode.readers):
            return None
        return HeldLock(self, path, inode, exclusive)

    def _folder(self, path: Path) -> Folder:
        node: Node = self.folder
        for part in path.relative_to(self.root).parts:
            if isinstance(node, Inode):
                raise _error(errno.ENOTDIR, path)
            if part not in node.names:
                raise _error(errno.ENOENT, path)
            node = node.names[part]
        if isinstance(node, Inode):
            raise _error(errno.ENOTDIR, path)
        return node

    def _inode(self, path: Path) -> Inode:
        node = self._folder(path.parent).names.get(path.name)
        if node is None:
            raise _error(errno.ENOENT, path)
        if isinstance(node, Folder):
            raise _error(errno.EISDIR, path)
        return node

    def _do(
        self,
        path: Path,
        action: Callable[[], None] | None = None,
        on_failure: Callable[[], None] | None = None,
        *,
        grows: bool = False,
    ) -> None:
        """Count an operation and do it, or let it fail; one without an action only reads."""
        self.operations += 1
        if self.crash_at is not None and self.operations >= self.crash_at:
            if (
                action is not None
                and self.operations == self.crash_at
                and self.random.random() < 0.5
            ):
                action()
            raise Crash
        if self.fault is not None and self._fails(self.fault, action is not None, grows):
            if on_failure is not None:
                on_failure()
            raise _error(self.fault.number, path)
        if action is not None:
            action()
            if self.observe is not None:
                self.observe()

    def _fails(self, fault: Fault, changes: bool, grows: bool) -> bool:
        if fault.number == errno.ENOSPC and not (grows if fault.lasting else changes):
            return False
        return self.operations == fault.operation or (
            fault.lasting and self.operations > fault.operation
        )


class Handle:
    """A file that is open for writing."""

    def __init__(self, disk: SimulatedDisk, path: Path, inode: Inode) -> None:
        self._disk = disk
        self._path = path
        self._inode = inode

    def write(self, data: bytes | memoryview, offset: int) -> None:
        content = bytes(data)

        def put(part: bytes) -> None:
            self._inode.changes.append((offset, part))
            apply(self._inode.content, (offset, part))

        written = content[: self._disk.random.randint(0, len(content))]
        self._disk._do(self._path, lambda: put(content), lambda: put(written), grows=True)

    def truncate(self, size: int) -> None:
        def cut() -> None:
            self._inode.changes.append(size)
            apply(self._inode.content, size)

        self._disk._do(self._path, cut)

    def sync(self) -> None:
        inode, random = self._inode, self._disk.random

        def keep() -> None:
            inode.durable[:] = inode.durable if not inode.changes else _applied(inode)
            inode.changes = []

        def lose() -> None:
            for change in inode.changes:
                if random.random() < 0.5:
                    tear(inode.durable, change, len(inode.durable), random)
            inode.changes = []

        self._disk._do(self._path, keep, lose)

    def close(self) -> None:
        pass


class HeldLock:
    """A lock on a file."""

    def __init__(self, disk: SimulatedDisk, path: Path, inode: Inode, exclusive: bool) -> None:
        self._disk, self._path = disk, path
        self._inode: Inode | None = inode
        self._exclusive = exclusive
        self._count(1)

    @property
    def is_in_place(self) -> bool:
        return self._disk._folder(self._path.parent).names.get(self._path.name) is self._inode

    def close(self) -> None:
        self._count(-1)
        self._inode = None

    def _count(self, step: int) -> None:
        if self._inode is not None and self._exclusive:
            self._inode.writers += step
        elif self._inode is not None:
            self._inode.readers += step


def rename(names: dict[str, Node], change: dict[str, Node | None]) -> None:
    """Change names as one step."""
    for name, node in change.items():
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node


def apply(content: bytearray, change: tuple[int, bytes] | int) -> None:
    """Write or truncate; what lies between the end and an offset beyond it is zeros."""
    if isinstance(change, int):
        del content[change:]
        content.extend(bytes(change - len(content)))
        return
    offset, data = change
    content.extend(bytes(max(0, offset - len(content))))
    content[offset : offset + len(data)] = data


def _applied(inode: Inode) -> bytearray:
    """Return what a sync that succeeds leaves: only the changes since the last sync are written."""
    content = bytearray(inode.durable)
    for change in inode.changes:
        apply(content, change)
    return content


def tear(
    content: bytearray, change: tuple[int, bytes] | int, durable_size: int, random: Random
) -> None:
    """Apply a change as a crash in the middle of it may leave it.

    Each sector that the file had is old or new; only where it grew, anything may be found.
    """
    if isinstance(change, int):
        apply(content, change)
        return
    offset, data = change
    grown = max(0, durable_size - offset)  # the bytes of the write from here on are past the end
    match random.randrange(6):
        case 0:
            data = data[: random.randint(0, len(data))]
        case 1:
            data = data[:grown] + bytes(len(data[grown:]))
        case 2:
            data = data[:grown] + random.randbytes(len(data[grown:]))
        case 3:
            # Sectors lie at multiples of their size in the file, not in the write.
            for start in range(-(offset % SECTOR), len(data), SECTOR):
                if random.random() < 0.5:
                    first = max(start, 0)
                    apply(content, (offset + first, data[first : start + SECTOR]))
            return
    apply(content, (offset, data))


def _same(inode: Inode) -> Inode:
    return Inode(bytearray(inode.content), bytearray(inode.durable), list(inode.changes))


def _same_names(folder: Folder) -> Folder:
    return Folder(dict(folder.names), dict(folder.durable), list(folder.changes))


def _error(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))
