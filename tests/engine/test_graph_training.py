"""`raydb.gnn.train`: parts learn what the whole does, and lost workers are replaced."""

from __future__ import annotations

import copy
import math
import os
import signal
import threading

import numpy as np
import psutil
import pyarrow as pa
import pytest

import raydb

torch = pytest.importorskip("torch", reason="torch is not installed")
nn = pytest.importorskip("torch_geometric.nn", reason="torch-geometric is not installed")

NODES, WIDTH, CLASSES = 240, 6, 3


def fill(con):
    """Make papers whose features and neighbours tell their classes, some of them to train on."""
    chance = np.random.default_rng(5)
    y = chance.integers(0, CLASSES, NODES)
    x = 0.7 * chance.standard_normal((NODES, WIDTH)).astype(np.float32)
    x[np.arange(NODES), y] += 1
    ends = chance.integers(0, NODES, (2, 3000))
    ends = ends[:, (y[ends[0]] == y[ends[1]]) | (chance.random(3000) < 0.1)]
    rows = pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), WIDTH)
    con.register("rows", {"id": np.arange(NODES), "x": rows, "y": y})
    con.execute("CREATE TABLE paper AS SELECT *, id % 3 = 0 AS known FROM rows")
    con.register("ends", {"a": ends[0], "b": ends[1]})
    con.execute("CREATE TABLE cites AS FROM ends")
    return con.graph(nodes="paper", edges="cites")


@pytest.fixture
def con():
    with raydb.connect() as con:
        yield con


@pytest.fixture
def graph(con):
    return fill(con)


def model(kind="GraphSAGE", layers=2, **options):
    torch.manual_seed(0)
    return getattr(nn, kind)(WIDTH, 8, layers, CLASSES, **options)


def train(graph, start, **options):
    """Train a copy of a model on those that are known."""
    return raydb.gnn.train(graph, copy.deepcopy(start), "y", train="known", **options)


def parameters(training):
    return torch.cat([each.detach().ravel() for each in training.model.parameters()])


@pytest.mark.parametrize(
    ("kind", "layers", "options"),
    [
        ("GraphSAGE", 2, {}),
        ("GraphSAGE", 3, {"jk": "cat"}),
        ("GCN", 2, {}),
        ("GCN", 3, {}),
        ("GAT", 2, {}),
    ],
)
@pytest.mark.parametrize("dependencies", ["cache", "communicate", "half"])
def test_gradients_of_parts_are_those_of_the_whole(
    graph, kind, layers, options, dependencies, monkeypatch
):
    from raydb.engine.gnn import training
    from raydb.engine.gnn.chosen import Dependencies

    chance = np.random.default_rng(2)

    def half(job, crew, parts):
        found = []
        for part in parts:
            chosen = np.zeros(len(part.nodes), bool)
            chosen[part.own : part.ends[1]] = chance.random(part.ends[1] - part.own) < 0.5
            found.append(chosen)
        return Dependencies(found, "half")

    if dependencies == "half":
        monkeypatch.setattr(training._Job, "_dependencies", half)
        dependencies = "auto"
    start = model(kind, layers, **options)
    one = train(graph, start, combine="partial", epochs=6)
    many = train(graph, start, combine="partial", epochs=6, parts=3, dependencies=dependencies)
    assert np.allclose(many.losses, one.losses, atol=1e-5)
    assert torch.allclose(parameters(many), parameters(one), atol=1e-4)
    assert one.losses[-1] < one.losses[0]
    assert many.joined == [(0, 1, 2)] * 6


def right_share(graph, trained):
    """Return the share of all nodes whose class a model tells."""
    edges = graph.edges[None]
    targets = np.repeat(np.arange(NODES), np.diff(edges.starts))
    ends = torch.from_numpy(np.stack([edges.sources.astype(np.int64), targets]))
    nodes = graph.nodes()
    with torch.no_grad():
        found = trained.eval()(torch.from_numpy(nodes.take("x", None)), ends).argmax(1)
    return float((found.numpy() == nodes.take("y", None)).mean())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"every": 5},
        {"combine": "partial"},
        {"combine": "partial", "dependencies": "communicate"},
    ],
)
def test_each_way_learns(graph, options):
    found = train(graph, model(dropout=0.3, norm="batch_norm"), parts=4, epochs=60, **options)
    assert (found.epoch, len(found.seconds), len(found.joined)) == (60, 60, 60)
    assert right_share(graph, found.model) > 0.9
    assert "4 parts: greatest load" in found.chosen[0]


