"""PyG's loaders over a graph of tables: batches are parts of it, with the features of the rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import raydb

torch = pytest.importorskip("torch", reason="torch is not installed")
loader = pytest.importorskip("torch_geometric.loader", reason="torch-geometric is not installed")
torch_data = pytest.importorskip("torch_geometric.data")

PAPERS, AUTHORS = 400, 30
CITES, WROTE = ("paper", "cites", "paper"), ("author", "wrote", "paper")
BY = ("paper", "by", "author")


@pytest.fixture
def con():
    chance = np.random.default_rng(5)
    values = pa.array(chance.standard_normal(8 * PAPERS).astype(np.float32))
    with raydb.connect() as con:
        con.register(
            "rows",
            {"id": 10 * np.arange(PAPERS), "x": pa.FixedSizeListArray.from_arrays(values, 8)},
        )
        con.execute("CREATE TABLE paper AS SELECT id, x, id % 3 AS y FROM rows")
        con.execute(
            f"CREATE TABLE author AS SELECT range AS id, range / 2.0 AS v FROM range({AUTHORS})"
        )
        ends = chance.integers(0, PAPERS, (2, 4000)) * 10
        con.register("ends", {"a": ends[0], "b": ends[1]})
        con.execute("CREATE TABLE cites AS FROM ends")
        wrote = chance.integers(0, PAPERS, 900) * 10
        con.register("writes", {"a": chance.integers(0, AUTHORS, 900), "b": wrote})
        con.execute("CREATE TABLE wrote AS FROM writes")
        yield con


@pytest.fixture
def graph(con):
    return con.graph(nodes="paper", edges="cites")


@pytest.fixture
def mixed(con):
    return con.graph(
        nodes={"paper": "paper", "author": "author"},
        edges={CITES: "cites", WROTE: "wrote", BY: "SELECT b, a FROM wrote"},
    )


def check_edges(graph, kind, edge_index, source, target, con, table, most):
    pairs = set(con.execute(f"FROM {table}").fetchall())
    ends = (
        graph.keys(each, name).to_pylist()
        for each, name in ((source, kind and kind[0]), (target, kind and kind[2]))
    )
    sources, targets = ends
    drawn = [(sources[a], targets[b]) for a, b in edge_index.T.tolist()]
    assert set(drawn) <= pairs
    assert np.bincount(edge_index[1].numpy(), minlength=1).max() <= most


def test_batches_of_nodes(con, graph):
    seeds = torch.arange(100)
    batches = loader.NeighborLoader(
        graph.data, [4, 2], neighbor_sampler=graph.sampler([4, 2]), input_nodes=seeds, batch_size=32
    )
    rows = {key: (list(x), y) for key, x, y in con.execute("FROM paper").fetchall()}
    seen = []
    for batch in batches:
        seen += batch.n_id[: batch.batch_size].tolist()
        keys = graph.keys(batch.n_id).to_pylist()
        assert len(set(keys)) == len(keys)
        assert list(zip(batch.x.tolist(), batch.y.tolist(), strict=True)) == [rows[k] for k in keys]
        check_edges(graph, None, batch.edge_index, batch.n_id, batch.n_id, con, "cites", 4)
        first = batch.num_sampled_nodes[0] + batch.num_sampled_nodes[1]
        late = batch.edge_index[1] >= batch.batch_size
        assert (batch.edge_index[1] < first).all()
        assert int(late.sum()) == batch.num_sampled_edges[1]
    assert seen == seeds.tolist()


def test_batches_of_several_kinds(con, mixed):
    batches = loader.NeighborLoader(
        mixed.data,
        {CITES: [3, 2], WROTE: [2, 0], BY: [0, 1]},
        neighbor_sampler=mixed.sampler({CITES: [3, 2], WROTE: [2, 0], BY: [0, 1]}),
        input_nodes=("paper", torch.tensor([3, 1, 7])),
        batch_size=2,
    )
    first, second = batches
    assert first["paper"].n_id[:2].tolist() == [3, 1]
    assert second["paper"].n_id[:1].tolist() == [7]
    for batch in (first, second):
        papers, authors = batch["paper"].n_id, batch["author"].n_id
        assert batch["author"].v.tolist() == [
            n / 2 for n in mixed.keys(authors, "author").to_pylist()
        ]
        ends = {CITES: (papers, papers), WROTE: (authors, papers), BY: (papers, authors)}
        for kind, table in ((CITES, "cites"), (WROTE, "wrote"), (BY, "(SELECT b, a FROM wrote)")):
            check_edges(mixed, kind, batch[kind].edge_index, *ends[kind], con, table, 3)
        assert len(batch[BY].edge_index[0]) <= len(authors)


def test_all_neighbours_are_all_edges(con, graph):
    (batch,) = loader.NeighborLoader(
        graph.data,
        [-1],
        neighbor_sampler=graph.sampler([-1]),
        input_nodes=torch.arange(PAPERS),
        batch_size=PAPERS,
    )
    drawn = [graph.keys(batch.n_id[side]).to_pylist() for side in batch.edge_index]
    assert sorted(zip(*drawn, strict=True)) == sorted(con.execute("FROM cites").fetchall())


def ends_of(graph):
    """The edges by the numbers of nodes, sorted by target, as PyG has them: shape (2, edges)."""
    (edges,) = graph.edges.values()
    target = np.repeat(np.arange(PAPERS), np.diff(edges.starts))
    return torch.from_numpy(np.stack([edges.sources.astype(np.int64), target]))


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_all_neighbours_are_those_that_pyg_finds(graph, hops):
    """k_hop_subgraph looks for edges into nodes by masks over all edges, hop by hop."""
    utils = pytest.importorskip("torch_geometric.utils")
    seeds = torch.tensor([5, 17, 200])
    (batch,) = loader.NeighborLoader(
        graph.data,
        [-1] * hops,
        neighbor_sampler=graph.sampler([-1] * hops),
        input_nodes=seeds,
        batch_size=3,
    )
    nodes, edges, _, _ = utils.k_hop_subgraph(seeds, hops, ends_of(graph), directed=True)
    assert set(batch.n_id.tolist()) == set(nodes.tolist())
    drawn = sorted(batch.n_id[batch.edge_index].T.tolist())
    assert drawn == sorted(edges.T.tolist())


def test_each_neighbour_has_the_same_chance(graph):
    """3 of the edges into each node, 100 times, beside chi-square's middle 99.8 %."""
    stats = pytest.importorskip("scipy.stats")
    (edges,) = graph.edges.values()
    torch.manual_seed(1)
    batches = loader.NeighborLoader(
        graph.data,
        [3],
        neighbor_sampler=graph.sampler([3]),
        input_nodes=torch.arange(PAPERS).repeat(100),
        batch_size=PAPERS,
    )
    count = np.zeros(len(edges.sources))
    for batch in batches:
        drawn = batch.e_id.numpy()
        assert len(set(drawn.tolist())) == len(drawn)
        count[drawn] += 1
    degree = np.repeat(np.diff(edges.starts), np.diff(edges.starts))
    assert (count[degree <= 3] == 100).all()
    count, degree = count[degree > 3], degree[degree > 3]
    expected = 100 * 3 / degree
    # The edges of one draw differ, so that counts vary less than those of single draws.
    spread = ((count - expected) ** 2 / expected * (degree - 1) / (degree - 3)).sum()
    low, high = stats.chi2.ppf([0.001, 0.999], (1 - 1 / degree).sum())
    assert low < spread < high


