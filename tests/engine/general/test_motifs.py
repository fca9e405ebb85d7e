"""motif_count() and motif_sample() from SQL: beside self-joins in DuckDB, and through changes."""

from __future__ import annotations

import datetime as dt
import itertools
import random
import time

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import raydb
from raydb.engine.table_functions.motif import graph_cache as motif_graph
from raydb.engine.table_functions.motif import motif_instances
from raydb.engine.table_functions.motif import motif_search as motifs
from raydb.engine.table_functions.motif.motif_text import WrittenMotif, motif_text
from raydb.kernels.motif.shape import Motif

ARGUMENTS = "src => 's', dst => 'd', time => 't'"


def count(con, motif, delta, rows="e", options=""):
    """Return the count of a motif among the rows of a table or a query in parentheses."""
    text = (
        f"SELECT count, exact FROM motif_count({rows}, {ARGUMENTS}, "
        f"motif => '{motif}', delta => {delta}{options})"
    )
    ((found, is_exact),) = con.execute(text).fetchall()
    assert is_exact
    return found


def random_motif(rng):
    """Return a connected motif of up to 4 vertices and 4 edges, as it is written."""
    vertex_count, edges = 1, []
    for _ in range(rng.randint(1, 4)):
        one = rng.randrange(vertex_count)
        if vertex_count < 4 and (vertex_count == 1 or rng.random() < 0.6):
            other, vertex_count = vertex_count, vertex_count + 1
        else:
            other = rng.choice([v for v in range(vertex_count) if v != one])
        edges.append(rng.choice([(one, other), (other, one)]))
    rng.shuffle(edges)
    groups, group = [], 0
    for place in range(len(edges)):
        group += place > 0 and rng.random() < 0.8
        groups.append(group)
    motif = Motif(vertex_count, tuple(edges), tuple(groups))
    return motif, motif_text(WrittenMotif(motif, tuple("abcd"[:vertex_count])))


def self_join(motif, delta, ties):
    """Return the query that counts a motif by joining the edges with themselves.

    The table `e` has the number of each row as `n` and its time as the number `t`.
    """
    edges = range(len(motif.edges))
    ends = [(v, f"e{i}.{'sd'[k]}") for i in edges for k, v in enumerate(motif.edges[i])]
    first = dict(reversed(ends))
    conditions = [f"{first[v]} = {column}" for v, column in ends if first[v] != column]
    conditions += [f"{a} <> {b}" for a, b in itertools.combinations(first.values(), 2)]
    for i, j in itertools.combinations(edges, 2):
        if motif.groups[i] == motif.groups[j]:
            conditions.append(f"e{i}.n <> e{j}.n")
        elif ties == "index":
            conditions.append(f"(e{i}.t, e{i}.n) < (e{j}.t, e{j}.n)")
        else:
            conditions.append(f"e{i}.t < e{j}.t")
        conditions.append(f"abs(e{i}.t - e{j}.t) <= {delta}")
    sources = ", ".join(f"e AS e{i}" for i in edges)
    return f"SELECT count(*) FROM {sources} WHERE {' AND '.join(conditions) or 'true'}"


def vertices_of(kind, numbers):
    """Return vertices of a SQL type for small numbers, different ones for different numbers."""
    match kind:
        case "VARCHAR":
            return [f"vertex {number}" for number in numbers]
        case "BIGINT":
            return [number * 2**60 - 5 for number in numbers]
        case "DATE":
            return [dt.date(2026, 1, 1) + dt.timedelta(number) for number in numbers]
        case "DOUBLE":
            return [
                -0.0 if number == 0 and i % 2 else number / 4 for i, number in enumerate(numbers)
            ]
        case "BLOB":
            return [bytes([number]) for number in numbers]
        case "BOOLEAN":
            return [number % 2 == 0 for number in numbers]
        case _:
            return numbers


