"""Training over parts: accuracy beside one process, a slow worker, and slow links.

    python tests/bench/bench_graph_training.py --parts accuracy --planetoid FOLDER
    python tests/bench/bench_graph_training.py --parts slow
    sudo python tests/bench/bench_graph_training.py --parts links --rates 20 100 500

The first compares with a loop over the whole graph of torch and PyG alone, whose model, features,
seeds and Adam are the same: the share of test nodes that are told right, over 10 seeds. FOLDER has
the files ind.cora.* and others of planetoid (github.com/kimiyoung/planetoid), pickles, which
run what they say: only those of that source. The second gives one of four workers a quarter of a
processor (--share: less, where others leave the machine less than that to each), by a cgroup where
that may be made, else by stopping it the rest of the time. The
third needs root: four workers of Dask, each in a network namespace whose link has a token bucket.
Times are those of a clock, and ways take turns.
"""

from __future__ import annotations

import argparse
import copy
import os
import pickle
import signal
import statistics
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import psutil
import pyarrow as pa
import torch
from torch_geometric.nn import GCN, GraphSAGE

import raydb

if TYPE_CHECKING:
    from collections.abc import Iterator

EPOCHS, HIDDEN = 100, 32


class Case(NamedTuple):
    """Features (n, width), classes, edges (2, m), nodes to train on and to test with."""

    x: np.ndarray
    y: np.ndarray
    edges: np.ndarray
    train: np.ndarray
    test: np.ndarray


def planetoid(folder: Path, name: str) -> Case:
    """Return a graph of planetoid with its public division."""

    def load(part: str) -> Any:
        with (folder / f"ind.{name}.{part}").open("rb") as file:
            return pickle.load(file, encoding="latin1")

    tested = np.loadtxt(folder / f"ind.{name}.test.index", dtype=int)
    first = len(load("ally"))
    x = np.zeros((max(tested) + 1, load("allx").shape[1]))
    y = np.zeros((len(x), load("ally").shape[1]))
    # Citeseer has nodes between those of the test that nothing is known of.
    x[:first], y[:first] = load("allx").toarray(), load("ally")
    x[tested], y[tested] = load("tx").toarray(), load("ty")
    x /= np.maximum(x.sum(1, keepdims=True), 1e-9)
    pairs = {(u, v) for u, near in load("graph").items() for v in near if u != v}
    pairs |= {(v, u) for u, v in pairs}
    edges = np.array(sorted(pairs)).T
    train = np.arange(len(load("y")))
    return Case(x.astype(np.float32), y.argmax(1), edges, train, np.sort(tested))


def sbm(count: int, width: int, degree: int, classes: int = 7, power: float = 1.0) -> Case:
    """Return a graph whose classes are blocks, seven of ten edges inside; noisy features.

    power: in-degrees follow one above 1.
    """
    draw = np.random.default_rng(3)
    y = draw.integers(0, classes, count)
    x = draw.standard_normal((count, width)).astype(np.float32)
    x[np.arange(count), y] += 1.0
    target = np.minimum((count * draw.random(count * degree) ** power), count - 1).astype(int)
    source = draw.integers(0, count, count * degree)
    members = [np.flatnonzero(y == each) for each in range(classes)]
    for each in range(classes):
        own = np.flatnonzero((y[target] == each) & (draw.random(len(target)) < 0.65))
        source[own] = draw.choice(members[each], len(own))
    order = draw.permutation(count)
    return Case(x, y, np.stack([source, target]), order[: count // 20], order[count // 2 :])


def graph_of(con: Any, case: Case) -> Any:
    """Return a graph of tables."""
    width = case.x.shape[1]
    is_trained = np.zeros(len(case.y), bool)
    is_trained[case.train] = True
    x = pa.FixedSizeListArray.from_arrays(pa.array(case.x.ravel()), width)
    rows = {"id": np.arange(len(case.y)), "x": x, "y": case.y, "known": is_trained}
    con.register("n", pa.table(rows))
    con.register("e", pa.table({"a": case.edges[0], "b": case.edges[1]}))
    con.execute("CREATE TABLE node AS FROM n; CREATE TABLE edge AS FROM e")
    return con.graph(nodes="node", edges="edge")


def right_share(model: Any, case: Case) -> float:
    """Return the share of test nodes, in percent, whose class a model tells."""
    with torch.no_grad():
        found = model.eval()(torch.from_numpy(case.x), torch.from_numpy(case.edges)).argmax(1)
    return 100 * float((found.numpy() == case.y)[case.test].mean())


def one_process(model: Any, case: Case, seed: int) -> None:
    """Train over the whole graph."""
    torch.manual_seed(seed)
    x, edges = torch.from_numpy(case.x), torch.from_numpy(case.edges)
    train, y = torch.from_numpy(case.train), torch.from_numpy(case.y)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    model.train()
    for _ in range(EPOCHS):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x, edges)[train], y[train]).backward()
        optimizer.step()


