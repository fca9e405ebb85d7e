"""The FlatStor file format: columns of any modality, fast for scans and for single rows."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from raydb.storage.flat.flat_table import FlatTable, open_table
from raydb.storage.flat.metadata.description import ChunkMetadata, ColumnMetadata, TableMetadata

if TYPE_CHECKING:
    from raydb.storage.flat.metadata.drawing import inspect
    from raydb.storage.flat.write import write_stream, write_table

# What queries do without, and where it is.
_LATER = {
    "inspect": "raydb.storage.flat.metadata.drawing",
    "write_stream": "raydb.storage.flat.write",
    "write_table": "raydb.storage.flat.write",
}


def __getattr__(name: str) -> object:
    """Import what writes and draws files when it is asked for."""
    if name not in _LATER:
        raise AttributeError(f"module 'raydb.storage.flat' has no attribute '{name}'")
    return getattr(import_module(_LATER[name]), name)


__all__ = [
    "ChunkMetadata",
    "ColumnMetadata",
    "FlatTable",
    "TableMetadata",
    "inspect",
    "open_table",
    "write_stream",
    "write_table",
]
