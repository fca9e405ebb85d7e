"""The picture of EXPLAIN (ANALYZE, FORMAT HTML): series, each stretch in the colour of its state.

A drawing in SVG, as wide as its page: at each place a line from the least to the greatest value of
the points that lie there. Nothing in it runs or is loaded, and names are text.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

# A page draws so many series and channels of each, of so many units of width.
_MOST_SERIES, _MOST_CHANNELS = 8, 4
_WIDTH, _HEIGHT, _MARGIN = 1000, 90, 10

# Hues that are told apart; further states take others in between.
_HUES = (212, 28, 145, 340, 265, 55, 180, 0)


def draw(
    drawn: Iterable[tuple[str, Sequence[str], NDArray[np.float64], Sequence[tuple[int, int, int]]]],
) -> str:
    """Return what stands on the page, "" for nothing.

    drawn: for each series its title, the names of its channels, its points (d, n), and its
    stretches: the start, the end, and the state or 0 where it has none.
    """
    parts = []
    for number, (title, names, points, stretches) in enumerate(drawn):
        if number == _MOST_SERIES:
            parts.append("<p>More series are not drawn.</p>")
            break
        parts.append(f"<p>{escape(title)}</p>")
        shown = list(zip(names, points, strict=True))[:_MOST_CHANNELS]
        parts += [_channel(name, channel, stretches) for name, channel in shown]
        if len(points) > _MOST_CHANNELS:
            parts.append(f"<p>{len(points) - _MOST_CHANNELS} more channels are not drawn.</p>")
        states = sorted({state for *_, state in stretches if state})
        keys = "".join(
            f'<tspan fill="{_colour(state)}">&#9632; state {state}&#160; </tspan>'
            for state in states
        )
        if keys:
            box = f"0 0 {_WIDTH} 20"
            parts.append(f'<svg class="states" viewBox="{box}"><text y="15">{keys}</text></svg>')
    return "".join(parts)


def _colour(state: int) -> str:
    if not state:
        return "#888"
    hue = (_HUES[(state - 1) % len(_HUES)] + 17 * ((state - 1) // len(_HUES))) % 360
    return f"hsl({hue}, 70%, 48%)"


def _channel(
    name: str, points: NDArray[np.float64], stretches: Sequence[tuple[int, int, int]]
) -> str:
    low, high = float(points.min()), float(points.max())
    extent = high - low or 1.0
    per_unit = max(len(points) / _WIDTH, 1.0)
    paths = []
    for start, end, state in stretches:
        count = max(int((end - start) / per_unit), 1)
        edges = np.linspace(start, end, count + 1).astype(np.int64)[:-1]
        some = points[start:end]
        least, most = (
            _MARGIN + _HEIGHT * (high - fold.reduceat(some, edges - start)) / extent
            for fold in (np.minimum, np.maximum)
        )
        places = _WIDTH * (edges + 0.5) / len(points)
        line = " ".join(
            f"{x:.1f},{a:.1f} {x:.1f},{b:.1f}" for x, a, b in zip(places, least, most, strict=True)
        )
        paths.append(f'<polyline points="{line}" fill="none" stroke="{_colour(state)}"></polyline>')
    height = _HEIGHT + 2 * _MARGIN
    label = f"{escape(name)}: {low:g} to {high:g}"
    return (
        f'<svg class="states" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{label}">'
        f"<title>{label}</title>{''.join(paths)}</svg>"
    )
