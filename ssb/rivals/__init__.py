"""The rivals of `raydb-ssb compare`, each as fast as it honestly can be.

    duckdb-flat     one flat table: narrow integers, ENUM columns, in the order of the dates
    duckdb-sorted   one copy a flight, of what the flight reads, sorted by what it asks for
    polars          a frame of narrow integers and Enum columns; a query is planned before the clock
    chdb            one MergeTree table a flight, its primary key what the flight asks for

A rival is imported when it is chosen. All but Polars, whose clock starts at a planned expression,
are timed from text to rows, as RayDB is.
"""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import raydb

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from raydb.ssb.check import Row
    from raydb.ssb.flat import FlatTable
    from raydb.ssb.workload import Query, Workload

Ask: TypeAlias = "Callable[[], list[Row]]"
# What is wrong with a query's rows, nothing where they are right.
Differences: TypeAlias = "Callable[[str, list[Row]], list[str]]"

# The package of each rival, and the class in the module here that is named after it.
_CLASSES: Final = {
    "duckdb-flat": ("duckdb", "DuckDbFlat"),
    "duckdb-sorted": ("duckdb", "DuckDbSorted"),
    "polars": ("polars", "Polars"),
    "chdb": ("chdb", "ChDb"),
}
NAMES: Final = tuple(_CLASSES)
THREADS: Final = 2
# A query is repeated no longer than this, so that a slow one cannot hold up the rest.
QUERY_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Flight:
    """A copy of the flat table for a flight's queries.

    keys: what it is sorted by, coarse before fine; others: the columns beside; measure: what the
    queries add up, kept in the column `measure`, as a BVH keeps it.
    """

    keys: tuple[str, ...]
    others: tuple[str, ...]
    measure: str

    def query(self, query: Query) -> str:
        """Return the flat text of one of its queries, over the copy."""
        text = query.flat.replace("lineorder_flat", f"lineorder_{query.flight}")
        return text.replace(f"SUM({self.measure})", "SUM(measure)")


FLIGHTS: Final[Mapping[str, Flight]] = {
    "1": Flight(
        ("d_year", "d_yearmonthnum", "d_weeknuminyear", "lo_discount", "lo_quantity"),
        (),
        "lo_extendedprice * lo_discount",
    ),
    "2": Flight(("s_region", "p_category", "p_brand1", "d_year"), (), "lo_revenue"),
    "3": Flight(
        ("c_region", "s_region", "c_nation", "s_nation", "c_city", "s_city", "d_year"),
        ("d_yearmonth",),
        "lo_revenue",
    ),
    "4": Flight(
        ("c_region", "s_region", "p_mfgr", "p_category", "d_year", "s_nation"),
        ("c_nation", "s_city", "p_brand1"),
        "lo_revenue - lo_supplycost",
    ),
}


class Rival(Protocol):
    """An engine that holds the flat table in its own way; it is made for a workload.

    build_s: the seconds that sorting the copies took, None where there are none.
    """

    version: str
    build_s: float | None

    def load(self, flat: FlatTable, advance: Callable[[], None]) -> None:
        """Load the flat table; `advance` is called after each of its batches."""

    def prepare(self, query: Query) -> Ask:
        """Return what asks a query once, from its text (or planned expression) to its rows."""

    def close(self) -> None:
        """Give the memory back."""


def choose(names: Sequence[str] | None, workload: Workload) -> tuple[list[str], dict[str, str]]:
    """Return the rivals to run and, for those left out, the reason.

    `names` is None where the user named none: what is not installed is left out then. Raises
    ProgrammingError for an unknown name or one without a part in the workload, OperationalError
    for what is named and not installed, or where nothing is installed.
    """
    chosen, left_out = [], {}
    for name in names or NAMES:
        if name not in NAMES:
            raise raydb.ProgrammingError(
                f"there is no rival '{name}'; the rivals are {', '.join(NAMES)}"
            )
        reason = None
        if name == "duckdb-sorted" and workload == "other":
            reason = "its copies are sorted for the 13 queries only"
        elif not is_installed(name):
            reason = "it is not installed; install raydb[compare]"
        if reason is None:
            chosen.append(name)
        else:
            left_out[name] = reason
    if names and left_out:
        name, reason = next(iter(left_out.items()))
        raise raydb.OperationalError(f"cannot run the rival {name}: {reason}")
    if not chosen:
        raise raydb.OperationalError("no rival is installed; install raydb[compare]")
    return list(dict.fromkeys(chosen)), left_out


def make(name: str, workload: Workload) -> Rival:
    """Return a rival, empty still."""
    package, kind = _CLASSES[name]
    module = importlib.import_module(f"raydb.ssb.rivals.{package}_rival")
    rival: Rival = getattr(module, kind)(workload)
    return rival


def is_installed(name: str) -> bool:
    """Return whether a rival's package is there, without importing it."""
    return importlib.util.find_spec(_CLASSES[name][0]) is not None


def import_rival(module: str) -> Any:
    """Import a rival's module, or raise OperationalError that says what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise raydb.OperationalError(
            f"cannot import {module} ({error}); install raydb[compare]"
        ) from error