@pytest.mark.parametrize("ties", ["strict", "index"])
@pytest.mark.parametrize(
    "kind", ["VARCHAR", "INTEGER", "BIGINT", "DATE", "DOUBLE", "BLOB", "BOOLEAN", "TIMESTAMP"]
)
def test_counts_are_those_of_self_joins(kind, ties):
    seed = f"{kind} {ties}"
    print(f"seed {seed!r}")
    rng = random.Random(seed)
    for _ in range(6):
        size = rng.choice([5, 40])
        numbers = [[rng.randrange(6) for _ in range(size)] for _ in "sd"]
        if kind == "TIMESTAMP":
            ends = [[dt.datetime(2026, 1, 1, number) for number in each] for each in numbers]
        else:
            ends = [vertices_of(kind, each) for each in numbers]
        # Few different times and vertices: ties, duplicates and self-loops.
        times = [rng.randrange(25) for _ in range(size)]
        for column in (*ends, times):
            column[rng.randrange(size)] = None
        con = raydb.connect()
        con.execute(f"CREATE TABLE e (s {kind}, d {kind}, t INTEGER)")
        con.register("made", pa.table({"s": ends[0], "d": ends[1], "t": times}))
        con.execute("INSERT INTO e SELECT * FROM made")
        oracle = duckdb.connect()
        made = con.execute("SELECT s, d, t, row_number() OVER () AS n FROM e").to_arrow_table()
        oracle.register("every", made)
        there = " AND ".join(f"{column} IS NOT NULL" for column in "sdt")
        oracle.execute(f"CREATE TABLE e AS FROM every WHERE {there}")
        for _ in range(6):
            motif, text = random_motif(rng)
            delta = rng.choice([1, 4, 12, 100])
            ((expected,),) = oracle.execute(self_join(motif, delta, ties)).fetchall()
            found = count(con, text, delta, options=f", ties => '{ties}', method => 'exact'")
            assert found == expected, (text, delta, made.to_pylist())


# -- estimates and samples


def transfers(con, row_count=3000, vertex_count=60, seed=1):
    """Create the table `e` of random edges, among them ties and duplicates; return its rows."""
    rng = np.random.default_rng(seed)
    ends = [rng.integers(0, vertex_count, row_count).astype(str) for _ in "sd"]
    rows = pa.table({"s": ends[0], "d": ends[1], "t": rng.integers(0, 2000, row_count)})
    con.register("made", rows)
    con.execute("CREATE TABLE e AS SELECT * FROM made")
    return rows.to_pylist()


def one_row(con, function, motif, options, rows="e"):
    """Return the first row of a motif function as a dictionary."""
    text = f"SELECT * FROM {function}({rows}, {ARGUMENTS}, motif => '{motif}', {options})"
    return con.execute(text).to_arrow_table().to_pylist()[0]


@pytest.mark.parametrize("motif", ["cycle(3)", "scatter_gather(2)", "a->b, {b->c, b->d}"])
def test_an_estimate_keeps_its_promise(motif):
    con = raydb.connect()
    transfers(con)
    exact = one_row(con, "motif_count", motif, "delta => 300, method => 'exact'")
    options = "delta => 300, method => 'timest', rel_error => 0.1, seed => 5"
    found = one_row(con, "motif_count", motif, options)
    assert found["converged"]
    assert not found["exact"]
    assert found["count"] is None
    # Four standard errors: one seed in 16,000 would be further off.
    assert abs(found["estimate"] - exact["count"]) < 4 * found["std_error"]
    assert found["ci_low"] < found["estimate"] < found["ci_high"]
    assert found["ci_high"] - found["ci_low"] <= 2 * 0.1 * found["estimate"] + 1e-9
    assert 400 <= found["nonzero"] <= found["samples"]
    tree = found["tree"].split(", ")
    names = {name for edge in tree for name in edge.split("->")}
    assert len(tree) == len(names) - 1
    assert found["total_weight"] > 0
    again = one_row(con, "motif_count", motif, options)
    assert {**again, "seconds": 0} == {**found, "seconds": 0}


def test_a_tree_without_instances_is_an_exact_zero():
    con = raydb.connect()
    con.execute("CREATE TABLE e (s INTEGER, d INTEGER, t INTEGER)")
    con.execute("INSERT INTO e VALUES (1, 2, 1), (2, 3, 5), (3, 1, 10)")
    found = one_row(con, "motif_count", "cycle(3)", "delta => 3, method => 'timest'")
    assert found["method"] == "timest"
    assert (found["estimate"], found["count"], found["exact"]) == (0.0, 0, True)
    assert (found["converged"], found["ci_high"], found["total_weight"]) == (True, 0.0, 0.0)


def test_auto_estimates_what_takes_too_many_steps(monkeypatch):
    con = raydb.connect()
    transfers(con)
    # Only steps are to decide, not the time that a busy machine takes for them.
    options = "delta => 1000, rel_error => 0.1, max_seconds => 3600"
    assert one_row(con, "motif_count", "cycle(3)", options)["method"] == "exact"
    monkeypatch.setattr(motifs, "AUTO_STEPS", 10)
    monkeypatch.setattr(motifs, "AUTO_STEPS_PER_EDGE", 0)
    found = one_row(con, "motif_count", "cycle(3)", options)
    assert (found["method"], found["converged"]) == ("timest", True)


