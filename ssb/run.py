"""A run of the benchmark: generate or reuse, load, build, ask, check, time, and print one table."""

from __future__ import annotations

import contextlib
import json
import statistics
import time
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import pyarrow as pa
from rich import box
from rich.table import Column, Table
from rich.text import Text

import raydb
from raydb.ssb import check, rivals, rules, workload
from raydb.ssb.flat import FlatTable
from raydb.ssb.generate import DataSet, prepare
from raydb.ssb.machine import limited_cores, median_ms
from raydb.ssb.progress import Progress
from raydb.ssb.rivals.run_rival import run_rival

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from raydb.ssb.check import Row
    from raydb.ssb.workload import Form

Oracle: TypeAlias = Literal["brute", "duckdb", "none"]
Beside: TypeAlias = Literal["duckdb", "general", "none"]

_BESIDE_NAMES: Final = {"duckdb": "DuckDB", "general": "general", "none": "other", None: "other"}
_ORACLE_NAMES: Final = {"brute": "brute force", "duckdb": "DuckDB"}
_GENERAL_REPEAT: Final = 3
_GENERAL_SECONDS: Final = 0.5
_SHOWN_DIFFERENCES: Final = 5
# The columns of tables that hold texts.
_TEXTS: Final = ("query", "BVH", "backend", "checked")


@dataclass(frozen=True, slots=True)
class Options:
    """What to run. `folder` holds the data sets, each in a folder of its own.

    beside: who is timed too; None is DuckDB where it is installed, else the general path.
    cluster: whose workers scan, see `ssb.cluster`; segments: into how many the lines are cut.
    """

    folder: Path
    scale_factor: float = 1.0
    seed: int = rules.DEFAULT_SEED
    oracle: Oracle = "brute"
    forms: tuple[Form, ...] = ("star", "flat")
    repeat: int = 20
    beside: Beside | None = None
    cluster: str | None = None
    segments: int = 8


@dataclass(frozen=True, slots=True)
class Plan:
    """What EXPLAIN says of a query: the fused job's BVH, backend and rows.

    A scan of the fact table has no BVH, the general path none of them.
    """

    bvh: str | None
    backend: str | None
    rows_touched: int | None

    @property
    def served_by(self) -> str:
        """The BVH, or what runs in place of one."""
        return self.bvh or ("(general)" if self.backend is None else "(scan)")


@dataclass(frozen=True, slots=True)
class Result:
    """One query in one form. Times are medians in ms, `other_ms` that of who is beside.

    `faults` says what is wrong with its rows; it is None where nothing was checked.
    """

    name: str
    form: Form
    row_count: int
    plan: Plan
    time_ms_median: float
    other_ms: float | None
    faults: list[str] | None

    @property
    def label(self) -> str:
        """The query's name, with its form where that is not the star form."""
        return self.name if self.form == "star" else f"{self.name} flat"

    @property
    def ratio(self) -> float | None:
        """How many times faster than the other it was."""
        return None if self.other_ms is None else self.other_ms / self.time_ms_median


def run(options: Options, out: Console, messages: Console) -> int:
    """Run the benchmark and return the exit code: 1 where an answer is wrong, else 0.

    The table goes to `out`, progress to `messages`. Raises raydb.Error.
    """
    start = time.perf_counter()
    if "duckdb" in {options.oracle, options.beside}:
        rivals.import_rival("duckdb")  # before the long steps
    if options.beside is None:
        options = replace(options, beside="duckdb" if find_spec("duckdb") else "general")
    progress = Progress(messages)
    data = DataSet(options.scale_factor, options.seed)
    folder = options.folder / data.folder_name
    prepare(folder, data, progress, replace_unmarked=True)
    expected = expected_rows(folder, options.oracle, progress)
    with limited_cores(rivals.THREADS):
        with contextlib.closing(raydb.connect()) as connection:
            load(connection, folder, progress)
            build_bvhs(connection, progress)
            results = ask_all(connection, options, expected, progress)
        if options.beside == "duckdb":
            results = beside_duckdb(folder, results, options, expected, progress)
    for result in results:
        print_faults(result, options.oracle, out)
    out.print(result_table(results, options))
    print_summary(results, options, progress.seconds, time.perf_counter() - start, out)
    return 1 if any(result.faults for result in results) else 0


def load(connection: Any, folder: Path, progress: Progress) -> None:
    """Create the tables and the flat view, and load the tables from their Parquet files.

    Lines come in the order of their dates, as the rivals have them: what asks for a year or a month
    then skips the rest.
    """
    with progress.step("load", len(rules.TABLES)) as advance:
        fill(connection, folder, advance)


