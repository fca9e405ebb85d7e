"""bvhs(): the BVHs, their size and their use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb import sql
from raydb.engine.catalog.stored_bvh import is_outdated, newer_count, with_dead
from raydb.planner.expressions.show import show
from raydb.planner.plan.table_function import OpenedFunction

if TYPE_CHECKING:
    from collections.abc import Iterable

    from raydb.engine.catalog.stored_bvh import StoredBvh
    from raydb.engine.context.statement_context import StatementContext
    from raydb.planner.catalog import BvhDefinition, CatalogInfo
    from raydb.planner.plan.table_function import FunctionCall

_SCHEMA = pa.schema(
    {
        "name": pa.string(),
        "table_name": pa.string(),
        "scan": pa.string(),
        "group_by": pa.string(),
        "aggregate": pa.string(),
        "sieve": pa.bool_(),
        "row_count": pa.int64(),
        "newer_rows": pa.int64(),
        "dead_rows": pa.int64(),
        "size_bytes": pa.int64(),
        "sieve_bytes": pa.int64(),
        "hits": pa.int64(),
        "last_used": pa.timestamp("us"),
        "is_stale": pa.bool_(),
        "merge": pa.string(),
        "obstacle": pa.string(),
        "built_on": pa.string(),
    }
)


class Bvhs(OpenedFunction):
    """bvhs(): one row a BVH."""

    name = "bvhs"

    def open(self, call: FunctionCall, context: StatementContext) -> pa.Table:
        snapshot = context.snapshot
        catalog = snapshot.describe()
        rows: list[dict[str, object]] = []
        for name, bvh in snapshot.bvhs.items():
            use = context.usage.bvhs.get(name)
            rows.append(
                {
                    "name": name,
                    "table_name": bvh.definition.table,
                    **_parts(bvh.definition, catalog),
                    "sieve": bvh.definition.sieve,
                    "row_count": bvh.info.index.row_count,
                    "newer_rows": newer_count(bvh, snapshot.tables),
                    "dead_rows": with_dead(bvh, snapshot.tables).dead_count,
                    "size_bytes": bvh.info.index.size_bytes,
                    "sieve_bytes": sieve.size_bytes if (sieve := bvh.info.index.sieve) else 0,
                    "hits": 0 if use is None else use.hits,
                    "last_used": None if use is None else use.last_used,
                    "is_stale": is_outdated(bvh, snapshot.tables),
                    "merge": _merge_text(bvh),
                    "obstacle": bvh.info.obstacle,
                    "built_on": bvh.info.built_on,
                }
            )
        return pa.Table.from_pylist(rows, _SCHEMA)


def _merge_text(bvh: StoredBvh) -> str | None:
    if bvh.merge is None:
        return None
    return "under way" if bvh.merge.failure is None else f"failed: {bvh.merge.failure}"


def _parts(definition: BvhDefinition, catalog: CatalogInfo) -> dict[str, str]:
    """Return the parts of a definition as CREATE BVH can read them back."""
    names = sql.BvhNames(definition.table, catalog)
    return {
        "scan": _listed(names.attribute_text(a) or a.name for a in definition.scan),
        "group_by": _listed(names.attribute_text(a) or a.name for a in definition.group_by),
        "aggregate": _listed(names.measure_text(m) or show(m) for m in definition.aggregate),
    }


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(texts)
