"""Casts of texts to bytes, and back."""

from __future__ import annotations

import re

import pyarrow as pa

_HEX = re.compile(r"\\x((?:[0-9a-fA-F]{2}|\s)*)")
_BLOB_PIECE = re.compile(
    r"\\x(?P<hex>[0-9a-fA-F]{2})|\\(?P<octal>[0-3][0-7]{2})|(?P<slash>\\\\)|(?P<plain>[^\\]+)"
)


def _text_to_blob(array: pa.Array, target: pa.DataType) -> pa.Array:
    r"""Read bytes: '\xABCD' in hexadecimal, or text with \\ and \ooo (octal) as PostgreSQL.

    DuckDB's way, an \xAB for each byte, is read as well.
    """
    values = array.to_pylist()
    return pa.array([None if text is None else _read_blob(text) for text in values], target)


def _read_blob(text: str) -> bytes:
    whole = _HEX.fullmatch(text)
    if whole is not None:
        return bytes.fromhex(whole[1])
    pieces = []
    place = 0
    while place < len(text):
        found = _BLOB_PIECE.match(text, place)
        if found is None:
            raise pa.ArrowInvalid("no bytes")
        place = found.end()
        match found.lastgroup:
            case "hex":
                pieces.append(bytes.fromhex(found["hex"]))
            case "octal":
                pieces.append(bytes([int(found["octal"], 8)]))
            case "slash":
                pieces.append(b"\\")
            case _:
                pieces.append(found["plain"].encode())
    return b"".join(pieces)


def _blob_to_text(array: pa.Array, target: pa.DataType) -> pa.Array:
    r"""Write bytes in hexadecimal: \x and two digits a byte, as PostgreSQL."""
    values = array.to_pylist()
    return pa.array([None if value is None else f"\\x{value.hex()}" for value in values], target)


CONVERSIONS = {
    ("text", "bytes"): _text_to_blob,
    ("bytes", "text"): _blob_to_text,
}
