"""A delimited file in blocks of whole records, so that any number of threads may convert them.

A block ends with a line. Where quotes may hold line ends, or zeros are looked for, a compiled loop
follows the records; otherwise the last line end is the last record's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raydb.storage.formats.delimited.records import MAX_RECORD_BYTES, Layout, records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from raydb.storage.formats.text_file import TextFile

# About 50,000 records of ten columns, which take 20 ms.
BLOCK_BYTES = 4 << 20
_EMPTY_LINE = re.compile(rb"\n\r?\n|\r\n\r|\r\r|\n\r")


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """Some records of a file, whose bytes begin at `start`. is_last: no others follow.

    is_cut: the last one is longer than a record may be. zeros: for each column whether a field of
    it begins with a zero and another digit, None where nobody has looked.
    """

    start: int
    content: bytes
    is_last: bool
    is_cut: bool = False
    zeros: NDArray[np.bool_] | None = None


def blocks_of(
    file: TextFile,
    layout: Layout,
    start: int,
    stop: int,
    width: int,
    *,
    with_zeros: bool,
    on_blank: Callable[[int], None],
) -> Iterator[Block]:
    """Yield a file's bytes from `start` to `stop` in blocks of whole records of so many fields.

    A record that exceeds MAX_RECORD_BYTES, or whose quote is never closed, is in the last block,
    and nothing follows it. on_blank: told the place of a blank line, of the first one of a block.
    """
    place = start
    while place < stop:
        file.room.check()
        content = file.read(place, min(BLOCK_BYTES, stop - place))
        is_last = not content or place + len(content) >= stop
        if is_last and place == start:
            # Small files are not worth the compiled loop.
            block, blank = Block(place, content, is_last=True), _find_blank(content, layout)
        else:
            block, blank = _cut(file, place, content, stop, layout, width, with_zeros)
        if blank >= 0 and width > 1:
            on_blank(place + blank)
        yield block
        if block.is_last:
            return
        place += len(block.content)


def _cut(
    file: TextFile,
    place: int,
    content: bytes,
    stop: int,
    layout: Layout,
    width: int,
    with_zeros: bool,
) -> tuple[Block, int]:
    """Return a block of those records of a piece that are whole, and where a blank line is."""
    zeros = np.zeros(width if with_zeros else 0, np.bool_)
    is_last = place + len(content) >= stop
    end, blank = _last_record(content, layout, zeros)
    if not end and not is_last:
        content = file.read(place, min(MAX_RECORD_BYTES + 2, stop - place))
        is_last = place + len(content) >= stop
        end, blank = _last_record(content, layout, zeros)
    is_cut = not (is_last or end)
    kept = content if is_last or is_cut else content[:end]
    return Block(place, kept, is_last or is_cut, is_cut, zeros if with_zeros else None), blank


def _last_record(content: bytes, layout: Layout, zeros: NDArray[np.bool_]) -> tuple[int, int]:
    """Return where the last whole record ends, 0 if there is none, and where a blank line is."""
    quote = layout.quote.encode() if layout.quotes else b""
    if not len(zeros) and not (quote and quote in content):
        end = content.rfind(b"\n") + 1 or content.rfind(b"\r", 0, len(content) - 1) + 1
        return end, _find_blank(content[:end], layout)
    # numba takes 0.3 s, which small files need not wait for.
    from raydb.kernels.codecs.record_loops import last_record  # noqa: PLC0415

    return last_record(
        np.frombuffer(content, np.uint8),
        ord(layout.delimiter),
        quote[0] if quote else -1,
        ord(layout.comment) if layout.comment else -1,
        zeros,
    )


def _find_blank(content: bytes, layout: Layout) -> int:
    """Return where the first blank line of a block is, -1 if there is none."""
    begins = content[:1] in (b"\n", b"\r")
    suspects = any(mark in content for mark in (b"\n\n", b"\r\r", b"\n\r"))
    if not begins and not (suspects and _EMPTY_LINE.search(content)):
        return -1
    blank = (each.start for each in records(content, layout) if each.start == each.stop)
    return next(blank, -1)