def fill(connection: Any, folder: Path, advance: Callable[[], None] = lambda: None) -> None:
    """Do so; `advance` is called after each table."""
    for statement in workload.statements("schema.sql") + workload.statements("flat.sql"):
        connection.execute(statement)
    for table in rules.TABLES:
        path = str(folder / f"{table}.parquet").replace("'", "''")
        if table == "lineorder":
            connection.execute(
                f"INSERT INTO lineorder SELECT * FROM '{path}' ORDER BY lo_orderdate"
            )
        else:
            connection.execute(f"COPY {table} FROM '{path}'")
        advance()


def build_bvhs(connection: Any, progress: Progress) -> None:
    """Build the BVHs that serve the queries."""
    statements = workload.statements("bvhs.sql")
    with progress.step("build BVHs", len(statements)) as advance:
        for statement in statements:
            connection.execute(statement)
            advance()


def expected_rows(folder: Path, oracle: Oracle, progress: Progress) -> dict[str, list[Row]] | None:
    """Return the right rows of each query, or None where nobody is to be asked.

    Raises OperationalError where the files cannot be read.
    """
    match oracle:
        case "brute":
            try:
                with progress.step("brute force", check.batch_count(folder)) as advance:
                    answers = check.brute_force(folder, advance)
            except (OSError, pa.ArrowException) as error:
                raise _unreadable(folder, error) from error
            return {name: answer.rows for name, answer in answers.items()}
        case "duckdb":
            texts = {name: workload.query(name, "star") for name in workload.QUERIES}
            return ask_duckdb(folder, texts, progress)
        case "none":
            return None


def ask_duckdb(folder: Path, texts: Mapping[str, str], progress: Progress) -> dict[str, list[Row]]:
    """Return DuckDB's rows of some queries; raises OperationalError without files or DuckDB."""
    duckdb = rivals.import_rival("duckdb")
    rows = {}
    try:
        with progress.step("DuckDB", len(texts)) as advance, duckdb.connect() as connection:
            for table in rules.TABLES:
                connection.read_parquet(str(folder / f"{table}.parquet")).create_view(table)
            for name, text in texts.items():
                rows[name] = connection.execute(text).fetchall()
                advance()
    except duckdb.Error as error:
        raise _unreadable(folder, error) from error
    return rows


def _unreadable(folder: Path, error: Exception) -> raydb.OperationalError:
    (reason, *_) = str(error).splitlines() or [type(error).__name__]
    return raydb.OperationalError(
        f"cannot read the data in '{folder}': {reason}; remove the folder to have it made again"
    )


def ask_all(
    connection: Any,
    options: Options,
    expected: Mapping[str, Sequence[Row]] | None,
    progress: Progress,
) -> list[Result]:
    """Ask every query, check its rows, then time it; the general path comes after all of them."""
    asked = [(name, form) for name in workload.QUERIES for form in options.forms]
    found: list[tuple[Plan, list[Row], float]] = []
    with progress.step("queries", len(asked)) as advance:
        for name, form in asked:
            text = workload.query(name, form)
            rows = connection.execute(text).fetchall()
            _, time_ms = _ask_and_time(connection, text, options.repeat, rivals.QUERY_SECONDS)
            found.append((explain(connection, text), rows, time_ms))
            advance()
    general: list[tuple[list[Row], float] | None] = [None] * len(asked)
    if options.beside == "general":
        connection.execute("SET fused_path = 'off'")
        with progress.step("general path", len(asked)) as advance:
            for index, (name, form) in enumerate(asked):
                text = workload.query(name, form)
                general[index] = _ask_and_time(connection, text, _GENERAL_REPEAT, _GENERAL_SECONDS)
                advance()
        connection.execute("SET fused_path = 'on'")

    results = []
    for (name, form), (plan, rows, time_ms), slow in zip(asked, found, general, strict=True):
        faults = None
        if expected is not None:
            faults = check.differences(name, rows, expected[name])
            if slow is not None:
                others = check.differences(name, slow[0], expected[name])
                faults += [f"general path: {fault}" for fault in others]
        other_ms = None if slow is None else slow[1]
        results.append(Result(name, form, len(rows), plan, time_ms, other_ms, faults))
    return results


def beside_duckdb(
    folder: Path,
    results: Sequence[Result],
    options: Options,
    expected: Mapping[str, Sequence[Row]] | None,
    progress: Progress,
) -> list[Result]:
    """Return the results with DuckDB's times: its flat table, in the order of the dates."""

    def differences(name: str, rows: list[Row]) -> list[str]:
        return [] if expected is None else check.differences(name, rows, expected[name])

    queries = [workload.find(name) for name in workload.QUERIES]
    found = run_rival(
        "duckdb-flat", FlatTable(folder), "star", queries, options.repeat, differences, progress
    )
    return [
        replace(
            result,
            other_ms=found.times[result.name].median_ms if result.name in found.times else None,
            faults=None
            if result.faults is None
            else result.faults
            + [f"DuckDB: {fault}" for fault in found.faults.get(result.name, [])],
        )
        for result in results
    ]


