"""An independent answer to the 13 queries: brute force over the columns of the generated files.

No SQL and no index. The conditions are written here by hand: those on a dimension make a mask of
its rows, which each line looks up by its foreign key. Lines are read in batches, and every batch's
sums are added up in 64-bit integers, so the memory needed does not grow with the scale factor.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

Row: TypeAlias = tuple[Any, ...]
Columns: TypeAlias = "Mapping[str, NDArray[Any]]"
Condition: TypeAlias = "Callable[[NDArray[Any]], NDArray[np.bool_]]"

_BATCH_ROWS: Final = 1 << 20
# What is read of each dimension, its key first.
_DIMENSION_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "date": ("d_datekey", "d_year", "d_yearmonthnum", "d_yearmonth", "d_weeknuminyear"),
    "customer": ("c_custkey", "c_region", "c_nation", "c_city"),
    "supplier": ("s_suppkey", "s_region", "s_nation", "s_city"),
    "part": ("p_partkey", "p_mfgr", "p_category", "p_brand1"),
}
# The tables by the letter that the names of their columns begin with.
_TABLES: Final = {
    "d": "date",
    "c": "customer",
    "s": "supplier",
    "p": "part",
    "l": "lineorder",
}
_FOREIGN_KEYS: Final = {
    "date": "lo_orderdate",
    "customer": "lo_custkey",
    "supplier": "lo_suppkey",
    "part": "lo_partkey",
}
_MEASURES: Final = (
    "lo_quantity",
    "lo_discount",
    "lo_extendedprice",
    "lo_revenue",
    "lo_supplycost",
)
_LINE_COLUMNS: Final = (*_FOREIGN_KEYS.values(), *_MEASURES)


@dataclass(frozen=True, slots=True)
class Question:
    """What a query asks.

    `conditions` has what the values of a column must be; `columns` names the result's columns, with
    'sum' for the measure's sum; `order` lists the result's sort keys, a '-' before descending ones.
    """

    conditions: Mapping[str, Condition]
    measure: Callable[[Columns], NDArray[np.int64]]
    columns: tuple[str, ...] = ("sum",)
    order: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns to group by."""
        return tuple(column for column in self.columns if column != "sum")

    def sort_key(self, row: Row) -> Row:
        """Return what the query sorts the row by; descending keys, which are sums, are negated."""
        values = dict(zip(self.columns, row, strict=True))
        return tuple(-values[key[1:]] if key.startswith("-") else values[key] for key in self.order)


@dataclass(frozen=True, slots=True)
class Answer:
    """A query's rows, sorted as it asks, and the number of lines that its predicates select."""

    rows: list[Row]
    matched_rows: int


def _discounted(line: Columns) -> NDArray[np.int64]:
    return line["lo_extendedprice"].astype(np.int64) * line["lo_discount"]


def _revenue(line: Columns) -> NDArray[np.int64]:
    return line["lo_revenue"].astype(np.int64)


def _profit(line: Columns) -> NDArray[np.int64]:
    return line["lo_revenue"].astype(np.int64) - line["lo_supplycost"]


def _between(low: int | str, high: int | str) -> Condition:
    return lambda values: np.logical_and(values >= low, values <= high)


def _among(*wanted: int | str) -> Condition:
    return lambda values: np.isin(values, wanted)


def _flight_1(**conditions: Condition) -> Question:
    return Question(conditions, _discounted)


def _flight_2(**conditions: Condition) -> Question:
    columns = ("sum", "d_year", "p_brand1")
    return Question(conditions, _revenue, columns, order=("d_year", "p_brand1"))


def _flight_3(column: str, place: Condition, *keys: str, **date: Condition) -> Question:
    conditions = {f"c_{column}": place, f"s_{column}": place}
    columns = (*keys, "d_year", "sum")
    when = date or {"d_year": _between(1992, 1997)}
    return Question(conditions | when, _revenue, columns, order=("d_year", "-sum"))


def _flight_4(*keys: str, **conditions: Condition) -> Question:
    america = {"c_region": _among("AMERICA")}
    return Question(america | conditions, _profit, (*keys, "sum"), order=keys)


