"""The rows of detect_changes() and its like: series of each row that asks, searched in threads.

rows that ask  ->  questions  ->  series  ->  changes of each, on whatever thread is free  ->  rows
"""

from __future__ import annotations

from functools import cache, partial
from itertools import groupby, pairwise, product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from raydb.engine.context.progress import report, report_compiling
from raydb.engine.operators.relation import Relation, joined
from raydb.engine.table_functions.search.paired_rows import PairedRows
from raydb.engine.table_functions.states.picture import Drawn, draw
from raydb.engine.table_functions.states.series import Rows, numbers_of, series_of, text_of
from raydb.interrupts import beside, check_interrupt
from raydb.kernels.backends.cpu.threads import run_slices
from raydb.kernels.states.changes import find_changes, least_points
from raydb.kernels.states.merging import gain, macro_f1
from raydb.kernels.states.states import find_states
from raydb.kernels.states.window import window_width
from raydb.planner.expressions.casts.cast import literal_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raydb.engine.operators.run import Sources
    from raydb.engine.table_functions.states.question import Question
    from raydb.engine.table_functions.states.series import Series
    from raydb.engine.table_functions.states.states_function import StatesFunction
    from raydb.kernels.states.states import States
    from raydb.planner.expressions.nodes import Column
    from raydb.planner.plan.nodes import SearchRows

# What a search holds for a point, neighbours and who has it as one, and for each of its channels;
# beside that what it holds of samples, their features and the products of all pairs.
_POINT_BYTES, _CHANNEL_BYTES, _SAMPLE_BYTES = 128, 96, 2**26


class Job(NamedTuple):
    """A series to be searched for a row that asks."""

    asking: int
    asked: Question
    series: Series


class Found(NamedTuple):
    """What was found in a series.

    window: the points of a pattern. changes: places and scores. segments: the start and the end of
    each, and the end of its piece. states: of these, None where they were not asked for.
    """

    window: int
    changes: list[tuple[int, float]]
    segments: list[tuple[int, int, int]]
    states: States | None


def state_rows(
    function: StatesFunction, plan: SearchRows, columns: Sequence[Column], sources: Sources
) -> Relation:
    """Return some columns of each row that asks with those of its answer, in the rows' order.

    Raises DataError for rows that make no series, OperationalError where memory is too small.
    """
    carried = [column for column in plan.left.columns if column in columns]
    needed = list(dict.fromkeys((*carried, *(ours for ours, _ in plan.pairs))))
    queries, given = sources.rows_with(plan.left, needed, [each for _, each in plan.given])
    jobs, rows, unasked = _jobs(function, plan, queries, given, sources)
    found = _search(function.name, jobs, sources)
    made: list[dict[str, Any]] = []
    asking: list[int] = []
    for job, each in zip(jobs, found, strict=True):
        some = _ROWS[function.name](job, each)
        asking += [job.asking] * len(some)
        made += some
    told = _notes(jobs, found, unasked)
    sources.context.warnings.extend(told)
    if sources.trace is not None:
        sources.trace.note(plan, _how(jobs, found))
        sources.trace.pictures.append(
            draw([_drawn(job, each, rows) for job, each in zip(jobs, found, strict=True)])
        )
    answers = _as_columns(plan, made, rows)
    every = {**queries.take(pa.array(asking, pa.int64())).columns, **answers}
    return Relation({column: every[column] for column in columns}, len(made))


def _jobs(
    function: StatesFunction,
    plan: SearchRows,
    queries: Relation,
    given: Sequence[Any],
    sources: Sources,
) -> tuple[list[Job], Rows, int]:
    """Return the series of all rows that ask, what they are made of, and how many ask nothing."""
    place = () if plan.place is None else (plan.place,)
    own = list(dict.fromkeys((*(theirs for _, theirs in plan.pairs), *place)))
    right, read = sources.rows_with(plan.right, own, plan.read)
    times, *others = read
    partition = others.pop(0) if plan.options.has_partition else None
    names = [getattr(each, "name", "a channel") for each in plan.read[-len(others) :]]
    sources.memory.check(8 * right.row_count * (len(others) + 4), f"the rows of {function.name}()")
    rows = Rows(function.name, joined(times), partition, numbers_of(others), names)
    paired = PairedRows(plan, queries, right) if plan.pairs else None
    jobs, unasked = [], 0
    for row in range(queries.row_count):
        check_interrupt()
        asked = function.question(plan, [literal_value(values[row]) for values in given])
        if asked is None:
            unasked += 1
            continue
        numbers = np.arange(right.row_count) if paired is None else paired.numbers(row)
        jobs += [Job(row, asked, each) for each in series_of(rows, numbers, asked, sources.memory)]
    return jobs, rows, unasked


