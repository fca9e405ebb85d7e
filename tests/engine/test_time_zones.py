"""TIMESTAMP WITH TIME ZONE: in from everywhere, kept, out to everywhere; the zone of a session."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

import raydb

if TYPE_CHECKING:
    from pathlib import Path

OSLO = ZoneInfo("Europe/Oslo")
NOON = dt.datetime(2024, 7, 1, 12, 0, 0, 5, OSLO)
WINTER = dt.datetime(2024, 10, 27, 2, 30, tzinfo=OSLO, fold=1)
ZONED = "TIMESTAMP WITH TIME ZONE"


def connected(zone: str = "Europe/Oslo", place: Any = None) -> raydb.Connection:
    con = raydb.connect(place) if place is not None else raydb.connect()
    con.execute(f"SET timezone = '{zone}'")
    return con


def utc(rows: list[tuple[Any, ...]]) -> list[dt.datetime | None]:
    """Return one column; datetimes of two zones are never equal in an hour that comes twice."""
    return [None if value is None else value.astimezone(dt.UTC) for (value,) in rows]


WANTED = [NOON.astimezone(dt.UTC), None, WINTER.astimezone(dt.UTC)]


def frames() -> dict[str, Any]:
    arrow = pa.table({"t": pa.array([NOON, None, WINTER], pa.timestamp("us", "Europe/Oslo"))})
    pandas = pd.DataFrame({"t": pd.to_datetime([NOON, None, WINTER], utc=True)})
    return {
        "arrow": arrow,
        "seconds": pa.table({"t": arrow.column(0).cast(pa.timestamp("ns", "Asia/Kolkata"))}),
        "pandas": pandas,
        "pandas ns": pandas.astype("datetime64[ns, America/New_York]"),
        "objects": pd.DataFrame({"t": pd.Series([NOON, None, WINTER], dtype=object)}),
        "polars": pl.from_arrow(arrow),
    }


@pytest.mark.parametrize("kind", frames())
def test_frames_come_in_and_go_out(kind: str) -> None:
    con = connected()
    frame = frames()[kind]  # noqa: F841
    con.execute("CREATE TABLE z AS FROM frame")
    assert con.execute("DESCRIBE z").fetchall()[0][1] == ZONED
    cursor = con.execute("FROM z")
    assert utc(cursor.fetchall()) == WANTED
    assert cursor.description[0][1] == ZONED == raydb.DATETIME
    assert cursor.to_arrow_table().schema.types == [pa.timestamp("us", "Europe/Oslo")]
    assert str(cursor.to_pandas().dtypes["t"]) == "datetime64[us, Europe/Oslo]"
    assert cursor.to_polars().dtypes == [pl.Datetime("us", "Europe/Oslo")]
    assert utc([(value,) for value in cursor.to_polars()["t"]]) == WANTED


@pytest.mark.parametrize("name", ["z.parquet", "z.csv", "z.json", "z.flat"])
def test_files_keep_instants(name: str, tmp_path: Path) -> None:
    con = connected()
    con.execute(f"CREATE TABLE z (t {ZONED})")
    con.execute("INSERT INTO z VALUES (?), (?), (NULL)", [NOON, WINTER])
    con.execute(f"COPY z TO '{tmp_path / name}'")
    con.execute("SET timezone = 'America/St_Johns'")
    assert con.execute(f"DESCRIBE FROM '{tmp_path / name}'").fetchall()[0][1] == ZONED
    found = con.execute(f"FROM '{tmp_path / name}' WHERE t IS NOT NULL ORDER BY t").fetchall()
    assert utc(found) == [WANTED[0], WANTED[2]]
    con.execute(f"CREATE TABLE again (t {ZONED}); COPY again FROM '{tmp_path / name}'")
    assert utc(con.execute("FROM again ORDER BY t").fetchall()) == [WANTED[0], WANTED[2], None]
    pruned = f"SELECT count(*) FROM '{tmp_path / name}' WHERE t > '2024-09-01 00:00+02'"
    assert con.execute(pruned).fetchall() == [(1,)]


@pytest.mark.parametrize(
    "texts", [["2024-01-01T10:00:00Z"], ["2024-01-01 12:00+02:00", "2024-01-01 05:00:00.0-0500"]]
)
@pytest.mark.parametrize("name", ["z.csv", "z.json"])
def test_texts_with_an_offset_are_instants(name: str, texts: list[str], tmp_path: Path) -> None:
    lines = ["t,n", *(f"{text},1" for text in texts)]
    if name == "z.json":
        lines = [f'{{"t": "{text}", "n": 1}}' for text in texts]
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    found = connected().execute(f"SELECT t FROM '{tmp_path / name}'").fetchall()
    assert utc(found) == [dt.datetime(2024, 1, 1, 10, tzinfo=dt.UTC)] * len(texts)


def test_a_database_keeps_instants(tmp_path: Path) -> None:
    con = connected(place=tmp_path / "d")
    con.execute(f"CREATE TABLE z (t {ZONED} PRIMARY KEY, made {ZONED} DEFAULT now(), n INTEGER)")
    con.execute("INSERT INTO z (t, n) VALUES (?, 1), (?, 2)", [NOON, WINTER])
    con.close()
    for zone in ("UTC", "Asia/Kolkata"):
        con = connected(zone, tmp_path / "d")
        assert utc(con.execute("SELECT t FROM z ORDER BY n").fetchall()) == WANTED[::2]
        assert con.execute("SELECT n FROM z WHERE t = ?", [WINTER]).fetchall() == [(2,)]
        with pytest.raises(raydb.IntegrityError):
            con.execute("INSERT INTO z (t) VALUES (?)", [NOON.astimezone(ZoneInfo("Asia/Tokyo"))])
        con.execute("CHECKPOINT")
        con.close()


def test_aware_datetimes_are_parameters() -> None:
    con = connected("Asia/Tokyo")
    query = "SELECT ? AS t, typeof(?)"
    found, kind = con.execute(query, [NOON, NOON]).fetchone()
    assert (found, kind, str(found.tzinfo)) == (NOON, ZONED, "Asia/Tokyo")
    assert utc(con.execute("SELECT ?", [WINTER]).fetchall()) == [WINTER.astimezone(dt.UTC)]
    with pytest.raises(raydb.ProgrammingError, match="beyond the years"):
        con.execute("SELECT ?", [dt.datetime.max.replace(tzinfo=ZoneInfo("America/New_York"))])
    with pytest.raises(raydb.ProgrammingError, match="a zone that needs a day"):
        con.execute("SELECT ?", [dt.time(1, tzinfo=ZoneInfo("Europe/Oslo"))])


def test_many_rows_of_instants() -> None:
    con = connected()
    con.execute(f"CREATE TABLE z (t {ZONED}, n INTEGER)")
    naive = dt.datetime(2024, 7, 1, 12, 0, 0, 5)
    values = [NOON, "2024-07-01 12:00:00.000005", naive, pd.Timestamp(NOON), str(NOON)]
    for value in values:
        con.executemany("INSERT INTO z VALUES (?, ?)", [[value, 1], [None, 2], [value, 3]])
    con.executemany("INSERT INTO z VALUES (?, 4)", [[value] for value in values])
    with con.appender("z") as rows:
        for value in values:
            rows.append(value, 5)
    counted = con.execute("SELECT t, count(*) FROM z GROUP BY t ORDER BY t").fetchall()
    assert counted == [(NOON, 20), (None, 5)]


def test_a_cached_plan_is_of_one_zone() -> None:
    con = connected("UTC")
    con.execute("CREATE TABLE z (t TIMESTAMP, n INTEGER)")
    con.execute("INSERT INTO z VALUES ('2024-07-01 00:30', 1), ('2024-07-01 12:00', 2)")
    con.execute("CREATE TABLE w AS SELECT t::TIMESTAMPTZ AS t FROM z")
    texts = {
        "SELECT TIMESTAMPTZ '2024-07-01'": None,
        "SELECT count(*) FROM w WHERE t < '2024-07-01 10:00'": None,
        "SELECT count(*) FROM w WHERE t < TIMESTAMP '2024-07-01 10:00'": None,
        "SELECT date_trunc('day', t)::VARCHAR, count(*) FROM w GROUP BY 1 ORDER BY 1": None,
        "SELECT extract(hour FROM t), count(*) FROM w GROUP BY 1 ORDER BY 1": None,
    }
    zones = ("UTC", "Asia/Kolkata", "America/New_York")
    fresh = {}
    for zone in zones:
        con.execute("SET plan_cache = 'off'")
        con.execute(f"SET timezone = '{zone}'")
        fresh[zone] = [con.execute(text).fetchall() for text in texts]
    assert len({str(answers) for answers in fresh.values()}) == 3
    con.execute("SET plan_cache = 'on'")
    for zone in zones * 3:
        con.execute(f"SET timezone = '{zone}'")
        assert [con.execute(text).fetchall() for text in texts] == fresh[zone], zone
    prepared = "SELECT (?::TIMESTAMP)::TIMESTAMPTZ::VARCHAR"
    for zone, offset in zip(zones * 2, ("+00", "+05:30", "-04") * 2, strict=True):
        con.execute(f"SET timezone = '{zone}'")
        for hour in (1, 2):
            moment = dt.datetime(2024, 7, 1, hour)
            assert con.execute(prepared, [moment]).fetchall() == [(f"{moment}{offset}",)]


def test_a_bvh_over_instants() -> None:
    con = connected()
    con.execute(f"CREATE TABLE z (t {ZONED}, n INTEGER NOT NULL)")
    con.execute(
        "INSERT INTO z SELECT TIMESTAMPTZ '2024-03-30' + i * INTERVAL '1 hour', i"
        " FROM range(100) AS r (i)"
    )
    query = "SELECT t, sum(n), max(t) FROM z WHERE t < '2024-03-31 05:00' GROUP BY t ORDER BY t"
    wanted = con.execute(query).fetchall()
    assert len(wanted) == 28
    con.execute("CREATE BVH b ON z (SCAN (t), GROUP BY (t), AGGREGATE (n, t))")
    explained = "\n".join(row[0] for row in con.execute(f"EXPLAIN {query}").fetchall())
    assert "FusedScanAggregate" in explained, explained
    for zone in ("Europe/Oslo", "UTC", "Europe/Oslo"):
        con.execute(f"SET timezone = '{zone}'")
        again = query.replace("05:00", "05:00+02:00")
        for _ in range(3):
            found = con.execute(again).fetchall()
            assert found == wanted
            assert str(found[0][0].tzinfo) == zone
    with pytest.raises(raydb.NotSupportedError, match="as it is alone"):
        con.execute("CREATE BVH c ON z (SCAN (t), AGGREGATE (extract(hour FROM t)))")


def test_a_column_of_timestamps_is_compared_as_it_is() -> None:
    con = connected()
    con.execute("CREATE TABLE z (t TIMESTAMP)")
    for instant, form in (
        ("2024-07-01 10:00Z", "(t > '2024-07-01 12:00:00')"),
        ("2024-03-31 01:00Z", "cast"),
    ):
        text = f"EXPLAIN SELECT t FROM z WHERE t > TIMESTAMPTZ '{instant}'"
        assert any(form in row[0] for row in con.execute(text).fetchall())


def test_instants_through_sqlalchemy() -> None:
    engine = sa.create_engine("raydb://")
    metadata = sa.MetaData()
    visit = sa.Table(
        "visit", metadata, sa.Column("t", sa.DateTime(timezone=True)), sa.Column("s", sa.DateTime)
    )
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(visit.insert(), [{"t": NOON, "s": dt.datetime(2024, 7, 1)}])
        assert connection.execute(sa.select(visit.c.t)).scalar_one() == NOON
        found = {each["name"]: each["type"] for each in sa.inspect(connection).get_columns("visit")}
    assert isinstance(found["t"], sa.TIMESTAMP)
    assert (found["t"].timezone, found["s"].timezone) == (True, False)


def test_streams_and_lists_are_in_the_zone() -> None:
    con = connected()
    query = "SELECT [t], {'a': [t]}, t FROM (VALUES (TIMESTAMPTZ '2024-07-01 10:00Z')) AS v (t)"
    ((listed, held, moment),) = con.execute(query).fetchall()
    assert (listed, held) == ([moment], {"a": [moment]})
    texts = con.execute(f"SELECT [t]::VARCHAR, s::VARCHAR FROM ({query}) AS q (l, s, t)").fetchone()
    assert texts == ("['2024-07-01 12:00:00+02']", "{'a': ['2024-07-01 12:00:00+02']}")
    assert moment.utcoffset() == dt.timedelta(hours=2)
    zoned = pa.timestamp("us", "Europe/Oslo")
    for rows in (con.execute(query).to_arrow_table(), con.stream(query).read_all()):
        listed = pa.list_(zoned)
        assert rows.schema.types == [listed, pa.struct([("a", listed)]), zoned]


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "parquet"])
def test_nanoseconds_are_never_cut_without_a_word(kind: str, tmp_path: Path) -> None:
    fine = pa.array([1_000, 1_001], pa.timestamp("ns", "UTC"))
    table = pa.table({"whole": fine.take(pa.array([0, 0])), "fine": fine})
    source, frame = "frame", table
    if kind == "pandas":
        frame = table.to_pandas()
    elif kind == "polars":
        frame = pl.from_arrow(table)
    elif kind == "parquet":
        pq.write_table(table, tmp_path / "f.parquet", version="2.6")
        source = f"'{tmp_path / 'f.parquet'}'"
    assert frame is not None
    con = connected("UTC")
    assert (
        con.execute(f"SELECT whole FROM {source}").fetchall()
        == [(dt.datetime(1970, 1, 1, 0, 0, 0, 1, dt.UTC),)] * 2
    )
    said = "row 2, column 'fine': .* has nanoseconds.* SET nanoseconds = 'cut'"
    with pytest.raises(raydb.DataError, match=said):
        con.execute(f"SELECT fine FROM {source}")
    con.execute("SET nanoseconds = 'cut'")
    found = con.execute(f"SELECT fine FROM {source}").fetchall()
    assert found == [(dt.datetime(1970, 1, 1, 0, 0, 0, 1, dt.UTC),)] * 2


@pytest.mark.parametrize("value", [pd.NaT, pd.NA, np.datetime64("NaT"), np.timedelta64("NaT")])
def test_what_is_missing_is_null(value: Any) -> None:
    assert connected().execute("SELECT ?", [value]).fetchall() == [(None,)]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (np.datetime64("2024-07-01T10:00:00.000001000", "ns"), "2024-07-01 10:00:00.000001"),
        (np.datetime64("2024-07"), "2024-07-01"),
        (np.datetime64("2024-07-01T10:00:00.000000001"), "2024-07-01 10:00:00.000000001"),
        (pd.Timestamp("2024-07-01 10:00:00.000000001"), "2024-07-01 10:00:00.000000001"),
        (np.timedelta64(90, "m"), "01:30:00"),
        (np.timedelta64(14, "M"), "1 year 2 mons"),
        (dt.timedelta(days=-1, hours=1), "-1 days +01:00:00"),
        (pd.Timedelta("2 days 3 hours"), "2 days 03:00:00"),
        (pd.Timestamp("2024-07-01 10:00", tz="Europe/Oslo"), "2024-07-01 10:00:00+02"),
        (pd.Timestamp("2024-07-01 10:00"), "2024-07-01 10:00:00"),
    ],
)
def test_moments_and_spans_as_parameters(value: Any, wanted: str) -> None:
    assert connected().execute("SELECT (?)::VARCHAR", [value]).fetchall() == [(wanted,)]


@pytest.mark.parametrize(
    "value",
    [pd.Timestamp(1, tz="UTC"), pd.Timedelta(1, "ns"), np.timedelta64(1, "ns")],
)
def test_nanoseconds_of_a_parameter_are_refused(value: Any) -> None:
    con = connected()
    with pytest.raises(raydb.DataError, match=r"parameter 1, .* has nanoseconds"):
        con.execute("SELECT ?", [value])
    con.execute("SET nanoseconds = 'cut'")
    assert len(con.execute("SELECT ?", [value]).fetchall()) == 1


def test_durations_are_intervals_both_ways() -> None:
    spans = [dt.timedelta(days=2, microseconds=3), None, dt.timedelta(hours=-1)]
    pandas = pd.DataFrame({"d": pd.Series(spans, dtype="timedelta64[ns]")})
    for frame in (pandas, pl.DataFrame({"d": spans}), pa.table({"d": pa.array(spans)})):
        assert frame is not None
        cursor = connected().execute("SELECT d, typeof(d) FROM frame")
        assert cursor.fetchall() == [(span, "INTERVAL") for span in spans]
        assert cursor.to_polars()["d"].to_list() == spans
        assert str(cursor.to_pandas().dtypes["d"]) == "timedelta64[us]"
    months = connected().execute("SELECT INTERVAL '1 month' AS m")
    assert months.to_pandas()["m"].tolist() == [pd.DateOffset(months=1, days=0, nanoseconds=0)]
    with pytest.raises(raydb.DataError, match="column 'm' is an INTERVAL"):
        months.to_polars()


def test_the_system_has_a_zone() -> None:
    con = raydb.connect()
    (name,) = con.execute("SHOW timezone").fetchone()
    assert ZoneInfo(name)
    con.execute("SET TIME ZONE 'asia/kolkata'")
    assert con.execute("SHOW timezone").fetchall() == [("Asia/Kolkata",)]
    con.execute("RESET timezone")
    assert con.execute("SHOW timezone").fetchall() == [(name,)]
