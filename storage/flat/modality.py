"""Modalities and media types of columns, by the magic number with which each format begins.

    89 50 4E 47 0D 0A 1A 0A     image/png
    52 49 46 46 .. .. .. .. 57 45 42 50     RIFF....WEBP, image/webp

Media are compressed already, so that they are stored verbatim (FlatStor, section 3.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.storage.flat.kinds import is_text, is_vector
from raydb.storage.flat.layout import Kind, Modality

if TYPE_CHECKING:
    from collections.abc import Iterable

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


def detect_modality(column: Any, kind: Kind) -> tuple[Modality, tuple[str, ...]]:
    """Return the modality of a chunked array and the media types found in a sample of it.

    Bytes are media when every item of the sample that is neither NULL nor empty is.
    """
    data_type = column.type
    if kind is Kind.NESTED:
        return (Modality.VECTOR if is_vector(data_type) else Modality.NESTED), ()
    if kind is not Kind.BYTES:
        return Modality.NUMBER, ()
    if is_text(data_type):
        return Modality.TEXT, ()
    return modality_of_items(_sample(column))


def modality_of_items(items: Iterable[tuple[bytes, int]]) -> tuple[Modality, tuple[str, ...]]:
    """Return the modality of binary items, told by the first bytes and the length of some."""
    found = [media_type(head, length) for head, length in items if length]
    names = tuple(sorted({name for name in found if name is not None}))
    if not names or None in found:
        return Modality.BYTES, ()
    families = {_FAMILIES[name.partition("/")[0]] for name in names}
    return (families.pop() if len(families) == 1 else Modality.MIXED_MEDIA), names


def sampled_rows(count: int) -> list[int]:
    """Return up to SAMPLE_ITEMS of so many rows."""
    rows = np.linspace(0, count - 1, min(count, SAMPLE_ITEMS)).astype(np.int64)
    return [int(row) for row in np.unique(rows)]


def _sample(column: Any) -> Iterable[tuple[bytes, int]]:
    """Yield the first bytes and the length of some items; a NULL is empty."""
    for row in sampled_rows(len(column)):
        buffer = column[row].as_buffer()
        yield (b"", 0) if buffer is None else (bytes(memoryview(buffer)[:HEAD_BYTES]), len(buffer))