def test_time_that_runs_out():
    con = raydb.connect()
    transfers(con, 20_000, 50)
    began = time.perf_counter()
    hard = "delta => 1000, rel_error => 1e-6, max_seconds => 0.4"
    found = one_row(con, "motif_count", "clique(5)", f"{hard}, method => 'timest'")
    assert not found["converged"]
    assert not found["exact"]
    with pytest.raises(raydb.OperationalError, match=r"not counted all instances within 0\.4 sec"):
        one_row(con, "motif_count", "clique(5)", f"{hard}, method => 'exact'")
    # It does not go on for ever; how soon it ends is for a benchmark to tell.
    assert time.perf_counter() - began < 60
    text = f"FROM motif_count(e, {ARGUMENTS}, motif => 'clique(5)', {hard}, method => 'timest')"
    ((_, message),) = [m for m in con.execute(text).messages if "estimate" in str(m[1])]
    assert "not within 1e-06 of the count yet" in str(message)


def instances(rows, motif, delta):
    """Return every instance as the numbers of its rows from 1: all ways to pick rows are tried."""
    found = []
    for places in itertools.permutations(range(len(rows)), len(motif.edges)):
        picked = [rows[place] for place in places]
        times = [row["t"] for row in picked]
        ends = [
            (vertex, row["sd"[k]])
            for edge, row in zip(motif.edges, picked, strict=True)
            for k, vertex in enumerate(edge)
        ]
        is_ordered = all(
            motif.groups[i] == motif.groups[j] or times[i] < times[j]
            for i, j in itertools.combinations(range(len(times)), 2)
        )
        is_map = len(set(ends)) == motif.vertex_count == len({value for _, value in ends})
        if is_ordered and is_map and max(times) - min(times) <= delta:
            found.append(tuple(place + 1 for place in places))
    return found


@pytest.mark.parametrize("method", ["auto", "exact", "timest"])
def test_samples_are_instances_and_each_is_as_likely(method):
    con = raydb.connect()
    rows = transfers(con, 26, 5, seed=3)
    motif = Motif(3, ((0, 1), (1, 2), (2, 0)), (0, 1, 1))
    every = instances(rows, motif, 900)
    text = motif_text(WrittenMotif(motif, tuple("abc")))
    assert len(every) == count(con, text, 900) > 5
    count_of = dict.fromkeys(every, 0)
    sample_count = 200 * len(every)
    text = (
        f"SELECT * FROM motif_sample(e, {ARGUMENTS}, motif => '{text}', "
        f"delta => 900, method => '{method}', n => {sample_count}, seed => 7) ORDER BY instance"
    )
    found = con.execute(text).to_arrow_table().to_pylist()
    assert [row["instance"] for row in found] == list(range(1, sample_count + 1))
    for row in found:
        places = tuple(row[f"e{number}_row"] for number in (1, 2, 3))
        count_of[places] += 1
        edges = [rows[place - 1] for place in places]
        assert [edge["s"] for edge in edges] == [row["a"], row["b"], row["c"]]
        assert [edge["d"] for edge in edges] == [row["b"], row["c"], row["a"]]
        times = [edge["t"] for edge in edges]
        assert (row["first_time"], row["last_time"]) == (min(times), max(times))
    # Chi-squared with k degrees of freedom has mean k and variance 2k.
    freedom = len(every) - 1
    chi = sum((each - 200) ** 2 / 200 for each in count_of.values())
    assert chi < freedom + 5 * (2 * freedom) ** 0.5


def test_samples_of_none_and_of_too_little_time(monkeypatch):
    con = raydb.connect()
    transfers(con, 20_000, 50)
    text = f"FROM motif_sample(e, {ARGUMENTS}, motif => '{{}}', {{}})"
    # More than there are: the same ones come several times.
    few = count(con, "cycle(3)", 2)
    assert 0 < few < 500
    found = con.execute(text.format("cycle(3)", "delta => 2, n => 500")).fetchall()
    assert len(found) == 500
    assert len({row[4:7] for row in found}) <= few
    nothing = con.execute(text.format("clique(5)", "delta => 1"))
    assert nothing.fetchall() == []
    assert not [text for _, text in nothing.messages if "instances" in str(text)]
    with pytest.raises(raydb.OperationalError, match="was not ready to sample within 1e-05 sec"):
        con.execute(text.format("clique(5)", "delta => 1000, max_seconds => 1e-5"))
    monkeypatch.setattr(motif_instances, "LISTED_INSTANCES", 10)
    with pytest.raises(raydb.OperationalError, match="lists up to 10 instances, and there are mor"):
        con.execute(text.format("cycle(2)", "delta => 10, method => 'exact'"))
    assert len(con.execute(text.format("cycle(2)", "delta => 10")).fetchall()) == 10


