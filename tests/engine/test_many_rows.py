"""executemany() and VALUES of many rows: one statement, which answers as many would."""

from __future__ import annotations

import datetime as dt
import random
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import raydb
from raydb import sql as sql_texts
from raydb.engine.session.session import Session

DAY = dt.date(2026, 5, 1)
SHOP = """
    CREATE TABLE shop (
        id INTEGER PRIMARY KEY,
        name VARCHAR NOT NULL,
        rent DECIMAL(8, 2) DEFAULT 100 CHECK (rent > 0),
        day DATE);
"""


@pytest.fixture
def con():
    con = raydb.connect()
    con.execute(SHOP)
    return con


@pytest.fixture
def statements(monkeypatch):
    """Count the statements that run one by one."""
    ran = []
    run_text = Session._run_text

    def counted(self, text, *rest):
        ran.append(text)
        return run_text(self, text, *rest)

    monkeypatch.setattr(Session, "_run_text", counted)
    return ran


def shops(con):
    return con.execute("SELECT * FROM shop ORDER BY id").fetchall()


@pytest.mark.parametrize(
    ("sql", "sets"),
    [
        ("INSERT INTO shop VALUES (?, ?, ?, ?)", [(n, f"s{n}", 5, DAY) for n in range(50)]),
        ("INSERT INTO shop (name, id) VALUES (:n, :i)", [{"n": "s", "i": i} for i in range(50)]),
        (
            "INSERT INTO shop VALUES ($1 * 2, upper($2), DEFAULT, $3)",
            [(n, "s", "2026-05-01") for n in range(50)],
        ),
        ("INSERT OR IGNORE INTO shop (id, name) VALUES (?, 'x')", [(n % 10,) for n in range(50)]),
        ("UPDATE shop SET rent = ? WHERE id = ?", [(n + 1, n) for n in range(50)]),
        (
            "UPDATE shop SET rent = rent + ?, name = ? WHERE id = ? AND day IS NULL",
            [(n, str(n), n) for n in range(50)],
        ),
        ("DELETE FROM shop WHERE id = ?", [(n,) for n in range(50)]),
        ("INSERT INTO main.shop VALUES (?, 's', 5, ?)", [(n, DAY) for n in range(50)]),
        ("UPDATE raydb.main.shop SET rent = ? WHERE id = ?", [(n + 1, n) for n in range(50)]),
        ("DELETE FROM main.shop WHERE shop.id = ?", [(n,) for n in range(50)]),
    ],
)
def test_sets_of_parameters_are_one_statement(con, statements, sql, sets):
    if not sql.startswith("INSERT"):
        con.execute("INSERT INTO shop SELECT range, 'old', 7, NULL FROM range(60)")
        statements.clear()
    expected = raydb.connect()
    expected.execute(SHOP)
    if not sql.startswith("INSERT"):
        expected.execute("INSERT INTO shop SELECT range, 'old', 7, NULL FROM range(60)")
    count = sum(expected.execute(sql, each).rowcount for each in sets)
    statements.clear()
    assert con.executemany(sql, sets).rowcount == count
    assert statements == []
    assert shops(con) == shops(expected)


def run_singly(con, sql, sets):
    """Return what executemany() should: the rows written, or the error."""
    con.begin()
    try:
        count = sum(con.execute(sql, each).rowcount for each in sets)
    except raydb.Error as error:
        con.rollback()
        return type(error), error.sentence
    con.commit()
    return count


def run_at_once(con, sql, sets):
    """Return the same of executemany(), whose errors begin with the number of the set."""
    try:
        return con.executemany(sql, sets).rowcount
    except raydb.Error as error:
        return type(error), re.sub(r"^parameter set \d+: ", "", error.sentence)


def test_sets_are_rows_of_the_schema_in_use(con, statements):
    con.execute("CREATE SCHEMA north; USE north")
    con.execute(SHOP)
    statements.clear()
    con.executemany("INSERT INTO shop VALUES (?, 's', 5, NULL)", [(n,) for n in range(50)])
    con.executemany("DELETE FROM shop WHERE id = ?", [(n,) for n in range(10)])
    assert statements == []
    counts = con.execute(
        "SELECT (FROM main.shop SELECT count(*)), (FROM north.shop SELECT count(*))"
    )
    assert counts.fetchone() == (0, 40)


