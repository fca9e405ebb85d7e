"""The flat table as the rivals load it: every line with attributes of its dimensions, narrow.

    >>> FlatTable(folder).schema.field("p_brand1").type
    DictionaryType(dictionary<values=string, indices=int16, ordered=0>)

Texts are dictionaries in the order of their values, so that a rival may keep them as an ordered
enumeration. The joins are look-ups by NumPy, and lines come in batches: whoever loads them needs
room for its own copy only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from raydb.ssb import rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

BATCH_ROWS: Final = 1 << 20

# What the queries of both workloads read. No rival is made to carry more.
_LINE_COLUMNS: Final = (
    "lo_custkey",
    "lo_orderdate",
    "lo_orderpriority",
    "lo_quantity",
    "lo_extendedprice",
    "lo_discount",
    "lo_revenue",
    "lo_supplycost",
    "lo_tax",
    "lo_shipmode",
)
# For each dimension: the line's foreign key, its own key, and the attributes.
_DIMENSIONS: Final = {
    "date": (
        "lo_orderdate",
        "d_datekey",
        ("d_year", "d_yearmonthnum", "d_yearmonth", "d_monthnuminyear", "d_weeknuminyear"),
    ),
    "customer": ("lo_custkey", "c_custkey", ("c_region", "c_nation", "c_city", "c_mktsegment")),
    "supplier": ("lo_suppkey", "s_suppkey", ("s_region", "s_nation", "s_city")),
    "part": ("lo_partkey", "p_partkey", ("p_mfgr", "p_category", "p_brand1")),
}


class FlatTable:
    """The flat table of a folder of generated Parquet files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._keys: dict[str, NDArray[Any]] = {}
        # The attributes of each dimension's rows, texts as dictionaries.
        self._attributes: dict[str, dict[str, pa.Array]] = {}
        for table, (_, key, names) in _DIMENSIONS.items():
            rows = pq.read_table(folder / f"{table}.parquet", columns=[key, *names])
            self._keys[table] = rows[key].to_numpy()
            self._attributes[table] = {
                name: _narrow(name, rows[name].combine_chunks()) for name in names
            }
        lines = pq.read_metadata(folder / "lineorder.parquet")
        self.row_count: int = lines.num_rows
        schema = lines.schema.to_arrow_schema()
        fields = [(name, _type(name, schema.field(name).type)) for name in _LINE_COLUMNS]
        for attributes in self._attributes.values():
            fields += [(name, values.type) for name, values in attributes.items()]
        self.schema = pa.schema(fields)

    @property
    def row_bytes(self) -> int:
        """The bytes of a row in these columns; a text counts as its dictionary's index."""
        kinds = [field.type for field in self.schema]
        widths = [k.index_type if pa.types.is_dictionary(k) else k for k in kinds]
        return sum(int(kind.bit_width) for kind in widths) // 8

    @property
    def batch_count(self) -> int:
        """The number of batches."""
        return -(-self.row_count // BATCH_ROWS)

    def batches(self, advance: Callable[[], None] = lambda: None) -> Iterator[pa.RecordBatch]:
        """Yield the rows in the order of the lines."""
        read = [*_LINE_COLUMNS, "lo_partkey", "lo_suppkey"]
        # Buffering ahead would hold all columns of the file in memory.
        with pq.ParquetFile(self.folder / "lineorder.parquet", pre_buffer=False) as file:
            for batch in file.iter_batches(BATCH_ROWS, columns=read):
                yield self._flat(batch)
                advance()

    def _flat(self, lines: pa.RecordBatch) -> pa.RecordBatch:
        columns = [_narrow(name, lines[name]) for name in _LINE_COLUMNS]
        for table, (foreign_key, _, names) in _DIMENSIONS.items():
            rows = pa.array(np.searchsorted(self._keys[table], lines[foreign_key].to_numpy()))
            columns += [self._attributes[table][name].take(rows) for name in names]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def _type(column: str, kind: pa.DataType) -> pa.DataType:
    """Return a column's type: a dictionary for texts."""
    if column not in rules.VALUES:
        return kind
    index = pa.int8() if len(rules.VALUES[column]) < 2**7 else pa.int16()
    return pa.dictionary(index, pa.string())


def _narrow(column: str, values: pa.Array) -> pa.Array:
    """Return texts as codes of the column's values, other arrays as they are."""
    if column not in rules.VALUES:
        return values
    texts = pa.array(rules.VALUES[column])
    codes = pc.index_in(values, texts).cast(_type(column, values.type).index_type)
    return pa.DictionaryArray.from_arrays(codes, texts)
