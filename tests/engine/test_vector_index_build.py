"""CREATE INDEX ... USING ivf: its memory, its progress, and how it ends when it is interrupted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import raydb

WIDTH, COUNT = 32, 8_000


@pytest.fixture
def con(tmp_path):
    rng = np.random.default_rng(1)
    made = rng.normal(size=(COUNT, WIDTH)).astype(np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(made.ravel(), WIDTH)
    with raydb.connect(tmp_path / "db") as con:
        con.register("made", pa.table({"id": np.arange(COUNT), "emb": vectors}))
        con.execute("CREATE TABLE docs AS SELECT * FROM made")
        yield con


def indexes(con):
    return con.execute("SELECT name FROM vector_indexes() ORDER BY name").fetchall()


@pytest.mark.parametrize("quantization", ["none", "int8"])
def test_a_build_stays_within_memory_limit(con, quantization):
    text = f"CREATE INDEX near ON docs USING ivf (emb) WITH (quantization = '{quantization}')"
    con.execute("SET memory_limit = '1MB'")
    with pytest.raises(raydb.OperationalError, match="index 'near' needs about .* memory_limit"):
        con.execute(text)
    assert indexes(con) == []
    con.execute("SET memory_limit = '8MB'")
    con.execute(text)
    assert indexes(con) == [("near",)]
    with pytest.raises(raydb.OperationalError, match="index 'near' needs about"):
        con.execute("SET memory_limit = '1MB'; REINDEX near")
    assert indexes(con) == [("near",)]


def test_a_build_tells_how_far_it_is(con):
    told = []
    con.progress = lambda step, share: told.append((step, share))
    con.execute("CREATE INDEX near ON docs USING ivf (emb) WITH (quantization = 'int8')")
    steps = list(dict.fromkeys(step for step, _ in told))
    assert steps == [f"index near: {step} vectors" for step in ("train", "assign", "order", "encode")]
    assert all(0 <= share <= 1 for _, share in told)


@pytest.mark.parametrize("step", ["train", "assign", "order", "encode"])
def test_an_interrupted_build_leaves_nothing_behind(con, step):
    text = "CREATE INDEX near ON docs USING ivf (emb) WITH (quantization = 'int8')"

    def stop(name, _share):
        if name == f"index near: {step} vectors":
            raise KeyboardInterrupt

    con.progress = stop
    with pytest.raises(KeyboardInterrupt):
        con.execute(text)
    con.progress = None
    assert indexes(con) == []
    con.execute(text)
    assert indexes(con) == [("near",)]