def batches_of(data, graph):
    torch.manual_seed(4)
    found = loader.NeighborLoader(
        data,
        [4, 2],
        neighbor_sampler=graph.sampler([4, 2]),
        input_nodes=torch.arange(64),
        batch_size=16,
        shuffle=True,
    )
    return [(each.n_id.tolist(), each.edge_index.tolist(), each.x.tolist()) for each in found]


def test_a_seed_gives_the_batches(con, graph, tmp_path):
    """Over tables in memory, PyG's graph in memory, tables of a file, and rows that do not fit."""
    expected = batches_of(graph.data, graph)
    assert batches_of(graph.data, graph) == expected
    whole = torch_data.Data(
        x=torch.from_numpy(graph.nodes().take("x", None)), edge_index=ends_of(graph)
    )
    assert batches_of(whole, graph) == expected
    rows = {name: con.execute(f"FROM {name}").to_arrow_table() for name in ("paper", "cites")}
    with raydb.connect(tmp_path / "graph.raydb") as file:
        for name, each in rows.items():
            file.register("rows", each)
            file.execute(f"CREATE TABLE {name} AS FROM rows")
    with raydb.connect(tmp_path / "graph.raydb") as file:
        kept = file.graph(nodes="paper", edges="cites")
        assert batches_of(kept.data, kept) == expected
        file.execute("SET memory_limit = '20KB'")
        read = file.graph(nodes="paper", edges="cites")
        assert batches_of(read.data, read) == expected


