r"""The write-ahead log: what was appended to a version of a database since its manifest.

    header   "RAYDBLOG", u32 format (1), u32 0, u64 log id, u64 XXH3-64 of the 24 bytes before
    frame    "\xf1RAY", u32 bytes of body, u32 number of records, u64 sequence, u64 XXH3-64 of the
             body, u64 XXH3-64 of the 28 bytes before with the log id as its seed
      body   u32 bytes of each record, then the records

The numbers are little-endian. A frame is what one sync makes durable: the records of all threads
that were waiting. The next frame is written only after that sync, so a crash can tear nothing but
the last frame. Frames count from 1, and their checksums start from the log's random id: neither
a stale frame of this log nor one of another log is ever taken for the next.

Where a whole frame is expected and not found, two cases are told apart. A later frame follows: then
this one was once whole, and its loss is damage. None follows: then this one was being written when
the process or the machine died, nobody was told that it is durable, and it is dropped. How much was
acknowledged (`mark.Mark`) narrows the second case down.
"""

from __future__ import annotations

import struct
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol

from xxhash import xxh3_64_intdigest

from raydb.errors import DataError, NotSupportedError, OperationalError
from raydb.storage.flat.metadata.damage import damaged
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


_MAGIC = b"RAYDBLOG"
_FORMAT = 1
_HEADER = struct.Struct("<8sIIQQ")
_FRAME_MAGIC = b"\xf1RAY"
_FRAME = struct.Struct("<4sIIQQQ")
_CHECKED = _FRAME.size - 8  # the bytes of a frame's header that its checksum covers
_LENGTH = struct.Struct("<I")

HEADER_SIZE = _HEADER.size
MAX_RECORD_BYTES = 1 << 30
REMEDY = "only a checkpoint, or opening the database again, makes it certain what is stored"
# A frame takes waiting records until it is this long: one sync costs as much as writing about 1 MiB
# on a slow disk, so that larger frames save nothing and make the first of their threads wait.
_MAX_FRAME_BYTES = 1 << 20


@dataclass(frozen=True)
class Tail:
    """Where the whole frames of a log end, and what they hold.

    `sequence` is that of the last frame (0: none), `last` the offset at which it begins (0: the
    header instead), `end` the offset after it.
    """

    records: tuple[bytes, ...]
    sequence: int
    last: int
    end: int


def encode_header(log_id: int) -> bytes:
    """Return the first bytes of a log, `HEADER_SIZE` of them."""
    checked = _HEADER.pack(_MAGIC, _FORMAT, 0, log_id, 0)[: HEADER_SIZE - 8]
    return checked + struct.pack("<Q", xxh3_64_intdigest(checked))


def encode_frame(records: Sequence[bytes], sequence: int, log_id: int) -> bytes:
    """Return one frame with all the records."""
    lengths = struct.pack(f"<{len(records)}I", *map(len, records))
    body = b"".join([lengths, *records])
    checked = _FRAME.pack(
        _FRAME_MAGIC, len(body), len(records), sequence, xxh3_64_intdigest(body), 0
    )[:_CHECKED]
    return checked + struct.pack("<Q", xxh3_64_intdigest(checked, log_id)) + body


def decode_log(data: bytes, log_id: int, path: Path | str) -> Tail:
    """Return what a whole log file holds.

    Raises OperationalError with the offset where the header is damaged, or a frame that others
    follow; a torn last frame is left out. NotSupportedError if a later RayDB wrote the log.
    """
    header = data[:HEADER_SIZE]
    if header != encode_header(log_id):
        _check_header(header, log_id, path)
    return decode_frames(data, Tail((), 0, 0, HEADER_SIZE), 0, log_id, path)


