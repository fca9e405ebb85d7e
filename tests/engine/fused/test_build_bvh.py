"""CREATE BVH as a user meets it: progress, interrupts, memory_limit, and BVH on = BVH off."""

from __future__ import annotations

import re
import signal
import tempfile
import threading
import time

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import raydb
from raydb.engine.context.memory import machine_memory
from raydb.kernels.backends.cpu import blocks

CREATE = """CREATE BVH sales ON sale (
  SCAN (region, nation, day, kind), GROUP BY (city, shop_id),
  AGGREGATE (price, price * amount, weight))"""

QUERIES = [
    "SELECT nation, sum(price), count(price), count(*) FROM sale LEFT JOIN shop USING (shop_id) "
    "WHERE day < 20 GROUP BY nation ORDER BY nation",
    "SELECT city, kind, sum(price * amount), max(price) FROM sale JOIN shop USING (shop_id) "
    "WHERE region = 'R1' GROUP BY city, kind ORDER BY city, kind",
    "SELECT shop_id, city, sum(price), count(*) FROM sale LEFT JOIN shop USING (shop_id) "
    "WHERE shop_id > 60 OR shop_id IS NULL GROUP BY shop_id, city ORDER BY shop_id, city",
    "SELECT day, min(weight) FROM sale WHERE kind IN ('k1', 'k3') GROUP BY day ORDER BY day",
]