QUESTIONS: Final[Mapping[str, Question]] = {
    "q1.1": _flight_1(d_year=_among(1993), lo_discount=_between(1, 3), lo_quantity=_between(1, 24)),
    "q1.2": _flight_1(
        d_yearmonthnum=_among(199401), lo_discount=_between(4, 6), lo_quantity=_between(26, 35)
    ),
    "q1.3": _flight_1(
        d_weeknuminyear=_among(6),
        d_year=_among(1994),
        lo_discount=_between(5, 7),
        lo_quantity=_between(26, 35),
    ),
    "q2.1": _flight_2(p_category=_among("MFGR#12"), s_region=_among("AMERICA")),
    "q2.2": _flight_2(p_brand1=_between("MFGR#2221", "MFGR#2228"), s_region=_among("ASIA")),
    "q2.3": _flight_2(p_brand1=_among("MFGR#2221"), s_region=_among("EUROPE")),
    "q3.1": _flight_3("region", _among("ASIA"), "c_nation", "s_nation"),
    "q3.2": _flight_3("nation", _among("UNITED STATES"), "c_city", "s_city"),
    "q3.3": _flight_3("city", _among("UNITED KI1", "UNITED KI5"), "c_city", "s_city"),
    "q3.4": _flight_3(
        "city",
        _among("UNITED KI1", "UNITED KI5"),
        *("c_city", "s_city"),
        d_yearmonth=_among("Dec1997"),
    ),
    "q4.1": _flight_4(
        *("d_year", "c_nation"),
        s_region=_among("AMERICA"),
        p_mfgr=_among("MFGR#1", "MFGR#2"),
    ),
    "q4.2": _flight_4(
        *("d_year", "s_nation", "p_category"),
        s_region=_among("AMERICA"),
        d_year=_among(1997, 1998),
        p_mfgr=_among("MFGR#1", "MFGR#2"),
    ),
    "q4.3": _flight_4(
        *("d_year", "s_city", "p_brand1"),
        s_nation=_among("UNITED STATES"),
        d_year=_among(1997, 1998),
        p_category=_among("MFGR#14"),
    ),
}


def brute_force(
    folder: Path,
    advance: Callable[[], None] = lambda: None,
    questions: Mapping[str, Question] = QUESTIONS,
) -> dict[str, Answer]:
    """Answer the questions over the Parquet files in `folder`.

    `advance` is called after each of the `batch_count(folder)` batches.
    """
    dimensions = {
        table: _arrays(pq.read_table(folder / f"{table}.parquet", columns=list(columns)))
        for table, columns in _DIMENSION_COLUMNS.items()
    }
    totals = {name: _Total(question, dimensions) for name, question in questions.items()}
    # Buffering ahead would hold all columns of the file in memory: 1.2 GB at scale factor 10.
    with pq.ParquetFile(folder / "lineorder.parquet", pre_buffer=False) as file:
        for batch in file.iter_batches(_BATCH_ROWS, columns=list(_LINE_COLUMNS)):
            line = _arrays(batch)
            line_rows = {
                table: _rows_of(dimensions[table][columns[0]], line[_FOREIGN_KEYS[table]])
                for table, columns in _DIMENSION_COLUMNS.items()
            }
            for total in totals.values():
                total.add(line, line_rows)
            advance()
    return {name: total.answer() for name, total in totals.items()}