def decode_frames(data: bytes, tail: Tail, base: int, log_id: int, path: Path | str) -> Tail:
    """Return the tail after the frames that follow it; `data` is the log from offset `base` on.

    Raises OperationalError where a frame is damaged that others follow.
    """
    records = list(tail.records)
    sequence, last, position = tail.sequence, tail.last, tail.end - base
    while position < len(data):
        size = _decode_frame(data, position, base, sequence + 1, log_id, path, records)
        if size is None:
            break
        sequence, last, position = sequence + 1, base + position, position + size
    return Tail(tuple(records), sequence, last, base + position)


def _check_header(header: bytes, log_id: int, path: Path | str) -> None:
    """Raise for a header that is not what it should be, naming the first wrong field."""
    if len(header) < HEADER_SIZE:
        expected = f"a log header of {HEADER_SIZE} bytes"
        raise damaged(str(path), 0, expected, f"{len(header)} bytes")
    magic, layout, zero, found, checksum = _HEADER.unpack(header)
    computed = xxh3_64_intdigest(header[: HEADER_SIZE - 8])
    if magic != _MAGIC:
        raise damaged(str(path), 0, repr(_MAGIC), repr(magic))
    if checksum != computed:
        raise damaged(str(path), 24, f"checksum {computed:016x}", f"{checksum:016x}")
    if layout != _FORMAT:
        raise NotSupportedError(
            f"file '{path}' has format {layout} of logs; this RayDB knows {_FORMAT}"
        )
    if zero:
        raise damaged(str(path), 12, "0", zero)
    raise damaged(str(path), 16, f"log id {log_id:016x}, as in the manifest", f"{found:016x}")


def _decode_frame(
    data: bytes,
    position: int,
    base: int,
    sequence: int,
    log_id: int,
    path: Path | str,
    records: list[bytes],
) -> int | None:
    """Add the records of the frame at a position, and return its size; None if it is torn."""
    found = _read_frame_header(data, position, log_id)
    offset, start = base + position, position + _FRAME.size
    fault: tuple[int, str, object]
    if found is None or found[0] != sequence:
        fault = offset, f"frame {sequence}", "other bytes" if found is None else f"frame {found[0]}"
    elif len(data) - start < found[1]:
        fault = base + start, f"{found[1]} bytes of frame {sequence}", len(data) - start
    elif xxh3_64_intdigest(memoryview(data)[start : start + found[1]]) != found[3]:
        fault = base + start, f"checksum {found[3]:016x} of frame {sequence}", "other bytes"
    else:
        _split_body(data, start, found[1], found[2], base, path, records)
        return _FRAME.size + found[1]
    if _finds_later_frame(data, position, sequence, log_id):
        raise damaged(str(path), *fault)
    return None


def _read_frame_header(data: bytes, position: int, log_id: int) -> tuple[int, int, int, int] | None:
    """Return (sequence, bytes of body, number of records, checksum of the body), if undamaged."""
    if len(data) - position < _FRAME.size:
        return None
    magic, size, count, sequence, body, checksum = _FRAME.unpack_from(data, position)
    checked = data[position : position + _CHECKED]
    if magic != _FRAME_MAGIC or checksum != xxh3_64_intdigest(checked, log_id):
        return None
    return sequence, size, count, body


def _finds_later_frame(data: bytes, position: int, sequence: int, log_id: int) -> bool:
    """Tell whether a frame begins after a position that was written after the frame `sequence`."""
    while (position := data.find(_FRAME_MAGIC, position)) >= 0:
        found = _read_frame_header(data, position, log_id)
        if found is not None and found[0] > sequence:
            return True
        position += 1
    return False


def _split_body(
    data: bytes,
    start: int,
    size: int,
    count: int,
    base: int,
    path: Path | str,
    records: list[bytes],
) -> None:
    """Add the records of a frame whose checksums are right; its writer may still be hostile."""
    position = start + _LENGTH.size * count
    if _LENGTH.size * count > size:
        raise damaged(str(path), base + start, f"{count} lengths of records", f"{size} bytes")
    lengths = struct.unpack_from(f"<{count}I", data, start)
    if sum(lengths) != start + size - position:
        expected = f"records of {start + size - position} bytes"
        raise damaged(str(path), base + start, expected, f"{sum(lengths)} bytes")
    for length in lengths:
        records.append(data[position : position + length])
        position += length


