from __future__ import annotations

import pyarrow as pa
import pytest

from raydb.planner.expressions.columns.order import order_intervals
from raydb.planner.expressions.interval_text import interval_text, read_interval

HOUR = 3_600_000_000_000


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("1 year 2 mons 3 days 04:05:06.5", (14, 3, 4 * HOUR + 306_500_000_000)),
        ("-1 year -2 mons +3 days -04:05:06", (-14, 3, -4 * HOUR - 306_000_000_000)),
        ("1.5 years", (18, 0, 0)),
        ("1.5 months", (1, 15, 0)),
        ("1.5 weeks", (0, 10, 12 * HOUR)),
        ("0.5 days", (0, 0, 12 * HOUR)),
        ("P1Y2M3DT4H5M6S", (14, 3, 4 * HOUR + 306_000_000_000)),
        ("PT36H", (0, 0, 36 * HOUR)),
        ("1-2", (14, 0, 0)),
        ("1 02:00", (0, 1, 2 * HOUR)),
        ("2 weeks ago", (0, -14, 0)),
        ("@ 1 day", (0, 1, 0)),
        ("90", (0, 0, 90_000_000_000)),
        ("  1   DAY ", (0, 1, 0)),
        ("1 day 1 day", (0, 2, 0)),
    ],
)
def test_texts_are_read(text: str, parts: tuple[int, int, int]) -> None:
    assert read_interval(text) == pa.MonthDayNano(parts)


@pytest.mark.parametrize(
    "text", ["", "day", "1 fortnight", "1 2 days", "10:99", "10:00:60", "P", "PT", "P1H", "1 day,"]
)
def test_other_texts_are_none(text: str) -> None:
    assert read_interval(text) is None


@pytest.mark.parametrize("text", ["3000000000 days", "200000000 years", "9999999999999 hours"])
def test_what_is_out_of_range_is_none(text: str) -> None:
    assert read_interval(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "00:00:00",
        "1 year 1 mon 1 day",
        "2 years",
        "-1 years -2 mons +3 days -04:05:06",
        "-1 days +00:00:01",
        "1 day -00:00:00.000001",
        "100:00:00",
    ],
)
def test_texts_are_written_as_postgresql_does(text: str) -> None:
    assert interval_text(read_interval(text)) == text


def test_order_takes_months_for_30_days_beyond_64_bits() -> None:
    texts = [
        "-170000000 years",
        "-1 day",
        "0 days",
        "29 days",
        "1 month",
        "31 days",
        "170000000 years",
    ]
    intervals = pa.array([read_interval(text) for text in texts], pa.month_day_nano_interval())
    codes = order_intervals(intervals).to_pylist()
    assert codes == sorted(codes)
    assert len(set(codes)) == len(codes)
    same = pa.array([read_interval(t) for t in ("1 month", "30 days", "720 hours")], intervals.type)
    assert len(set(order_intervals(same).to_pylist())) == 1
