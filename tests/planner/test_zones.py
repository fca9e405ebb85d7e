"""Time zones beside Python's zoneinfo and DuckDB, around the changes of clocks."""

from __future__ import annotations

import datetime as dt
import random
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pytest

import raydb
from raydb.planner.expressions.columns.zones import (
    find_zone,
    instants_of,
    local_moments,
    utc_offsets,
)

ZONES = (
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "America/St_Johns",
    "Africa/Casablanca",
    "Pacific/Apia",
)
SEED = 18
EPOCH = dt.datetime(1970, 1, 1)
MICROSECOND = dt.timedelta(microseconds=1)
QUARTER = 900 * 1_000_000


def micros(moment: dt.datetime) -> int:
    return (moment.replace(tzinfo=None) - EPOCH) // MICROSECOND


def near_changes(zone: str, count: int) -> list[int]:
    """Return instants of 1900 to 2150, most of them within hours of a change of the clocks."""
    rng = random.Random(f"{SEED} {zone}")
    hours = np.arange(micros(dt.datetime(1900, 1, 1)), micros(dt.datetime(2150, 1, 1)), 4 * QUARTER)
    changed = np.flatnonzero(np.diff(utc_offsets(hours, zone)))
    found = [rng.randrange(int(hours[0]), int(hours[-1])) for _ in range(count // 4)]
    near = rng.choices(hours[changed].tolist(), k=count - len(found))
    found += [hour + rng.randrange(-12, 16) * QUARTER + rng.randrange(3) for hour in near]
    return found


@pytest.mark.parametrize("zone", ZONES)
def test_clocks_show_what_zoneinfo_says(zone: str) -> None:
    instants = near_changes(zone, 2000)
    shown = local_moments(np.array(instants), zone).tolist()
    for instant, moment in zip(instants, shown, strict=True):
        utc = (EPOCH + instant * MICROSECOND).replace(tzinfo=dt.UTC)
        assert moment == micros(utc.astimezone(ZoneInfo(zone))), (zone, utc)


@pytest.mark.parametrize("zone", ZONES)
def test_moments_are_found_as_postgresql_finds_them(zone: str) -> None:
    """One that comes twice is the later; of one that never comes, the offset is that before."""
    moments = local_moments(np.array(near_changes(zone, 1000)), zone)
    moments = np.concatenate([moments, moments + 2 * QUARTER, moments + 4 * QUARTER])
    for moment, instant in zip(moments.tolist(), instants_of(moments, zone).tolist(), strict=True):
        shown = (EPOCH + moment * MICROSECOND).replace(tzinfo=ZoneInfo(zone))
        early, late = (micros(shown.replace(fold=fold).astimezone(dt.UTC)) for fold in (0, 1))
        # Of a moment that never comes, zoneinfo counts with the offset before for fold 0.
        assert instant == max(early, late), (zone, shown)


def test_years_far_apart_have_their_own_rules() -> None:
    days = ["0001-01-01", "1883-11-18", "2024-07-01", "2150-07-01", "9999-12-31"]
    instants = np.array(days, "M8[us]").astype(np.int64)
    offsets = utc_offsets(instants, "America/New_York") // 1_000_000
    assert offsets.tolist() == [-17762, -17762, -14400, -14400, -18000]


def test_names_of_zones() -> None:
    assert find_zone("europe/berlin") == "Europe/Berlin"
    for wrong in ("Europe/Berln", "Europe", "", "../etc/passwd", "x" * 300):
        with pytest.raises(raydb.ProgrammingError, match=r"time zone '.*' does not exist"):
            find_zone(wrong)


@pytest.fixture(scope="module")
def rival() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    try:
        connection.execute("LOAD icu")
    except duckdb.Error as error:
        pytest.skip(f"DuckDB without icu: {error}")
    return connection


# Where DuckDB differs from PostgreSQL, which RayDB follows, in an hour that comes twice: it cuts to
# the hour and adds days otherwise.
CASES = (
    "t::TIMESTAMP::VARCHAR",
    "t::DATE::VARCHAR",
    "t::VARCHAR",
    "(s AT TIME ZONE 'America/New_York')::VARCHAR",
    "(t AT TIME ZONE 'Asia/Kolkata')::VARCHAR",
    "(s::TIMESTAMPTZ)::VARCHAR",
    "(s::VARCHAR)::TIMESTAMPTZ::VARCHAR",
    "date_trunc('month', t)::VARCHAR",
    "date_trunc('week', t)::VARCHAR",
    "date_trunc('minute', t)::VARCHAR",
    "date_diff('day', t, u)",
    "date_diff('month', t, u)",
    "date_diff('second', t, u)",
    "extract(dow FROM t) || ' ' || extract(hour FROM t) || ' ' || extract(timezone FROM t)",
    "epoch_ms(t)",
    "strftime(t, '%Y-%m-%d %H:%M:%S.%f %z %Z')",
    "(t + INTERVAL '90 minutes')::VARCHAR",
    "(t - INTERVAL '25 hours')::VARCHAR",
    "t < u AND t > s",
    "time_bucket(INTERVAL '6 hours', t)::VARCHAR",
)


# On such a day DuckDB counts from midnight, which it does not find.
CHANGED_AT_MIDNIGHT = ("Australia/Lord_Howe", "America/St_Johns")


@pytest.mark.parametrize("zone", ZONES[:5])
def test_answers_are_those_of_duckdb(zone: str, rival: duckdb.DuckDBPyConnection) -> None:
    rng = random.Random(f"{SEED} {zone}")
    # ICU's own zones end, or begin, elsewhere.
    span = [micros(dt.datetime(year, 1, 1)) for year in (1975, 2036)]
    instants = [each for each in near_changes(zone, 600) if span[0] < each < span[1]]
    pairs = [(each, rng.choice(instants)) for each in instants]
    values = ", ".join(f"({one}, {other})" for one, other in pairs)
    table = (
        "SELECT make_timestamptz(a) AS t, make_timestamptz(b) AS u,"
        " make_timestamptz(a) AT TIME ZONE 'UTC' AS s"
        f" FROM (VALUES {values}) AS v (a, b)"
    )
    con = raydb.connect()
    for each in (con, rival):
        each.execute(f"SET timezone = '{zone}'")
        each.execute(f"DROP TABLE IF EXISTS z; CREATE TABLE z AS {table}")
    for case in CASES:
        if ("'day'" in case or "'month'" in case) and zone in CHANGED_AT_MIDNIGHT:
            continue
        query = f"SELECT t::VARCHAR, u::VARCHAR, s::VARCHAR, {case} FROM z ORDER BY t, u, s"
        pairs = zip(con.execute(query).fetchall(), rival.execute(query).fetchall(), strict=True)
        for answer, wanted in pairs:
            assert answer == wanted, (zone, case)


def test_days_are_those_that_clocks_show() -> None:
    """Beside zoneinfo, for DuckDB keeps the offset in an hour that comes twice."""
    rng = random.Random(SEED)
    con = raydb.connect()
    for zone in ZONES[:5]:
        con.execute(f"SET timezone = '{zone}'")
        for instant in near_changes(zone, 30):
            days = rng.randrange(-3, 4)
            (found,) = con.execute(
                f"SELECT make_timestamptz({instant}) + INTERVAL '{days} days'"
            ).fetchone()
            utc = (EPOCH + instant * MICROSECOND).replace(tzinfo=dt.UTC)
            wanted = utc.astimezone(ZoneInfo(zone))
            if days:
                shown = wanted.replace(tzinfo=None) + dt.timedelta(days=days)
                wanted = max(
                    shown.replace(tzinfo=ZoneInfo(zone), fold=fold).astimezone(dt.UTC)
                    for fold in (0, 1)
                )
            assert found.astimezone(dt.UTC) == wanted.astimezone(dt.UTC), (zone, utc, days)