def explain(connection: Any, text: str) -> Plan:
    """Return what EXPLAIN says of a query's fused job."""
    ((explained, *_),) = connection.execute(f"EXPLAIN (FORMAT JSON) {text}").fetchall()
    node = find_fused(json.loads(explained), ("FusedScanAggregate", "FusedTableScan"))
    if node is None:
        return Plan(None, None, None)
    return Plan(node.get("bvh"), node["backend"], node["rows_touched"])


def result_table(results: Sequence[Result], options: Options) -> Table:
    """Return the table of all results."""
    title = f"Star Schema Benchmark, scale factor {options.scale_factor:g}"
    numbers = ("rows touched", "median ms", f"{_BESIDE_NAMES[options.beside]} ms", "ratio")
    table = open_table(title, ("query", "rows", "BVH", "backend", *numbers, "checked"))
    for result in results:
        checked = "no" if result.faults is None else "WRONG" if result.faults else "yes"
        table.add_row(
            result.label,
            f"{result.row_count:,}",
            result.plan.served_by,
            result.plan.backend or "-",
            "-" if result.plan.rows_touched is None else f"{result.plan.rows_touched:,}",
            f"{result.time_ms_median:.3f}",
            "-" if result.other_ms is None else f"{result.other_ms:,.1f}",
            "-" if result.ratio is None else f"{result.ratio:.0f}x",
            checked,
        )
    return table


def open_table(title: str, names: Iterable[str]) -> Table:
    """Return a table without rows or a frame, so that it fits the 80 columns of a terminal.

    Numbers stand at the right: that is all but the columns of names.
    """
    columns = (
        Column(name, justify="left" if name in _TEXTS else "right", no_wrap=name == "query")
        for name in names
    )
    return Table(
        *columns, title=Text(title), title_justify="left", box=box.SIMPLE_HEAD, show_edge=False,
        pad_edge=False, collapse_padding=True,
    )  # fmt: skip


def print_faults(result: Result, oracle: Oracle, out: Console) -> None:
    """Print the first differences between a query's rows and the right ones."""
    if not result.faults:
        return
    lines = [f"{result.label} differs from {_ORACLE_NAMES[oracle]}:"]
    lines += [f"  {fault}" for fault in result.faults[:_SHOWN_DIFFERENCES]]
    if len(result.faults) > _SHOWN_DIFFERENCES:
        lines.append(f"  and {len(result.faults) - _SHOWN_DIFFERENCES:,} more")
    out.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)


def print_summary(
    results: Sequence[Result],
    options: Options,
    seconds: Mapping[str, float],
    total_s: float,
    out: Console,
) -> None:
    """Print one line: the ratios' geometric mean, and the seconds of each step."""
    ratios = [result.ratio for result in results if result.ratio is not None]
    parts = [f"{name} {duration:.1f} s" for name, duration in seconds.items()]
    line = f"{', '.join(parts)}; total {total_s:.1f} s"
    if ratios:
        mean = statistics.geometric_mean(ratios)
        other = "DuckDB" if options.beside == "duckdb" else "the general path"
        line = f"{mean:,.1f}x {other} (geometric mean; least {min(ratios):,.1f}x); {line}"
    out.print(line, markup=False, highlight=False, soft_wrap=True)


def asking(connection: Any, text: str) -> Callable[[], list[Row]]:
    """Return what asks a text once, to its rows."""
    return lambda: connection.execute(text).fetchall()


def _ask_and_time(
    connection: Any, text: str, repeat: int, seconds: float
) -> tuple[list[Row], float]:
    """Ask `repeat` times, or until `seconds` have passed; return rows and the median in ms."""
    rows: list[Row] = []

    def ask() -> None:
        rows[:] = connection.execute(text).fetchall()

    return rows, median_ms(ask, repeat, seconds)


def find_fused(
    explained: Any, nodes: tuple[str, ...] = ("FusedScanAggregate",)
) -> dict[str, Any] | None:
    """Return the object of the fused job in EXPLAIN's tree: by default one on a BVH."""
    match explained:
        case {"node": str(name)} if name in nodes:
            return dict(explained)
        case dict():
            parts = list(explained.values())
        case list():
            parts = explained
        case _:
            return None
    return next((n for n in (find_fused(part, nodes) for part in parts) if n is not None), None)
