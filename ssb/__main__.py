"""The command raydb-ssb.

raydb-ssb run --sf 1
raydb-ssb generate --sf 1 --out DIR --format tbl
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console

import raydb
from raydb.ssb import rules
from raydb.ssb.generate import DataSet, prepare
from raydb.ssb.progress import Progress
from raydb.ssb.run import Options, run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.ssb.workload import Form

# Without a terminal there is no width to fit; the table needs about 100 columns.
_FILE_WIDTH: Final = 120


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 1 after an error, 130 after Ctrl-C."""
    options = _parser().parse_args(arguments)
    out = _console(error=False)
    messages = _console(error=True)
    try:
        if options.command == "generate":
            data = DataSet(options.sf, options.seed, options.format)
            prepare(options.out, data, Progress(messages))
            return 0
        forms: tuple[Form, ...] = ("star", "flat")
        if options.form != "both":
            forms = (options.form,)
        return run(
            Options(
                folder=options.data,
                scale_factor=options.sf,
                seed=options.seed,
                oracle=options.check,
                forms=forms,
                repeat=options.repeat,
                general=not options.no_general,
            ),
            out,
            messages,
        )
    except KeyboardInterrupt:
        messages.print("raydb-ssb: interrupted")
        return 130
    except raydb.Error as error:
        messages.print(f"raydb-ssb: {error}", markup=False, highlight=False, soft_wrap=True)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="raydb-ssb", description="The Star Schema Benchmark on RayDB."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    running = commands.add_parser(
        "run", help="generate, load, build the BVHs, ask the 13 queries and check every answer"
    )
    _add_data_set(running)
    running.add_argument(
        "--data", type=Path, default=Path("ssb-data"), metavar="DIR",
        help="where the generated files are kept (default: ssb-data)",
    )  # fmt: skip
    running.add_argument(
        "--check", choices=("brute", "duckdb", "none"), default="brute",
        help="who answers the queries too (default: brute)",
    )  # fmt: skip
    running.add_argument(
        "--form", choices=("star", "flat", "both"), default="both",
        help="the form of the queries (default: both)",
    )  # fmt: skip
    running.add_argument(
        "--repeat", type=_positive, default=20, metavar="N",
        help="how often a query is timed, warm (default: 20)",
    )  # fmt: skip
    running.add_argument(
        "--no-general", action="store_true", help="do not run the queries on the general path too"
    )

    generating = commands.add_parser("generate", help="write the benchmark's tables as files")
    _add_data_set(generating)
    generating.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="the folder to write"
    )
    generating.add_argument(
        "--format", choices=("tbl", "parquet"), default="tbl",
        help="'|' separated text as the official program writes it, or Parquet (default: tbl)",
    )  # fmt: skip
    return parser


def _add_data_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sf", type=_scale_factor, default=1.0, metavar="SF",
        help="the scale factor: 1 is 6 million lines, 0.1 is 600,000 (default: 1)",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=_seed, default=rules.DEFAULT_SEED, metavar="N",
        help=f"the same seed gives the same data (default: {rules.DEFAULT_SEED})",
    )  # fmt: skip


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


def _seed(text: str) -> int:
    try:
        return _whole(text, 0)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"seed '{text}' is not a whole number of at least 0"
        ) from None


def _positive(text: str) -> int:
    try:
        return _whole(text, 1)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number above 0") from None


def _whole(text: str, least: int) -> int:
    value = int(text)
    if value < least:
        raise ValueError(text)
    return value


def _console(*, error: bool) -> Console:
    stream = sys.stderr if error else sys.stdout
    return Console(stderr=error, width=None if stream.isatty() else _FILE_WIDTH)


if __name__ == "__main__":
    sys.exit(main())
