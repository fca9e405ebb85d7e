"""The lines of a JSON file one by one, and in parts that are read side by side."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from raydb.errors import DataError
from raydb.interrupts import check_interrupt
from raydb.storage.formats.json.mixed import Pairs
from raydb.storage.formats.json.source import BLOCK_BYTES, Nesting, too_deep
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.storage.formats.text_file import TextFile

# Arrow reads a part in some 10 ms; a file that is no larger than one of its blocks is one part.
PART_BYTES = 4 << 20
_PIECE_BYTES = 1 << 20
# Reading a line again, in Python, takes some microseconds.
_LINES_A_CHECK = 4096


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file: its number from 1, its text, where it and the next one begin."""

    number: int
    text: bytes
    start: int
    stop: int


def lines_of(file: TextFile, start: int) -> Iterator[Line]:
    """Yield the lines that are not blank. Raises DataError for one that is too long for Arrow."""
    number = 1
    for place, content in _whole_lines(file, start, _PIECE_BYTES):
        first = 0
        while first < len(content):
            if number % _LINES_A_CHECK == 0:
                check_interrupt()
            stop = content.find(b"\n", first)
            stop = len(content) if stop < 0 else stop
            text = content[first:stop]
            following = min(stop + 1, len(content))
            if text.strip():
                yield Line(number, text, place + first, place + following)
            first = following
            number += 1


def parts_of(file: TextFile) -> Iterator[TextFile]:
    """Yield a file in parts of whole lines, as small as memory_limit asks for."""
    start = file.skip(0)
    if file.size_bytes <= BLOCK_BYTES:
        yield file
        return
    for place, content in _whole_lines(file, start, file.room.piece(PART_BYTES)):
        yield file.part(place, content)


def _whole_lines(file: TextFile, start: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes from a place on in pieces that end with a line, and the place of each."""
    place = start
    while content := file.read(place, size):
        if place + len(content) < file.size_bytes:
            end = content.rfind(b"\n") + 1
            if not end:
                content = file.read(place, BLOCK_BYTES)
                end = content.find(b"\n") + 1 or len(content)
            if end == BLOCK_BYTES and content[-1:] != b"\n":
                raise DataError(
                    f"file '{file.path}', {file.record} {file.line_number(place)}: more than"
                    f" {BLOCK_BYTES} bytes, which a line may have"
                )
            content = content[:end]
        yield place, content
        place += len(content)


def value_of(file: TextFile, line: Line) -> Any:
    """Return what a line holds, as Python reads it, which calls itself for each level too."""
    if Nesting().follow(line.text):
        raise too_deep(file, line.start, len(line.text))
    return json.loads(line.text, parse_float=Decimal, object_pairs_hook=Pairs)
