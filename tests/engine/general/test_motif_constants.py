"""Constants in `where` of motifs: a template answers as a plan made anew."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import raydb
from raydb.engine.plans.template_cache import TemplateCache

if TYPE_CHECKING:
    from raydb import sql

SEED = 20
CASES = 200

ROWS = (
    "CREATE TABLE e AS SELECT i % 7 AS s, (i * 5) % 6 AS d, i AS t, (i * 37) % 50 - 10 AS amount, "
    "((i * 11) % 40 - 5) / 8 AS x, CAST((i * 13) % 30 AS DECIMAL(9, 2)) / 4 AS price, "
    "CASE i % 3 WHEN 0 THEN 'wire' WHEN 1 THEN 'it''s' END AS kind, "
    "DATE '2026-02-20' + i % 20 AS day FROM range(60) r(i)"
)
WHERES = (
    "e2.amount BETWEEN {} * e1.amount AND e1.amount",
    "e2.amount > {} AND e1.amount < {}",
    "e1.amount + e2.amount > {}",
    "e2.price * {} >= e1.amount",
    "e1.price * {} * {} < e2.amount * {}",
    "e2.x <= {} * e1.x",
    "e1.kind = {}",
    "e1.day < {} AND e2.day >= {}",
    "e1.day + {} > e2.day",
    "a <> {} AND c = {}",
    "e1.amount IN ({}, {}, 7)",
    "e1.amount > 10 / {}",
    "e1.kind LIKE {} OR e2.amount = CAST({} AS INTEGER)",
    "{} * e1.amount = {} * e2.amount",
)
ALIKE = (
    ("0", "1", "2", "12", "40", "007"),
    ("3000000000", "9223372036854775807", "-1", "-0", "99999999999999999999"),
    ("0.9", "0.0", "1.0", "2.5", "0.90", "12.125", "0.05", "123456789012345678.9", "1e1"),
    ("''wire''", "''its", "", "''w%''", "''5''", "''5.0''", "''x''"),
    ("''2026-02-25''", "''2026-03-01''", "''2026-02-30''", "DATE ''2026-03-02''"),
    ("NULL", "TRUE", "INTERVAL 2 DAY", "INTERVAL ''1'' DAY"),
)


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> Counter[bool]:
    """Count whether a template was filled, of texts that have one."""
    found: Counter[bool] = Counter()
    filled = TemplateCache.filled

    def counted(self: TemplateCache, shape: sql.Shape | None, parameters: Any) -> sql.Filled | None:
        query = filled(self, shape, parameters)
        found[query is not None] += 1
        return query

    monkeypatch.setattr(TemplateCache, "filled", counted)
    return found


def _text(where: str) -> str:
    return (
        "SELECT count FROM motif_count(e, src => 's', dst => 'd', time => 't', "
        f"motif => 'a->b, b->c', delta => 30, method => 'exact', where => {where})"
    )


def _outcome(con: raydb.Connection, text: str, parameters: Any = ()) -> Any:
    try:
        return con.execute(text, parameters).fetchall()
    except raydb.Error as error:
        return type(error), str(error)


def test_other_constants_answer_as_a_plan_made_anew(used: Counter[bool]) -> None:
    rng = random.Random(SEED)
    con, plain = raydb.connect(), raydb.connect()
    for each in (con, plain):
        each.execute(ROWS)
    plain.execute("SET plan_cache = 'off'")
    used.clear()
    answers = set()
    while len(answers) < CASES:
        where, values = rng.choice(WHERES), rng.choice(ALIKE)
        for _ in range(4):
            if rng.random() < 0.1:
                values = rng.choice(ALIKE)
            condition = where.format(*[rng.choice(values) for _ in range(where.count("{"))])
            right = _outcome(plain, _text(f"'{condition}'"))
            assert _outcome(con, _text(f"'{condition}'")) == right, condition
            parameter = condition.replace("''", "'")
            assert _outcome(con, _text("?"), [parameter]) == right, condition
            answers.add((condition, str(right)))
    assert len({right for _, right in answers}) > CASES // 8
    assert used[True] > CASES // 8


def test_a_template_takes_other_constants_of_its_types(used: Counter[bool]) -> None:
    con = raydb.connect()
    con.execute(ROWS)
    used.clear()
    texts = [_text(f"'e2.amount BETWEEN {low} * e1.amount AND 8'") for low in ("0.1", "0.2", "0.7")]
    found = [con.execute(text).fetchall() for text in texts]
    assert used == {True: 1, False: 2}
    used.clear()
    # A decimal of another scale is another type.
    con.execute(_text("'e2.amount BETWEEN 0.70 * e1.amount AND 8'")).fetchall()
    assert not used[True]
    assert len({str(each) for each in found}) > 1


def test_a_text_whose_parameter_is_read_elsewhere_is_filled() -> None:
    con, plain = raydb.connect(), raydb.connect()
    for each in (con, plain):
        each.execute(ROWS)
    plain.execute("SET plan_cache = 'off'")
    text = _text("$w") + " GROUP BY count, $w || 'x' HAVING count > $least"
    for least in range(4):
        given = {"w": "e1.amount > 1", "least": least}
        assert _outcome(con, text, given) == _outcome(plain, text, given) != []
