"""A delimited file in blocks of whole records, so that any number of threads may convert them.

A block ends with a line. Where fields are quoted as RFC 4180 has it, a line end behind an even
number of quotes is a record's; where anything else is there, a compiled loop follows the records.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from raydb.storage.formats.delimited.records import MAX_RECORD_BYTES, Layout, records
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from raydb.storage.formats.text_file import TextFile

# About 25,000 records of ten columns, which take 10 ms.
BLOCK_BYTES = 2 << 20
# So many bytes are compared faster than more, which leave a core's cache.
CACHED_BYTES = 1 << 17
_EMPTY_LINE = re.compile(rb"\n\r?\n|\r\n\r|\r\r|\n\r")
_LINE_FEED, _CARRIAGE_RETURN = 10, 13
# Line ends within quotes that are looked at from the end of a block on.
_MOST_TRIES = 64


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """Some records of a file, whose bytes begin at `start`. is_last: no others follow.

    is_cut: the last one is longer than a record may be.
    """

    start: int
    content: bytes
    is_last: bool
    is_cut: bool = False


def blocks_of(
    file: TextFile,
    layout: Layout,
    start: int,
    stop: int,
    width: int,
    on_blank: Callable[[int], None],
) -> Iterator[Block]:
    """Yield a file's bytes from `start` to `stop` in blocks of whole records of so many fields.

    Blocks are as small as memory_limit asks for. A record that exceeds MAX_RECORD_BYTES, or whose
    quote is never closed, is in the last block, and nothing follows it. on_blank: told the place
    of a blank line, of the first one of a block.
    """
    place = start
    size = file.room.piece(BLOCK_BYTES)
    while place < stop:
        content = file.read(place, min(size, stop - place))
        is_last = not content or place + len(content) >= stop
        if is_last and place == start:
            # Small files are not worth the compiled loop.
            block, blank = Block(place, content, is_last=True), _find_blank(content, layout)
        else:
            block, blank = _cut(file, place, content, stop, layout)
        if blank >= 0 and width > 1:
            on_blank(place + blank)
        yield block
        if block.is_last:
            return
        place += len(block.content)


def _cut(
    file: TextFile, place: int, content: bytes, stop: int, layout: Layout
) -> tuple[Block, int]:
    """Return a block of those records of a piece that are whole, and where a blank line is."""
    is_last = place + len(content) >= stop
    end, blank = _last_record(content, layout)
    if not end and not is_last:
        content = file.read(place, min(MAX_RECORD_BYTES + 2, stop - place))
        is_last = place + len(content) >= stop
        end, blank = _last_record(content, layout)
    is_cut = not (is_last or end)
    kept = content if is_last or is_cut else content[:end]
    return Block(place, kept, is_last or is_cut, is_cut), blank


def _last_record(content: bytes, layout: Layout) -> tuple[int, int]:
    """Return where the last whole record ends, 0 if there is none, and where a blank line is."""
    data = np.frombuffer(content, np.uint8)
    if not _may_have_blank(data, content):
        end = _last_plain_record(data, content, layout)
        if end is not None:
            return end, -1
    return follow_records(data, layout, np.empty(0, np.bool_))


def follow_records(
    data: NDArray[np.uint8], layout: Layout, zeros: NDArray[np.bool_]
) -> tuple[int, int]:
    """Return what `_last_record` does, of any text; zeros: see `last_record`."""
    # numba takes 0.3 s, which most files need not wait for.
    from raydb.kernels.codecs.record_loops import last_record  # noqa: PLC0415

    return last_record(
        data,
        ord(layout.delimiter),
        ord(layout.quote) if layout.quotes else -1,
        ord(layout.comment) if layout.comment else -1,
        zeros,
    )


def _may_have_blank(data: NDArray[np.uint8], content: bytes) -> bool:
    """Tell whether a line may be blank, or end with a carriage return alone."""
    if content[:1] in (b"\n", b"\r"):
        return True
    has_returns = b"\r" in content
    for start in range(0, len(data), CACHED_BYTES):
        some = data[start : start + CACHED_BYTES + 1]
        is_feed = some == _LINE_FEED
        if (is_feed[:-1] & is_feed[1:]).any():
            return True
        if has_returns:
            is_return = some == _CARRIAGE_RETURN
            if (is_return[:-1] & ~is_feed[1:]).any() or (is_feed[:-1] & is_return[1:]).any():
                return True
    return False


def _last_plain_record(data: NDArray[np.uint8], content: bytes, layout: Layout) -> int | None:
    """Return where the last whole record ends, None where a quote is at an odd place."""
    end = content.rfind(b"\n") + 1
    quote = layout.quote.encode()
    if not layout.quotes or quote not in content:
        return end
    if layout.comment and layout.comment.encode() in content:
        return None
    quotes = _places_of(quote[0], data)
    # Every second one opens a field, or is the second of two within one.
    opening = quotes[2 * (quotes[0] == 0) :: 2]
    before = data[opening - 1]
    known = (before == ord(layout.delimiter)) | (before == quote[0])
    known |= (before == _LINE_FEED) | (before == _CARRIAGE_RETURN)
    if not known.all():
        return None
    for _ in range(_MOST_TRIES):
        count = int(np.searchsorted(quotes, end))
        if count % 2 == 0:
            return end
        end = content.rfind(b"\n", 0, quotes[count - 1]) + 1
    return None


def _places_of(byte: int, data: NDArray[np.uint8]) -> NDArray[np.int64]:
    found = [
        np.flatnonzero(data[start : start + CACHED_BYTES] == byte) + start
        for start in range(0, len(data), CACHED_BYTES)
    ]
    return np.concatenate(found)


def _find_blank(content: bytes, layout: Layout) -> int:
    """Return where the first blank line of a block is, -1 if there is none."""
    begins = content[:1] in (b"\n", b"\r")
    suspects = any(mark in content for mark in (b"\n\n", b"\r\r", b"\n\r"))
    if not begins and not (suspects and _EMPTY_LINE.search(content)):
        return -1
    blank = (each.start for each in records(content, layout) if each.start == each.stop)
    return next(blank, -1)