def _search(name: str, jobs: Sequence[Job], sources: Sources) -> list[Found]:
    """Search all series, each on a thread that is free."""
    if not jobs:
        return []
    largest = max((job.series.points for job in jobs), key=lambda points: points.size)
    with_states = name != "detect_changes"
    need = (_POINT_BYTES + _CHANNEL_BYTES * len(largest)) * largest.shape[1]
    need += _SAMPLE_BYTES * with_states
    sources.memory.check(need, f"{name}() of a series of {largest.shape[1]} points")
    _make_ready(len(largest) > 1)
    for classifier in {job.asked.classifier for job in jobs if with_states}:
        _make_classifier_ready(classifier)
    found: list[Found | None] = [None] * len(jobs)
    shares = [0.0] * len(jobs)

    def run(part: slice) -> None:
        def tell(share: float) -> None:
            shares[part.start] = share
            report(name, sum(shares) / len(shares))

        found[part.start] = _find(jobs[part.start], tell, with_states=with_states)
        tell(1.0)

    run_slices(run, len(jobs), 1, 1)
    return [each for each in found if each is not None]


@cache
def _make_ready(are_several: bool) -> None:
    """Load the compiled loops, or compile them, on a thread that an interrupt leaves alone.

    are_several: whether there are several channels, which have a loop of their own.
    """
    report_compiling()
    points = np.tile(np.sin(np.arange(120.0)), (1 + are_several, 1))
    beside(partial(find_changes, points, 5))


@cache
def _make_classifier_ready(classifier: str) -> None:
    points = np.sin(np.arange(120.0))[None]
    beside(partial(find_states, points, [(0, 60, 120), (60, 120, 120)], 12, classifier))


def _find(job: Job, tell: Callable[[float], None], *, with_states: bool) -> Found:
    """Search a series; `tell` is told the share that is done."""
    asked, points = job.asked, job.series.points
    windows = [asked.window or window_width(channel) for channel in points]
    w = compared_points(min(windows))
    changes, segments = [], []
    for start, end in job.series.pieces:
        part = find_changes(points[:, start:end], w, asked.seed, lambda share: tell(share / 2))
        places = [start + change.place for change in part]
        changes += [(place, change.score) for place, change in zip(places, part, strict=True)]
        segments += [(*pair, end) for pair in pairwise([start, *places, end])]
    window, states = int(np.mean(windows)), None
    if with_states:
        most = asked.n_states if asked.merge else 0
        states = find_states(
            *(points, segments, window, asked.classifier, asked.seed, most),
            lambda share: tell((1 + share) / 2),
        )
    return Found(window, changes, segments, states)