# -- the graph, from one call to the next


@pytest.fixture
def built(monkeypatch):
    """Collect how many rows each graph was built of."""
    sizes = []
    make = motif_graph.make_graph

    def note(sources, targets, times, *others):
        sizes.append(len(times))
        return make(sources, targets, times, *others)

    monkeypatch.setattr(motif_graph, "make_graph", note)
    return sizes


def test_a_graph_is_kept_until_its_table_changes(built):
    con = raydb.connect()
    con.execute("CREATE TABLE e (s INTEGER, d INTEGER, t INTEGER, x INTEGER)")
    con.execute("INSERT INTO e VALUES (1, 2, 1, 0), (2, 1, 2, 0), (1, 2, 3, 1)")
    assert count(con, "a->b, b->a", 5) == 2
    # Another motif, other columns and a view have the same edges.
    con.execute("CREATE VIEW v AS SELECT x, t AS moment, d, s FROM e")
    assert count(con, "a->b, a->b", 5) == 1
    text = (
        "SELECT count FROM motif_count(v, src => s, dst => d, time => moment, motif => 'path(2)',"
    )
    assert con.execute(f"{text} delta => 1)").fetchall() == [(3,)]
    assert built == [3]
    assert count(con, "a->b, b->a", 5, "(SELECT * FROM e WHERE x = 0)") == 1
    assert count(con, "a->b, b->a", 5, "(SELECT * FROM e WHERE x = 1)") == 0
    assert count(con, "a->b, b->a", 5, "(SELECT s, d, t FROM e WHERE x = 0)") == 1
    assert built == [3, 2, 1]
    con.execute("INSERT INTO e VALUES (2, 1, 4, 0)")
    assert count(con, "a->b, b->a", 5) == 4
    con.execute("DELETE FROM e WHERE t = 1")
    assert count(con, "a->b, b->a", 5) == 2
    con.execute("UPDATE e SET t = 9 WHERE t = 4")
    assert count(con, "a->b, b->a", 5) == 1
    con.execute("DROP TABLE e CASCADE; CREATE TABLE e (s INTEGER, d INTEGER, t INTEGER)")
    assert count(con, "a->b, b->a", 5) == 0
    assert len(built) == 7


def test_a_transaction_sees_its_own_rows_and_a_rollback_none(built):
    con = raydb.connect()
    con.execute("CREATE TABLE e (s INTEGER, d INTEGER, t INTEGER); INSERT INTO e VALUES (1, 2, 1)")
    assert count(con, "a->b", 5) == 1
    con.execute("BEGIN; INSERT INTO e VALUES (2, 1, 2)")
    assert count(con, "a->b, b->a", 5) == 1
    con.execute("SAVEPOINT one; DELETE FROM e")
    assert count(con, "a->b", 5) == 0
    con.execute("ROLLBACK TO one")
    assert count(con, "a->b", 5) == 2
    con.execute("ROLLBACK")
    assert count(con, "a->b", 5) == 1
    assert count(con, "a->b, b->a", 5) == 0


def test_a_reader_sees_what_was_committed(tmp_path):
    with raydb.connect(tmp_path / "db") as writer:
        writer.execute("CREATE TABLE e (s INTEGER, d INTEGER, t DATE)")
        writer.execute("INSERT INTO e VALUES (1, 2, DATE '2026-01-01')")
        with raydb.connect(tmp_path / "db", read_only=True) as reader:
            assert count(reader, "a->b", 5) == 1
            writer.execute("BEGIN; INSERT INTO e VALUES (2, 1, DATE '2026-01-02')")
            assert count(writer, "a->b, b->a", 5) == 1
            assert count(reader, "a->b", 5) == 1
            writer.execute("COMMIT")
            assert count(reader, "a->b, b->a", 5) == 1
    with raydb.connect(tmp_path / "db") as con:
        assert count(con, "a->b, b->a", 1) == 1