@pytest.mark.parametrize("combine", ["average", "partial"])
def test_a_seed_gives_the_model(graph, combine):
    start = model(dropout=0.5)
    before = torch.get_rng_state()
    first, second, other = (
        train(graph, start, parts=3, epochs=5, combine=combine, seed=seed) for seed in (4, 4, 5)
    )
    assert first.losses == second.losses
    assert parameters(first).equal(parameters(second))
    assert first.losses != other.losses
    assert torch.get_rng_state().equal(before)


@pytest.mark.parametrize("combine", ["average", "partial"])
def test_a_training_goes_on_where_it_was(tmp_path, combine):
    start = model(dropout=0.5, norm="batch_norm")
    options = {"parts": 2, "combine": combine}
    with raydb.connect(tmp_path / "papers.raydb") as con:
        graph = fill(con)
        whole = train(graph, start, epochs=12, **options)
        part = train(graph, start, epochs=7, checkpoint="kept", checkpoint_every=3, **options)
        kept = con.execute("SELECT epoch, state IS NULL FROM kept ORDER BY epoch").fetchall()
        assert kept == [(epoch, epoch < 7) for epoch in range(1, 8)]
        again = part.resume(5)
        assert again.losses == whole.losses
        assert con.execute("SELECT max(epoch) FROM kept WHERE state IS NOT NULL").fetchone() == (
            12,
        )
        con.execute("DELETE FROM kept WHERE epoch > 7")
        with pytest.raises(raydb.OperationalError, match="'kept' has no state to go on from"):
            train(graph, start, epochs=12, checkpoint="kept", resume=True, **options)
        con.execute("DROP TABLE kept")
        train(graph, start, epochs=7, checkpoint="kept", resume=True, **options)
        with pytest.raises(raydb.ProgrammingError, match="'kept' is there already; resume=True"):
            train(graph, start, epochs=7, checkpoint="kept", **options)
    with raydb.connect(tmp_path / "papers.raydb") as con:
        graph = con.graph(nodes="paper", edges="cites")
        later = train(graph, model(norm="batch_norm", dropout=0.5), epochs=12, checkpoint="kept",
                      resume=True, **options)  # fmt: skip
        assert later.losses == whole.losses
        assert parameters(later).equal(parameters(whole))
        done = train(graph, start, epochs=12, checkpoint="kept", resume=True, **options)
        assert parameters(done).equal(parameters(whole))
        with pytest.raises(raydb.ProgrammingError, match="has the shape"):
            train(
                graph, model("GraphSAGE", 3), epochs=13, checkpoint="kept", resume=True, **options
            )
        con.execute("CREATE TABLE mine AS SELECT 1 AS epoch")
        with pytest.raises(raydb.ProgrammingError, match="'mine' is no checkpoint"):
            train(graph, start, epochs=3, checkpoint="mine", **options)


def workers():
    """Return the processes of trainings."""
    return [
        each for each in psutil.Process().children() if "raydb.engine.gnn.process" in each.cmdline()
    ]


class Own(torch.nn.Module):
    """A class that no other process can import."""

    def __init__(self):
        super().__init__()
        self.first = nn.SAGEConv(WIDTH, 8)
        self.second = nn.GCNConv(8, CLASSES)

    def forward(self, x, edge_index):
        x = torch.nn.functional.dropout(self.first(x, edge_index).relu(), 0.3, self.training)
        print("what a model prints is no answer")
        return self.second(x, edge_index)


