"""Partitions of graphs through SQL: any type of nodes, more edges than memory, interrupts."""

from __future__ import annotations

import re
import signal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import raydb

PARTS = "SELECT node, part, cluster FROM partition_graph({}, k => 4, refine => 3)"


@pytest.fixture(scope="module")
def con():
    con = raydb.connect()
    draw = np.random.default_rng(1)
    ends = draw.integers(0, 3000, (2, 20_000))
    # Half of the edges stay near.
    ends[1, ::2] = (ends[0, ::2] + draw.integers(1, 20, 10_000)) % 3000
    con.register("given", pa.table({"src": ends[0], "dst": ends[1]}))
    con.execute("CREATE TABLE edge AS SELECT * FROM given")
    return con


@pytest.fixture(scope="module")
def answer(con):
    return con.execute(PARTS.format("edge")).fetchall()


@pytest.mark.long
@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), max_size=40),
    st.integers(1, 6),
    st.floats(1, 2),
    st.integers(0, 3),
    st.integers(0, 9),
)
@settings(max_examples=60, deadline=None)
def test_every_node_is_in_one_part_within_the_balance(con, pairs, k, balance, refine, seed):
    edges = pa.table({"s": [s for s, _ in pairs], "d": [d for _, d in pairs]})
    edges = edges.cast(pa.schema({"s": pa.int32(), "d": pa.int32()}))
    con.register("pair", edges)
    asked = f"k => {k}, balance => {balance!r}::DOUBLE, refine => {refine}, seed => {seed}"
    found = con.execute(f"SELECT * FROM partition_graph(pair, {asked})").fetchall()
    nodes = sorted({each for pair in pairs for each in pair})
    assert sorted(node for node, _, _ in found) == nodes
    assert all(0 <= part < k for _, part, _ in found)
    assert con.execute(f"SELECT * FROM partition_graph(pair, {asked})").fetchall() == found
    loads = con.execute(
        f"SELECT nodes, load, greatest_load FROM partition_stats(pair, {asked})"
    ).fetchall()
    assert [count for count, _, _ in loads] == [
        sum(part == each for _, part, _ in found) for each in range(k)
    ]
    assert all(load <= greatest <= balance for _, load, greatest in loads)
    # Columns in another order, and without some.
    swapped = con.execute(f"SELECT cluster, node FROM partition_graph(pair, {asked})").fetchall()
    assert swapped == [(cluster, node) for node, _, cluster in found]
    # Edges that point the other way have the same promises.
    con.execute(f"CREATE OR REPLACE TEMP TABLE p AS FROM partition_graph(pair, {asked})")
    judged = (
        "SELECT nodes, greatest_load FROM partition_stats({}, parts => (SELECT node, part FROM p))"
    )
    there, back = (
        con.execute(judged.format(rows)).fetchall() for rows in ("pair", "(SELECT d, s FROM pair)")
    )
    assert there == back
    assert all(greatest <= balance for _, greatest in there)


TYPES = [
    *("{}::SMALLINT", "{}::UBIGINT", "{}::HUGEINT", "{}::UHUGEINT", "{}::DOUBLE", "{}::REAL"),
    *("{}::DECIMAL(9,2)", "{}::DECIMAL(38,2)", "'node ' || {}", "md5({}::VARCHAR)::UUID"),
    *("encode('é' || {})", "DATE '2020-01-01' + {}::INT", "({}::INTEGER)::BIT"),
    *("TIMESTAMP '2020-01-01' + INTERVAL 1 DAY * {}", "TIME '01:00' + INTERVAL 1 SECOND * {}"),
    "(TIMESTAMP '2020-01-01' + INTERVAL 1 DAY * {})::TIMESTAMPTZ",
    "(TIMESTAMP '2020-01-01' + INTERVAL 1 DAY * {})::TIMESTAMP_NS",
    "('n' || {})::kind",
]


