"""The charts are well-formed SVG, and their marks lie where the values say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from raydb.ssb.__main__ import main
from raydb.ssb.charts import Scale, bar_chart, scatter_chart
from raydb.ssb.curve import Point, curve_json, curve_svg

if TYPE_CHECKING:
    from pathlib import Path

SVG = "{http://www.w3.org/2000/svg}"


def test_scale_has_whole_decades() -> None:
    scale = Scale.over([0.02, 3.0], 300, 0)
    assert scale.ticks == [0.01, 0.1, 1, 10]
    assert scale.place(0.01) == 300
    assert scale.place(1) == pytest.approx(100)
    assert Scale.over([2.0, 3.0], 0, 1).ticks == [1, 10]


def test_bar_chart() -> None:
    text = bar_chart("A & <B>", "ms", ["q1", "q2"], {"ours": [0.1, 1.0], "theirs": [10.0, None]})
    root = ET.fromstring(text)
    assert root.get("aria-label") == "A & <B>"
    bars = [bar for bar in root.iter(f"{SVG}rect") if bar.find(f"{SVG}title") is not None]
    assert [bar.find(f"{SVG}title").text for bar in bars] == [  # type: ignore[union-attr]
        "q1, ours: 0.1 ms", "q1, theirs: 10 ms", "q2, ours: 1 ms",
    ]  # fmt: skip
    heights = [float(bar.get("height", 0)) for bar in bars]
    assert 0 < heights[0] < heights[2] < heights[1]
    # The legend fits, and nothing lies outside.
    width = float(root.get("width", 0))
    assert all(float(text.get("x", 0)) < width for text in root.iter(f"{SVG}text"))


def test_scatter_chart() -> None:
    root = ET.fromstring(scatter_chart("Curve", "rows", "ms", {"SF 1": [(100, 1), (10, 0.1)]}))
    high, low = root.iter(f"{SVG}circle")
    assert float(low.get("cx", 0)) < float(high.get("cx", 0))
    assert float(low.get("cy", 0)) > float(high.get("cy", 0))
    assert low.find(f"{SVG}title").text == "SF 1: 10, 0.1"  # type: ignore[union-attr]


def test_curve_keeps_scale_factors_and_kinds_apart() -> None:
    points = [Point(sf, name, 10, 0.5) for sf in (0.1, 1.0) for name in ("q1.1", "1 years")]
    chart = curve_svg(points)
    for name in ("SF 0.1, 13 queries", "SF 0.1, sweep", "SF 1, 13 queries", "SF 1, sweep"):
        assert f">{name}<" in chart
    assert curve_json(points).count('"rows_touched": 10') == 4


@pytest.mark.long
def test_curve_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["curve", "--sf=0.01,0.02", "--runs=1", "--data", str(tmp_path / "data")]
    assert (
        main([*arguments, "--svg", str(tmp_path / "c.svg"), "--json", str(tmp_path / "c.json")])
        == 0
    )
    ET.parse(tmp_path / "c.svg")
    points = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))["points"]
    assert {point["scale_factor"] for point in points} == {0.01, 0.02}
    assert "rows touched" in capsys.readouterr().out


def test_curve_refuses_a_wrong_scale_factor(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["curve", "--sf=0.1,x"])
    assert "scale factor 'x' is not a number" in capsys.readouterr().err