WAYS: dict[str, dict[str, Any]] = {
    "average": {"combine": "average"},
    "average, every 5": {"combine": "average", "every": 5},
    "partial, all computed": {"combine": "partial", "dependencies": "cache"},
    "partial, all received": {"combine": "partial", "dependencies": "communicate"},
}


def accuracy(cases: dict[str, Case], seeds: int) -> None:
    """Print the shares of one process and of each way, and by how much they differ."""
    for name, case in cases.items():
        with raydb.connect() as con:
            graph = graph_of(con, case)
            shares: dict[str, list[float]] = {way: [] for way in ("one process", *WAYS)}
            for seed in range(seeds):
                torch.manual_seed(seed)
                classes = int(case.y.max()) + 1
                start = GCN(case.x.shape[1], HIDDEN, 2, classes, dropout=0.5)
                alone = copy.deepcopy(start)
                one_process(alone, case, seed)
                shares["one process"].append(right_share(alone, case))
                for way, options in WAYS.items():
                    found = raydb.gnn.train(
                        graph, copy.deepcopy(start), "y", train="known", parts=4, epochs=EPOCHS,
                        weight_decay=5e-4, seed=seed, **options,
                    )  # fmt: skip
                    shares[way].append(right_share(found.model, case))
        alone_mean = statistics.mean(shares["one process"])
        for way, some in shares.items():
            mean = statistics.mean(some)
            print(
                f"{name:8}{way:24}{mean:7.2f} +- {statistics.stdev(some):.2f}"
                f" ({mean - alone_mean:+.2f})",
                flush=True,
            )


def training_processes() -> list[psutil.Process]:
    """Return the workers of this machine, in the order of their parts."""
    return [
        each for each in psutil.Process().children() if "raydb.engine.gnn.process" in each.cmdline()
    ]


@contextmanager
def share_of_a_processor(share: float) -> Iterator[Any]:
    """Give a function that slows a process down until the end."""
    folder = Path("/sys/fs/cgroup/cpu/raydb-slow")
    stop = threading.Event()
    threads = []

    def by_signals(process: psutil.Process) -> None:
        with suppress(psutil.NoSuchProcess):
            while not stop.is_set():
                process.send_signal(signal.SIGSTOP)
                time.sleep(0.04 * (1 - share))
                process.send_signal(signal.SIGCONT)
                time.sleep(0.04 * share)

    def slow(process: psutil.Process) -> None:
        if folder.exists():
            (folder / "cgroup.procs").write_text(str(process.pid))
            return
        threads.append(threading.Thread(target=by_signals, args=(process,)))
        threads[-1].start()

    with suppress(OSError):
        folder.mkdir()
        (folder / "cpu.cfs_period_us").write_text("40000")
        (folder / "cpu.cfs_quota_us").write_text(f"{int(40000 * share)}")
    try:
        yield slow
    finally:
        stop.set()
        for each in threads:
            each.join()
        with suppress(OSError):
            folder.rmdir()


def smooth(losses: list[float], width: int = 6) -> np.ndarray:
    """Return the mean of each loss and those before it: of an epoch some parts tell it."""
    return np.array([np.mean(losses[max(0, at - width + 1) : at + 1]) for at in range(len(losses))])


def slow_worker(runs: int, share: float) -> None:
    """Print how much sooner partial reduce comes to a loss than waiting for all."""
    case = sbm(16_000, 128, 12)
    ways = {"waiting for all": {"staleness": 1}, "partial reduce": {"staleness": 3, "alpha": 0.5}}
    ratios = []
    with raydb.connect() as con, share_of_a_processor(share) as slow:
        graph = graph_of(con, case)
        for run in range(runs):
            found = {}
            for way, options in ways.items():
                slowed = []

                def begin(step: str, share: float, slowed: list[Any] = slowed) -> None:
                    if step == "train" and not slowed:
                        slowed.append(training_processes()[3])
                        slow(slowed[0])

                torch.manual_seed(run)
                start = GraphSAGE(case.x.shape[1], 64, 2, 7, dropout=0.3)
                con.progress = begin
                found[way] = raydb.gnn.train(
                    graph, start, "y", train="known", parts=4, epochs=40, combine="partial",
                    dependencies="cache", cluster="local", seed=run, **options,
                )  # fmt: skip
                con.progress = None
            least = {way: smooth(each.losses) for way, each in found.items()}
            goal = 1.05 * max(each.min() for each in least.values())
            when = {
                way: each.seconds[int(np.argmax(least[way] <= goal))] for way, each in found.items()
            }
            ratios.append(when["waiting for all"] / when["partial reduce"])
            rounds = found["partial reduce"].joined
            print(
                f"run {run}: loss {goal:.3f} after {when['waiting for all']:.1f} s waiting for all,"
                f" {when['partial reduce']:.1f} s by partial reduce ({ratios[-1]:.2f} times), which"
                f" was without the slow one in {sum(3 not in each for each in rounds)} of"
                f" {len(rounds)} rounds",
                flush=True,
            )
    print(f"partial reduce: {statistics.median(ratios):.2f} times as fast (median of {runs})")


