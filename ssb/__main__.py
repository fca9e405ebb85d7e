"""The command raydb-ssb.

raydb-ssb run --sf 1
raydb-ssb run --sf 1 --cluster local --segments 8
raydb-ssb compare --sf 10 --json figures.json --svg figures.svg
raydb-ssb curve --sf 0.1,1,10 --svg curve.svg
raydb-ssb generate --sf 1 --out DIR --format tbl
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from rich.console import Console

import raydb
from raydb.ssb import rivals, rules
from raydb.ssb.cluster import run_on_cluster
from raydb.ssb.compare import Options as CompareOptions
from raydb.ssb.compare import compare
from raydb.ssb.compare_report import as_json, as_svg, print_comparison
from raydb.ssb.curve import curve_json, curve_svg, print_curve, trace
from raydb.ssb.generate import DataSet, prepare
from raydb.ssb.progress import Progress
from raydb.ssb.run import Options, run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raydb.ssb.workload import Form

# Without a terminal there is no width to fit; the table needs about 100 columns.
_FILE_WIDTH: Final = 120

_FORMS: Final[dict[str, tuple[Form, ...]]] = {
    "star": ("star",),
    "flat": ("flat",),
    "both": ("star", "flat"),
}
_Kind = TypeVar("_Kind", Options, CompareOptions)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 1 after an error, 130 after Ctrl-C."""
    options = _parser().parse_args(arguments)
    out = _console(error=False)
    messages = _console(error=True)
    try:
        match options.command:
            case "generate":
                data = DataSet(options.scale_factor, options.seed, options.format)
                prepare(options.out, data, Progress(messages))
                return 0
            case "compare":
                return _compare(options, out, messages)
            case "curve":
                return _curve(options, out, messages)
            case _:
                options.forms = _FORMS[options.forms]
                go = run if options.cluster is None else run_on_cluster
                return go(_given(Options, options), out, messages)
    except KeyboardInterrupt:
        messages.print("raydb-ssb: interrupted")
        return 130
    except raydb.Error as error:
        messages.print(f"raydb-ssb: {error}", markup=False, highlight=False, soft_wrap=True)
        return 1


def _given(kind: type[_Kind], options: argparse.Namespace) -> _Kind:
    """Return the options of a command, each of which has the name of a field."""
    return kind(**{field.name: getattr(options, field.name) for field in fields(kind)})


def _compare(options: argparse.Namespace, out: Console, messages: Console) -> int:
    """Compare with the rivals; 1 where an answer was wrong."""
    _check_folders(options)
    found = compare(_given(CompareOptions, options), messages)
    print_comparison(found, out)
    _write(options.json, json.dumps(as_json(found), indent=1) + "\n")
    _write(options.svg, as_svg(found))
    return 1 if found.fault_lines() else 0


def _curve(options: argparse.Namespace, out: Console, messages: Console) -> int:
    _check_folders(options)
    points = trace(options.folder, options.scale_factor, options.seed, options.runs, messages)
    print_curve(points, out)
    _write(options.json, curve_json(points))
    _write(options.svg, curve_svg(points))
    return 0


def _check_folders(options: argparse.Namespace) -> None:
    """Refuse files that cannot be written before the long run, not after it."""
    for path in (options.json, options.svg):
        if path is not None and not path.parent.is_dir():
            raise raydb.OperationalError(
                f"cannot write '{path}': there is no folder '{path.parent}'"
            )


def _write(path: Path | None, text: str) -> None:
    if path is None:
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise raydb.OperationalError(f"cannot write '{path}': {error.strerror}") from error


