"""What `raydb compile` has compiled is all that the benchmark, searches and motifs need.

RAYDB_COMPILE=1 pytest tests/ssb/test_compiled_ahead.py
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


SEARCHES = """
CREATE TABLE doc AS SELECT range AS id, [sin(range), cos(range), range, 1]::FLOAT[4] AS v
    FROM range(2000);
SELECT id FROM vector_search(doc, v, [1, 0, 7, 1], k => 3);
CREATE INDEX doc_v ON doc USING ivf (v) WITH (lists = 20, quantization = 'int8');
SELECT id FROM vector_search(doc, v, [1, 0, 7, 1], k => 3);
DROP INDEX doc_v;
CREATE INDEX doc_v ON doc USING hnsw (v);
SELECT id FROM vector_search(doc, v, [1, 0, 7, 1], k => 3);
CALIBRATE INDEX doc_v WITH (fnr = 0.1);
DELETE FROM doc WHERE id % 9 = 2;
SELECT a.id, b.id FROM doc a, LATERAL vector_search(doc, v, a.v, k => 3) b;
VACUUM;
SELECT id FROM vector_search(doc, v, [1, 0, 7, 1], k => 10, fnr => 0.1);
CREATE TABLE said AS SELECT range AS id, 'red ' || range AS body FROM range(2000);
SELECT id FROM text_search(said, body, 'red 5');
CREATE INDEX said_body ON said USING fts (body);
INSERT INTO said VALUES (9000, 'red');
SELECT id FROM text_search(said, body, 'red 5', all_words => true);
DELETE FROM said WHERE id % 9 = 2;
SELECT id FROM text_search((FROM said WHERE id > 70), body, 'red 5');
CREATE TABLE pays AS SELECT range * 7 % 60 AS s, range * 11 % 53 AS d, range AS t FROM range(900);
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'cycle(3)',
    delta => 60);
SELECT estimate FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'cycle(3)',
    delta => 60, method => 'timest', rel_error => 0.5, seed => 1);
SELECT estimate FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'path(3)',
    delta => 60, method => 'timest', rel_error => 0.5, where => 'e1.t + 5 < e2.t AND a > 3');
SELECT a, count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a--b, b->c',
    delta => 60, method => 'exact', where => 'e1.t + 5 < e2.t AND a > 3', by => 'a');
SELECT a FROM motif_list(pays, src => 's', dst => 'd', time => 't', motif => 'path(3)', delta => 9)
    LIMIT 3;
"""


FILES = """
import numpy as np, pyarrow as pa, pyarrow.compute as pc, tempfile
from raydb.kernels.codecs import packed_loops
from raydb.storage.flat import open_table, write_table

random = np.random.default_rng(8)
texts = [f"a {a} of {b}: {a * b}" for a, b in random.integers(0, 99, (30_000, 2))]
table = pa.table({
    "day": pa.array(random.integers(0, 2500, 30_000).astype(np.int32), pa.date32()),
    "key": np.repeat(np.arange(10_000), 3), "price": random.integers(0, 10**6, 30_000) / 100,
    "text": pa.array(texts, mask=random.random(30_000) < 0.1), "large": pa.array(texts, "binary"),
    "small": random.integers(0, 9, 30_000).astype(np.uint8), "ok": random.random(30_000) < 0.5,
})
with tempfile.TemporaryDirectory() as folder:
    write_table(table, folder + "/a.flat")
    flat = open_table(folder + "/a.flat")
    assert flat.scan().equals(table)
    assert flat.take([7, 29_000]).equals(table.take([7, 29_000]))
    flat.scan(["text"], pc.field("text") == texts[5])
"""


@pytest.mark.skipif(
    "RAYDB_COMPILE" not in os.environ,
    reason="every loop is compiled, in 3 minutes: RAYDB_COMPILE=1",
)
def test_nothing_more_is_compiled(tmp_path: Path) -> None:
    folder = tmp_path / "loops"
    environment = os.environ | {"RAYDB_CACHE_DIR": str(folder)}

    def run(*arguments: str) -> set[str]:
        """Run a program; return the loops that are kept afterwards."""
        command = [sys.executable, *arguments]
        subprocess.run(command, check=True, cwd=tmp_path, env=environment, capture_output=True)
        return {path.name for path in folder.rglob("*.nbc")}

    compiled = run("-m", "raydb", "compile")
    assert compiled
    options = ("--sf", "0.01", "--repeat", "1", "--check", "none", "--beside", "none")
    assert run("-m", "raydb.ssb", "run", *options) == compiled
    assert run("-m", "raydb", "shop.raydb", "--bail", "-c", SEARCHES) == compiled
    assert run("-c", FILES) == compiled
