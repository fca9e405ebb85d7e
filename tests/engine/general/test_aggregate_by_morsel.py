"""Aggregates of morsels, and their states put together: answers are DuckDB's."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import duckdb
import pytest

import raydb
from raydb.engine.operators import relation
from raydb.engine.operators.aggregate import by_morsel
from raydb.errors import DataError

ROWS = """
CREATE TABLE sale AS SELECT i AS id, i % 7 AS shop, i * 7919 % 4999 AS customer,
    CASE WHEN i % 11 <> 0 THEN 'note ' || i % 5 END AS note,
    CASE WHEN i % 13 <> 0 THEN CAST((i % 1000 - 300) * 0.25 AS DECIMAL(9, 2)) END AS price,
    DATE '2026-01-01' + CAST(i % 400 AS INTEGER) AS day, i % 3 = 0 AS ok, i / 7.0 AS ratio
    FROM range(6000) r (i)
"""

FOLDED = [
    "SELECT count(*), count(price), sum(price), avg(price), min(day), max(note), sum(id) FROM sale",
    "SELECT note, sum(price * (1 - price)), avg(id), bool_and(ok), bool_or(ok) FROM sale"
    " WHERE day >= DATE '2026-03-01' GROUP BY note",
    "SELECT shop, day < DATE '2026-06-01', sum(price) FILTER (WHERE ok), count(*) FILTER (WHERE"
    " note = 'note 1'), min(price), bit_xor(id) FROM sale GROUP BY ALL",
    "SELECT sum(price), count(*), first(id) FROM sale WHERE id < 500",
    "SELECT shop, sum(price), first(id), last(id) FROM sale WHERE id < 500 GROUP BY shop",
    "SELECT shop, any_value(note) IS NULL, max(price) FROM sale WHERE id % 11 < 5 GROUP BY shop",
    "SELECT s.shop, count(*), sum(s.price) FROM sale s JOIN sale t ON s.id = t.id GROUP BY s.shop",
    "SELECT shop, min(ratio), max(ratio), count(ratio) FROM sale GROUP BY shop",
]
AT_ONCE = [
    "SELECT sum(price), count(*), max(id) FROM sale WHERE id < 0",
    "SELECT shop, sum(price) FROM sale WHERE id % 11 = 0 GROUP BY shop",
    "SELECT customer, sum(price) FROM sale GROUP BY customer",
    "SELECT shop, count(DISTINCT note), sum(price) FROM sale GROUP BY shop",
    "SELECT shop, sum(ratio) FROM sale GROUP BY shop",
    "SELECT shop, max(note ORDER BY id), arg_min(note, id) FROM sale GROUP BY shop",
]


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how often states were put together."""
    found: list[int] = []
    fold_states = by_morsel.fold_states

    def spy(*arguments: Any) -> Any:
        found.append(1)
        return fold_states(*arguments)

    monkeypatch.setattr(relation, "MORSEL_ROWS", 500)
    monkeypatch.setattr(by_morsel, "fold_states", spy)
    return found


def plain(rows: list[tuple[Any, ...]]) -> list[str]:
    """Return rows in any order, with decimals as doubles of ten digits."""
    return sorted(
        str([f"{v:.10g}" if isinstance(v, float | Decimal) else v for v in row]) for row in rows
    )


@pytest.mark.parametrize("query", FOLDED + AT_ONCE)
def test_states_of_morsels_give_the_aggregates_of_all_rows(used: list[int], query: str) -> None:
    with raydb.connect() as connection, duckdb.connect() as oracle:
        connection.execute("SET fused_path = 'off'")
        for each in (connection, oracle):
            each.execute(ROWS)
        found = connection.execute(query).fetchall()
        expected = oracle.execute(query).fetchall()
    assert plain(found) == plain(expected)
    assert bool(used) == (query in FOLDED)


@pytest.mark.usefixtures("used")
def test_a_sum_that_only_parts_exceed_is_answered() -> None:
    """60 % of the largest decimal, twice at the beginning, and less of it twice at the end."""
    big = "CAST(6e37 AS DECIMAL(38, 0))"
    with raydb.connect() as connection:
        connection.execute(
            f"CREATE TABLE t AS SELECT CASE WHEN i < 2 THEN {big} WHEN i > 1997 THEN -{big}"
            " ELSE 0 END AS x FROM range(2000) r (i)"
        )
        assert connection.execute("SELECT sum(x) FROM t").fetchone() == (0,)
        connection.execute("DELETE FROM t WHERE x < 0")
        with pytest.raises(DataError, match="out of range"):
            connection.execute("SELECT sum(x) FROM t").fetchone()


@pytest.mark.usefixtures("used")
def test_a_failing_row_fails_as_it_does_at_once() -> None:
    with raydb.connect() as connection:
        connection.execute(ROWS)
        with pytest.raises(DataError, match="division by zero"):
            connection.execute("SELECT sum(10 % (id - 5500)) FROM sale").fetchone()