MIXED = [
    "INSERT INTO shop VALUES (?, ?, ?, ?)",
    "INSERT INTO shop VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
    "INSERT INTO shop VALUES (?, ?, ?, ?) ON CONFLICT (id)"
    " DO UPDATE SET name = shop.name || excluded.name, rent = excluded.rent",
    "INSERT INTO shop (id, name, rent, day) VALUES (? + 1, ?, ? * 2, ?)",
    "UPDATE shop SET id = id + 1000, name = $2, rent = rent + coalesce($3, 1), day = $4"
    " WHERE id = $1 + 5",
    "UPDATE shop SET name = name || $2, rent = $3, day = coalesce($4, day) WHERE id = $1",
    "UPDATE shop SET name = $2, rent = $3, day = $4 WHERE rent = $1",
    "DELETE FROM shop WHERE id = $1 AND (name <> $2 OR rent <> $3 OR day <> $4)",
    "DELETE FROM shop WHERE id > $1 + 30 AND $2 <> '' AND $3 > 0 AND $4 IS NULL",
]
RENTS = [
    [5, 6, None],
    [Decimal("1.25"), Decimal("2.505"), 3],
    [1.5, 2.0, None],
    [5, 7, -1],
    [np.int64(4), 4, np.float32(1.5)],
    [5, "x", 6],
]


@pytest.mark.parametrize("seed", range(40))
def test_they_answer_as_statements_one_by_one(seed):
    chance = random.Random(seed)
    sql = chance.choice(MIXED)
    rents = chance.choice(RENTS)
    days = chance.choice(
        [[None], [DAY, None], ["2026-01-02", DAY], [pd.NaT, dt.datetime(2026, 1, 1)]]
    )
    names = chance.choice([["a", "b"], ["a", None], ["a", 5]])
    last = chance.choice([8, 40, 1000])
    sets = [
        (chance.randrange(last), chance.choice(names), chance.choice(rents), chance.choice(days))
        for _ in range(chance.choice([5, 30, 90]))
    ]
    answers = []
    for run in (run_singly, run_at_once):
        con = raydb.connect()
        con.execute(SHOP)
        con.execute("INSERT INTO shop SELECT range * 2, 'old', 7, NULL FROM range(20)")
        answer = run(con, sql, sets)
        answers.append((answer, shops(con)))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("kind", ["SMALLINT", "BIGINT", "HUGEINT", "REAL", "DOUBLE", "VARCHAR"])
@pytest.mark.parametrize(
    "texts",
    [
        "0 -7 32767",
        "1 2.5 -0.1",
        "-0 3.00 1E+2",
        "1E+25 1",
        "1E-30 1E+30",
        "1E+50",
        "NaN",
        "1 -Infinity",
    ],
)
def test_decimals_are_stored_as_by_statements_one_by_one(con, kind, texts):
    sets = [(Decimal(text),) for text in texts.split()]
    answers = []
    for run in (run_singly, run_at_once):
        con.execute(f"CREATE OR REPLACE TABLE n (n {kind})")
        answer = run(con, "INSERT INTO n VALUES (?)", [*sets, (None,)])
        answers.append((answer, repr(con.execute("FROM n").fetchall())))
    assert answers[0] == answers[1]


def test_an_error_names_its_set_and_nothing_is_written(con):
    sets = [(n, "s", 1, None) for n in range(100)]
    sets[70] = (70, "s", "much", None)
    with pytest.raises(
        raydb.DataError, match=r"^parameter set 71: .*'much' is not a valid DECIMAL"
    ):
        con.executemany("INSERT INTO shop VALUES (?, ?, ?, ?)", sets)
    sets[70] = (3, "s", 1, None)
    with pytest.raises(
        raydb.IntegrityError, match=r"^parameter set 71: .*primary key \(id\) = \(3\)"
    ):
        con.executemany("INSERT INTO shop VALUES (?, ?, ?, ?)", sets)
    sets[70] = (70, "s", 1)
    with pytest.raises(raydb.ProgrammingError, match=r"^parameter set 71: .* 4 parameters, but 3"):
        con.executemany("INSERT INTO shop VALUES (?, ?, ?, ?)", sets)
    assert shops(con) == []
    assert not con.in_transaction


@pytest.mark.parametrize("sets", [None, 5, "ab", b"ab", {"a": 1}])
def test_what_is_no_series_of_sets_is_refused(con, sets):
    with pytest.raises(raydb.ProgrammingError, match="a series of sets of parameters"):
        con.executemany("INSERT INTO shop VALUES (?, ?, ?, ?)", sets)


