"""index_calibrations(): what vector indexes promise, and what has happened since."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.engine.catalog.indexes.stored_calibration import described
from raydb.errors import ProgrammingError
from raydb.names import known_object
from raydb.planner.plan.function_arguments import NAME, Argument
from raydb.planner.plan.table_function import OpenedFunction

if TYPE_CHECKING:
    from raydb.engine.catalog.indexes.stored_calibration import StoredCalibration
    from raydb.engine.context.statement_context import StatementContext
    from raydb.engine.table_functions.vector.search_drift import SearchDrift
    from raydb.planner.plan.table_function import FunctionCall
    from raydb.storage.tables.table import Table

_SCHEMA = pa.schema(
    {
        "index_name": pa.string(),
        "k": pa.int64(),
        "fnr": pa.float64(),
        "confidence": pa.float64(),
        "score": pa.string(),
        "gamma": pa.float64(),
        "kreg": pa.int64(),
        "share": pa.float64(),
        "threshold": pa.float64(),
        "source": pa.string(),
        "queries": pa.int64(),
        "tuning_queries": pa.int64(),
        "null_queries": pa.int64(),
        "seed": pa.int64(),
        "risk": pa.float64(),
        "mean_probes": pa.float64(),
        "fixed_nprobe": pa.int64(),
        "fixed_risk": pa.float64(),
        "state": pa.string(),
        "rows_added": pa.int64(),
        "rows_deleted": pa.int64(),
        "searched": pa.int64(),
        "recent_probes": pa.float64(),
        "recent_distance": pa.float64(),
        "log10_martingale": pa.float64(),
        "warning": pa.string(),
    }
)


class IndexCalibrations(OpenedFunction):
    """index_calibrations([index]): one row a calibration of an index, or of all indexes."""

    name = "index_calibrations"
    arguments = (Argument("index", NAME),)
    usage = "the name of an index, or nothing"

    def open(self, call: FunctionCall, context: StatementContext) -> pa.Table:
        """Return the rows.

        Raises ProgrammingError for an index that does not exist, or is none of vectors.
        """
        index, snapshot = _index_name(call), context.snapshot
        owners = {
            each.name: table
            for table in snapshot.tables.values()
            for each in table.definition.indexes
        }
        if index is not None:
            index = known_object(index, owners, "index")
            if index not in snapshot.vector_indexes:
                raise ProgrammingError(f"index '{index}' is no ivf index: it has no calibrations")
        rows = [
            _row(name, stored, owners[name], context.usage.searches)
            for name in snapshot.calibrations
            if index in (None, name)
            for stored in snapshot.calibrations_of(name)
        ]
        return pa.Table.from_pylist(rows, _SCHEMA)


def _index_name(call: FunctionCall) -> str | None:
    if not call.constants:
        return None
    name = call.constants["index"].value
    if not isinstance(name, str):
        raise ProgrammingError(f"index_calibrations() takes the name of an index, not {name}")
    return name


def _row(
    name: str, stored: StoredCalibration, table: Table, searches: SearchDrift
) -> dict[str, object]:
    calibration, info = stored.calibration, described(stored, table)
    rule = calibration.rule
    return {
        "index_name": name,
        "k": calibration.k,
        "fnr": calibration.fnr,
        "confidence": calibration.confidence,
        "score": rule.score,
        "gamma": rule.gamma,
        "kreg": rule.kreg,
        "share": rule.share,
        "threshold": None if info.first_list_suffices else rule.threshold,
        "source": "held-out rows" if calibration.held_out else "queries",
        "queries": calibration.calibration_count,
        "tuning_queries": calibration.tuning_count,
        "null_queries": stored.null_queries,
        "seed": calibration.seed,
        "risk": calibration.risk,
        "mean_probes": calibration.probes,
        "fixed_nprobe": calibration.nprobe,
        "fixed_risk": calibration.nprobe_risk,
        "state": "stale" if info.is_stale else "fresh",
        "rows_added": info.rows_added,
        "rows_deleted": info.rows_deleted,
        **searches.seen(name, calibration),
    }
