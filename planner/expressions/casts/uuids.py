"""Casts of texts and of 16 bytes to UUIDs, and back."""

from __future__ import annotations

from raydb.storage.uuids import uuid_texts, uuids_of

CONVERSIONS = {
    ("text", "uuid"): lambda array, _: uuids_of(array),
    ("uuid", "text"): lambda array, _: uuid_texts(array),
    ("bytes", "uuid"): lambda array, target: array.cast(target),
    ("uuid", "bytes"): lambda array, target: array.cast(target),
}