@pytest.mark.parametrize("sets", [[None, None], [1, 2], ["ab"] * 9, [(1, 2)] * 9, [{"a": 1}] * 9])
def test_what_is_no_set_is_refused(con, sets):
    with pytest.raises(raydb.ProgrammingError, match="parameter"):
        con.executemany("INSERT INTO shop VALUES (?, ?, ?, ?)", sets)


def test_missing_values_of_pandas_and_scalars_of_numpy(con):
    sets = [
        (np.int64(1), "a", np.float64(1.5), pd.Timestamp("2026-05-01")),
        (np.int32(2), np.str_("b"), pd.NA, pd.NaT),
        (3, "c", None, np.datetime64("2026-05-02")),
        (np.uint8(4), "d", Decimal("2.5"), np.datetime64("NaT")),
        (5, "e", 2, DAY),
    ]
    con.executemany("INSERT INTO shop VALUES (?, ?, ?, ?)", sets)
    expected = [
        (1, "a", Decimal("1.50"), DAY),
        (2, "b", None, None),
        (3, "c", None, dt.date(2026, 5, 2)),
        (4, "d", Decimal("2.50"), None),
        (5, "e", Decimal("2.00"), DAY),
    ]
    assert shops(con) == expected
    con.execute("DELETE FROM shop")
    for each in sets:
        con.execute("INSERT INTO shop VALUES (?, ?, ?, ?)", each)
    assert shops(con) == expected
    with con.appender("shop") as appender:
        appender.append_rows(
            (n + 10, f"{n}", rent, day) for n, (_, _, rent, day) in enumerate(sets)
        )
    assert [row[2:] for row in shops(con)[5:]] == [row[2:] for row in expected]


def test_returning_gives_the_rows_of_all_sets(con):
    cur = con.executemany(
        "INSERT INTO shop (id, name) VALUES (?, ?) RETURNING id, rent", [(n, "s") for n in range(9)]
    )
    assert cur.fetchall() == [(n, Decimal("100.00")) for n in range(9)]
    assert cur.rowcount == 9
    cur = con.executemany("DELETE FROM shop WHERE id > ? RETURNING id", [(7,), (5,), (8,)])
    assert [row[0] for row in cur] == [8, 6, 7]
    assert cur.description[0][0] == "id"


def test_a_later_set_counts(con):
    con.execute("INSERT INTO shop VALUES (1, 'a', 1, NULL)")
    cur = con.executemany("UPDATE shop SET rent = ? WHERE id = ?", [(n, 1) for n in range(1, 9)])
    assert cur.rowcount == 8
    assert con.execute("SELECT rent FROM shop").fetchone() == (8,)


def test_sets_come_in_blocks(con, monkeypatch, tmp_path):
    monkeypatch.setattr("raydb.engine.api.many_runs.BLOCK_SETS", 1024)
    with raydb.connect(tmp_path / "d") as stored:
        stored.execute(SHOP)
        before = stored._session.database.shared.store.position
        sets = ((n, "s") for n in range(5000))
        assert (
            stored.executemany("INSERT INTO shop (id, name) VALUES (?, ?)", sets).rowcount == 5000
        )
        version, size = stored._session.database.shared.store.position
        assert version == before[0]  # One record of the log.
        sets = ((6000 + n if n < 4500 else 1, "s") for n in range(5000))
        with pytest.raises(raydb.IntegrityError, match="parameter set 4501:"):
            stored.executemany("INSERT INTO shop (id, name) VALUES (?, ?)", sets)
        assert stored._session.database.shared.store.position == (version, size)
    with raydb.connect(tmp_path / "d") as stored:
        assert stored.execute("SELECT count(*) FROM shop").fetchone() == (5000,)


def test_rowcount(con):
    ran = [
        ("INSERT INTO shop (id, name) VALUES (1, 'a'), (2, 'b')", 2),
        ("INSERT INTO shop (id, name) VALUES (1, 'x') ON CONFLICT DO NOTHING", 0),
        (
            "INSERT OR REPLACE INTO shop (id, name) VALUES (1, 'x'), (3, 'c')",
            2,
        ),
        ("UPDATE shop SET rent = 1 WHERE id < 3", 2),
        ("UPDATE shop SET rent = 1 WHERE id < 0", 0),
        ("SELECT * FROM shop", 3),
        ("CREATE TABLE copy AS SELECT * FROM shop", 3),
        ("DELETE FROM shop", 3),
        ("CREATE TABLE t (a INTEGER)", -1),
        ("DROP TABLE t", -1),
        ("BEGIN", -1),
        ("COMMIT", -1),
    ]
    assert [(sql, con.execute(sql).rowcount) for sql, _ in ran] == ran
    assert con.executemany("CREATE TABLE t (a INTEGER)", [()]).rowcount == -1
    assert con.executemany("INSERT INTO t VALUES (?)", []).rowcount == 0


