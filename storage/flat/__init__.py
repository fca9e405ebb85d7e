"""The FlatStor file format: columns of any modality, fast for scans and for single rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.late import import_on_use

if TYPE_CHECKING:
    from raydb.storage.flat.flat_table import FlatTable as FlatTable
    from raydb.storage.flat.flat_table import open_table as open_table
    from raydb.storage.flat.metadata.description import ChunkMetadata as ChunkMetadata
    from raydb.storage.flat.metadata.description import ColumnMetadata as ColumnMetadata
    from raydb.storage.flat.metadata.description import TableMetadata as TableMetadata
    from raydb.storage.flat.metadata.drawing import inspect as inspect
    from raydb.storage.flat.write import write_stream as write_stream
    from raydb.storage.flat.write import write_table as write_table

_PLACES = {
    "flat_table": "FlatTable open_table",
    "metadata.description": "ChunkMetadata ColumnMetadata TableMetadata",
    "metadata.drawing": "inspect",
    "write": "write_stream write_table",
}

import_on_use(__name__, _PLACES)
