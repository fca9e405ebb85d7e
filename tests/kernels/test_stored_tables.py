"""Tables in Arrow's stream format."""

from __future__ import annotations

import pyarrow as pa

from raydb.kernels.stored.ipc import read_table


def test_columns_begin_where_arrow_wants_them() -> None:
    # With others each query would tell so on stderr.
    rows = pa.table({"a": pa.array([1, 2, 3]), "b": ["x", "", None]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    stream = sink.getvalue().to_pybytes()
    for shift in range(8):
        table = read_table(memoryview(b"." * shift + stream)[shift:])
        assert table is not None
        assert table.equals(rows)
        buffers = [b for column in table.columns for b in column.chunk(0).buffers()]
        assert {b.address % 8 for b in buffers if b is not None} == {0}
