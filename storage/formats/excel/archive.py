"""The parts of a workbook, which is an archive of XML files, and the memory that they may become.

A few kilobytes of an archive may be gigabytes of XML, and a few bytes of XML an object of Python:
what is parsed is counted as it is read. Parts with a document type, which may define entities that
grow without end, are refused; no program writes them.
"""

from __future__ import annotations

import io
import xml.parsers.expat
from typing import IO, TYPE_CHECKING
from zipfile import ZipFile

from raydb.errors import DataError
from raydb.interrupts import check_interrupt
from raydb.room import check_room

if TYPE_CHECKING:
    from zipfile import ZipInfo

# What a tag becomes at most: an element and what openpyxl makes of it. Of the shared texts nothing
# but the text and an empty element is kept.
_TAG_BYTES, _TEXT_TAG_BYTES = 1000, 60
# A text of ASCII with one other letter in it has four bytes for each.
_LETTER_BYTES = 4
_TEXTS = "sharedstrings.xml"


class Archive(ZipFile):
    """An archive whose parts are counted as they are read.

    held_bytes: what the parts that were read have become, at most.
    """

    def __init__(self, path: str, file: IO[bytes]) -> None:
        super().__init__(file)
        self.path = path
        self.held_bytes = 0

    def open(
        self,
        name: str | ZipInfo,
        mode: str = "r",
        pwd: bytes | None = None,
        *,
        force_zip64: bool = False,
    ) -> IO[bytes]:
        """Return a part to be read; reading raises what `count` and `check_prolog` do."""
        part = super().open(name, "r", pwd)
        return _Part(self, part, str(name).lower().endswith(_TEXTS))  # type: ignore[return-value]

    def count(self, piece: bytes, tag_bytes: int) -> None:
        """Count what a piece of XML becomes. Raises OperationalError where that is too much."""
        check_interrupt()
        self.held_bytes += piece.count(b"<") * tag_bytes + len(piece) * _LETTER_BYTES
        check_room(self.held_bytes, f"file '{self.path}'")


class _Part(io.RawIOBase):
    """A part of an archive, decompressed."""

    def __init__(self, archive: Archive, part: IO[bytes], has_texts: bool) -> None:
        super().__init__()
        self._archive = archive
        self._part = part
        self._tag_bytes = _TEXT_TAG_BYTES if has_texts else _TAG_BYTES
        self._prolog: xml.parsers.expat.XMLParserType | None = xml.parsers.expat.ParserCreate()
        self._prolog.StartDoctypeDeclHandler = self._refuse
        self._prolog.StartElementHandler = self._end_prolog

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        """Read the next bytes; returns how many."""
        piece = self._part.read(len(buffer))
        if self._prolog is not None:
            self._prolog.Parse(piece, False)
        self._archive.count(piece, self._tag_bytes)
        buffer[: len(piece)] = piece
        return len(piece)

    def _refuse(self, *_: object) -> None:
        raise DataError(
            f"file '{self._archive.path}' is no .xlsx file: its XML has a document type"
        )

    def _end_prolog(self, *_: object) -> None:
        self._prolog = None

    def close(self) -> None:
        """Close the part; the archive stays open."""
        self._part.close()
        super().close()
