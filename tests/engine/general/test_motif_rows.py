"""Motif functions for each row of other tables: as if each row had made a call of its own."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

import raydb
from raydb.engine.table_functions.motif import motif_instances, motif_rows
from raydb.engine.table_functions.motif import motif_search as motifs

ARGUMENTS = "src => 's', dst => 'd', time => 't'"
MOTIFS = ("a->b", "path(3)", "cycle(3)", "a->b, b->a", "a->b, {b->c, b->d}", "star_in(2)")
COLUMNS = "count, exact, edges, vertices, skipped_rows, duplicates, self_loops"


def graph(con, seed, count=300, vertices=12):
    """Make the table `e` of random edges; some have NULLs, some are the same, many times tie."""
    rng = np.random.default_rng(seed)
    made = {name: pa.array(rng.integers(0, vertices, count)) for name in ("s", "d")}
    times = rng.integers(0, count // 4, count)
    made["t"] = pa.array(times, mask=rng.random(count) < 0.03)
    made["w"] = pa.array(rng.integers(0, 100, count))
    con.register("e", pa.table(made))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_each_row_has_the_answer_of_a_call_of_its_own(seed):
    rng = random.Random(seed)
    con = raydb.connect()
    graph(con, seed)
    con.execute("CREATE TABLE q (id INTEGER, text VARCHAR, delta INTEGER, ties VARCHAR)")
    asked = [
        (number, rng.choice(MOTIFS), rng.randint(1, 40), rng.choice(("strict", "index")))
        for number in range(12)
    ]
    for row in asked:
        con.execute("INSERT INTO q VALUES (?, ?, ?, ?)", row)
    given = f"{ARGUMENTS}, motif => q.text, delta => q.delta, ties => q.ties"
    found = con.execute(
        f"SELECT id, {COLUMNS} FROM q, LATERAL motif_count(e, {given}) m ORDER BY id"
    ).fetchall()
    for number, text, delta, ties in asked:
        alone = f"{ARGUMENTS}, motif => '{text}', delta => {delta}, ties => '{ties}'"
        expected = con.execute(f"SELECT {number}, {COLUMNS} FROM motif_count(e, {alone})")
        assert found[number] == expected.fetchone(), (seed, text, delta, ties)


# What the rows of a call may be for a row outside, and the same for a number.
SOURCES = (
    "SELECT * FROM e WHERE t BETWEEN {} * 5 AND {} * 5 + 30",
    "SELECT * FROM e WHERE s = {} OR d = {}",
    "SELECT * FROM e WHERE w % 12 = {}",
    "SELECT * FROM e WHERE w > {} * 8 ORDER BY w, d, s, t LIMIT 60",
    "SELECT d AS s, s AS d, t * 2 AS t FROM e WHERE w < {} * 9",
    "SELECT * FROM e WHERE s = (SELECT max(s) FROM e i WHERE i.d = {}) ORDER BY t DESC, d, w",
)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("ties", ["strict", "index"])
def test_each_row_has_edges_of_its_own(source, ties):
    con = raydb.connect()
    graph(con, 7)
    con.execute("CREATE TABLE q AS SELECT range AS x, 5 + range % 3 AS delta FROM range(12)")
    text = (
        "SELECT {}, {} FROM {}motif_count(({}), {}, "
        "motif => 'a->b, b->c', delta => {}, ties => '{}') ORDER BY 1"
    )
    rows = source.replace("{}", "q.x")
    found = con.execute(
        text.format("x", COLUMNS, "q, LATERAL ", rows, ARGUMENTS, "q.delta", ties)
    ).fetchall()
    for number in range(12):
        rows = source.replace("{}", str(number))
        delta = 5 + number % 3
        alone = text.format(number, COLUMNS, "", rows, ARGUMENTS, delta, ties)
        assert found[number] == con.execute(alone).fetchone()


def test_samples_name_the_places_of_each_rows_edges():
    con = raydb.connect()
    graph(con, 11)
    con.execute("CREATE TABLE q AS SELECT range AS x FROM range(12)")
    call = f"{ARGUMENTS}, motif => 'a->b, b->c', delta => 20, ties => 'index', n => 3"
    found = con.execute(
        "SELECT x, m.* "
        f"FROM q, LATERAL motif_sample((SELECT * FROM e WHERE w % 12 < q.x), {call}) m "
        "ORDER BY x, instance"
    ).fetchall()
    assert len({row[0] for row in found}) > 8
    for x in range(12):
        alone = con.execute(
            f"SELECT {x}, m.* FROM motif_sample((SELECT * FROM e WHERE w % 12 < {x}), {call}) m"
            " ORDER BY instance"
        ).fetchall()
        assert [row for row in found if row[0] == x] == alone


def test_one_graph_serves_all_patterns(monkeypatch):
    con = raydb.connect()
    con.execute(
        "CREATE TABLE e AS SELECT range % 7 AS s, range % 5 AS d, range AS t FROM range(500)"
    )
    con.execute("CREATE TABLE q AS SELECT range AS x, 1 + range AS delta FROM range(6)")
    built = []
    make = motif_rows.make_graph

    def note(*arguments):
        built.append(len(arguments[0]))
        return make(*arguments)

    monkeypatch.setattr(motif_rows, "make_graph", note)
    shared = f"motif_count(e, {ARGUMENTS}, motif => 'path(3)', delta => q.delta)"
    con.execute(f"SELECT * FROM q, LATERAL {shared}").fetchall()
    assert built == []
    # Edges depend on x % 2 alone: one graph each, whatever the deltas are.
    own = f"(SELECT * FROM e WHERE t % 2 = y), {ARGUMENTS}, motif => 'path(3)', delta => delta"
    con.execute(f"SELECT * FROM (SELECT *, x % 2 AS y FROM q) r, LATERAL motif_count({own})")
    assert built == [250, 250]


@pytest.mark.long
def test_messages_of_many_searches():
    con = raydb.connect()
    graph(con, 3, count=6000, vertices=40)
    con.execute("CREATE TABLE q (motif VARCHAR, e DOUBLE)")
    con.execute("INSERT INTO q VALUES ('cycle(4)', 1e-6), ('a->b', 0.5), ('cycle(3)', NULL)")
    call = f"e, {ARGUMENTS}, motif => q.motif, delta => 500, rel_error => q.e"
    cursor = con.execute(
        f"FROM q, LATERAL motif_count({call}, method => 'timest', max_seconds => 0.3)"
    )
    told = [str(text) for _, text in cursor.messages]
    assert "1 of 2 are not within 1e-06 of the count yet; raise max_seconds or rel_error" in told
    assert "rows without an answer because an argument is NULL: 1" in told


def test_progress_says_which_row_is_searched_for():
    con = raydb.connect()
    graph(con, 3)
    con.execute("CREATE TABLE q AS SELECT range + 1 AS delta FROM range(3)")
    steps = set()
    con.progress = lambda step, _: steps.add(step)
    con.execute(f"FROM q, LATERAL motif_count(e, {ARGUMENTS}, motif => 'cycle(3)', delta => delta)")
    assert {f"motif_count {n} of 3: count" for n in (1, 2, 3)} <= steps

    def stop(step, _):
        if "2 of 3" in step:
            raise KeyboardInterrupt

    con.progress = stop
    with pytest.raises(KeyboardInterrupt):
        con.execute(
            f"FROM q, LATERAL motif_count(e, {ARGUMENTS}, motif => 'cycle(3)', delta => delta)"
        )


@pytest.mark.long
def test_a_motif_that_is_not_there_is_not_sampled_for_long(monkeypatch):
    con = raydb.connect()
    # Edges lead to greater vertices only: there are paths, and no circles.
    con.execute(
        "CREATE TABLE e AS SELECT range % 100 AS s, range % 100 + 1 + range % 3 AS d, range AS t "
        "FROM range(5000)"
    )
    text = f"FROM motif_sample(e, {ARGUMENTS}, motif => '{{}}', delta => 900, method => 'timest')"
    monkeypatch.setattr(motif_instances, "LOOK_SECONDS", 0.1)
    cursor = con.execute(text.format("cycle(3)"))
    assert cursor.fetchall() == []
    assert cursor.messages == []
    assert "there is no instance" in str(
        con.execute(f"EXPLAIN ANALYZE {text.format('cycle(3)')}").fetchall()
    )
    # Where counting takes too long as well, it is not known.
    monkeypatch.setattr(motifs, "AUTO_STEPS", 1)
    monkeypatch.setattr(motifs, "AUTO_STEPS_PER_EDGE", 0)
    cursor = con.execute(text.format("cycle(3)").replace("method", "max_seconds => 0.5, method"))
    assert cursor.fetchall() == []
    ((_, message),) = cursor.messages
    assert str(message) == (
        "0 of 10 instances were found within 0.5 seconds, and it is not known whether there is one"
    )
    # No edge leads on from where another ends: not even the tree is there, which takes no look.
    con.execute(
        "CREATE OR REPLACE TABLE e AS SELECT range AS s, -1 - range AS d, range AS t FROM range(99)"
    )
    monkeypatch.setattr(motif_instances, "LOOK_SECONDS", None)
    assert con.execute(text.format("path(3)")).fetchall() == []
