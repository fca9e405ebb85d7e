"""Modalities and media types of columns, by the magic number with which each format begins.

    89 50 4E 47 0D 0A 1A 0A     image/png
    52 49 46 46 .. .. .. .. 57 45 42 50     RIFF....WEBP, image/webp

Media are compressed already, so that they are stored verbatim (FlatStor, section 3.3). Users add
modalities by name; those are asked for first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.errors import ProgrammingError
from raydb.storage.flat.kinds import is_text, is_vector
from raydb.storage.flat.layout import Kind, Modality

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SAMPLE_ITEMS = 32
# What a format is told by.
HEAD_BYTES = 64

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"fLaC", "audio/flac"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"%PDF-", "application/pdf"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/avi"}
# Brands of the ISO base media file format; any other is a video.
_ISO_BRANDS = {
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"mif1": "image/heif",
    b"avif": "image/avif",
    b"M4A ": "audio/mp4",
    b"qt  ": "video/quicktime",
}
_EBML = b"\x1a\x45\xdf\xa3"
_BMP_HEADER_BYTES = 26
_FAMILIES = {
    "image": Modality.IMAGE,
    "audio": Modality.AUDIO,
    "video": Modality.VIDEO,
    "application": Modality.DOCUMENT,
}
_MEDIA = frozenset(_FAMILIES.values()) | {Modality.MIXED_MEDIA}
MAX_NAME = 64


class AddedModality(NamedTuple):
    """A modality that a user has added.

    recognise: the bytes with which its items begin, or a function that tells by the first 64 bytes
    of an item and by its length. is_verbatim: whether items are stored as media are.
    """

    name: str
    recognise: bytes | Callable[[bytes, int], bool]
    is_verbatim: bool

    def is_of(self, items: Iterable[tuple[bytes, int]]) -> bool:
        """Tell whether all items are of this modality."""
        if isinstance(self.recognise, bytes):
            return all(head.startswith(self.recognise) for head, _ in items)
        try:
            return all(self.recognise(head, length) for head, length in items)
        except Exception as error:
            raise ProgrammingError(
                f"modality '{self.name}' cannot tell its items: {error}"
            ) from error


class Contents(NamedTuple):
    """What the values of a column are: their modality, its media types, the added one if it is."""

    modality: Modality
    media_types: tuple[str, ...] = ()
    added: AddedModality | None = None

    @property
    def is_verbatim(self) -> bool:
        """Whether the items are stored as they are and never compared, in small chunks."""
        return self.modality in _MEDIA if self.added is None else self.added.is_verbatim


_ADDED: dict[str, AddedModality] = {}


def add_modality(
    name: str, recognise: bytes | Callable[[bytes, int], bool], *, verbatim: bool = True
) -> None:
    """Make a modality known to this process; see `raydb.flatstor.add_modality`."""
    if isinstance(name, str) and name.upper().replace(" ", "_") in Modality.__members__:
        raise ProgrammingError(f"modality '{name}' is one of FlatStor's own")
    if not isinstance(name, str) or not is_name(name):
        raise ProgrammingError(f"a modality has a name of 1 to {MAX_NAME} printable characters")
    _ADDED[name] = AddedModality(name, recognise, verbatim)


def is_name(name: str) -> bool:
    """Tell whether a text may be the name of an added modality."""
    return 0 < len(name) <= MAX_NAME and name.isprintable()


def media_type(item: bytes, length: int) -> str | None:
    """Return the media type of an image, sound, video or PDF; None for any other bytes.

    item: the first 64 bytes, or more, of the `length` bytes of the whole.

    >>> media_type(b"GIF89a....", 10)
    'image/gif'
    """
    for magic, name in _MAGIC:
        if item.startswith(magic):
            return name
    if item[:4] == b"RIFF":
        return _RIFF.get(item[8:12])
    if item[4:8] == b"ftyp":
        return _ISO_BRANDS.get(item[8:12], "video/mp4")
    if item[:4] == _EBML:
        return "video/webm" if b"webm" in item[:64] else "video/x-matroska"
    # Two letters are weak evidence, so that the size in a BMP's header must be right too.
    if item[:2] == b"BM" and len(item) >= _BMP_HEADER_BYTES:
        return "image/bmp" if int.from_bytes(item[2:6], "little") == length else None
    return "audio/mpeg" if _is_mpeg_frame(item) else None


def _is_mpeg_frame(item: bytes) -> bool:
    """Tell whether an MPEG audio frame of layer III with a bit rate and a sample rate begins."""
    if len(item) < 4 or item[0] != 0xFF or item[1] & 0xE6 != 0xE2 or item[1] & 0x18 == 0x08:
        return False
    return item[2] >> 4 not in {0, 15} and item[2] & 0x0C != 0x0C


def contents_of(column: Any, kind: Kind) -> Contents:
    """Return what a chunked array holds, by a sample of it."""
    data_type = column.type
    if kind is Kind.NESTED:
        return Contents(Modality.VECTOR if is_vector(data_type) else Modality.NESTED)
    if kind is not Kind.BYTES:
        return Contents(Modality.NUMBER)
    if is_text(data_type) and not _ADDED:
        return Contents(Modality.TEXT)
    return contents_of_items(_sample(column), is_text(data_type))


def contents_of_items(items: Iterable[tuple[bytes, int]], are_texts: bool = False) -> Contents:
    """Return what bytes or texts are, by the first bytes and the length of some.

    They are of a modality when every item that is not empty is.
    """
    some = [item for item in items if item[1]]
    plain = Modality.TEXT if are_texts else Modality.BYTES
    for added in _ADDED.values():
        if some and added.is_of(some):
            return Contents(plain, (), added)
    found = [] if are_texts else [media_type(head, length) for head, length in some]
    names = tuple(sorted({name for name in found if name is not None}))
    if not names or None in found:
        return Contents(plain)
    families = {_FAMILIES[name.partition("/")[0]] for name in names}
    return Contents(families.pop() if len(families) == 1 else Modality.MIXED_MEDIA, names)


def sampled_rows(count: int) -> list[int]:
    """Return up to SAMPLE_ITEMS of so many rows."""
    rows = np.linspace(0, count - 1, min(count, SAMPLE_ITEMS)).astype(np.int64)
    return [int(row) for row in np.unique(rows)]


def _sample(column: Any) -> Iterable[tuple[bytes, int]]:
    """Yield the first bytes and the length of some items; a NULL is empty."""
    for row in sampled_rows(len(column)):
        buffer = column[row].as_buffer()
        yield (b"", 0) if buffer is None else (bytes(memoryview(buffer)[:HEAD_BYTES]), len(buffer))