# fmt: off
def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="raydb-ssb", description="The Star Schema Benchmark on RayDB."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    running = commands.add_parser(
        "run", help="generate, load, build the BVHs, ask the 13 queries and check every answer"
    )
    _add_data_set(running)
    _add_folder(running)
    running.add_argument(
        "--check", dest="oracle", choices=("brute", "duckdb", "none"), default="brute",
        help="who answers the queries too (default: brute)",
    )
    running.add_argument(
        "--form", dest="forms", choices=_FORMS, default="both",
        help="the form of the queries (default: both)",
    )
    _add_count(running, "--repeat")
    running.add_argument(
        "--beside", choices=("duckdb", "general", "none"),
        help="who is timed too: DuckDB, the general path (the fused path is off), or nobody "
        "(default: DuckDB where it is installed, else the general path)",
    )
    _add_cluster(running, "scan by workers, beside one process: 'local' or a scheduler's address")

    comparing = commands.add_parser(
        "compare", help="put RayDB beside DuckDB, Polars and chDB on the same data"
    )
    _add_data_set(comparing)
    _add_folder(comparing)
    comparing.add_argument(
        "--workload", choices=("star", "other"), default="star",
        help="the 13 queries, or 20 that the BVHs were not made for (default: star)",
    )
    comparing.add_argument(
        "--rivals", type=_names, metavar="NAMES",
        help=f"of {','.join(rivals.NAMES)} (default: those that are installed)",
    )
    comparing.add_argument(
        "--queries", type=_names, metavar="NAMES", help="such as q1.1,q2.1 (default: all)"
    )
    _add_cluster(comparing, "ask workers too: 'local' or the address of a scheduler")
    _add_switch(comparing, "memory", "do not measure memory in processes of their own")
    _add_switch(comparing, "cold_start", "do not measure a cold process")
    _add_outputs(comparing)

    tracing = commands.add_parser(
        "curve", help="time queries that touch few to all rows, at several scale factors"
    )
    _add_data_set(tracing, several=True)
    _add_folder(tracing)
    _add_outputs(tracing)

    generating = commands.add_parser("generate", help="write the benchmark's tables as files")
    _add_data_set(generating)
    generating.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="the folder to write"
    )
    generating.add_argument(
        "--format", choices=("tbl", "parquet"), default="tbl",
        help="'|' separated text as the official program writes it, or Parquet (default: tbl)",
    )
    return parser


def _add_data_set(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    default, shown = ((0.1, 1.0), "0.1,1") if several else (1.0, "1")
    parser.add_argument(
        "--sf", dest="scale_factor", default=default, metavar="SF,..." if several else "SF",
        type=_scale_factors if several else _scale_factor,
        help=f"the scale factor: 1 is 6 million lines, 0.1 is 600,000 (default: {shown})",
    )
    parser.add_argument(
        "--seed", type=_SEED, default=rules.DEFAULT_SEED, metavar="N",
        help=f"the same seed gives the same data (default: {rules.DEFAULT_SEED})",
    )


def _add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data", dest="folder", type=Path, default=Path("ssb-data"), metavar="DIR",
        help="where the generated files are kept (default: ssb-data)",
    )


def _add_cluster(parser: argparse.ArgumentParser, summary: str) -> None:
    parser.add_argument("--cluster", metavar="WORKERS", help=summary)
    parser.add_argument(
        "--segments", type=_POSITIVE, default=8, metavar="N",
        help="into how many the lines are cut for workers (default: 8)",
    )


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    _add_count(parser, "--runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures as JSON")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write the chart as SVG")


def _add_count(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument(
        name, type=_POSITIVE, default=20, metavar="N",
        help="how often a query is timed, warm (default: 20)",
    )


def _add_switch(parser: argparse.ArgumentParser, name: str, summary: str) -> None:
    option = f"--no-{name.replace('_', '-')}"
    parser.add_argument(option, dest=name, action="store_false", help=summary)
# fmt: on


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


def _scale_factors(text: str) -> tuple[float, ...]:
    return tuple(_scale_factor(part) for part in text.split(","))


def _scale_factor(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"scale factor '{text}' is not a number") from None
    try:
        rules.check_scale_factor(value)
    except raydb.ProgrammingError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return value


def _whole(least: int, complaint: str) -> Callable[[str], int]:
    """Return what reads a whole number; `complaint` is the sentence about another text."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(complaint.format(text))
        return value

    return read


_SEED: Final = _whole(0, "seed '{}' is not a whole number of at least 0")
_POSITIVE: Final = _whole(1, "'{}' is not a whole number above 0")


def _console(*, error: bool) -> Console:
    stream = sys.stderr if error else sys.stdout
    return Console(stderr=error, width=None if stream.isatty() else _FILE_WIDTH)


if __name__ == "__main__":
    sys.exit(main())
