"""Random stars in random segments on one to three workers have the answers of one process.

    python tests/reliability/cluster_stars.py --queries 500 --seed 1

Each table has 1 to 9 segments and is asked 10 queries. A query that workers decline, for another
reason than what EXPLAIN says, is a finding as well.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.append(str(Path(__file__).parents[1] / "fuzz"))
from differential import answer, same
from plain_stars import plain_query, plain_star
from processes import scratch
from star_queries import star_query
from stars import random_rows, random_star

import raydb
from raydb.engine.cluster.local_workers import LocalWorkers

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_WORKERS = 3
QUERIES_A_TABLE = 10
# Fewer rows are not asked of workers.
ROWS = 110_000


def make(path: str, rng: random.Random) -> tuple[int, Callable[[], str]]:
    """Make a database of a random star; return its number of facts, and what makes queries."""
    star = random_star(rng) if rng.random() < 0.6 else None
    if star is None:
        steps = [step for step in plain_star(rng) if not step.startswith("CREATE BVH")]
    else:
        # The facts are many times those that are drawn, so they have no key.
        *dimensions, fact = [table.ddl for table in star.tables]
        steps = [*dimensions, re.sub(r", (PRIMARY KEY|UNIQUE) \([^)]*\)", "", fact)]
        steps += [insert.sql for insert in random_rows(rng, star)]
    with raydb.connect(path) as con:
        for step in steps:
            con.execute(step)
        ((had,),) = con.execute("SELECT count(*) FROM f").fetchall()
        if had:
            con.execute(f"INSERT INTO f SELECT f.* FROM f, range({ROWS // had})")
        ((rows,),) = con.execute("SELECT count(*) FROM f").fetchall()
    return rows, lambda: plain_query(rng) if star is None else star_query(rng, star).sql


class Run:
    """The queries of one seed. distributed: those that workers were asked."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.asked = self.distributed = self.errors = 0
        self.findings: list[str] = []

    def ask(self, local: LocalWorkers, number: int, count: int) -> None:
        """Ask one random table."""
        rng = random.Random(f"{self.seed}/{number}")
        with scratch() as folder:
            path = str(folder / "random.raydb")
            rows, draw = make(path, rng)
            split = {"segment_rows": max(-(-rows // rng.randint(1, 9)), 1000)}
            with (
                raydb.connect(path, read_only=True) as alone,
                raydb.connect(path, read_only=True, cluster=local.client, config=split) as con,
            ):
                for _ in range(count):
                    self._compare(con, alone, draw(), f"table {number}")

    def _compare(self, con: Any, alone: Any, query: str, where: str) -> None:
        self.asked += 1
        explained = answer(con, f"EXPLAIN {query}")
        is_distributed = "SegmentScan" in str(explained)
        self.distributed += is_distributed
        found, expected = answer(con, query), answer(alone, query)
        self.errors += isinstance(expected, str)
        if not same(found, expected, False):
            self.findings.append(f"{where}: {query}: {found!r:.200} {expected!r:.200}")
        elif is_distributed and isinstance(found, list):
            said = con.execute(query).messages
            if said:
                self.findings.append(f"{where}: {query}: {said}")


def run(queries: int, seed: int) -> tuple[str, list[str]]:
    """Ask so many queries; return the figures, and what went wrong."""
    each = Run(seed)
    tables = -(-queries // QUERIES_A_TABLE)
    for workers in range(1, MOST_WORKERS + 1):
        local = LocalWorkers(workers)
        try:
            for number in range(workers - 1, tables, MOST_WORKERS):
                each.ask(local, number, min(QUERIES_A_TABLE, queries - each.asked))
        finally:
            local.close()
    figures = (
        f"{each.asked} queries of {tables} tables, {each.distributed} by workers,"
        f" {each.errors} errors of both"
    )
    return figures, each.findings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    figures, findings = run(options.queries, options.seed)
    print(f"seed {options.seed}", figures, f"{len(findings)} findings", *findings, sep="\n")
    raise SystemExit(bool(findings))


if __name__ == "__main__":
    main()
