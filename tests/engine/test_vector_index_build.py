"""CREATE INDEX of vectors: its memory, its progress, and how it ends when it is interrupted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import raydb
from raydb.kernels.vector import graph_build, ivf

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


PLAIN = "CREATE INDEX near ON docs USING ivf (emb)"
CODED = "CREATE INDEX near ON docs USING ivf (emb) WITH (quantization = 'int8')"
JOINED = "CREATE INDEX near ON docs USING hnsw (emb)"


@pytest.mark.parametrize(("text", "enough"), [(PLAIN, 8), (CODED, 8), (JOINED, 24)])
def test_a_build_stays_within_memory_limit(con, text, enough):
    con.execute("SET memory_limit = '1MB'")
    with pytest.raises(raydb.OperationalError, match=r"index 'near' needs about .* memory_limit"):
        con.execute(text)
    assert indexes(con) == []
    con.execute(f"SET memory_limit = '{enough}MB'")
    con.execute(text)
    assert indexes(con) == [("near",)]
    with pytest.raises(raydb.OperationalError, match="index 'near' needs about"):
        con.execute("SET memory_limit = '1MB'; REINDEX near")
    assert indexes(con) == [("near",)]


@pytest.mark.parametrize(("text", "last"), [(CODED, "encode"), (JOINED, "join")])
def test_a_build_tells_how_far_it_is(con, text, last):
    told = []
    con.progress = lambda step, share: told.append((step, share))
    con.execute(text)
    steps = list(dict.fromkeys(step for step, _ in told))
    assert steps == [f"index near: {step} vectors" for step in ("train", "assign", "order", last)]
    assert all(0 <= share <= 1 for _, share in told)


@pytest.mark.parametrize("step", ["train", "assign", "order", "encode", "join"])
def test_an_interrupted_build_leaves_nothing_behind(con, step):
    text = JOINED if step == "join" else CODED

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


def test_an_interrupt_is_heard_while_a_graph_is_joined(con, monkeypatch):
    """Each loop over all vectors goes on in steps."""
    heard = []
    monkeypatch.setattr(graph_build, "_STEPS", 500)
    monkeypatch.setattr(graph_build, "check_interrupt", lambda: heard.append(1))
    con.execute(JOINED)
    # Who chose whom, and then what is reached: each vector is followed, and looked at once.
    assert len(heard) > COUNT // 500 + 2 * COUNT // 500 - 3


def clustered(seed, count, width=6):
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(1).normal(size=(12, width)) * 3
    return (centres[rng.integers(0, 12, count)] + rng.normal(size=(count, width))).astype("f4")


def add(connection, made, first):
    column = pa.FixedSizeListArray.from_arrays(pa.array(made.ravel()), made.shape[1])
    connection.register("made", pa.table({"id": range(first, first + len(made)), "emb": column}))
    connection.execute("INSERT INTO t SELECT * FROM made")
    connection.unregister("made")


@pytest.mark.parametrize("quantization", ["none", "int8"])
@pytest.mark.parametrize("metric", ["l2", "cosine", "ip"])
def test_reindex_puts_few_new_rows_into_the_lists_that_there_are(monkeypatch, metric, quantization):
    con = raydb.connect()
    con.execute("CREATE TABLE t (id INTEGER, emb FLOAT[6])")
    add(con, clustered(2, 2000), 0)
    options = f"metric = '{metric}', quantization = '{quantization}', lists = 40"
    con.execute(f"CREATE INDEX i ON t USING ivf (emb) WITH ({options})")
    trained = []
    train = ivf.train
    monkeypatch.setattr(ivf, "train", lambda *given: trained.append(1) or train(*given))
    add(con, clustered(3, 120), 2000)
    con.execute("DELETE FROM t WHERE id % 50 = 7; UPDATE t SET emb = emb WHERE id % 100 = 8")
    con.execute("REINDEX i")
    assert not trained
    counts = "SELECT lists, vectors, rows_beside FROM vector_indexes()"
    assert con.execute(counts).fetchall() == [(40, 2077, 0)]
    search = "SELECT id FROM vector_search(t, emb, $q, k => 10, nprobe => {}) ORDER BY rank"
    con.execute(
        f"CREATE TABLE u AS SELECT * FROM t; CREATE INDEX j ON u USING ivf (emb) WITH ({options})"
    )
    kept, made_anew = 0, 0
    for query in clustered(4, 60):
        every, some = (
            con.execute(search.format(lists), {"q": query}).fetchall() for lists in (40, 5)
        )
        kept += len(set(every) & set(some))
        other = con.execute(search.format(5).replace("(t,", "(u,"), {"q": query}).fetchall()
        made_anew += len(set(every) & set(other))
        numpy = con.execute(
            search.format(40).replace("nprobe => 40", "exact => true"), {"q": query}
        )
        assert numpy.fetchall() == every
    assert kept > made_anew - 15
    trained.clear()
    add(con, clustered(5, 500), 3000)
    con.execute("REINDEX i")
    assert trained


def test_many_rows_beside_an_index_are_told():
    con = raydb.connect()
    con.execute("CREATE TABLE t (id INTEGER, emb FLOAT[6]); CREATE INDEX i ON t USING ivf (emb)")
    search = "SELECT id FROM vector_search(t, emb, [1, 2, 3, 4, 5, 6], k => 3)"
    add(con, clustered(2, 5000), 0)
    assert con.execute(search).messages == []
    add(con, clustered(3, 1), 5000)
    ((_, told),) = con.execute(search).messages
    assert "5001 rows lie beside the 0 lists of index 'i'" in str(told)
    con.execute("REINDEX i")
    assert con.execute(search).messages == []
