"""States of series through SQL: what rows may be, threads, progress, interrupts, pictures."""

from __future__ import annotations

import re
import signal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import raydb

# What is as long as its repetition later is not told from it.
LENGTHS = (300, 300, 500, 300)
STATES = "SELECT segment, state, start_row FROM detect_states({}, time => n, window => 40)"


def waves(order=(0, 1, 0, 2), seed=1, times=1):
    """Return a series (n, x) of a sine, a square wave and a sawtooth in some order."""
    phase = np.arange(times * max(LENGTHS)) / 20
    sine = np.sin(2 * np.pi * phase)
    kinds = sine, np.sign(sine), 2 * (phase % 1) - 1
    x = np.concatenate([kinds[k][: times * n] for k, n in zip(order, LENGTHS, strict=False)])
    x = x + np.random.default_rng(seed).normal(0, 0.1, len(x))
    return pa.table({"n": np.arange(len(x)), "x": x})


@pytest.fixture
def con():
    con = raydb.connect()
    con.register("given", waves())
    con.execute("CREATE TABLE wave AS SELECT * FROM given")
    return con


@pytest.fixture
def answer(con):
    found = con.execute(STATES.format("wave")).fetchall()
    assert [state for _, state, _ in found] == [1, 2, 1, 3]
    return found


def test_rows_are_frames_files_views_and_streams(con, answer, tmp_path):
    series = waves()
    assert con.execute(STATES.format("series")).fetchall() == answer
    pq.write_table(series, tmp_path / "wave.parquet")
    con.execute(f"COPY wave TO '{tmp_path}/wave.csv'")
    con.execute("CREATE VIEW seen AS SELECT n, x FROM wave WHERE n >= 0")
    for rows in (f"'{tmp_path}/wave.parquet'", f"'{tmp_path}/wave.csv'", "seen"):
        assert con.execute(STATES.format(rows)).fetchall() == answer
    text = f"WITH w AS (SELECT n, x FROM wave) {STATES.format('w')}"
    assert con.execute(text).fetchall() == answer
    stream = pa.RecordBatchReader.from_batches(series.schema, series.to_batches(100))
    con.register("passing", stream)
    assert con.execute(STATES.format("passing")).fetchall() == answer
    found = con.stream(STATES.format("wave")).read_all()
    assert list(zip(*found.to_pydict().values(), strict=True)) == answer


def test_a_row_has_the_answer_of_a_call_of_its_own(con, answer):
    found = con.execute(
        "SELECT d.segment, d.state, d.start_row, k FROM (VALUES (1), (5)) v (k), "
        "LATERAL detect_states((SELECT n, x * k AS x FROM wave), time => n, window => 40) d"
    ).fetchall()
    assert sorted(found) == sorted((*row, k) for row in answer for k in (1, 5))


@pytest.mark.long
def test_states_do_not_depend_on_threads(con):
    many = [waves((each % 3, 1 + each % 2, each % 3), each) for each in range(5)]
    named = [
        table.append_column("device", pa.array([each] * len(table)))
        for each, table in enumerate(many)
    ]
    con.register("sensors", pa.concat_tables(named))
    con.register("long", waves(seed=3, times=4))
    found = []
    for threads in (1, 2, 5):
        con.execute(f"SET threads = {threads}")
        found.append(
            [
                con.execute(
                    f"SELECT * FROM {function}({rows}, time => n{more}, window => 40)"
                ).fetchall()
                for function in ("detect_changes", "detect_states", "state_profile")
                for rows, more in (("sensors", ", partition_by => device"), ("long", ""))
            ]
        )
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 6
    assert all(len(each) > 2 for each in found[0])


@pytest.mark.long
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_states_of_several_channels_are_those_that_are_planted(order):
    """Their scales differ, and one never changes."""
    con = raydb.connect()
    first, second = (waves(order, seed)["x"].to_numpy() for seed in (5, 6))
    channels = {
        "n": np.arange(len(first)),
        "x": first,
        "y": 1e4 * second - 7e5,
        "z": 1e-3 * first + 2,
        "level": np.full(len(first), 3),
    }
    con.register("several", pa.table(channels))
    found = con.execute(STATES.format("several")).fetchall()
    assert [state for _, state, _ in found] == [1, 2, 3]
    starts = np.cumsum((1, *LENGTHS))[: len(order)]
    assert np.abs(np.array([start for *_, start in found]) - starts).max() <= 20


def test_progress_is_told_and_rises(con):
    told = []
    con.progress = lambda step, share: told.append((step, share))
    con.execute(STATES.format("wave"))
    shares = [share for step, share in told if step == "detect_states"]
    assert len(shares) > 5
    assert shares == sorted(shares)
    assert shares[-1] == 1


@pytest.mark.parametrize("share", [0.1, 0.8])
def test_an_interrupt_ends_a_search(con, share):
    con.register("long", waves(seed=3, times=4))

    def stop(step, done):
        if step == "detect_states" and done >= share:
            con.interrupt()

    con.progress = stop
    with pytest.raises(raydb.OperationalError, match="the statement was interrupted"):
        con.execute(STATES.format("long"))
    con.progress = None
    assert con.execute("SELECT count(*) FROM long").fetchone() == (5600,)


def test_ctrl_c_ends_a_search(con):
    con.execute(STATES.format("wave"))  # The loops are there.
    con.register("long", waves(seed=3, times=4))
    signals = [signal.SIGINT]
    con.progress = lambda step, share: (
        share > 0.2 and signals and signal.raise_signal(signals.pop())
    )
    with pytest.raises(KeyboardInterrupt):
        con.execute(STATES.format("long"))
    con.progress = None
    assert con.execute("SELECT count(*) FROM long").fetchone() == (5600,)


def test_explain_analyze_tells_windows_segments_and_merges(con, answer):
    text = "\n".join(
        line for (line,) in con.execute(f"EXPLAIN ANALYZE {STATES.format('wave')}").fetchall()
    )
    (note,) = re.findall(r"1 series, .*", text)
    assert f"window 40, {len(answer)} segments" in note
    assert "classified windows" in note
    assert "1 merge, states 3" in note


def test_the_page_draws_each_stretch_in_the_colour_of_its_state(con):
    con.execute("""CREATE VIEW devices AS SELECT n, x AS "<x>", '<b>' AS device FROM wave""")
    ((page,),) = con.execute(
        "EXPLAIN (ANALYZE, FORMAT HTML) SELECT state FROM "
        "detect_states(devices, time => n, window => 40, partition_by => device)"
    ).fetchall()
    colours = re.findall(r'<polyline [^>]*stroke="([^"]*)"', page)
    assert len(colours) == 4
    assert colours[0] == colours[2]
    assert len(set(colours)) == 3
    assert "for <b>" not in page
    assert "state 3" in page


def test_series_that_are_too_short_are_told_of(con):
    rows = "SELECT n, x, n % 2 AS k FROM wave WHERE n < {}"
    text = f"SELECT * FROM detect_changes(({rows}), time => n{{}})"
    cursor = con.execute(text.format(100, ", window => 40"))
    title = "the series of detect_changes()"
    assert cursor.messages[0][1].args[0] == (
        f"{title} has 100 points, and a change needs 200 at a window of 40"
    )
    cursor = con.execute(text.format(60, ", window => 8, partition_by => k"))
    assert cursor.messages[0][1].args[0] == (
        f"{title} for 0 has 30 points, and a change needs 40 at a window of 8; so it is with 1 more"
    )