def test_edges_are_seeds(con, mixed):
    batches = loader.LinkNeighborLoader(
        mixed.data,
        [2, 2],
        neighbor_sampler=mixed.sampler([2, 2]),
        edge_label_index=(WROTE, None),
        batch_size=500,
        neg_sampling_ratio=1.0,
    )
    pairs = set(con.execute("FROM wrote").fetchall())
    count = 0
    for batch in batches:
        authors = mixed.keys(batch["author"].n_id, "author").to_pylist()
        papers = mixed.keys(batch["paper"].n_id, "paper").to_pylist()
        labelled = batch[WROTE]
        for (a, b), label in zip(
            labelled.edge_label_index.T.tolist(), labelled.edge_label, strict=True
        ):
            assert not label or (authors[a], papers[b]) in pairs
            count += int(label)
    assert count == 900


def test_processes_load_batches(con, graph):
    batches = loader.NeighborLoader(
        graph.data,
        [3, 3],
        neighbor_sampler=graph.sampler([3, 3]),
        input_nodes=torch.arange(PAPERS),
        batch_size=100,
        num_workers=2,
    )
    for batch in batches:
        assert batch.x.equal(graph.data[0].get_tensor(None, "x", batch.n_id))
        check_edges(graph, None, batch.edge_index, batch.n_id, batch.n_id, con, "cites", 3)


def test_a_model_learns_and_its_predictions_are_rows(con):
    """Labels are the signs of a feature of most neighbours."""
    con.execute("UPDATE paper SET y = (x[1] > 0)::INTEGER")
    con.execute(
        "DELETE FROM cites"
        " WHERE (SELECT y FROM paper WHERE id = a) <> (SELECT y FROM paper WHERE id = b)"
    )
    con.execute("UPDATE paper SET x = [x[2], x[1] + x[3], x[4], x[5], x[6], x[7], x[8], 1]")
    graph = con.graph(nodes="paper", edges="cites")
    nn = pytest.importorskip("torch_geometric.nn")
    torch.manual_seed(1)
    model = nn.GraphSAGE(8, 16, 2, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    batches = loader.NeighborLoader(
        graph.data,
        [10, 10],
        neighbor_sampler=graph.sampler([10, 10]),
        input_nodes=torch.arange(PAPERS),
        batch_size=100,
    )
    for _ in range(15):
        for batch in batches:
            optimizer.zero_grad()
            found = model(batch.x, batch.edge_index)[: batch.batch_size]
            torch.nn.functional.cross_entropy(found, batch.y[: batch.batch_size]).backward()
            optimizer.step()
    with torch.no_grad():
        for number, batch in enumerate(batches):
            found = model(batch.x, batch.edge_index)[: batch.batch_size].argmax(1)
            graph.write(f"guess{number}", batch.n_id[: batch.batch_size], found)
    right = con.execute(
        "SELECT avg((prediction = y)::INTEGER) FROM paper JOIN (FROM guess0 UNION ALL FROM guess1"
        " UNION ALL FROM guess2 UNION ALL FROM guess3) USING (id)"
    ).fetchone()
    assert right > (0.9,)


def test_wrong_use(graph, mixed):
    features, edges = graph.data
    with pytest.raises(raydb.ProgrammingError, match="have no feature 'z'; they have 'x', 'y'"):
        features.get_tensor(None, "z", None)
    with pytest.raises(raydb.NotSupportedError, match=r"Graph\.write makes a table"):
        features.put_tensor(torch.zeros(2), None, "x", None)
    with pytest.raises(raydb.NotSupportedError, match="edges are read from tables"):
        edges.put_edge_index((torch.zeros(2), torch.zeros(2)), None, "coo")
    batches = loader.NeighborLoader(
        graph.data,
        [3],
        neighbor_sampler=graph.sampler([3]),
        input_nodes=torch.tensor([1, PAPERS]),
        batch_size=2,
    )
    with pytest.raises(raydb.ProgrammingError, match="have no node number 400"):
        next(iter(batches))
