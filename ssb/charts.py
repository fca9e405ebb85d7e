"""Two charts as SVG: bars beside each other on a logarithmic scale, and points on two of them.

An SVG file is text that every browser draws and that a page or a paper can show at any size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape, quoteattr

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# Told apart by colour-blind readers too (Okabe and Ito).
_COLORS: Final = ("#d55e00", "#0072b2", "#56b4e9", "#009e73", "#cc79a7", "#e69f00", "#000000")
_LEFT: Final = 70
_RIGHT: Final = 44
_TOP: Final = 84
_BOTTOM: Final = 56
_PLOT_HEIGHT: Final = 340
_BAR_WIDTH: Final = 10
_GROUP_GAP: Final = 14
_SCATTER_WIDTH: Final = 680
_LETTER_WIDTH: Final = 7


@dataclass(frozen=True, slots=True)
class Scale:
    """A logarithmic scale over whole decades, from the value at `start` to the one at `end`.

    >>> Scale.over([0.02, 3.0], 0, 400).place(1.0)
    266.66666666666663
    """

    low: int
    high: int
    start: float
    end: float

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> Scale:
        """Return the scale whose decades hold all the values, which are above 0."""
        # Somewhat lower than the least, whose bar would have no height.
        low = math.floor(math.log10(min(values) / 1.2))
        high = max(math.ceil(math.log10(max(values))), low + 1)
        return cls(low, high, start, end)

    def place(self, value: float) -> float:
        """Return where a value lies."""
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    @property
    def ticks(self) -> list[float]:
        """The powers of ten."""
        return [10.0**power for power in range(self.low, self.high + 1)]


def bar_chart(
    title: str, unit: str, groups: Sequence[str], series: Mapping[str, Sequence[float | None]]
) -> str:
    """Return a chart with a bar for each series in each group; None leaves a gap."""
    known = [value for values in series.values() for value in values if value is not None]
    width = len(series) * _BAR_WIDTH + _GROUP_GAP
    right = max(_LEFT + len(groups) * width, _legend_end(list(series)))
    scale = Scale.over(known, _TOP + _PLOT_HEIGHT, _TOP)
    parts = [*_frame(title, unit, scale, right), *_legend(list(series))]
    for place, group in enumerate(groups):
        left = _LEFT + place * width + _GROUP_GAP / 2
        middle = left + (width - _GROUP_GAP) / 2
        parts.append(_text(middle, _TOP + _PLOT_HEIGHT + 18, group, "middle"))
        for number, (name, values) in enumerate(series.items()):
            value = values[place]
            if value is None:
                continue
            top = scale.place(value)
            parts.append(
                f'<rect x="{left + number * _BAR_WIDTH:.1f}" y="{top:.1f}" '
                f'width="{_BAR_WIDTH - 1}" height="{_TOP + _PLOT_HEIGHT - top:.1f}" '
                f'fill="{_color(number)}">'
                f"<title>{escape(f'{group}, {name}: {value:.4g} {unit}')}</title></rect>"
            )
    return _document(title, right + _RIGHT, parts)


def scatter_chart(
    title: str,
    x_label: str,
    y_label: str,
    series: Mapping[str, Sequence[tuple[float, float]]],
) -> str:
    """Return a chart of points (x, y), all above 0, in a color for each series."""
    right = max(_LEFT + _SCATTER_WIDTH, _legend_end(list(series)))
    points = [point for line in series.values() for point in line]
    x_scale = Scale.over([x for x, _ in points], _LEFT, right)
    y_scale = Scale.over([y for _, y in points], _TOP + _PLOT_HEIGHT, _TOP)
    parts = [*_frame(title, y_label, y_scale, right), *_legend(list(series))]
    bottom = _TOP + _PLOT_HEIGHT
    for tick in x_scale.ticks:
        x = x_scale.place(tick)
        parts.append(_line(x, _TOP, x, bottom, "#e0e0e0"))
        parts.append(_text(x, bottom + 18, _number(tick), "middle"))
    parts.append(_text((_LEFT + right) / 2, bottom + 40, x_label, "middle"))
    for number, (name, line) in enumerate(series.items()):
        for x, y in line:
            shown = escape(f"{name}: {x:,.0f}, {y:.4g}")
            parts.append(
                f'<circle cx="{x_scale.place(x):.1f}" cy="{y_scale.place(y):.1f}" r="4" '
                f'fill="{_color(number)}" fill-opacity="0.8"><title>{shown}</title></circle>'
            )
    return _document(title, right + _RIGHT, parts)


def _document(title: str, width: float, parts: Sequence[str]) -> str:
    height = _TOP + _PLOT_HEIGHT + _BOTTOM
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
        f'width="{width:.0f}" height="{height}" role="img" aria-label={quoteattr(title)} '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _frame(title: str, unit: str, scale: Scale, right: float) -> Iterator[str]:
    yield f'<text x="{_LEFT}" y="24" font-size="16">{escape(title)}</text>'
    yield _text(_LEFT - 8, _TOP - 12, unit, "end")
    for tick in scale.ticks:
        y = scale.place(tick)
        yield _line(_LEFT, y, right, y, "#e0e0e0")
        yield _text(_LEFT - 8, y + 4, _number(tick), "end")
    yield _line(_LEFT, _TOP + _PLOT_HEIGHT, right, _TOP + _PLOT_HEIGHT, "#404040")


def _legend(names: Sequence[str]) -> Iterator[str]:
    left = float(_LEFT)
    for number, name in enumerate(names):
        yield f'<rect x="{left:.0f}" y="40" width="12" height="12" fill="{_color(number)}"/>'
        yield _text(left + 17, 50, name, "start")
        left += _legend_width(name)


def _legend_width(name: str) -> int:
    return 37 + _LETTER_WIDTH * len(name)


def _legend_end(names: Sequence[str]) -> float:
    return _LEFT + sum(map(_legend_width, names))


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, color: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}"/>'


def _color(number: int) -> str:
    return _COLORS[number % len(_COLORS)]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"
