"""Files that a stranger made, with right check sums: an answer or an error, and nothing else.

    python tests/reliability/hostile.py --cases 50000 --seed 1
    python tests/reliability/hostile.py --cases 1 --seed 4711 --kinds database

Small grammars make FlatStor files, database directories and text and Parquet files; each is read in
a process beside this one, which may not crash, take more than 10 s or use more memory than
memory_limit and 500 MB.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sandbox import Report, run_cases

TESTS = Path(__file__).parent.parent
# Where the forgers lie, beside the tests of what they forge.
sys.path += [str(TESTS / "storage" / name) for name in ("flat", "durable", "formats")]

KINDS = {
    "flat": "read_forged:read_forged",
    "database": "forged:read_forged",
    "text": "read_forged_text:read_forged_text",
}
# How much memory the whole process may use; those of a database have no memory_limit.
MEMORY_MB = {"flat": 700, "database": 1000, "text": 700}
# How many of a hundred cases are of each kind.
SHARES = {"flat": 40, "database": 40, "text": 20}


def run(kind: str, cases: int, seed: int) -> Report:
    """Run so many cases of a kind."""
    return run_cases(KINDS[kind], range(seed, seed + cases), memory_mb=MEMORY_MB[kind])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    shares = sum(SHARES[kind] for kind in options.kinds)
    failed = False
    for kind in options.kinds:
        report = run(kind, -(-options.cases * SHARES[kind] // shares), options.seed)
        print(f"{kind}: {report}", *report.failures[:20], sep="\n")
        print("seeds:", *(failure.seed for failure in report.failures), flush=True)
        failed |= bool(report.failures)
    if failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
