"""The appender: batches, types, errors, transactions."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest

import raydb
from raydb.engine.api.appender import FLUSH_ROWS


@pytest.fixture
def con():
    con = raydb.connect()
    con.execute("""
        CREATE TABLE sale (
            id INTEGER PRIMARY KEY,
            day DATE,
            amount DECIMAL(10, 2) DEFAULT 1.50,
            "Odd ""name" VARCHAR)
    """)
    return con


def count(con):
    return con.execute("SELECT count(*) FROM sale").fetchone()[0]


def _append_now(appender, row):
    appender.append(*row)
    appender.flush()


def test_rows_arrive_in_order_over_several_batches(con):
    rows = FLUSH_ROWS * 2 + 5
    with con.appender("sale") as appender:
        for number in range(rows):
            appender.append(number, dt.date(2026, 5, 1), Decimal("2.25"), f"row {number}")
        assert count(con) == FLUSH_ROWS * 2
    assert count(con) == rows
    assert con.execute("SELECT * FROM sale WHERE id = 8195").fetchone() == (
        *(8195, dt.date(2026, 5, 1), Decimal("2.25"), "row 8195"),
    )


def test_some_columns_take_their_defaults(con):
    with con.appender("SALE", ["Day", "id"]) as appender:
        appender.append_rows([(dt.date(2026, 5, 1), 1), (None, 2)])
    assert con.execute("SELECT * FROM sale ORDER BY id").fetchall() == [
        (1, dt.date(2026, 5, 1), Decimal("1.50"), None),
        (2, None, Decimal("1.50"), None),
    ]


def test_values_are_converted_as_insert_does(con):
    with con.appender("sale") as appender:
        appender.append("1", "2026-05-01", "2.5", 7)
    assert con.execute("SELECT * FROM sale").fetchall() == [
        (1, dt.date(2026, 5, 1), Decimal("2.50"), "7")
    ]


@pytest.mark.parametrize(
    ("row", "error", "text"),
    [
        ((1, None, None), raydb.ProgrammingError, "a row has 4 values here, but 3 were given"),
        (("x", None, None, None), raydb.DataError, "column 'id': 'x' is not a valid INTEGER"),
        ((2**40, None, None, None), raydb.DataError, "column 'id'"),
        ((object(), None, None, None), raydb.DataError, "column 'id', values that were appended"),
        ((None, None, None, None), raydb.IntegrityError, "'id'"),
    ],
)
def test_wrong_rows(con, row, error, text):
    appender = con.appender("sale")
    with pytest.raises(error, match=text):
        _append_now(appender, row)
    appender.append(5, None, None, None)
    appender.close()
    assert con.execute("SELECT id FROM sale").fetchall() == [(5,)]


def test_a_repeated_key_refuses_its_batch(con):
    with pytest.raises(raydb.IntegrityError, match="'sale'"), con.appender("sale") as appender:
        appender.append_rows((number // 2, None, None, None) for number in range(4))
    assert count(con) == 0


def test_a_block_that_raises_drops_what_was_not_flushed(con):
    with pytest.raises(ZeroDivisionError), con.appender("sale") as appender:
        appender.append_rows((1 // number, None, None, None) for number in (1, 0))
    assert count(con) == 0


def test_a_transaction_holds_all_batches(con):
    con.begin()
    with con.appender("sale", ["id"]) as appender:
        appender.append_rows((number,) for number in range(FLUSH_ROWS + 1))
    con.rollback()
    assert count(con) == 0


def test_use_after_close(con):
    appender = con.appender("sale")
    appender.close()
    appender.close()
    with pytest.raises(raydb.InterfaceError, match="the appender is closed"):
        appender.append(1, None, None, None)


def test_unknown_names(con):
    with pytest.raises(raydb.ProgrammingError, match="table 'sales' does not exist; did you mean"):
        con.appender("sales")
    with pytest.raises(raydb.ProgrammingError, match="column 'days' does not exist in 'sale'; did"):
        con.appender("sale", ["days"])
    con.execute("CREATE VIEW v AS SELECT 1 AS n")
    with pytest.raises(raydb.ProgrammingError, match="'v' is a view, not a table"):
        con.appender("v")


def test_quoted_names(con):
    con.execute('CREATE TABLE "T x" ("A b" INTEGER)')
    with con.appender("T x", ["A b"]) as appender:
        appender.append(1)
    assert con.execute('SELECT * FROM "T x"').fetchall() == [(1,)]


def test_on_disk(tmp_path):
    with raydb.connect(tmp_path / "d") as con:
        con.execute("CREATE TABLE t (n INTEGER)")
        with con.appender("t") as appender:
            appender.append_rows((number,) for number in range(100))
    with raydb.connect(tmp_path / "d", read_only=True) as con:
        assert con.execute("SELECT count(*), sum(n) FROM t").fetchone() == (100, 4950)
        with (
            pytest.raises(raydb.OperationalError, match="read-only"),
            con.appender("t") as appender,
        ):
            appender.append(1)


def test_numbers_beyond_real_are_errors_and_never_infinity():
    con = raydb.connect()
    con.execute("CREATE TABLE t (f FLOAT, v FLOAT[2], l FLOAT[])")
    for row in ((1e300, None, None), (1, [1, -1e39], None), (1, None, [3.5e38])):
        with (
            pytest.raises(raydb.DataError, match=r"^column '[fvl]': .* is out of range for "),
            con.appender("t") as rows,
        ):
            rows.append(*row)
    with con.appender("t") as rows:
        rows.append(float("inf"), np.array([1.5, np.inf], np.float32), [3.4028234663852886e38])
        rows.append(np.float32(0.1), [0.1, float("nan")], (1, None))
    found = con.execute("SELECT f, v[1], isnan(v[2]), l FROM t").fetchall()
    assert found == [
        (float("inf"), 1.5, False, [3.4028234663852886e38]),
        (float(np.float32(0.1)), float(np.float32(0.1)), True, [1.0, None]),
    ]
