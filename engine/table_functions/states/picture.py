r"""The picture of EXPLAIN (ANALYZE, FORMAT HTML): series, each stretch in the colour of its state.

    the series of detect_states() for pump 1
    temperature, 17.2 to 30.1
    /\/\/\/\/||_||_||/\/\/\/\/\
    09:00        09:12        09:25
    [] state 1   [] state 2

A drawing in SVG, as wide as its page: at each place a line from the least to the greatest value of
the points that lie there. Nothing in it runs or is loaded, and names are text.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# A page draws so many series and channels of each, of so many units of width.
_MOST_SERIES, _MOST_CHANNELS = 8, 4
_WIDTH, _HEIGHT, _MARGIN = 1000, 90, 10

# The height of a line of text, and about how wide one of its letters is at most.
_LINE, _LETTER = 20, 8

# Hues that are told apart; further states take others in between.
_HUES = (212, 28, 145, 340, 265, 55, 180, 0)


class Drawn(NamedTuple):
    """What is drawn of a series.

    names: of its channels. points (d, n). stretches: the start, the end, and the state or 0 where
    it has none. times: when each stretch begins.
    """

    title: str
    names: Sequence[str]
    points: NDArray[np.float64]
    stretches: Sequence[tuple[int, int, int]]
    times: Sequence[str]


def draw(drawn: Sequence[Drawn]) -> str:
    """Return what stands on the page, "" for nothing."""
    if not drawn:
        return ""
    parts = ["<h2>The series, each stretch in the colour of its state</h2>"]
    for title, names, points, stretches, times in drawn[:_MOST_SERIES]:
        parts.append(f"<p>{escape(title)}</p>")
        shown = list(zip(names, points, strict=True))[:_MOST_CHANNELS]
        parts += [_channel(name, channel, stretches) for name, channel in shown]
        if len(points) > _MOST_CHANNELS:
            parts.append(f"<p>{len(points) - _MOST_CHANNELS} more channels are not drawn.</p>")
        parts += [_axis(points.shape[1], stretches, times), _legend(stretches)]
    if len(drawn) > _MOST_SERIES:
        parts.append(f"<p>{len(drawn) - _MOST_SERIES} more series are not drawn.</p>")
    return "".join(parts)


def _axis(count: int, stretches: Sequence[tuple[int, int, int]], times: Sequence[str]) -> str:
    """Return when stretches begin, below their first points, as far as there is room."""
    texts, room = [], 0.0
    for (start, *_), time in zip(stretches, times, strict=True):
        place, width = _WIDTH * start / count, _LETTER * len(time)
        at = min(place, _WIDTH - width)
        if at >= room:
            texts.append(f'<text x="{at:.0f}" y="15">{escape(time)}</text>')
            room = at + width + _LETTER
    return _line("".join(texts))


def _legend(stretches: Sequence[tuple[int, int, int]]) -> str:
    states = sorted({state for *_, state in stretches if state})
    keys = "".join(
        f'<tspan fill="{_colour(state)}">&#9632; state {state}&#160; </tspan>' for state in states
    )
    return _line(f'<text y="15">{keys}</text>') if keys else ""


def _line(texts: str) -> str:
    return f'<svg class="states" viewBox="0 0 {_WIDTH} {_LINE}">{texts}</svg>'


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
            _LINE + _MARGIN + _HEIGHT * (high - fold.reduceat(some, edges - start)) / extent
            for fold in (np.minimum, np.maximum)
        )
        places = _WIDTH * (edges + 0.5) / len(points)
        line = " ".join(
            f"{x:.1f},{a:.1f} {x:.1f},{b:.1f}" for x, a, b in zip(places, least, most, strict=True)
        )
        paths.append(f'<polyline points="{line}" fill="none" stroke="{_colour(state)}"></polyline>')
    height = _LINE + _HEIGHT + 2 * _MARGIN
    label = f"{escape(name)}: {low:.4g} to {high:.4g}"
    return (
        f'<svg class="states" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{label}">'
        f'<title>{label}</title><text y="15">{label}</text>{"".join(paths)}</svg>'
    )