def test_graphs_count_as_memory(built):
    con = raydb.connect()
    transfers(con, 50_000)
    con.execute("SET memory_limit = '100MB'")
    count(con, "cycle(2)", 3)
    assert con._session.database.shared.cache.size_bytes > 30 * 50_000
    con.execute("SET memory_limit = '5MB'")
    with pytest.raises(raydb.OperationalError, match="the temporal graph of 50000 rows needs abou"):
        count(con, "cycle(2)", 3, "(SELECT s, d, t FROM e WHERE t >= 0)")
    with pytest.raises(
        raydb.OperationalError, match=r"sampling a motif from 4.* edges needs about"
    ):
        count(con, "clique(5)", 3, options=", method => 'timest'")
    with pytest.raises(raydb.OperationalError, match="a sample of 9000000 instances needs about"):
        con.execute(
            f"FROM motif_sample(e, {ARGUMENTS}, motif => 'cycle(2)', delta => 3, n => 9000000)"
        )
    # One beyond the limit leaves with the next one.
    con.execute("SET memory_limit = '8MB'")
    count(con, "cycle(2)", 3, "(SELECT * FROM e WHERE t > 1000)")
    assert con._session.database.shared.cache.size_bytes < 30 * 50_000


# -- around it


def test_warnings_of_rows():
    con = raydb.connect()
    con.execute("CREATE TABLE e (s INTEGER, d INTEGER, t INTEGER)")
    con.execute("INSERT INTO e VALUES (1, 2, 1), (1, 2, 1), (1, NULL, 1), (NULL, NULL, NULL)")
    cursor = con.execute(f"FROM motif_count(e, {ARGUMENTS}, motif => 'a->b', delta => 1)")
    assert [str(text) for _, text in cursor.messages] == [
        "rows left out because a source, a target or a time is NULL: 2",
        "rows with the source, the target and the time of an earlier row, "
        "which are edges of their own: 1",
    ]
    # Duplicates are told when the graph is built, and no more while it is kept.
    cursor = con.execute(f"FROM motif_count(e, {ARGUMENTS}, motif => 'a->b', delta => 2)")
    assert [str(text) for _, text in cursor.messages] == [
        "rows left out because a source, a target or a time is NULL: 2"
    ]


def test_progress_and_its_end():
    con = raydb.connect()
    transfers(con, 20_000, 50)
    steps = []

    def note(step, share):
        steps.append((step, share))
        assert 0 <= share <= 1

    con.progress = note
    count(con, "cycle(3)", 20)
    one_row(con, "motif_count", "cycle(3)", "delta => 20, method => 'timest'")
    assert {step for step, _ in steps} >= {
        "motif_count: graph",
        "motif_count: count",
        "motif_count: weigh",
        "motif_count: sample",
    }

    def stop(step, share):
        raise KeyboardInterrupt

    con.progress = stop
    for method in ("exact", "timest"):
        with pytest.raises(KeyboardInterrupt):
            one_row(con, "motif_count", "clique(5)", f"delta => 1000, method => '{method}'")
    con.progress = None
    assert (
        count(con, "a->b", 1)
        == 20_000 - one_row(con, "motif_count", "a->b", "delta => 1")["self_loops"]
    )


def test_constants_and_parameters_of_kept_plans():
    con = raydb.connect()
    transfers(con)
    for _ in range(2):
        for motif, delta in (("cycle(2)", 50), ("cycle(3)", 50), ("cycle(2)", 500)):
            expected = count(con, motif, delta)
            text = f"SELECT count FROM motif_count(e, {ARGUMENTS}, motif => ?, delta => ?)"
            assert con.execute(text, [motif, delta]).fetchall() == [(expected,)]
            text = text.replace("?", "$m", 1).replace("?", "$d")
            assert con.execute(text, {"m": motif, "d": delta}).fetchall() == [(expected,)]
    text = f"SELECT count FROM motif_count(e, {ARGUMENTS}, motif => 'path(2)', delta => ?)"
    with pytest.raises(
        raydb.ProgrammingError, match=r"delta of motif_count.. is at least 0, not -1"
    ):
        con.execute(text, [-1])


def test_other_ways_to_the_row(tmp_path):
    con = raydb.connect()
    transfers(con)
    expected = count(con, "cycle(3)", 100)
    text = f"SELECT count FROM motif_count(e, {ARGUMENTS}, motif => 'cycle(3)', delta => 100)"
    assert con.stream(text).read_all().to_pydict() == {"count": [expected]}
    con.execute(f"CREATE TABLE counted AS {text}")
    assert con.execute("FROM counted").fetchall() == [(expected,)]
    con.execute(f"COPY e TO '{tmp_path}/e.parquet'")
    rows = f"(FROM '{tmp_path}/e.parquet')"
    assert count(con, "cycle(3)", 100, rows) == expected
    assert "MotifRows" in con.execute(f"EXPLAIN (FORMAT HTML) {text}").fetchone()[0]
    text = f"SELECT c.n, (WITH m AS ({text}) SELECT count FROM m) FROM (SELECT 1 AS n) c"
    assert con.execute(text).fetchall() == [(1, expected)]