@pytest.mark.parametrize("written", TYPES)
def test_nodes_of_any_type_are_as_integers(con, answer, written):
    if "kind" in written:
        labels = ", ".join(f"'n{each}'" for each in range(3000))
        con.execute(f"CREATE OR REPLACE TYPE kind AS ENUM ({labels})")
    rows = f"(SELECT {written.format('src')}, {written.format('dst')} FROM edge)"
    con.execute(f"CREATE OR REPLACE TEMP TABLE found AS {PARTS.format(rows)}")
    named = con.execute(
        f"SELECT DISTINCT src, f.part, f.cluster FROM edge, found f "
        f"WHERE f.node = {written.format('src')}"
    ).fetchall()
    with_edges = {src for (src,) in con.execute("SELECT DISTINCT src FROM edge").fetchall()}
    assert sorted(named) == sorted(row for row in answer if row[0] in with_edges)
    assert con.execute("SELECT count(*) FROM found").fetchone() == (len(answer),)


def test_rows_are_frames_files_views_and_streams(con, answer, tmp_path):
    edges = con.execute("SELECT * FROM edge").to_arrow_table()
    pq.write_table(edges, tmp_path / "edge.parquet")
    con.execute("CREATE OR REPLACE VIEW seen AS SELECT * FROM edge")
    for rows in (f"'{tmp_path}/edge.parquet'", "seen", "edges", "(FROM edge)"):
        assert con.execute(PARTS.format(rows)).fetchall() == answer
    text = f"WITH e AS (SELECT * FROM edge) {PARTS.format('e')}"
    assert con.execute(text).fetchall() == answer
    con.register("passing", pa.RecordBatchReader.from_batches(edges.schema, edges.to_batches(100)))
    assert con.execute(PARTS.format("passing")).fetchall() == answer
    found = con.stream(PARTS.format("edge")).read_all()
    assert list(zip(*found.to_pydict().values(), strict=True)) == answer
    ids = pa.table({"id": range(3005)})
    assert ids.num_rows == 3005
    found = con.execute("SELECT count(*) FROM partition_graph(edge, k => 2, nodes => ids)")
    assert found.fetchone() == (3005,)


def test_a_row_has_the_answer_of_a_call_of_its_own(con, answer):
    found = con.execute(
        "SELECT p.node, p.part, p.cluster, k FROM (VALUES (4), (7)) v (k), LATERAL "
        "partition_graph((SELECT src + k, dst + k FROM edge), k => 4, refine => 3) p"
    ).fetchall()
    assert sorted(found) == sorted((row[0] + k, *row[1:], k) for row in answer for k in (4, 7))


@pytest.mark.parametrize("refine", [0, 4])
def test_more_edges_than_memory_have_the_same_answer(con, spilled, refine):
    """8 MB of numbers, and 8 MB of neighbours, in 4 MB."""
    con.execute(
        "CREATE OR REPLACE TEMP TABLE many AS "
        "SELECT range * 7919 % 5000 AS s, (range * range + range) % 5000 AS d FROM range(1000000)"
    )
    rows = "SELECT range * 7919 % 5000, (range * range + range) % 5000 FROM range(1000000)"
    text = "SELECT * FROM partition_graph({}, k => 3, refine => {})"
    expected = con.execute(text.format("many", refine)).fetchall()
    assert not spilled
    con.execute("SET memory_limit = '4MB'")
    try:
        assert con.execute(text.format(f"({rows})", refine)).fetchall() == expected
        assert len(spilled) >= 1 + (refine > 0)
        stats = (
            f"SELECT sum(nodes), max(edges_cut) FROM partition_stats(({rows}), k => 3, refine => 1)"
        )
        assert con.execute(stats).fetchone()[0] == 5000
    finally:
        con.execute("RESET memory_limit")


def test_memory_that_is_too_small_is_told(con):
    con.execute("SET memory_limit = '4MB'")
    try:
        with pytest.raises(raydb.OperationalError, match=r"partition_graph\(\) of .* nodes needs"):
            con.execute(
                "FROM partition_graph((SELECT range, range + 1 FROM range(900000)), k => 2)"
            )
        with pytest.raises(raydb.OperationalError, match="nodes in 900000 parts needs"):
            con.execute("FROM partition_graph(edge, k => 900000)")
    finally:
        con.execute("RESET memory_limit")


