"""The curve of a query's cost over the rows that it touches, at several scale factors.

The 13 queries, and sums over more and more years and discounts up to all rows. If the cost grows
with the rows touched and not with the rows stored, the scale factors lie on one curve.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

import raydb
from raydb.ssb import charts, workload
from raydb.ssb.generate import DataSet, prepare
from raydb.ssb.machine import describe_machine, median_ms
from raydb.ssb.progress import Progress
from raydb.ssb.rivals import QUERY_SECONDS
from raydb.ssb.rivals.run_rival import release_memory
from raydb.ssb.run import asking, build_bvhs, explain, load, open_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.console import Console

# The sweep: so many years, so many discounts, from one in 77 rows to all.
_SWEEP: Final = (
    (1, 1), (1, 3), (1, 11), (2, 6), (2, 11), (3, 8), (3, 11), (5, 9), (5, 11), (7, 11),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Point:
    """The median of one query at one scale factor, from text to rows."""

    scale_factor: float
    name: str
    rows_touched: int
    time_ms: float


def trace(
    folder: Path, scale_factors: Sequence[float], seed: int, runs: int, messages: Console
) -> list[Point]:
    """Load each scale factor in turn and time its queries. Raises raydb.Error."""
    points = []
    for scale_factor in scale_factors:
        progress = Progress(messages)
        data = DataSet(scale_factor, seed)
        prepare(folder / data.folder_name, data, progress, replace_unmarked=True)
        with contextlib.closing(raydb.connect()) as connection:
            load(connection, folder / data.folder_name, progress)
            build_bvhs(connection, progress)
            for name, text in _queries():
                touched = explain(connection, text).rows_touched
                # A query that no BVH serves, or that touches nothing, has no place on the axis.
                if touched:
                    time_ms = median_ms(asking(connection, text), runs, QUERY_SECONDS)
                    points.append(Point(scale_factor, name, touched, time_ms))
        release_memory()
    return points


def print_curve(points: Sequence[Point], out: Console) -> None:
    """Print the points as a table, by the rows touched."""
    names = ("scale factor", "query", "rows touched", "median ms", "ns a row")
    table = open_table("Cost by rows touched", names)
    for point in sorted(points, key=lambda point: point.rows_touched):
        table.add_row(
            f"{point.scale_factor:g}",
            point.name,
            f"{point.rows_touched:,}",
            f"{point.time_ms:.3f}",
            f"{point.time_ms * 1e6 / point.rows_touched:,.2f}",
        )
    out.print(table)


def curve_json(points: Sequence[Point]) -> str:
    """Return the points and the machine as JSON."""
    figures = {"machine": describe_machine(), "points": [asdict(point) for point in points]}
    return json.dumps(figures, indent=1) + "\n"


def curve_svg(points: Sequence[Point]) -> str:
    """Return the points as a chart, the sweep and the 13 queries apart."""
    series: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        kind = "13 queries" if point.name in workload.QUERIES else "sweep"
        name = f"SF {point.scale_factor:g}, {kind}"
        series.setdefault(name, []).append((point.rows_touched, point.time_ms))
    return charts.scatter_chart(
        "Cost grows with the rows touched, not the rows stored", "rows touched", "ms", series
    )


def _queries() -> Iterator[tuple[str, str]]:
    for name in workload.QUERIES:
        yield name, workload.query(name, "star")
    for years, discounts in _SWEEP:
        yield (
            f"{years} years, {discounts} discounts",
            "SELECT SUM(lo_extendedprice * lo_discount) AS revenue FROM lineorder, date "
            "WHERE lo_orderdate = d_datekey "
            f"AND d_year BETWEEN 1992 AND {1991 + years} "
            f"AND lo_discount BETWEEN 0 AND {discounts - 1}",
        )
