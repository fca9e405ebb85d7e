"""UUIDs: 128 bits each, the bytes in the order in which they are written."""

from __future__ import annotations

import re
import uuid

import pyarrow as pa

UUID = pa.binary(16)
_WRITTEN = re.compile(r"\{?" + "-?".join(["([0-9a-fA-F]{4})"] * 8) + r"\}?")


def uuid_texts(array: pa.Array) -> pa.Array:
    """Return UUIDs as 8-4-4-4-12 digits in lower case."""
    storage = array.storage if isinstance(array, pa.ExtensionArray) else array
    texts = [None if each is None else str(uuid.UUID(bytes=each)) for each in storage.to_pylist()]
    return pa.array(texts, pa.string())


def uuids_of(texts: pa.Array) -> pa.Array:
    """Return the UUIDs of texts in hexadecimal, with braces and hyphens or without.

    A hyphen may be behind any four digits, as in PostgreSQL and DuckDB.

    Raises pa.ArrowInvalid for a text that is none.
    """
    values = [None if text is None else _read_uuid(text) for text in texts.to_pylist()]
    return pa.array(values, UUID)


def _read_uuid(text: str) -> bytes:
    found = _WRITTEN.fullmatch(text.strip())
    if found is None:
        raise pa.ArrowInvalid("no UUID")
    return bytes.fromhex("".join(found.groups()))