class LogFile(Protocol):
    """A file that a log is written to; its errors are OSError."""

    def write(self, data: bytes | memoryview, offset: int) -> None:
        """Write all the bytes at an offset."""

    def truncate(self, size: int) -> None:
        """Cut the file off."""

    def sync(self) -> None:
        """Return when the content is durable."""

    def close(self) -> None:
        """Give the file back."""


@dataclass(eq=False)
class Entry:
    """A record that waits to be durable, then what became of it.

    published: is called once it is durable, in the order of the log, before any thread hears of it.
    """

    record: bytes
    published: Callable[[], None] | None = None
    done: bool = False
    failure: str | None = None
    cause: OSError | None = None


class WalWriter:
    """Appends to the log of the newest version, for any number of threads.

    A thread that finds nobody writing writes what all of them have queued, as one frame, and syncs
    it; the others wait (group commit). Where that fails, what was queued behind it fails as well:
    it may have been made from what is not there now.

    A write or a sync that fails is undone, by cutting the log to what it was, durably: the next
    append works. Where that fails too nobody knows what the disk holds, as a second sync may report
    success for pages that the system has given up. The log then takes no records until `switch`
    puts a new one in its place, or until the database is opened again. The same goes for a frame
    that is durable and could not be acknowledged, and while `distrust` holds a reason.
    """

    def __init__(self) -> None:
        """Prepare; `switch` says which log it is."""
        self._condition = threading.Condition()
        self._queue: list[Entry] = []
        self._busy = False
        self.failures = 0  # how many frames have failed
        self._file: LogFile | None = None
        self._log_id = 0
        self._tail = Tail((), 0, 0, 0)
        self._unsettled = False  # a frame is being written, or nobody knows what became of it
        self.distrust: str | None = "there is none"

    @property
    def end(self) -> int:
        """The size of the log in bytes."""
        return self._tail.end

    @property
    def sequence(self) -> int:
        """The number of the last frame, 0 of none."""
        return self._tail.sequence

    @property
    def is_settled(self) -> bool:
        """Whether it is certain what the log holds, so that it takes records.

        Of a frame that is being written it will be: what is queued behind it fails with it.
        """
        with self._condition:
            return self.distrust is None and (self._busy or not self._unsettled)

    def switch(self, file: LogFile, log_id: int, tail: Tail) -> None:
        """Append to another log from now on, after `tail`; between `paused`, or before any use."""
        if self._file is not None:
            self._file.close()
        self._file, self._log_id, self._tail = file, log_id, tail
        self._unsettled, self.distrust = False, None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Wait until no frame is being written, and let none be begun until the end."""
        with self._condition:
            while self._busy:
                self._condition.wait()
            self._busy = True
        try:
            yield
        finally:
            with self._condition:
                self._busy = False
                self._condition.notify_all()

    def queue(
        self,
        record: bytes,
        published: Callable[[], None] | None = None,
        failures: int | None = None,
    ) -> Entry | None:
        """Give a record its place in the log, and return what to wait for.

        published: is called once it is durable, in the order of the log. failures: how many frames
        are known to have failed; None is returned, and nothing queued, where there were others.
        Raises DataError for a record of more than 1 GiB.
        """
        if len(record) > MAX_RECORD_BYTES:
            raise DataError(f"a log record has at most {MAX_RECORD_BYTES} bytes, not {len(record)}")
        entry = Entry(record, published)
        with self._condition:
            if failures is not None and failures != self.failures:
                return None
            self._queue.append(entry)
        return entry

    def wait(self, entry: Entry, acknowledge: Callable[[int], None]) -> None:
        """Return when a record that was queued is durable.

        acknowledge: is called with the size of the log once the frame is durable, and is the same
        for all threads. If it raises OSError the appends fail, although the frame is durable.
        Raises OperationalError if the record could not be written: it is then not in the log,
        unless the log takes no more records either.
        """
        with self._condition:
            try:
                while not entry.done:
                    self._write_or_wait(acknowledge)
            except BaseException:
                self._give_up(entry)
                raise
        if entry.failure is not None:
            raise OperationalError(entry.failure) from entry.cause

    def drain(self, acknowledge: Callable[[int], None]) -> None:
        """Return when nothing is queued; of a record that could not be written its thread hears."""
        with self._condition:
            while self._queue or self._busy:
                self._write_or_wait(acknowledge)

    def _write_or_wait(self, acknowledge: Callable[[int], None]) -> None:
        """Write what is queued, or let the thread that writes come to its end."""
        if self._busy:
            self._condition.wait()
        else:
            self._write_queue(acknowledge)

    def close(self) -> None:
        """Give the file back, after the frame that is being written."""
        with self.paused():
            if self._file is not None:
                self._file.close()
            self._file = None
            self.distrust = "the database is closed"

    def _give_up(self, entry: Entry) -> None:
        """Settle what an interrupt leaves of a record whose thread no longer waits for it."""
        if entry in self._queue:
            self._queue.remove(entry)
        elif entry.failure is None:
            # It is in the log, or will be, and its caller does not know.
            self.distrust = f"an append was interrupted, so {REMEDY}"

    def _write_queue(self, acknowledge: Callable[[int], None]) -> None:
        """Write one frame of queued records. The condition is held, but not while writing."""
        batch = self._take_batch()
        failure: str | None = "the process was interrupted"
        cause: OSError | None = None
        sequence = self._tail.sequence
        self._busy = True
        self._condition.release()
        try:
            self._write_frame([entry.record for entry in batch], acknowledge)
        except OSError as error:
            cause = error
            failure = f"file '{error.filename}': {(error.strerror or str(error)).lower()}"
            if self._unsettled:
                failure = f"{failure}; {REMEDY}"
        except OperationalError as error:
            failure = str(error)
        finally:
            self._condition.acquire()
            if self._tail.sequence > sequence:
                failure = None
            else:
                self.failures += 1
                batch += self._queue
                self._queue.clear()
            for entry in batch:
                if failure is None and entry.published is not None:
                    entry.published()
                entry.done, entry.failure, entry.cause = True, failure, cause
            self._busy = False
            self._condition.notify_all()

    def _take_batch(self) -> list[Entry]:
        size = count = 0
        for entry in self._queue:
            size += len(entry.record)
            if count and size > _MAX_FRAME_BYTES:
                break
            count += 1
        batch = self._queue[:count]
        del self._queue[:count]
        return batch

    def _write_frame(self, records: Sequence[bytes], acknowledge: Callable[[int], None]) -> None:
        if self.distrust is not None or self._file is None:
            raise OperationalError(f"the log takes no records: {self.distrust}")
        if self._unsettled:
            raise OperationalError(f"an earlier write of the log failed, so {REMEDY}")
        sequence, start = self._tail.sequence + 1, self._tail.end
        frame = encode_frame(records, sequence, self._log_id)
        self._unsettled = True
        try:
            self._file.write(frame, start)
            self._file.sync()
        except BaseException:
            self._undo(self._file)
            raise
        try:
            acknowledge(start + len(frame))
        except OperationalError as error:
            raise OperationalError(f"{error}; {REMEDY}") from error
        self._tail = Tail((), sequence, start, start + len(frame))
        self._unsettled = False

    def _undo(self, file: LogFile) -> None:
        """Cut the log to its whole frames, durably: what failed must not come back at a crash."""
        with suppress(OSError):
            file.truncate(self._tail.end)
            file.sync()
            self._unsettled = False
