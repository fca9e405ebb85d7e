"""`con.graph`: tables as a graph, its features by number, and predictions as a table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import raydb

NODES = 300


@pytest.fixture
def con(tmp_path):
    """Return a database of papers that cite each other, some of both removed."""
    chance = np.random.default_rng(3)
    with raydb.connect(tmp_path / "papers.raydb") as con:
        con.execute("CREATE TABLE paper (id VARCHAR PRIMARY KEY, x FLOAT[4], y INTEGER, t VARCHAR)")
        values = pa.array(chance.standard_normal(4 * NODES).astype(np.float32))
        con.register(
            "rows",
            {
                "id": [f"p{n}" for n in range(NODES)],
                "x": pa.FixedSizeListArray.from_arrays(values, 4),
                "y": np.arange(NODES) % 3,
                "t": ["text"] * NODES,
            },
        )
        con.execute("INSERT INTO paper FROM rows")
        ends = chance.integers(0, NODES, (2, 2000))
        con.register("ends", {"a": ends[0], "b": ends[1]})
        con.execute("CREATE TABLE cites AS SELECT 'p' || a AS citing, 'p' || b AS cited FROM ends")
        con.execute(
            "DELETE FROM cites WHERE 'p7' IN (citing, cited); DELETE FROM paper WHERE id = 'p7'"
        )
        yield con


def edges_of(graph, kind=None):
    edges = graph.edges[kind]
    targets = np.repeat(np.arange(len(edges.starts) - 1), np.diff(edges.starts))
    ends = (
        graph.keys(numbers, each).to_pylist()
        for numbers, each in ((edges.sources, edges.source_type), (targets, edges.target_type))
    )
    return sorted(zip(*ends, strict=True))


def test_a_graph_is_its_tables(con):
    graph = con.graph(nodes="paper", edges="cites")
    assert edges_of(graph) == sorted(con.execute("FROM cites").fetchall())
    nodes = graph.all_nodes[None]
    assert set(nodes.types) == {"x", "y"}
    assert (nodes.shape("x"), nodes.shape("y")) == ((NODES - 1, 4), (NODES - 1,))
    rows = {key: list(x) for key, x in con.execute("SELECT id, x FROM paper").fetchall()}
    some = graph.numbers(["p299", "p0", "p8", "p8"])
    assert graph.keys(some).to_pylist() == ["p299", "p0", "p8", "p8"]
    assert nodes.take("x", some).tolist() == [rows[each] for each in ("p299", "p0", "p8", "p8")]
    assert nodes.take("y", None).tolist() == [n % 3 for n in range(NODES) if n != 7]


def test_little_memory_gives_the_same(con):
    graph = con.graph(nodes="paper", edges="cites")
    con.execute("SET memory_limit = '16KB'")
    small = con.graph(nodes="paper", edges="cites")
    assert not small._room.has(8000)
    assert edges_of(small) == edges_of(graph)
    some = np.array([5, 290, 5])
    for name in ("x", "y"):
        assert (
            small.all_nodes[None].take(name, some) == graph.all_nodes[None].take(name, some)
        ).all()
        assert (
            small.all_nodes[None].take(name, None) == graph.all_nodes[None].take(name, None)
        ).all()


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_nodes_come_in_the_order_that_is_asked_for(tmp_path, where):
    path = ":memory:" if where == "memory" else tmp_path / "graph.raydb"
    with raydb.connect(path) as con:
        con.execute("CREATE TABLE paper (id VARCHAR, number BIGINT, x FLOAT[2])")
        for first in (0, 2_000, 4_000):
            con.execute(
                "INSERT INTO paper SELECT 'p' || range, range, [range, -range]"
                f" FROM range({first}, {first + 2_000})"
            )
            if first == 2_000:
                con.execute("CHECKPOINT")
        con.execute("CREATE TABLE cites AS SELECT id, id AS other FROM paper")
        con.execute("FROM paper").fetchall()  # Its columns are kept.
        con.execute("SET memory_limit = '16KB'")
        graph = con.graph(nodes="paper", edges="SELECT * FROM cites LIMIT 9")
        for count in (1, 30, 300, 3_000):
            numbers = np.random.default_rng(count).integers(0, 6_000, count)
            assert graph.keys(numbers).to_pylist() == [f"p{number}" for number in numbers]
            assert (graph.all_nodes[None].take("number", numbers) == numbers).all()
            vectors = graph.all_nodes[None].take("x", numbers)
            assert (vectors == np.stack([numbers, -numbers], axis=1)).all()
            vectors[0] = 0  # They are the caller's.
            assert graph.all_nodes[None].take("x", numbers)[0].tolist() == [numbers[0], -numbers[0]]


def test_nodes_of_several_kinds(con):
    con.execute("CREATE VIEW author AS SELECT range::INTEGER AS id, range / 2.0 AS v FROM range(9)")
    graph = con.graph(
        nodes={"paper": "SELECT id, y::DOUBLE AS y FROM paper", "author": "author"},
        edges={
            ("author", "wrote", "paper"): "SELECT range % 9 AS a, 'p' || range AS p FROM range(5)",
            ("paper", "cites", "paper"): "cites",
        },
    )
    assert graph.all_nodes["author"].take("v", graph.numbers([8, 1], "author")).tolist() == [4, 0.5]
    assert graph.all_nodes["paper"].take("y", np.array([1, 2])).dtype == np.float64
    assert edges_of(graph, ("author", "wrote", "paper")) == [(n, f"p{n}") for n in range(5)]
    with pytest.raises(
        raydb.ProgrammingError, match="the graph has no nodes 'editor'; it has 'pap"
    ):
        graph.keys([1], "editor")


def test_a_graph_stays_as_it_was(con, tmp_path):
    graph = con.graph(nodes="paper", edges="cites")
    before = graph.all_nodes[None].take("x", np.arange(100)).copy()
    con.execute(
        "DELETE FROM paper WHERE y = 1; UPDATE paper SET x = [0, 0, 0, 0]; VACUUM; CHECKPOINT"
    )
    assert (graph.all_nodes[None].take("x", np.arange(100)) == before).all()
    con.begin()
    con.execute("INSERT INTO paper VALUES ('new', [1, 2, 3, 4], 5, '')")
    mine = con.graph(nodes="paper", edges="SELECT id, id FROM paper")
    assert mine.keys(mine.numbers(["new"])).to_pylist() == ["new"]
    con.rollback()


def test_predictions_become_a_table(con):
    graph = con.graph(nodes="paper", edges="cites")
    some = graph.numbers(["p3", "p200"])
    graph.write("guess", some, np.array([[0.5, 0.25], [1, 2]], np.float32))
    assert con.execute("FROM guess").fetchall() == [("p3", (0.5, 0.25)), ("p200", (1, 2))]
    with pytest.raises(raydb.ProgrammingError, match="table 'guess' exists already"):
        graph.write("guess", some, [1, 2])
    con.execute('CREATE TABLE "rows of the graph" AS SELECT 7 AS id')
    with pytest.raises(raydb.ProgrammingError, match="table 'rows of the graph' exists already"):
        graph.write("guess", some, [1, 2], replace=True)
    con.execute('DROP TABLE "rows of the graph"')
    graph.write("guess", some, [1, 2], replace=True)
    assert con.execute("FROM guess").fetchall() == [("p3", 1), ("p200", 2)]
    with pytest.raises(raydb.ProgrammingError, match=r"shape \(3,\) and their nodes \(2,\)"):
        graph.write("other", some, [1, 2, 3])
    with pytest.raises(raydb.ProgrammingError, match="have no node number 299: there are 299"):
        graph.write("other", [299], [1])
    assert "other" not in [name for (name, *_) in con.execute("SHOW TABLES").fetchall()]


@pytest.mark.parametrize(
    ("nodes", "edges", "error", "sentence"),
    [
        ("nothing", "cites", raydb.ProgrammingError, "nothing"),
        ("paper", "nothing", raydb.ProgrammingError, "nothing"),
        ("paper", "SELECT citing FROM cites", raydb.ProgrammingError, "need two columns"),
        ("SELECT id FROM paper WHERE id <> 'p9'", "cites", raydb.DataError, "have no 'p9'"),
        ("SELECT nullif(id, 'p3') FROM paper", "cites", raydb.DataError, "is NULL in a row"),
        ("SELECT 'p' || y, x FROM paper", "cites", raydb.DataError, "have the key 'p0' twice"),
        ("SELECT [id], x FROM paper", "cites", raydb.NotSupportedError, r"VARCHAR\[\]"),
        ("SELECT id, x::FLOAT[] AS x FROM paper", "cites", raydb.NotSupportedError, r"REAL\[n\]"),
        ("paper", "SELECT NULL, cited FROM cites", raydb.DataError, "is NULL; leave such rows out"),
        ("SELECT 1 AS id", "SELECT 'a', 'b'", raydb.DataError, "cannot be compared with the key"),
        ({"paper": "paper"}, "cites", raydb.ProgrammingError, "both a dict of them"),
        ({"paper": "paper"}, {"cites": "cites"}, raydb.ProgrammingError, "not 'cites'"),
        ({"p": "paper"}, {("p", "c", "q"): "cites"}, raydb.ProgrammingError, "ends 'q'"),
    ],
)
def test_what_is_no_graph(con, nodes, edges, error, sentence):
    with pytest.raises(error, match=sentence):
        con.graph(nodes=nodes, edges=edges)
    assert not con.in_transaction


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (
            "CASE id WHEN 'p5' THEN NULL ELSE y END",
            "of the node 'p5' of the nodes 'SELECT .*' is NULL",
        ),
        ("CASE id WHEN 'p5' THEN 'nan'::FLOAT ELSE y END", "is NaN"),
        ("CASE id WHEN 'p5' THEN NULL ELSE x END", "is NULL"),
        ("CASE id WHEN 'p5' THEN [1, NULL, 2, 3]::FLOAT[4] ELSE x END", "is NULL"),
        ("CASE id WHEN 'p5' THEN [1, 'nan'::FLOAT, 2, 3]::FLOAT[4] ELSE x END", "is NaN"),
    ],
)
def test_features_that_are_none(con, column, sentence):
    graph = con.graph(nodes=f"SELECT id, {column} AS v FROM paper", edges="cites")
    with pytest.raises(raydb.DataError, match=sentence):
        graph.all_nodes[None].take("v", None)
    with pytest.raises(raydb.DataError, match=sentence):
        graph.all_nodes[None].take("v", graph.numbers(["p1", "p5"]))
