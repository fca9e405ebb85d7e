"""How right and how fast states of series are found, over a folder of series with known states.

    python tests/bench/bench_states.py datasets/TSSB --seeds 3 --table
    python tests/bench/bench_states.py datasets/TSSB --claspy other/bin/python
    python tests/bench/bench_states.py --points 20000 --points 100000

A folder is one of CLaP's benchmark (github.com/ermshaua/classification-label-profile): desc.txt has
the name, the window and the changes of each series, properties.txt its states, and its points are
in a text of its own or in data.npz. claspy 0.2.8 runs in an environment of its own, for it pins
older versions of numba and numpy. Times are those of the processor.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import statistics
import subprocess
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

import raydb

# Runs claspy over a file of series; `repaired` puts the arguments of its ROC in their order.
CLASPY = """
import json, sys, time, warnings
import numpy as np
import numba
from claspy import scoring
from claspy.segmentation import BinaryClaSPSegmentation
from claspy.state_detection import AgglomerativeCLaPDetection
warnings.filterwarnings("ignore")
file, what = sys.argv[1:]
if what == "repaired":
    @numba.njit(cache=False)
    def balanced(truth, predicted):
        ones = truth.sum()
        right = (predicted * truth).sum()
        wrong = predicted.sum() - right
        return 0.5 * (right / ones + 1 - wrong / (len(truth) - ones))
    scoring._SCORE_MAPPING["roc_auc"] = balanced
series = np.load(file)
BinaryClaSPSegmentation(n_jobs=1).fit(np.sin(np.arange(300) / 3))
for name in series.files:
    begun = time.process_time()
    found = BinaryClaSPSegmentation(n_jobs=1).fit_predict(series[name].T)
    changes = [int(each) for each in found]
    labels = [0] * (len(changes) + 1)
    between = time.process_time()
    if changes and what == "states":
        detection = AgglomerativeCLaPDetection(n_jobs=1).fit(series[name].T, np.array(changes))
        labels = [int(each) for each in detection.labels]
    ended = time.process_time()
    row = [name, changes, labels, between - begun, ended - between]
    print(json.dumps(row), flush=True)
"""


class Known(NamedTuple):
    """A series (d, n) with its changes and the state of each point."""

    name: str
    points: np.ndarray
    changes: list[int]
    states: np.ndarray


def read_folder(folder: Path) -> list[Known]:
    """Return the series of a folder, in the order of desc.txt."""
    lines = [line.split(",") for line in (folder / "properties.txt").read_text().splitlines()]
    # TSSB's have three properties more before the states. The second one says how many classes of
    # the data that a series was made of are one state, less 1: with 2, classes 0, 1 and 2 are.
    are_more = any(word in ("true", "false") for word in lines[0])
    states = {}
    for name, *words in lines:
        own, classes = (words[3:], 1 + int(words[1])) if are_more else (words, 1)
        states[name] = [int(word) // classes for word in own]
    arrays = folder / "data.npz"
    loaded = np.load(arrays, allow_pickle=True) if arrays.exists() else None
    found = []
    for line in (folder / "desc.txt").read_text().splitlines():
        name, _, *changes = line.split(",")
        points = np.loadtxt(folder / f"{name}.txt") if loaded is None else loaded[name]
        points = np.asarray(points, np.float64).reshape(len(points), -1).T
        places = [int(place) for place in changes]
        lengths = np.diff([0, *places, points.shape[1]])
        found.append(Known(name, points, places, np.repeat(states[name], lengths)))
    return found


def covering(known: list[int], found: list[int], count: int) -> float:
    """Return how well found segments cover the known ones: their best overlap, by length."""
    total = 0.0
    for start, end in pairwise([0, *known, count]):
        overlaps = []
        for first, last in pairwise([0, *found, count]):
            both = max(min(end, last) - max(start, first), 0)
            overlaps.append(both / (end - start + last - first - both))
        total += (end - start) * max(overlaps)
    return total / count


def adjusted_information(known: np.ndarray, found: np.ndarray) -> float:
    """Return the mutual information of two labellings, adjusted for chance (AMI, Vinh 2010)."""
    (_, one), (_, other) = (np.unique(each, return_inverse=True) for each in (known, found))
    table = np.zeros((one.max() + 1, other.max() + 1))
    np.add.at(table, (one, other), 1)
    if table.size == 1:
        return 1.0
    n, rows, columns = len(one), table.sum(axis=1), table.sum(axis=0)
    outer = np.outer(rows, columns)
    held = table > 0
    mutual = float((table[held] / n * np.log(n * table[held] / outer[held])).sum())
    entropies = [float(-(each / n * np.log(each / n)).sum()) for each in (rows, columns)]
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n + 1)))))
    expected = 0.0
    for a in rows.astype(int).tolist():
        for b in columns.astype(int).tolist():
            both = np.arange(max(a + b - n, 1), min(a, b) + 1)
            chance = logs[a] + logs[b] + logs[n - a] + logs[n - b] - logs[n] - logs[both]
            chance -= logs[a - both] + logs[b - both] + logs[n - a - b + both]
            expected += float((both / n * np.log(n * both / (a * b)) * np.exp(chance)).sum())
    most = sum(entropies) / 2 - expected
    return (mutual - expected) / most if not math.isclose(most, 0, abs_tol=1e-12) else 0.0


def scores(each: Known, changes: list[int], labels: list[int]) -> tuple[float, float]:
    """Return Covering and AMI of found segments; neighbours of one label are one segment."""
    count = each.points.shape[1]
    states = np.repeat(labels, np.diff([0, *changes, count]))
    kept = (np.flatnonzero(np.diff(states)) + 1).tolist()
    return covering(each.changes, kept, count), adjusted_information(each.states, states)


def run_raydb(
    con: raydb.Connection, each: Known, seed: int, classifier: str
) -> tuple[list[int], list[int], list[int], float]:
    """Return the changes, the starts of stretches with their states, and the seconds."""
    names = [f"x{number}" for number in range(len(each.points))]
    series = pa.table(
        {"n": np.arange(each.points.shape[1]), **dict(zip(names, each.points, strict=True))}
    )
    con.register("series", series)
    begun = time.process_time()
    rows = con.execute(
        "SELECT start_row - 1, state FROM detect_states(series, time => n, "
        f"seed => {seed}, classifier => '{classifier}') ORDER BY segment"
    ).fetchall()
    seconds = time.process_time() - begun
    changes = con.execute(
        f"SELECT start_row - 1 FROM detect_changes(series, time => n, seed => {seed})"
    ).fetchall()
    starts, states = zip(*rows, strict=True)
    return [place for (place,) in changes], list(starts[1:]), list(states), seconds


def run_claspy(python: str, series: list[Known], what: str) -> dict[str, list]:
    """Return what claspy finds: changes, labels and the seconds of both, by series."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "series.npz")
        np.savez(file, **{each.name: each.points for each in series})
        command = [python, "-c", CLASPY, str(file), what]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    return {row[0]: row[1:] for row in map(json.loads, done.stdout.splitlines())}


