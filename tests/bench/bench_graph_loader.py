"""Batches a second of PyG's NeighborLoader over a graph of tables, beside PyG's graph in memory.

    pip install torch torch-geometric
    python tests/bench/bench_graph_loader.py --nodes 200000 --edges 4000000 --batches 60

In memory are PyG's own `Data` and, where torch-sparse or pyg-lib is installed, its own sampler,
which then draws over the tables, too: the same seeds have to give the same batches, and without
fan-outs the same nodes and edges as our sampler. Features of "rows read" do not fit half of
memory_limit, so that each batch reads its rows. Times are those of the processor, on one thread;
medians of five runs and their range, new batches in each. The ways take turns.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader
from torch_geometric.typing import WITH_PYG_LIB, WITH_TORCH_SPARSE

import raydb

WIDTH, SEEDS, HOPS, RUNS = 128, 1024, [10, 5], 5


def make(folder: str, node_count: int, edge_count: int) -> tuple[str, Data]:
    """Make a database and the same graph in memory: targets by a power law, sources at random."""
    chance = np.random.default_rng(1)
    values = chance.standard_normal((node_count, WIDTH), dtype=np.float32)
    target = np.minimum((node_count * chance.random(edge_count) ** 3), node_count - 1).astype(int)
    source = chance.integers(0, node_count, edge_count)
    order = np.argsort(target, kind="stable")
    source, target = source[order], target[order]
    path = str(Path(folder) / "graph.raydb")
    with raydb.connect(path) as con:
        features = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), WIDTH)
        con.register("n", pa.table({"id": np.arange(node_count), "x": features}))
        con.register("e", pa.table({"a": source, "b": target}))
        con.execute("CREATE TABLE node AS FROM n; CREATE TABLE edge AS FROM e")
    ends = torch.from_numpy(np.stack([source, target]))
    return path, Data(x=torch.from_numpy(values), edge_index=ends)


def batches_of(
    data: Any, count: int, node_count: int, seed: int, sampler: Any = None, hops: list[int] = HOPS
) -> Any:
    """Return a loader of so many batches."""
    seeds = torch.from_numpy(
        np.random.default_rng(seed).choice(node_count, count * SEEDS, replace=False)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # It warns of a sampler that it will not have any more.
        return NeighborLoader(
            data, hops, input_nodes=seeds, batch_size=SEEDS, neighbor_sampler=sampler
        )


def check_same(memory: Data, graph: Any, node_count: int) -> None:
    """Draw with PyG's sampler over both, and all neighbours with ours, and compare."""
    for seed in range(3):
        pair = []
        for data in (memory, graph.data):
            torch.manual_seed(seed)
            pair.append(list(batches_of(data, 3, node_count, seed)))
        for one, other in zip(*pair, strict=True):
            assert one.n_id.equal(other.n_id)
            assert one.edge_index.equal(other.edge_index)
            assert one.x.equal(other.x)
    print("the same seeds gave the same batches")
    every = [-1]
    theirs = batches_of(memory, 3, node_count, 7, hops=every)
    ours = batches_of(graph.data, 3, node_count, 7, graph.sampler(every), every)
    for one, other in zip(theirs, ours, strict=True):
        assert set(one.n_id.tolist()) == set(other.n_id.tolist())
        ends = [
            torch.sort(part.n_id[part.edge_index[0]] * node_count + part.n_id[part.edge_index[1]])
            for part in (one, other)
        ]
        assert ends[0].values.equal(ends[1].values)
    print("both samplers gave the same nodes and edges where all neighbours are wanted")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=200_000)
    parser.add_argument("--edges", type=int, default=4_000_000)
    parser.add_argument("--batches", type=int, default=30)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        path, memory = make(folder, options.nodes, options.edges)
        con = raydb.connect(path)
        start = time.process_time()
        graph = con.graph(nodes="node", edges="edge")
        print(f"graph made in {time.process_time() - start:.2f} s of processor time")
        con.execute(f"SET memory_limit = '{options.nodes * WIDTH * 4 // 1000}KB'")
        small = con.graph(nodes="node", edges="edge")
        ways: dict[str, tuple[Any, Any]] = {
            "PyG in memory, our sampler": (memory, graph.sampler(HOPS)),
            "tables, features held, our sampler": (graph.data, graph.sampler(HOPS)),
            "tables, rows read, our sampler": (small.data, small.sampler(HOPS)),
        }
        if WITH_PYG_LIB or WITH_TORCH_SPARSE:
            ways["PyG in memory, its sampler"] = (memory, None)
            ways["tables, features held, its sampler"] = (graph.data, None)
            check_same(memory, graph, options.nodes)
        else:
            print("PyG's own sampler: neither pyg-lib nor torch-sparse is installed")
        found: dict[str, list[float]] = {name: [] for name in ways}
        nodes = 0
        for run in range(RUNS + 1):
            for name, (data, sampler) in ways.items():
                loader = batches_of(data, options.batches, options.nodes, run, sampler)
                start = time.process_time()
                nodes = sum(len(batch.n_id) for batch in loader)
                found[name].append(options.batches / (time.process_time() - start))
        for name, (_, *rates) in found.items():
            print(
                f"{name:40}{statistics.median(rates):8.1f} batches/s"
                f" ({min(rates):.1f} to {max(rates):.1f}), {nodes // options.batches} nodes each"
            )


if __name__ == "__main__":
    main()
