"""The FlatStor file format: columns of any modality, fast for scans and for single rows."""

from __future__ import annotations

from raydb.storage.flat.flat_table import FlatTable, open_table
from raydb.storage.flat.metadata.description import ChunkMetadata, ColumnMetadata, TableMetadata
from raydb.storage.flat.metadata.drawing import inspect
from raydb.storage.flat.write import write_stream, write_table

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