def print_table(folder: Path, seeds: int, classifier: str) -> None:
    """Print the table of docs/states.md: a line for each series, with the means over seeds."""
    con = raydb.connect()
    rows = []
    for each in read_folder(folder):
        runs = [run_raydb(con, each, seed, classifier) for seed in range(1, seeds + 1)]
        rated = [scores(each, starts, states) for _, starts, states, _ in runs]
        rows.append(100 * np.mean(rated, axis=0))
        count, known = each.points.shape[1], len(each.changes) + 1
        states = len(set(each.states.tolist()))
        shown = f"{known} ({states}) | {rows[-1][0]:.1f} | {rows[-1][1]:.1f}"
        print(f"| {each.name} | {count:,} | {shown} |", flush=True)
    mean = np.mean(rows, axis=0)
    print(f"| mean of {len(rows)} | | | {mean[0]:.2f} | {mean[1]:.2f} |")


def compare(folder: Path, seeds: int, classifier: str, python: str | None) -> None:
    """Print a line for each series, and the means over all."""
    series = read_folder(folder)
    con = raydb.connect()
    warm = Known("", np.sin(np.arange(300.0))[None], [], np.zeros(300))
    run_raydb(con, warm, 1, classifier)
    theirs = {} if python is None else run_claspy(python, series, "states")
    repaired = {} if python is None else run_claspy(python, series, "repaired")
    means: list[tuple[float, ...]] = []
    print("| series | points | Covering | AMI | seconds | claspy: Covering | AMI | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    same = [0, 0]
    for each in series:
        runs = [run_raydb(con, each, seed, classifier) for seed in range(1, seeds + 1)]
        rated = [scores(each, starts, states) for _, starts, states, _ in runs]
        seconds = statistics.median(run[3] for run in runs)
        line = [*np.mean(rated, axis=0), seconds]
        if python is not None:
            changes, labels, *parts = theirs[each.name]
            line += [*scores(each, changes, labels), sum(parts)]
            same[0] += runs[0][0] == changes
            same[1] += runs[0][0] == repaired[each.name][0]
        means.append(tuple(line))
        shown = [f"{100 * line[0]:.1f}", f"{100 * line[1]:.1f}", f"{line[2]:.2f}"]
        shown += (
            [f"{100 * line[3]:.1f}", f"{100 * line[4]:.1f}", f"{line[5]:.2f}"] if theirs else []
        )
        print(f"| {each.name} | {each.points.shape[1]} | {' | '.join(shown)} |", flush=True)
    print(
        f"means: {np.round(100 * np.mean(means, axis=0), 2)}, seconds {np.sum(means, axis=0)[2::3]}"
    )
    if python is not None:
        print(f"the same changes as claspy: {same[0]}, with its ROC repaired: {same[1]}")


def scale(points: int) -> None:
    """Print the time and the memory of one channel of so many points."""
    phase = np.arange(points) / 25
    wave = np.where(np.arange(points) < points // 2, np.sin(phase), np.sign(np.sin(phase)))
    wave = wave + np.random.default_rng(1).normal(0, 0.1, points)
    con = raydb.connect()
    run_raydb(con, Known("", np.sin(np.arange(300.0))[None], [], np.zeros(300)), 1, "rocket")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    each = Known("wave", wave[None], [points // 2], np.zeros(points))
    changes, _, states, seconds = run_raydb(con, each, 1, "rocket")
    most = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    print(f"{points} points: {seconds:.2f} s, {most / 2**20:.0f} MB more, {changes} {states}")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--classifier", default="rocket")
    parser.add_argument("--claspy", help="the Python of an environment with claspy")
    parser.add_argument("--table", action="store_true", help="no times, as in docs/states.md")
    parser.add_argument("--points", type=int, action="append", default=[])
    asked = parser.parse_args()
    if asked.table:
        print_table(asked.folder, asked.seeds, asked.classifier)
    elif asked.folder is not None:
        compare(asked.folder, asked.seeds, asked.classifier, asked.claspy)
    for points in asked.points:
        scale(points)


if __name__ == "__main__":
    main()