@pytest.mark.parametrize("dependencies", ["cache", "communicate"])
def test_a_killed_worker_is_replaced(con, graph, dependencies):
    torch.manual_seed(0)
    start = Own()
    options = {"combine": "partial", "dependencies": dependencies, "parts": 2, "epochs": 8,
               "alpha": math.inf}  # fmt: skip
    expected = train(graph, start, **options)
    killed = []

    def kill(step, share):
        if step == "train" and share >= 0.5 and not killed:
            (_, process) = workers()
            killed.append(process.pid)
            process.kill()

    con.progress = kill
    found = train(graph, start, cluster="local", **options)
    con.progress = None
    assert killed
    assert found.replaced == 1
    assert found.losses == expected.losses
    assert parameters(found).equal(parameters(expected))
    assert not workers()


def test_a_stopped_worker_is_not_waited_for(con, graph):
    stopped = []

    def stop(step, share):
        if step == "train" and share >= 0.5 and not stopped:
            stopped.append(workers()[2])
            stopped[0].send_signal(signal.SIGSTOP)

    con.progress = stop
    found = train(graph, model(), combine="partial", dependencies="cache", parts=3, epochs=12,
                  staleness=100, cluster="local")  # fmt: skip
    con.progress = None
    assert found.epoch == 12
    assert found.joined[:3] == [(0, 1, 2)] * 3
    assert found.joined[7:] == [(0, 1)] * 5
    assert not workers()


@pytest.mark.parametrize("cluster", [None, "local"])
def test_ctrl_c_keeps_the_last_checkpoint(con, graph, cluster):
    def press(step, share):
        if step == "train" and share >= 0.5:
            os.kill(os.getpid(), signal.SIGINT)

    start = model()
    options = {"parts": 2, "epochs": 20, "checkpoint": "kept", "checkpoint_every": 4}
    con.progress = press
    with pytest.raises(KeyboardInterrupt):
        train(graph, start, cluster=cluster, **options)
    con.progress = None
    assert not workers()
    assert con.execute("SELECT max(epoch) FROM kept WHERE state IS NOT NULL").fetchone() == (8,)
    whole = train(graph, start, parts=2, epochs=20)
    assert train(graph, start, resume=True, **options).losses == whole.losses


def test_interrupt_ends_a_training(con, graph):
    con.progress = lambda step, share: step == "train" and share > 0.1 and con.interrupt()
    with pytest.raises(raydb.OperationalError, match="interrupted"):
        train(graph, model(), parts=2, epochs=1000)
    con.progress = None
    assert con.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.long