def fill(con, row_count, seed=3):
    """Make sales in shops: NULLs in keys, attributes and measures, and masked rows of both."""
    rng = np.random.default_rng(seed)
    con.execute("""
        CREATE TABLE shop (
          shop_id INTEGER PRIMARY KEY, city VARCHAR, nation VARCHAR, region VARCHAR);
        CREATE TABLE sale (shop_id INTEGER REFERENCES shop (shop_id), day INTEGER, kind VARCHAR,
          price DECIMAL(12, 2), amount INTEGER, weight DOUBLE)""")
    shops = [
        f"({n}, {'NULL' if n % 9 == 0 else repr(f'C{n % 60}')}, 'N{n % 20}', 'R{n % 5}')"
        for n in range(120)
    ]
    con.execute(f"INSERT INTO shop VALUES {', '.join(shops)}")

    def column(values, share=0.1):
        return pa.array(values, mask=rng.random(row_count) < share)

    rows = pa.table(
        {
            "shop_id": column(rng.integers(0, 120, row_count).astype("i4")),
            "day": column(rng.integers(-5, 30, row_count).astype("i4")),
            "kind": column(np.char.add("k", rng.integers(0, 5, row_count).astype(str))),
            "price": column(rng.integers(-500, 10**6, row_count).astype("i4")),
            "amount": column(rng.integers(0, 100, row_count).astype("i4")),
            "weight": column(rng.integers(0, 100, row_count) / 4, 0),
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        parquet.write_table(rows, f"{folder}/sale.parquet")
        con.execute(f"COPY sale FROM '{folder}/sale.parquet'")


@pytest.fixture
def con(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 1000)
    monkeypatch.setattr(blocks, "THREAD_ROWS", 3000)
    with raydb.connect() as connection:
        yield connection


def bvh_names(con):
    return [name for (name,) in con.execute("SELECT name FROM bvhs()").fetchall()]


@pytest.mark.parametrize("limits", [{}, {"build.DENSE_CELLS": 0}, {"build.COUNTED_CELLS": 0}])
@pytest.mark.parametrize("row_count", [0, 1, 9000])
def test_answers_are_those_without_a_bvh(con, row_count, limits, monkeypatch):
    for name, limit in limits.items():
        monkeypatch.setattr(f"raydb.kernels.backends.cpu.{name}", limit)
    monkeypatch.setattr("raydb.kernels.bvh.encode.BLOCK_ROWS", 700)
    fill(con, row_count)
    for change in (None, "DELETE FROM sale WHERE amount % 7 = 1 OR shop_id % 10 = 3"):
        if change:
            con.execute(change)
            con.execute("DELETE FROM shop WHERE shop_id % 10 = 3")
            con.execute("DROP BVH sales")
        con.execute(CREATE)
        if row_count:
            (explained,) = con.execute(f"EXPLAIN {QUERIES[1]}").fetchone()
            assert "FusedScanAggregate" in explained or any(
                "bvh: sales" in line for (line,) in con.execute(f"EXPLAIN {QUERIES[1]}").fetchall()
            )
        fused = [con.execute(query).fetchall() for query in QUERIES]
        con.execute("SET fused_path = 'off'")
        assert fused == [con.execute(query).fetchall() for query in QUERIES]
        con.execute("SET fused_path = 'on'")


def test_a_foreign_key_has_the_codes_of_what_lies_behind_it(con):
    fill(con, 9000)
    sizes = []
    for group_by in ("city", "city, shop_id"):
        con.execute(f"CREATE BVH b ON sale (SCAN (day), GROUP BY ({group_by}), AGGREGATE (price))")
        sizes += con.execute("SELECT size_bytes FROM bvhs()").fetchone()
        con.execute("DROP BVH b")
    assert sizes[1] - sizes[0] < 9000


def test_progress_names_the_steps_and_ends_each_at_one(con):
    fill(con, 9000)
    heard = []
    con.progress = lambda step, share: heard.append((step, share))
    con.execute(CREATE)
    steps = list(dict.fromkeys(step for step, _ in heard))
    assert steps == [f"BVH sales: {name} rows" for name in ("encode", "count", "place")]
    for step in steps:
        shares = [share for name, share in heard if name == step]
        assert shares == sorted(shares)
        assert shares[-1] == 1
    heard.clear()
    con.progress = None
    con.execute("DROP BVH sales")
    con.execute(CREATE)
    assert not heard


@pytest.mark.parametrize("kind", ["parquet", "csv", "tbl", "flat"])
def test_copy_says_how_much_is_read(con, kind, tmp_path):
    fill(con, 9000)
    path = tmp_path / f"sales.{'csv' if kind == 'tbl' else kind}"
    con.execute("CREATE TABLE copy (day INTEGER, amount INTEGER)")
    con.execute(f"COPY (SELECT day, amount FROM sale) TO '{path}'")
    if kind == "tbl":
        lines = path.read_text().splitlines()[1:]
        path = tmp_path / "sales.tbl"
        path.write_text("".join(f"{line.replace(',', '|')}|\n" for line in lines))
    heard = []
    con.progress = lambda step, share: heard.append((step, share))
    con.execute(f"COPY copy FROM '{path}'")
    assert heard[-1] == ("COPY copy: check rows", 0.0)
    shares = [share for step, share in heard if step == "COPY copy: read"]
    assert shares == sorted(shares)
    assert kind == "flat" or shares[-1] == 1


def test_copy_of_several_files_counts_them_together(con, tmp_path):
    for number in range(3):
        (tmp_path / f"part{number}.tbl").write_text("1|\n" * 100)
    con.execute("CREATE TABLE t (a INTEGER)")
    shares = []
    con.progress = lambda step, share: shares.append(share) if "read" in step else None
    con.execute(f"COPY t FROM '{tmp_path}/part*.tbl'")
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert min(shares) <= 1 / 3


@pytest.mark.parametrize("limits", [{}, {"build.COUNTED_CELLS": 0}])
@pytest.mark.parametrize("in_transaction", [False, True])
def test_an_interrupt_at_any_step_leaves_the_catalog(con, limits, in_transaction, monkeypatch):
    for name, limit in limits.items():
        monkeypatch.setattr(f"raydb.kernels.backends.cpu.{name}", limit)
    fill(con, 9000)
    if in_transaction:
        con.begin()
    reports = []
    con.progress = lambda step, _: reports.append(step)
    con.execute(CREATE)
    con.execute("DROP BVH sales")
    count = len(reports)
    assert len(set(reports)) == (3 if not limits else 5)
    before = con.execute(QUERIES[0]).fetchall()
    for number in range(0, count, 2):
        left = iter(range(number))

        def interrupt(*_, left=left):
            if next(left, None) is None:
                raise KeyboardInterrupt

        con.progress = interrupt
        with pytest.raises(KeyboardInterrupt):
            con.execute(CREATE)
        con.progress = None
        assert bvh_names(con) == []
    assert con.execute(QUERIES[0]).fetchall() == before
    con.execute(CREATE)
    assert bvh_names(con) == ["sales"]


def test_a_signal_is_heard_within_a_block(con, monkeypatch):
    """Ctrl-C while every thread is at work ends the statement long before it would have ended."""
    fill(con, 9000)
    original = blocks.Build.cells_of

    def slow(self, low, high):
        time.sleep(0.05)
        return original(self, low, high)

    monkeypatch.setattr(blocks.Build, "cells_of", slow)
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 10)  # 900 blocks: 22 s and more
    # A process that was started in the background ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        con.execute(CREATE)
    assert time.monotonic() - start < 10
    timer.join()
    signal.signal(signal.SIGINT, before)
    assert bvh_names(con) == []


def test_a_build_beyond_the_memory_limit_says_what_it_needs(con):
    fill(con, 9000)
    con.execute("SET memory_limit = '100KB'")
    with pytest.raises(raydb.OperationalError) as error:
        con.execute(CREATE)
    found = re.fullmatch(
        r"BVH 'sales' needs about (\d+) KB, and memory_limit is 100 KB;"
        r" raise it with SET memory_limit or ask for less",
        str(error.value),
    )
    assert found
    assert int(found[1]) > 100
    assert bvh_names(con) == []
    con.execute("SET memory_limit = '10MB'")
    con.execute(CREATE)
    assert bvh_names(con) == ["sales"]


def test_a_share_of_the_machine_counts_the_bvhs_that_are_there(con):
    """A BVH takes from what a share of the machine leaves, as tables do."""
    from raydb.engine.context.memory import parse_limit

    fill(con, 9000)
    before = parse_limit("80%")
    con.execute(CREATE)
    (size,) = con.execute("SELECT size_bytes FROM bvhs()").fetchone()
    assert before - parse_limit("80%") >= size or machine_memory() * 8 // 10 < before
