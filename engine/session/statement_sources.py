"""What a statement reads beside the database's tables: files, Python objects, the engine's reports.

Each is a table that exists for as long as the statement runs.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

import pyarrow as pa

from raydb import sql
from raydb.engine.catalog.stored_bvh import is_outdated, newer_count, with_dead
from raydb.engine.context.memory import parse_limit
from raydb.engine.table_functions.advise_bvh import advice
from raydb.engine.table_functions.vector.calibration_report import calibration_rows
from raydb.engine.table_functions.vector.search_drift import SearchDrift
from raydb.errors import DataError, OperationalError
from raydb.planner.explain import show
from raydb.storage.formats.paths import describe_failure
from raydb.storage.tables.rows import ArrowPart, Rows
from raydb.storage.tables.table import Table, TableDefinition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.catalog.stored_bvh import StoredBvh
    from raydb.engine.session.file_access import FileAccess
    from raydb.engine.session.python_tables import PythonTables
    from raydb.planner.catalog import BvhDefinition, CatalogInfo
    from raydb.sql import ast
    from raydb.storage.tables.table import Index

    Parameters = Sequence[object] | Mapping[str, object]

# What tells a text from the path of a file.
_QUERY = re.compile(r";|\b(select|values)\s", re.IGNORECASE)

_BVH_SCHEMA = pa.schema(
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


_VECTOR_INDEX_SCHEMA = pa.schema(
    {
        "name": pa.string(),
        "table_name": pa.string(),
        "column_name": pa.string(),
        "metric": pa.string(),
        "lists": pa.int64(),
        "vectors": pa.int64(),
        "rows_beside": pa.int64(),
        "null_vectors": pa.int64(),
        "size_bytes": pa.int64(),
        "options": pa.string(),
    }
)


@dataclass(frozen=True, slots=True)
class Use:
    """How many queries used a BVH, and when the last one did."""

    hits: int
    last_used: dt.datetime


class Uses:
    """How BVHs were used, by name, since the database was opened; rollbacks change nothing here.

    searches: what searches with a promise have shown.
    """

    def __init__(self) -> None:
        self._uses: dict[str, Use] = {}
        self.searches = SearchDrift()

    def note(self, names: Iterable[str]) -> None:
        """Count a query that used some BVHs."""
        now = dt.datetime.now()
        for name in names:
            known = self._uses.get(name)
            self._uses[name] = Use(1 if known is None else known.hits + 1, now)

    def forget(self, names: Iterable[str]) -> None:
        """Begin anew for BVHs that are gone or were made anew."""
        for name in names:
            self._uses.pop(name, None)

    def get(self, name: str) -> Use | None:
        """Return how a BVH was used, None where it was not."""
        return self._uses.get(name)


def open_sources(
    statement: ast.Select | ast.Insert | ast.Update | ast.Delete,
    snapshot: Snapshot,
    files: FileAccess,
    python: PythonTables,
    uses: Uses,
    parameters: Parameters,
) -> Mapping[str, Table]:
    """Return the tables of the files, Python objects and reports that a statement names in FROM.

    Raises what `FileAccess.open_files`, `PythonTables.find` and `advice` raise.
    """
    tables = dict(files.open_files(statement, snapshot, parameters))
    known = snapshot.tables.keys() | snapshot.views.keys()
    unknown = {n: text for n, text in sql.tables_named(statement).items() if n not in known}
    if unknown:
        tables |= python.find(unknown)
    for name, report in sql.reports_of(statement, snapshot.views, parameters).items():
        match report:
            case sql.BvhList():
                rows = _bvhs(snapshot, uses)
            case sql.VectorIndexList():
                rows = _vector_indexes(snapshot)
            case sql.CalibrationList(index=index):
                rows = calibration_rows(index, snapshot, uses.searches)
            case sql.AdviceRequest(workload=workload, memory=memory, max_bvhs=max_bvhs):
                limit = None if memory is None else parse_limit(memory, "memory")
                rows = advice(_text_of(workload, files), limit, max_bvhs, snapshot)
            case _:
                assert_never(report)
        parts = (ArrowPart(rows),)
        tables[name] = Table(TableDefinition(name, rows.schema), Rows(rows.schema, parts), 0)
    return tables


def _text_of(workload: str, files: FileAccess) -> str:
    """Return the text of a workload, which may be in a file."""
    if _QUERY.search(workload) or not workload.strip():
        return workload
    files.check(workload)
    try:
        return Path(workload).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"file '{workload}' is not UTF-8") from error
    except (OSError, ValueError) as error:
        failure = error if isinstance(error, OSError) else OSError(str(error))
        raise OperationalError(describe_failure(workload, failure)) from error


def _bvhs(snapshot: Snapshot, uses: Uses) -> pa.Table:
    """Return one row a BVH."""
    catalog = snapshot.describe()
    rows: list[dict[str, object]] = []
    for name, bvh in snapshot.bvhs.items():
        use = uses.get(name)
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
    return pa.Table.from_pylist(rows, _BVH_SCHEMA)


def _merge_text(bvh: StoredBvh) -> str | None:
    if bvh.merge is None:
        return None
    return "under way" if bvh.merge.failure is None else f"failed: {bvh.merge.failure}"


def _vector_indexes(snapshot: Snapshot) -> pa.Table:
    """Return one row an ivf index."""
    rows = [
        {
            "name": index.name,
            "table_name": table.name,
            "column_name": index.columns[0],
            "metric": arrays.metric,
            "lists": arrays.list_count,
            "vectors": len(arrays.row_ids),
            "rows_beside": table.row_count - arrays.row_count,
            "null_vectors": table.null_count(index.columns[0]),
            "size_bytes": arrays.size_bytes,
            "options": _ivf_options(index),
        }
        for table in snapshot.tables.values()
        for index in table.definition.ivf_indexes
        for arrays in (snapshot.vector_indexes[index.name],)
    ]
    return pa.Table.from_pylist(rows, _VECTOR_INDEX_SCHEMA)


def _ivf_options(index: Index) -> str:
    """Return the options of an index as CREATE INDEX ... WITH can read them back."""
    assert index.ivf is not None
    options = [f"metric = '{index.ivf.metric}'", f"seed = {index.ivf.seed}"]
    if index.ivf.lists:
        options.insert(0, f"lists = {index.ivf.lists}")
    if index.ivf.quantization != "none":
        options.append(f"quantization = '{index.ivf.quantization}'")
    return ", ".join(options)


def _parts(definition: BvhDefinition, catalog: CatalogInfo) -> dict[str, str]:
    """Return the parts of a definition as CREATE BVH can read them back."""
    fact = definition.table
    return {
        "scan": _listed(sql.attribute_text(a, fact, catalog) or a.name for a in definition.scan),
        "group_by": _listed(
            sql.attribute_text(a, fact, catalog) or a.name for a in definition.group_by
        ),
        "aggregate": _listed(
            sql.measure_text(m, fact, catalog) or show(m) for m in definition.aggregate
        ),
    }


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(texts)