def test_values_of_many_rows_are_read_as_one(con, monkeypatch):
    parsed = []
    monkeypatch.setattr(
        "raydb.sql.parse", lambda text, parse=sql_texts.parse: parsed.append(text) or parse(text)
    )
    rows = ", ".join(["(?, ?)"] * 500)
    values = [value for n in range(500) for value in (n, f"s{n}")]
    cur = con.execute(f"INSERT INTO shop (id, name) VALUES {rows} RETURNING id, name", values)
    assert cur.fetchall() == [(n, f"s{n}") for n in range(500)]
    assert cur.rowcount == 500
    assert parsed == ["INSERT INTO shop (id, name) VALUES (?, ?) RETURNING id, name"]


@pytest.mark.parametrize(
    ("sql", "values", "error"),
    [
        ("INSERT INTO shop (id, name) VALUES {}", [1, "a"] * 20, "row 2: the primary key"),
        (
            "INSERT INTO shop (id, name) VALUES {} ON CONFLICT (id) DO UPDATE SET name = 'x'",
            [1, "a"] * 20,
            "a second time",
        ),
        ("INSERT INTO shop (id, name) VALUES {}, (?, 'x')", [*range(41)], "primary key"),
        ("INSERT INTO shop (id) VALUES {}", [*range(40)], "has 2 values"),
        ("INSERT INTO shop (id, name) VALUES {}", [*range(39)], "40 parameters, but 39 values"),
        (
            "INSERT INTO shop (id, name) VALUES {}",
            [*[1, "a"] * 19, "x", "a"],
            "'x' is not a valid INTEGER",
        ),
    ],
)
def test_errors_of_values_of_many_rows_are_those_of_one_statement(con, sql, values, error):
    con.execute("INSERT INTO shop (id, name) VALUES (40, 'there')")
    with pytest.raises(raydb.Error, match=error):
        con.execute(sql.format(", ".join(["(?, ?)"] * 20)), values)
    assert len(shops(con)) == 1


class Meddled(list):
    """Sets of parameters; before the first time that they are read to the end, others commit."""

    meddle = None

    def __iter__(self):
        yield from super().__iter__()
        if self.meddle is not None:
            meddle, self.meddle = self.meddle, None
            meddle()


@pytest.mark.parametrize(
    ("statement", "sets", "expected"),
    [
        ("UPDATE t SET v = v + ? WHERE k = ?", [(1, 1), (2, 2)] * 3, [(1, 103), (2, 106), (9, 9)]),
        ("DELETE FROM t WHERE k = ? AND v >= ?", [(k, 0) for k in range(5)], [(9, 9)]),
        (
            "INSERT INTO t VALUES (?, ?) ON CONFLICT (k) DO NOTHING",
            [(k, 0) for k in (9, 10, 11, 12)],
            [(1, 100), (2, 100), (9, 9), (10, 0), (11, 0), (12, 0)],
        ),
    ],
)
def test_sets_are_tried_again_beside_other_writers(statement, sets, expected):
    con = raydb.connect()
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 0), (2, 0)")
    other = con.duplicate()

    def meddle():
        other.execute("UPDATE t SET v = 100; INSERT INTO t VALUES (9, 9)")

    meddled = Meddled(sets)
    meddled.meddle = meddle
    con.executemany(statement, meddled)
    assert con.execute("FROM t ORDER BY k").fetchall() == expected
    assert not con.in_transaction


def test_a_generator_is_read_once():
    con = raydb.connect()
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER); INSERT INTO t VALUES (1, 0)")
    other = con.duplicate()

    def sets():
        yield 1, 1
        other.execute("UPDATE t SET v = 100")

    con.executemany("UPDATE t SET v = v + ? WHERE k = ?", sets())
    assert con.execute("FROM t").fetchall() == [(1, 101)]
    with con.duplicate() as third:
        third.begin()
        third.executemany("UPDATE t SET v = ? WHERE k = ?", [(5, 1)])
        other.execute("UPDATE t SET v = 101")
        with pytest.raises(raydb.ConflictError):
            third.commit()
