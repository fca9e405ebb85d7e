"""Sums at and beyond the edge of 64 bits are exact on both paths."""

from __future__ import annotations

from random import Random

import pytest
from stars import SEED

import raydb

LEAST, MOST = -(2**63), 2**63 - 1
CASES = 40
# Values whose sums leave 64 bits on the way and come back, in either direction.
EDGES = (LEAST, LEAST + 1, MOST, MOST - 1, 2**62, -(2**62), 1, -1, 0, None)


@pytest.mark.parametrize("number", range(CASES), ids="case-{}".format)
def test_sums_never_wrap(number: int) -> None:
    rng = Random(f"{SEED} overflow {number}")
    rows = [(rng.randint(0, 2), rng.choice(EDGES)) for _ in range(rng.randint(1, 12))]
    con = raydb.connect()
    con.execute("CREATE TABLE t (a INTEGER, b BIGINT)")
    values = ", ".join(f"({a}, {'NULL' if b is None else b})" for a, b in rows)
    con.execute(f"INSERT INTO t VALUES {values}")
    con.execute("CREATE BVH x ON t (SCAN (a), GROUP BY (a), AGGREGATE (b))")
    groups = {a: [b for key, b in rows if key == a and b is not None] for a, _ in rows}
    sums = {a: sum(group) if group else None for a, group in groups.items()}
    for path in ("on", "off"):
        con.execute(f"SET fused_path = '{path}'")
        found = con.execute("SELECT a, sum(b) FROM t GROUP BY a ORDER BY a").fetchall()
        assert found == sorted(sums.items()), (path, rows)
        found = con.execute("SELECT a, avg(b), min(b), max(b) FROM t GROUP BY a ORDER BY a")
        expected = [
            (a, pytest.approx(sum(group) / len(group), rel=1e-9), min(group), max(group))
            if group
            else (a, None, None, None)
            for a, group in sorted(groups.items())
        ]
        assert found.fetchall() == expected, (path, rows)
