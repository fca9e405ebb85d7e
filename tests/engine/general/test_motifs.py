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
from raydb.engine.general import motifs
from raydb.kernels.motif.shape import Motif
from raydb.planner.explain import motif_text

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
    return motif, motif_text(motif, ["a", "b", "c", "d"][:vertex_count])


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
    seed = hash((kind, ties)) % 10**6
    print(f"seed {seed}")
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
