"""A writer that is killed at any moment loses no statement that it acknowledged, and tears none.

RAYDB_KILLS=150 pytest tests/engine/test_kill_writer.py    for the long run
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import textwrap
import time

import pytest

import raydb

KILLS = int(os.environ.get("RAYDB_KILLS", "12"))

# Each step is a transaction over two tables; its number is printed once it is durable. Steps of
# every kind come by: log records, manifests with files, BVHs, checkpoints.
WRITER = textwrap.dedent(
    """
    import sys, raydb

    con = raydb.connect(sys.argv[1])
    step = con.execute("SELECT count(*) FROM step").fetchone()[0]
    print("ready", flush=True)
    while True:
        con.begin()
        con.execute("INSERT INTO step VALUES (?)", [step])
        con.execute("INSERT INTO item VALUES (?, 1), (?, 2)", [step, step])
        con.commit()
        print(step, flush=True)
        step += 1
        if step % 7 == 0:
            con.execute("CHECKPOINT")
        if step % 11 == 0:
            con.execute("DROP BVH IF EXISTS x")
            con.execute("CREATE BVH x ON item (SCAN (s), AGGREGATE (m))")
    """
)


@pytest.mark.long
def test_sigkill_at_random_moments(tmp_path):
    seed = int(os.environ.get("RAYDB_KILL_SEED", "1"))
    print(f"RAYDB_KILL_SEED={seed}")
    rng = random.Random(seed)
    path = tmp_path / "db"
    with raydb.connect(path) as con:
        con.execute("CREATE TABLE step (n INTEGER PRIMARY KEY)")
        con.execute("CREATE TABLE item (s INTEGER NOT NULL REFERENCES step (n), m INTEGER)")
    acknowledged = 0
    reader = raydb.connect(path, read_only=True)
    for _ in range(KILLS):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        time.sleep(rng.random() * 0.3)
        seen = check(reader)
        writer.kill()
        printed = [int(line) for line in writer.stdout.read().split("\n")[:-1]]
        writer.wait()
        acknowledged = max([acknowledged, *(n + 1 for n in printed)])
        found = check(reader)
        assert found >= max(acknowledged, seen), "an acknowledged step is lost"
        with raydb.connect(path) as con:
            # A step that was in flight may be there or not; once recovered, readers agree.
            recovered = check(con)
            assert recovered >= found
        assert check(reader) == recovered
        acknowledged = recovered
    reader.close()
    assert acknowledged > KILLS


def check(con):
    """Return the number of steps, after checking that each of them is whole."""
    con.begin()
    count, most = con.execute("SELECT count(*), max(n) FROM step").fetchone()
    assert count == (0 if most is None else most + 1)
    for path in ("on", "off"):
        con.execute(f"SET fused_path = '{path}'")
        rows, total = con.execute("SELECT count(*), sum(m) FROM item WHERE s >= 0").fetchone()
        assert (rows, total or 0) == (2 * count, 3 * count)
    con.commit()
    return count