class _Total:
    """The sums of one question over the batches so far."""

    def __init__(self, question: Question, dimensions: Mapping[str, Columns]) -> None:
        self._question = question
        self._masks: dict[str, NDArray[np.bool_]] = {}
        self._line_conditions: dict[str, Condition] = {}
        for column, condition in question.conditions.items():
            table = _TABLES[column[0]]
            if table == "lineorder":
                self._line_conditions[column] = condition
            else:
                mask = condition(dimensions[table][column])
                self._masks[table] = mask & self._masks.get(table, np.True_)
        # For each group key: its dimension, its distinct values and each dimension row's code.
        self._keys: list[tuple[str, NDArray[Any], NDArray[np.int64]]] = []
        for key in question.keys:
            table = _TABLES[key[0]]
            values, codes = np.unique(dimensions[table][key], return_inverse=True)
            self._keys.append((table, values, codes))
        self._sums: defaultdict[int, int] = defaultdict(int)
        self._matched_rows = 0

    def add(self, line: Columns, line_rows: Mapping[str, NDArray[np.int64]]) -> None:
        """Add a batch of lines; `line_rows` has each line's row number in each dimension."""
        rows = np.arange(len(line["lo_orderdate"]))
        for column, condition in self._line_conditions.items():
            rows = rows[condition(line[column][rows])]
        for table, mask in self._masks.items():
            rows = rows[mask[line_rows[table][rows]]]
        group = np.zeros(len(rows), dtype=np.int64)
        for table, values, codes in self._keys:
            group = group * len(values) + codes[line_rows[table][rows]]
        measure = self._question.measure({name: line[name][rows] for name in _MEASURES})
        groups, positions = np.unique(group, return_inverse=True)
        sums = np.zeros(len(groups), dtype=np.int64)
        np.add.at(sums, positions, measure)
        for one, total in zip(groups.tolist(), sums.tolist(), strict=True):
            self._sums[one] += total
        self._matched_rows += len(rows)

    def answer(self) -> Answer:
        """Return the result's rows, with the groups' codes turned back into values."""
        rows = [self._row(group, total) for group, total in self._sums.items()]
        if not rows and not self._keys:
            rows = [(None,)]  # SUM over nothing is NULL
        rows.sort(key=self._question.sort_key)
        return Answer(rows, self._matched_rows)

    def _row(self, group: int, total: int) -> Row:
        found: dict[str, Any] = {"sum": total}
        for key, (_, values, _) in zip(
            reversed(self._question.keys), reversed(self._keys), strict=True
        ):
            group, code = divmod(group, len(values))
            found[key] = values[code].item()
        return tuple(found[column] for column in self._question.columns)


def _arrays(table: pa.Table | pa.RecordBatch) -> dict[str, NDArray[Any]]:
    """Return the columns as arrays, texts as fixed-width ones that NumPy compares."""
    arrays: dict[str, NDArray[Any]] = {}
    for name in table.schema.names:
        values = table.column(name).to_numpy(zero_copy_only=False)
        arrays[name] = values.astype(str) if values.dtype == object else values
    return arrays


def _rows_of(keys: NDArray[Any], line_keys: NDArray[Any]) -> NDArray[np.int64]:
    """Return the row number of each line's key among a dimension's ascending keys."""
    rows = np.searchsorted(keys, line_keys)
    assert np.array_equal(keys[rows], line_keys), "a foreign key of the generated data dangles"
    return rows


def batch_count(folder: Path) -> int:
    """Return the number of batches in which `brute_force` reads the lines."""
    row_count: int = pq.read_metadata(folder / "lineorder.parquet").num_rows
    return -(-row_count // _BATCH_ROWS)


def differences(name: str, found: Sequence[Row], expected: Sequence[Row]) -> list[str]:
    """Compare a query's rows with the expected ones; return a line for each thing that is wrong.

    The rows must be the same, duplicates included, and `found` must be in the order that the query
    asks for; rows that its sort keys leave equal may come in any order.
    """
    missing = Counter(expected) - Counter(found)
    surplus = Counter(found) - Counter(expected)
    lines = [f"missing row {row}" for row in missing.elements()]
    lines += [f"surplus row {row}" for row in surplus.elements()]
    sort_key = QUESTIONS[name].sort_key
    if not lines and [sort_key(row) for row in found] != [sort_key(row) for row in expected]:
        lines.append(f"the rows are not in the order of {', '.join(QUESTIONS[name].order)}")
    return lines


def ordered_differences(found: Sequence[Row], expected: Sequence[Row]) -> list[str]:
    """Compare rows place by place, floats to 12 digits; return a line for each wrong row."""
    if len(found) != len(expected):
        return [f"{len(found)} rows instead of {len(expected)}"]
    return [
        f"row {place} is {one} instead of {other}"
        for place, (one, other) in enumerate(zip(found, expected, strict=True), 1)
        if not _same(one, other)
    ]


def _same(found: Row, expected: Row) -> bool:
    return len(found) == len(expected) and all(
        math.isclose(one, other, rel_tol=1e-12) if isinstance(other, float) else one == other
        for one, other in zip(found, expected, strict=True)
    )