def compared_points(window: int) -> int:
    """Return how many points are compared: half a pattern, which has a shape of its own."""
    return max(window // 2, 3)


def _change_rows(job: Job, found: Found) -> list[dict[str, Any]]:
    return [
        {"change": number, "score": score, **_span(job.series, place, place + 1)}
        for number, (place, score) in enumerate(found.changes, 1)
    ]


def _state_rows(job: Job, found: Found) -> list[dict[str, Any]]:
    """Return a row for each stretch of segments of one state that follow each other."""
    assert found.states is not None
    states = found.states.states.tolist()
    numbers = range(len(states))
    # A segment of unknown state is a stretch of its own, and so is what follows a gap.
    breaks = [
        number == 0
        or states[number] != states[number - 1]
        or states[number] == 0
        or found.segments[number][2] != found.segments[number - 1][2]
        for number in numbers
    ]
    stretch_of = np.cumsum(breaks)
    made = []
    for stretch, group in groupby(numbers, lambda number: int(stretch_of[number])):
        members = list(group)
        samples = int(found.states.samples[members].sum())
        right = int(found.states.right[members].sum())
        start, end = found.segments[members[0]][0], found.segments[members[-1]][1]
        made.append(
            {
                "segment": stretch,
                "state": states[members[0]] or None,
                "score": right / samples if samples else None,
                **_span(job.series, start, end),
            }
        )
    return made


def _profile_rows(job: Job, found: Found) -> list[dict[str, Any]]:
    """Return a row for each pair of states at each step of the merging."""
    assert found.states is not None
    made = []
    numbers = found.states.classified + 1
    for number, step in enumerate(found.states.steps):
        kept = np.unique(step.states)
        of_step = {
            "name": int(job.series.rows[0]),
            "step": number,
            "states": len(kept),
            "f1": macro_f1(step.confusion),
            "cgain": gain(step.confusion),
        }
        for (row, one), (column, other) in product(enumerate(kept.tolist()), repeat=2):
            count = int(step.confusion[row, column])
            made.append(
                {
                    **of_step,
                    "label": int(numbers[one]),
                    "segments": numbers[step.states == one].tolist(),
                    "predicted_label": int(numbers[other]),
                    "windows": count,
                    "share": count / int(step.confusion[row].sum()),
                    "merged_next": (min(one, other), max(one, other)) == step.merged,
                }
            )
    return made


_ROWS = {
    "detect_changes": _change_rows,
    "detect_states": _state_rows,
    "state_profile": _profile_rows,
}


def _span(series: Series, start: int, end: int) -> dict[str, Any]:
    """Return the numbers of the first and the last row of some points, and their places, from 1."""
    firsts = series.first_row[start:]
    first = int(firsts[int((firsts >= 0).argmax())])
    lasts = series.last_row[:end]
    last = int(lasts[len(lasts) - 1 - int((lasts[::-1] >= 0).argmax())])
    return {
        "name": int(series.rows[0]),
        "start_time": int(series.rows[first]),
        "end_time": int(series.rows[max(last, first)]),
        "start_row": first + 1,
        "row_count": max(last - first + 1, 0),
    }


def _as_columns(plan: SearchRows, made: Sequence[dict[str, Any]], rows: Rows) -> dict[Column, Any]:
    """Return the columns of the answers; times and names are those of rows, by their numbers."""
    found = {}
    for number, column in enumerate(plan.found):
        is_name = number == 0 and plan.options.has_partition
        key = "name" if is_name else column.name
        values = [row[key] for row in made]
        if is_name:
            assert rows.partition is not None
            found[column] = joined(rows.partition).take(pa.array(values, pa.int64()))
        elif key in ("start_time", "end_time"):
            found[column] = rows.times.take(pa.array(values, pa.int64()))
        else:
            found[column] = pa.array(values, column.type)
    return found


def _drawn(job: Job, found: Found, rows: Rows) -> Drawn:
    """Return what a picture shows of a series; without states, each segment is one."""
    count = len(found.segments)
    states = range(1, count + 1) if found.states is None else found.states.states.tolist()
    stretches = [
        (start, end, state) for (start, end, _), state in zip(found.segments, states, strict=True)
    ]
    times = [
        text_of(rows.times[_span(job.series, start, end)["start_time"]])
        for start, end, _ in stretches
    ]
    return Drawn(job.series.title, rows.names, job.series.points, stretches, times)


def _notes(jobs: Sequence[Job], found: Sequence[Found], unasked: int) -> list[str]:
    """Return what a user should know of series without an answer."""
    told = []
    if unasked:
        told.append(f"rows without an answer because an argument is NULL: {unasked}")
    short = [
        (job.series, each.window, least)
        for job, each in zip(jobs, found, strict=True)
        if job.series.points.shape[1] < (least := least_points(compared_points(each.window)))
    ]
    if short:
        series, window, least = short[0]
        more = f"; so it is with {_count(len(short) - 1, 'more', 'more')}" if len(short) > 1 else ""
        told.append(
            f"{series.title} has {_count(series.points.shape[1], 'point')}, and a change needs "
            f"{least} at a window of {window}{more}"
        )
    return told


def _how(jobs: Sequence[Job], found: Sequence[Found]) -> str:
    """Return how the searches went, for EXPLAIN ANALYZE."""
    if not jobs:
        return "no series"
    told = [
        _count(len(jobs), "series", "series"),
        f"window {_range([each.window for each in found])}",
        _count(sum(len(each.segments) for each in found), "segment"),
    ]
    classified = [each.states for each in found if each.states is not None]
    if classified:
        merges = sum(max(len(each.steps) - 1, 0) for each in classified)
        told += [
            _count(sum(int(each.samples.sum()) for each in classified), "classified window"),
            _count(merges, "merge"),
            f"states {_range([int(each.states.max(initial=0)) for each in classified])}",
        ]
    return ", ".join(told)


def _range(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def _count(number: int, one: str, several: str = "") -> str:
    return f"{number} {one if number == 1 else several or one + 's'}"
