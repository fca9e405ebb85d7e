"""Common table expressions with several references have DuckDB's rows, whatever each one asks.

What all references ask of a query's columns filters it: see planner/rules/filter_common_tables.py.
RAYDB_FUZZ_WITH says how many queries.
"""

from __future__ import annotations

import os
from random import Random

import pytest
from differential import answer, open_pair, same
from stars import SEED
from test_subqueries import fill

CASES = int(os.environ.get("RAYDB_FUZZ_WITH", "150"))
CASES_A_DATABASE = 75

# Each has the columns k, l and v.
BODIES = (
    "SELECT x AS k, s AS l, sum(y) AS v FROM a GROUP BY x, s",
    "SELECT x + 1 AS k, s AS l, count(*) AS v FROM a GROUP BY x + 1, s",
    "SELECT a.x AS k, b.s AS l, max(z) AS v FROM a JOIN b ON a.x = b.x GROUP BY a.x, b.s",
    "SELECT a.x AS k, b.s AS l, sum(z) AS v FROM a LEFT JOIN b ON a.x = b.x GROUP BY ALL",
    "SELECT x AS k, 'a' AS l, sum(y) AS v FROM a GROUP BY x"
    " UNION ALL SELECT z, s, sum(x) FROM b GROUP BY z, s",
    "SELECT x AS k, s AS l, y AS v FROM a UNION SELECT x, s, z FROM b",
    "SELECT x AS k, s AS l, y AS v FROM a EXCEPT SELECT x, s, z FROM b",
    "SELECT DISTINCT x AS k, s AS l, y AS v FROM a",
    "SELECT x AS k, s AS l, sum(y) AS v FROM a GROUP BY ROLLUP (x, s)",
    "SELECT x AS k, s AS l, sum(y) OVER (PARTITION BY x) AS v FROM a",
    "SELECT x AS k, s AS l, y AS v FROM a WHERE x IN (SELECT x FROM b) OR y IS NULL",
    "SELECT x AS k, s AS l, y AS v FROM a ORDER BY x, s, y LIMIT 4",
    "SELECT 1 AS k, 'p' AS l, sum(y) AS v FROM a",
    "SELECT k, l, sum(v) AS v FROM d GROUP BY k, l",
)
CONDITIONS = (
    "{}.k = 1",
    "{}.k > 2",
    "{}.k IS NULL",
    "{}.k IS NOT NULL",
    "{}.k + {}.v > 3",
    "{}.l = 'p'",
    "{}.l IN ('p', 'a')",
    "NOT {}.l LIKE 'q%'",
    "({}.k = 0 OR {}.l = 'r')",
    "coalesce({}.k, 1) = 1",
    "{}.v > 2",
    "1 = 1",
)
REFERENCES = (
    "SELECT p.k, q.l, p.v FROM c AS p JOIN c AS q ON p.k = q.k WHERE {p} AND {q}",
    "SELECT p.k, q.l, p.v FROM c AS p LEFT JOIN c AS q ON p.k = q.k AND {q} WHERE {p}",
    "SELECT p.k, q.l, q.v FROM c AS p RIGHT JOIN c AS q ON p.l = q.l AND {p} WHERE {q}",
    "SELECT p.k, q.v FROM c AS p FULL JOIN c AS q ON p.k = q.k AND {p} WHERE {q}",
    "SELECT p.k, p.l FROM c AS p WHERE {p} AND p.k IN (SELECT k FROM c AS q WHERE {q})",
    "SELECT p.k, p.l FROM c AS p WHERE {p} AND p.k NOT IN (SELECT k FROM c AS q WHERE {q})",
    "SELECT p.k FROM c AS p WHERE {p} AND NOT EXISTS (FROM c AS q WHERE {q} AND q.k = p.k)",
    "SELECT p.k, EXISTS (FROM c AS q WHERE {q} AND q.l = p.l) FROM c AS p WHERE {p}",
    "SELECT p.k, (SELECT sum(v) FROM c AS q WHERE {q} AND q.k = p.k) FROM c AS p WHERE {p}",
    "SELECT sum(p.v) FROM c AS p WHERE {p} UNION ALL SELECT max(k) FROM c AS q WHERE {q}",
    "SELECT p.k, n.z FROM c AS p, c AS q, n WHERE {p} AND {q} AND p.k = n.x AND q.k = n.z",
    "SELECT r.k, count(*) FROM (SELECT k FROM c AS p WHERE {p} ORDER BY k, l, v LIMIT 2) AS r,"
    " c AS q WHERE {q} GROUP BY r.k",
)


def common_tables(draw: Random) -> str:
    def condition(name: str) -> str:
        return " AND ".join(each.replace("{}", name) for each in draw.sample(CONDITIONS, 2))

    query = draw.choice(REFERENCES).format(p=condition("p"), q=condition("q"))
    first, second = draw.choice(BODIES[:-1]), draw.choice(BODIES)
    return f"WITH d AS ({first}), c AS ({second}) {query}"


@pytest.mark.parametrize("number", range(-(-CASES // CASES_A_DATABASE)))
def test_answers_are_those_of_duckdb(number: int) -> None:
    draw = Random(f"{SEED} {number} common tables")
    pair = open_pair()
    fill(pair, draw)
    for _ in range(CASES_A_DATABASE):
        query = common_tables(draw)
        ours, theirs = answer(pair.ours, query), answer(pair.theirs, query)
        if not same(ours, theirs, ordered=False):
            pair.close()
            text = "\n".join([*map(str, pair.steps), query, f"{ours}", f"{theirs}"])
            pytest.fail(text, pytrace=False)
    pair.close()
