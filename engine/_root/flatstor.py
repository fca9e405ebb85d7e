"""The FlatStor file format on its own: columns of any modality, fast for scans and single rows.

>>> import pyarrow as pa
>>> from raydb import flatstor
>>> flatstor.write_table(pa.table({"id": [1, 2], "caption": ["a cat", "a dog"]}), "pets.flat")
>>> with flatstor.open_table("pets.flat") as pets:
...     pets.item(1, "caption")
'a dog'

The bytes are specified in docs/flatstor.md.
"""

from __future__ import annotations

from raydb.storage.flat import (
    ChunkMetadata,
    ColumnMetadata,
    FlatTable,
    TableMetadata,
    inspect,
    open_table,
    write_table,
)

__all__ = [
    "ChunkMetadata",
    "ColumnMetadata",
    "FlatTable",
    "TableMetadata",
    "inspect",
    "open_table",
    "write_table",
]