def test_rows_that_are_no_edges_are_told_of(con):
    rows = "(VALUES (1, 2), (NULL, 3), (4, NULL), (NULL, NULL))"
    cursor = con.execute(f"SELECT node FROM partition_graph({rows}, k => 1)")
    assert cursor.fetchall() == [(1,), (2,)]
    assert [str(told) for _, told in cursor.messages] == [
        "rows left out because an end, a node or a part is NULL: 3"
    ]
    cursor = con.execute(
        "SELECT k FROM (VALUES (NULL)) v (k), LATERAL partition_graph(edge, k => k)"
    )
    assert [str(told) for _, told in cursor.messages] == [
        "rows without an answer because an argument is NULL: 1"
    ]


def test_progress_is_told_and_rises(con):
    told = []
    con.progress = lambda step, share: told.append((step, share))
    con.execute(PARTS.format("edge"))
    con.progress = None
    steps = list(dict.fromkeys(step for step, _ in told if step.startswith("partition_graph")))
    assert steps == [
        f"partition_graph: {step}" for step in ("edges", "clusters", "neighbours", "moves")
    ]
    for step in steps[1:]:
        shares = [share for each, share in told if each == step]
        assert shares == sorted(shares)
        assert shares[-1] == 1


@pytest.mark.parametrize("step", ["edges", "clusters", "neighbours", "moves"])
def test_an_interrupt_ends_a_partition(con, answer, step):
    def stop(at, _):
        if at == f"partition_graph: {step}":
            con.interrupt()

    con.progress = stop
    with pytest.raises(raydb.OperationalError, match="the statement was interrupted"):
        con.execute(PARTS.format("edge"))
    con.progress = None
    assert con.execute(PARTS.format("edge")).fetchall() == answer


def test_ctrl_c_and_the_clock_end_a_partition(con, answer):
    signals = [signal.SIGINT]
    con.progress = lambda step, share: (
        step.endswith("moves") and signals and signal.raise_signal(signals.pop())
    )
    with pytest.raises(KeyboardInterrupt):
        con.execute(PARTS.format("edge"))
    con.progress = None
    con.execute("SET max_execution_time = 300")
    try:
        rows = "(SELECT range % 1000, range * 7 % 1000 FROM range(1000000000))"
        with pytest.raises(raydb.OperationalError, match="max_execution_time"):
            con.execute(PARTS.format(rows))
    finally:
        con.execute("RESET max_execution_time")
    assert con.execute(PARTS.format("edge")).fetchall() == answer


def test_explain_analyze_tells_nodes_clusters_and_moves(con):
    lines = con.execute(f"EXPLAIN ANALYZE {PARTS.format('edge')}").fetchall()
    text = "\n".join(line for (line,) in lines)
    assert re.search(r"ran: 3000 nodes, 20000 edges, \d+ clusters, \d+ moves, greatest load", text)


def test_each_seed_has_its_partition(con):
    found = [
        con.execute(
            f"SELECT list(part) FROM partition_graph(edge, k => 4, seed => {seed})"
        ).fetchone()
        for seed in (1, 2, 1)
    ]
    assert found[0] == found[2] != found[1]


def test_a_stored_partition_has_the_figures_of_its_call(con):
    asked = "k => 5, balance => 1.1, seed => 3"
    con.execute(f"CREATE OR REPLACE TABLE kept AS FROM partition_graph(edge, {asked})")
    own = con.execute(f"FROM partition_stats(edge, {asked})").fetchall()
    judged = "FROM partition_stats(edge, parts => (SELECT node, part FROM kept))"
    assert con.execute(judged).fetchall() == own
    text = "SELECT count(*) FROM edge e, kept a, kept b WHERE e.src = a.node AND e.dst = b.node"
    assert con.execute(f"{text} AND a.part <> b.part").fetchone() == (own[0][-1],)