def test_workers_of_a_cluster(con, graph, tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    (tmp_path / "their_models.py").write_text(
        "import torch\nfrom torch_geometric.nn import GraphSAGE\n"
        f"def sage():\n    return GraphSAGE({WIDTH}, 8, 2, {CLASSES}, dropout=0.3)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    options = {"train": "known", "parts": 3, "epochs": 6, "combine": "partial", "alpha": math.inf,
               "dependencies": "communicate"}  # fmt: skip
    alone = raydb.gnn.train(graph, "their_models:sage", "y", **options)
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        with pytest.raises(raydb.ProgrammingError, match="say model='module:function'"):
            train(graph, model(), cluster=client)
        (process, *_) = client.run(os.getpid).values()
        lost = threading.Timer(0.0, lambda: os.kill(process, signal.SIGKILL))

        def lose(step, share):
            if step == "train" and share >= 0.5 and not lost.ident:
                lost.start()

        con.progress = lose
        found = raydb.gnn.train(graph, "their_models:sage", "y", cluster=client, **options)
        con.progress = None
    assert found.losses == alone.losses
    assert parameters(found).equal(parameters(alone))


@pytest.mark.long
@pytest.mark.parametrize("count", [1, 2])
def test_a_silent_worker_of_a_cluster_is_lost(con, graph, tmp_path, monkeypatch, count):
    """Its parts go to another one; where there is none, that is said."""
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    (tmp_path / "quiet_models.py").write_text(
        "from torch_geometric.nn import GraphSAGE\n"
        f"def sage():\n    return GraphSAGE({WIDTH}, 8, 2, {CLASSES}, dropout=0.3)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    # Each of two workers has five parts.
    options = {"train": "known", "parts": 10, "epochs": 6, "combine": "average"}
    alone = raydb.gnn.train(graph, "quiet_models:sage", "y", **options)
    con.execute("SET worker_timeout = 2000")
    cluster = distributed.LocalCluster(
        n_workers=count, threads_per_worker=1, dashboard_address=None
    )
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        (process, *_) = client.run(os.getpid).values()
        stopped = []

        def stop(step, share):
            if step == "train" and share >= 0.5 and not stopped:
                stopped.append(process)
                os.kill(process, signal.SIGSTOP)

        con.progress = stop
        try:
            if count == 1:
                with pytest.raises(raydb.OperationalError, match="the cluster has no other one"):
                    raydb.gnn.train(graph, "quiet_models:sage", "y", cluster=client, **options)
                return
            found = raydb.gnn.train(graph, "quiet_models:sage", "y", cluster=client, **options)
        finally:
            con.progress = None
            os.kill(process, signal.SIGCONT)
    assert found.replaced == 1
    assert found.losses == alone.losses
    assert parameters(found).equal(parameters(alone))


class Alone(torch.nn.Module):
    def forward(self, x, edge_index):
        return x


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        ({"target": "z"}, raydb.ProgrammingError, "have no feature 'z'; they have 'x'"),
        ({"features": "z"}, raydb.ProgrammingError, "have no feature 'z'"),
        ({"train": "y"}, raydb.ProgrammingError, "is the name of a BOOLEAN"),
        ({"train": []}, raydb.ProgrammingError, "no node is trained on"),
        ({"train": [5000]}, raydb.ProgrammingError, "have no node number 5000"),
        ({"parts": 241}, raydb.ProgrammingError, "241 parts are more than the 240 nodes"),
        ({"model": "a model"}, raydb.ProgrammingError, "is not a function"),
        ({"model": "math:sqrt"}, raydb.ProgrammingError, "is not a function"),
        ({"model": "json:JSONDecoder"}, raydb.ProgrammingError, "has not made a torch.nn.Module"),
        ({"model": 7}, raydb.ProgrammingError, "the model is a torch.nn.Module, .* not 7"),
        ({"model": Alone()}, raydb.NotSupportedError, "has no layer of PyG's MessagePassing"),
        ({"model": model().half()}, raydb.NotSupportedError, "is torch.float16 on cpu"),
        ({"features": "y"}, raydb.ProgrammingError, "cannot be run as .* over 1 features"),
        ({"lr": 1e30, "epochs": 50}, raydb.DataError, "the loss of epoch .* is nan: a smaller lr"),
        ({"checkpoint": "paper"}, raydb.ProgrammingError, "'paper' is no checkpoint"),
        ({"nodes": "SELECT id, x, y - 1 AS y FROM paper"}, raydb.DataError, "is -1; classes"),
        ({"nodes": "SELECT id, x, y + 1 AS y FROM paper"}, raydb.ProgrammingError, "3 classes"),
        ({"nodes": "SELECT id, x, nullif(y, 1) AS y FROM paper"}, raydb.DataError, "'y' .*NULL"),
        ({"nodes": "SELECT id, x, [y, y]::INT[2] AS y FROM paper"}, raydb.ProgrammingError, "list"),
    ],
)  # fmt: skip
def test_wrong_use(con, graph, call, error, sentence):
    call = dict(call)
    if "nodes" in call:
        graph = con.graph(nodes=call.pop("nodes"), edges="cites")
    given = {"parts": 2, "epochs": 2, "target": "y", **call}
    with pytest.raises(error, match=sentence):
        raydb.gnn.train(graph, given.pop("model", None) or model(), **given)
    assert [name for (name, *_) in con.execute("SHOW TABLES").fetchall()] == ["cites", "paper"]


def test_values_are_learnt_and_several_kinds_are_not(con, graph):
    values = con.graph(nodes="SELECT id, x, x[1] + x[2] AS y FROM paper", edges="cites")
    torch.manual_seed(0)
    found = raydb.gnn.train(values, nn.GraphSAGE(WIDTH, 8, 1, 1), "y", parts=2, epochs=150, lr=0.05)
    assert found.losses[-1] < 0.02 < found.losses[0]
    mixed = con.graph(nodes={"p": "paper", "q": "paper"}, edges={("p", "cites", "q"): "FROM cites"})
    with pytest.raises(raydb.NotSupportedError, match="for nodes and edges of one kind"):
        raydb.gnn.train(mixed, model(), "y")
