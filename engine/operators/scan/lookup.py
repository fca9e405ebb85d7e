"""Rows of a table that an index of its keys finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.operators.scan.scan import fetch_rows, most_few_rows
from raydb.storage.tables.key_index import candidates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.engine.context.memory import Memory
    from raydb.engine.operators.relation import Relation
    from raydb.planner.expressions.nodes import Column
    from raydb.planner.plan.nodes import IndexLookup
    from raydb.storage.tables.table import Table


def lookup_rows(
    table: Table, columns: Sequence[Column], lookup: IndexLookup, memory: Memory
) -> Relation | None:
    """Return some columns of the visible rows with some keys; others may be among them.

    None where it is no better than to compare all rows.
    """
    schema = table.rows.schema
    values = zip(*([each.value for each in key] for key in lookup.keys), strict=True)
    keys = [
        pa.array(column, schema.field(name).type)
        for name, column in zip(lookup.columns, values, strict=False)
    ]
    if not lookup.keys:
        return fetch_rows(table, columns, np.empty(0, np.int64))
    most = most_few_rows(table)
    found = candidates(table.rows, lookup.columns, keys, most, memory.room())
    if found is None:
        return None
    return fetch_rows(table, columns, found if table.live is None else found[table.live[found]])