def sage() -> Any:
    """Return the model of the links' part, which workers import."""
    torch.manual_seed(0)
    return GraphSAGE(64, 32, 3, 7)


def shell(text: str, check: bool = True) -> None:
    """Run a command."""
    subprocess.run(text.split(), check=check, stderr=None if check else subprocess.DEVNULL)


@contextmanager
def namespaces(count: int) -> Iterator[None]:
    """Make namespaces raydb0, raydb1, .. with an address each, on a bridge of ours."""
    shell("ip link add raydbbr type bridge")
    try:
        shell("ip addr add 10.77.0.1/24 dev raydbbr")
        shell("ip link set raydbbr up")
        for each in range(count):
            shell(f"ip netns add raydb{each}")
            shell(f"ip link add raydbv{each} type veth peer name eth0 netns raydb{each}")
            shell(f"ip link set raydbv{each} master raydbbr up")
            shell(f"ip -n raydb{each} addr add 10.77.0.{10 + each}/24 dev eth0")
            shell(f"ip -n raydb{each} link set eth0 up")
            shell(f"ip -n raydb{each} link set lo up")
        yield
    finally:
        for each in range(count):
            shell(f"ip netns del raydb{each}", check=False)
        shell("ip link del raydbbr", check=False)


def limit(count: int, rate: int) -> None:
    """Let each link carry so many megabits a second each way."""
    bucket = f"tbf rate {rate}mbit burst {max(32, rate)}kb latency 200ms"
    for each in range(count):
        shell(f"tc qdisc replace dev raydbv{each} root {bucket}")
        shell(f"ip netns exec raydb{each} tc qdisc replace dev eth0 root {bucket}")


def links(rates: list[int], runs: int) -> None:
    """Print the seconds of an epoch by rate of the links and by how dependencies are handled."""
    import distributed

    case = sbm(12_000, 64, 12, power=3.0)
    count = 4
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "OMP_NUM_THREADS": "1"}
    with raydb.connect() as con, namespaces(count):
        graph = graph_of(con, case)
        cluster = distributed.LocalCluster(
            n_workers=0,
            processes=False,
            host="10.77.0.1",
            protocol="tcp://",
            dashboard_address=":0",
        )
        workers = [
            subprocess.Popen(
                ["ip", "netns", "exec", f"raydb{each}", sys.executable, "-m",
                 "distributed.cli.dask_worker", cluster.scheduler_address, "--no-nanny",
                 "--nthreads", "1", "--no-dashboard", "--memory-limit", "0",
                 "--host", f"10.77.0.{10 + each}"],
                env=environment, stderr=subprocess.DEVNULL,
            )
            for each in range(count)
        ]  # fmt: skip
        try:
            with distributed.Client(cluster, set_as_default=False) as client:
                client.wait_for_workers(count, timeout=120)
                for rate in rates:
                    limit(count, rate)
                    times: dict[str, list[float]] = {}
                    told = {}
                    for _ in range(runs):
                        for way in ("cache", "communicate", "auto"):
                            found = raydb.gnn.train(
                                graph, "bench_graph_training:sage", "y", train="known",
                                parts=count, epochs=8, combine="partial", alpha=float("inf"),
                                dependencies=way, cluster=client,
                            )  # fmt: skip
                            steps = np.diff(found.seconds)
                            times.setdefault(way, []).append(float(np.median(steps)))
                            told[way] = found.chosen[-1]
                    shown = ", ".join(
                        f"{way} {statistics.median(some):.3f} s" for way, some in times.items()
                    )
                    print(f"{rate} Mbit/s: an epoch takes {shown}; {told['auto']}", flush=True)
        finally:
            for each in workers:
                each.terminate()
                each.wait()
            cluster.close()


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", default=["accuracy", "slow"])
    parser.add_argument("--planetoid", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--share", type=float, default=0.25)
    parser.add_argument("--rates", type=int, nargs="+", default=[20, 100, 500])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if "accuracy" in options.parts:
        cases = {"SBM": sbm(3000, 16, 8)}
        if options.planetoid:
            names = sorted(each.name.split(".")[1] for each in options.planetoid.glob("ind.*.x"))
            cases |= {name: planetoid(options.planetoid, name) for name in names}
        accuracy(cases, options.seeds)
    if "slow" in options.parts:
        slow_worker(options.runs, options.share)
    if "links" in options.parts:
        links(options.rates, options.runs)


if __name__ == "__main__":
    main()
