"""Infinite dates, and those before the year 1 and beyond 9999, against DuckDB."""

from __future__ import annotations

import random

import duckdb
import pytest

import raydb

_DATES = ("infinity", "-infinity", "0001-12-31 (BC)", "9999-12-31")
# Beyond what timestamps hold, which these expressions are free of.
_FAR_DATES = ("5870000-06-25 (BC)", "5881580-07-10", "5000000-02-28 (BC)", "infinity")
_OF_FAR_DATES = (
    *("{x}", "isinf({x})", "{x} + {number}", "{x} < {y}", "date_part('{part}', {x})"),
    *("last_day({x})", "CAST({x} AS TIMESTAMP)", "dayname({x})", "{x} = {y}"),
)
_CLOCKS = ("", " 00:00:00", " 23:59:59.999999", " 10:37:21.5")
_INTERVALS = ("1 day", "-1 month", "100 years", "-400 years", "36 hours", "280000 years")
_PARTS = (
    *("year", "month", "day", "quarter", "week", "isoyear", "dow", "isodow", "doy"),
    *("decade", "century", "millennium", "era", "hour", "minute"),
)
_UNITS = ("year", "month", "week", "day", "hour", "second", "quarter")
_OF_ONE = (
    *("{x}", "CAST({x} AS DATE)", "CAST({x} AS TIMESTAMP)", "CAST({x} AS TIMESTAMPTZ)"),
    *("isinf({x})", "isfinite({x})", "dayname({x})", "monthname({x})", "last_day({x})"),
    *("{x} + INTERVAL '{interval}'", "{x} - INTERVAL '{interval}'", "epoch_us({x})"),
    *("date_part('{part}', {x})", "strftime({x}, '%d/%m %H:%M %a %j')"),
    "CAST({x} AS DATE) + {number}",
    "CAST(date_trunc('{unit}', {x}) AS TIMESTAMP)",
)
_OF_TWO = (
    *("{x} < {y}", "{x} = {y}", "greatest({x}, {y})", "CAST({x} AS DATE) - CAST({y} AS DATE)"),
    *("date_diff('{unit}', {x}, {y})", "datesub('{unit}', {x}, {y})"),
)


def _moment(rng: random.Random) -> str:
    year = rng.choice((0, 1, 44, 400, 2000, 9999, 10_000, 12_345, 290_000))
    date = f"{year:04}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    date += " (BC)" * (year > 0 and rng.random() < 0.4)
    clock = rng.choice(_CLOCKS)
    if rng.random() < 0.3:
        date, clock = rng.choice(_DATES), ""
    kind = "TIMESTAMP" if clock else rng.choice(("DATE", "TIMESTAMP"))
    return f"CAST('{date}{clock}' AS {kind})"


def _expression(rng: random.Random) -> str:
    is_far = rng.random() < 0.2
    x, y = (
        f"CAST('{rng.choice(_FAR_DATES)}' AS DATE)" if is_far else _moment(rng) for _ in range(2)
    )
    template = rng.choice(_OF_FAR_DATES if is_far else (*_OF_ONE, *_OF_TWO))
    return template.format(
        x=x,
        y=y,
        part=rng.choice(_PARTS[:-2] if is_far else _PARTS),
        unit=rng.choice(_UNITS),
        interval=rng.choice(_INTERVALS),
        number=rng.choice((1, -1, 400_000, 3_000_000)),
    )


def _answer(connection: object, sql: str, errors: type[Exception]) -> str | None:
    try:
        (row,) = connection.execute(sql).fetchall()
    except errors:
        return "an error"
    return row[0]


@pytest.mark.parametrize("seed", range(2))
def test_far_moments_are_as_in_duckdb(seed: int) -> None:
    rng = random.Random(seed)
    ours, theirs = raydb.connect(), duckdb.connect()
    for connection in (ours, theirs):
        connection.execute("SET TimeZone = 'UTC'")
    answers = set()
    for _ in range(120):
        expression = _expression(rng)
        constant = f"SELECT CAST({expression} AS VARCHAR)"
        expected = _answer(theirs, constant, duckdb.Error)
        assert _answer(ours, constant, raydb.Error) == expected, constant
        # As a column, which no rule computes while it plans.
        column = f"SELECT CAST({expression} AS VARCHAR) FROM range(2) t(i) WHERE i = 1"
        assert _answer(ours, column, raydb.Error) == expected, column
        answers.add(expected)
    assert len(answers) > 50
