"""Functions of dates and times give DuckDB's answers on awkward moments."""

from __future__ import annotations

import datetime as dt
import random
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest

import raydb

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 300
PARTS = (
    "year quarter month week isoyear day dow isodow doy decade century millennium hour minute"
    " microsecond"
)
UNITS = (
    "millennium century decade year quarter month week day hour minute second millisecond"
    " microsecond"
)
EXPRESSIONS = (
    "a + INTERVAL 1 MONTH",
    "a - INTERVAL '1 month 1 day 02:03:04.5'",
    "a::DATE - INTERVAL 13 MONTH",
    "a::DATE + 400",
    "a::DATE - b::DATE",
    "extract(epoch FROM date_trunc('second', a))",
    "extract(epoch FROM a - b)::DOUBLE",
    "last_day(a)",
    "a::VARCHAR",
    "a::DATE::VARCHAR",
    "a::TIME::VARCHAR",
    "dayname(a) || monthname(b)",
    "a < b::DATE",
    "a::DATE >= b",
    "a::DATE < TIMESTAMP '1970-01-01 12:00'",
    "a::DATE > TIMESTAMP '1970-01-01 00:00'",
    "TIMESTAMP '2000-02-29 00:00:01' >= a::DATE",
    "epoch_ms(a)",
    "to_days(id::INTEGER)::VARCHAR",
    "age(a, b)::VARCHAR",
    "strftime(a, '%Y-%m-%d %H:%M:%S.%f %j %a %A %b %B %-d %-m %y %p %I %w %u %V %G %U %W')",
    "strptime(strftime(a, '%d.%m.%Y %H-%M-%S.%f'), '%d.%m.%Y %H-%M-%S.%f')",
)


def moments() -> pa.Table:
    """Return pairs of timestamps: ends of months, leap days, midnights, before 1970."""
    numbers = random.Random(17)

    def moment() -> dt.datetime:
        year = numbers.choice([14, 1000, 1582, 1899, 1969, 1970, 1999, 2000, 2001, 2024, 9990])
        first = dt.datetime(year, numbers.randint(1, 12), 1)
        clock = numbers.choice([0, 0, 1, 499_999, 500_000, 43_200_000_000, 86_399_999_999])
        return first + dt.timedelta(days=numbers.randint(0, 30), microseconds=clock)

    columns = [[None, *(moment() for _ in range(ROWS))] for _ in range(2)]
    kind = pa.timestamp("us")
    return pa.table(
        {"id": range(ROWS + 1), "a": pa.array(columns[0], kind), "b": pa.array(columns[1], kind)}
    )


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    path = tmp_path_factory.mktemp("moments") / "moments.parquet"
    with duckdb.connect() as theirs:
        table = moments()
        theirs.register("given", table)
        theirs.execute("CREATE TABLE t AS FROM given")
        theirs.execute(f"COPY t TO '{path}'")
        ours = raydb.connect()
        ours.execute("CREATE TABLE t (id BIGINT, a TIMESTAMP, b TIMESTAMP)")
        ours.execute(f"COPY t FROM '{path}'")
        yield ours, theirs


@pytest.mark.parametrize(
    "expression",
    [
        *(f"extract({part} FROM a)" for part in PARTS.split()),
        # PostgreSQL's centuries begin with the year 1, DuckDB cuts to the year 0.
        *(f"date_trunc('{unit}', a)" for unit in UNITS.split()[2:]),
        *(f"date_diff('{unit}', a, b)" for unit in UNITS.split()),
        *(f"date_sub('{unit}', a, b)" for unit in UNITS.split()),
        *EXPRESSIONS,
    ],
)
def test_answers_are_those_of_duckdb(databases: tuple[Any, Any], expression: str) -> None:
    ours, theirs = databases
    query = f"SELECT id, {expression} FROM t ORDER BY id"
    found, expected = ours.execute(query).fetchall(), theirs.execute(query).fetchall()
    assert [_plain(row) for row in found] == [_plain(row) for row in expected]


def _plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row in which an interval has the same text from both: 1 mon, -1 day."""
    identity, value = row
    if isinstance(value, str):
        value = value.replace("month", "mon").replace("-1 mons", "-1 mon")
        value = value.replace("-1 years", "-1 year").replace("-1 days", "-1 day")
    return identity, value


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("call", ["to_years(1e308)", "to_days(-1e308)", "INTERVAL 1 MONTH * 1e308"])
def test_a_product_that_is_too_large_is_an_error_and_no_warning(call):
    with pytest.raises(raydb.DataError, match="out of range for INTERVAL"):
        raydb.connect().execute(f"SELECT {call}")
