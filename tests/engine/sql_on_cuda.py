"""SQL on the CUDA backend, from CREATE BVH to streams; run by `test_devices` in the simulator.

On a machine with a device, `pytest tests/engine/sql_on_cuda.py` runs it there.
"""

import re

import numpy as np
import pytest

import raydb
from raydb.kernels.backends.cuda import build as cuda_build
from raydb.kernels.backends.cuda import cuda_backend
from raydb.kernels.backends.cuda import list_scan as cuda_nearest
from raydb.kernels.backends.cuda.memory import Device, devices
from raydb.kernels.backends.device import DeviceError, faults
from raydb.kernels.bvh import partition as split

QUERY = "SELECT region, sum(price), count(*) FROM sale WHERE year < 2024 GROUP BY region ORDER BY 1"
LOCATED = (
    "SELECT region, max(price) FROM sale WHERE year < 2024 AND note = 'a' GROUP BY 1 ORDER BY 1"
)
RAN = re.compile(r"ran on: cuda \(\d+\.\d{3} ms on the device\)")
BVH = "CREATE BVH sales ON sale (SCAN (year), GROUP BY (region), AGGREGATE (price))"


@pytest.fixture
def con():
    connection = raydb.connect()
    connection.execute(
        "CREATE TABLE sale (region VARCHAR, year INTEGER, price INTEGER, note VARCHAR)"
    )
    connection.execute(
        "INSERT INTO sale SELECT CASE i % 3 WHEN 0 THEN 'n' WHEN 1 THEN 's' ELSE 'w' END, "
        "2020 + i % 7, i * i % 101 - 50, CASE i % 2 WHEN 0 THEN 'a' ELSE 'b' END "
        "FROM range(300) AS r(i)"
    )
    connection.execute("SET backend = 'cuda'")
    yield connection
    connection.close()
    devices()[0].columns.clear()
    faults.lost.clear()


def built_on(con):
    return con.execute("SELECT built_on FROM bvhs()").fetchone()[0]


def explain(con, text):
    return "\n".join(row[0] for row in con.execute(f"EXPLAIN ANALYZE {text}").fetchall())


def answers(con, *texts):
    """The answers of both backends, the CPU's last."""
    found = []
    for backend in ("cuda", "cpu"):
        con.execute(f"SET backend = '{backend}'")
        found.append([con.execute(text).fetchall() for text in texts])
    con.execute("SET backend = 'cuda'")
    return found


def test_a_bvh_is_built_on_the_device(con):
    cursor = con.execute(BVH)
    assert cursor.messages == []
    assert built_on(con) == "cuda"
    mine, theirs = answers(con, QUERY, LOCATED)
    assert mine == theirs
    assert RAN.search(explain(con, QUERY))
    # So are those that a later statement builds anew.
    con.execute("INSERT INTO sale VALUES ('n', 2021, 7, 'a')")
    con.execute("CHECKPOINT")
    assert built_on(con) == "cuda"
    mine, theirs = answers(con, QUERY)
    assert mine == theirs


def fail(*_):
    raise DeviceError("cuda: the device's memory is full")


def test_a_build_that_the_device_cannot_do_is_done_by_the_cpu(con, monkeypatch):
    monkeypatch.setattr(cuda_backend, "build_bvh", fail)
    cursor = con.execute(BVH)
    assert [str(message) for _, message in cursor.messages] == [
        "cuda: the device's memory is full; cpu built it"
    ]
    assert built_on(con) == "cpu (cuda: the device's memory is full)"
    # It is told once.
    assert con.execute(QUERY).messages == []
    con.execute("DROP BVH sales")
    con.execute("SET fallback = 'error'")
    with pytest.raises(raydb.OperationalError) as error:
        con.execute(BVH)
    assert str(error.value) == (
        "cuda: the device's memory is full; SET fallback = 'next' lets another backend answer"
    )
    assert con.execute("SELECT count(*) FROM bvhs()").fetchone() == (0,)


def test_a_build_in_little_memory(con):
    con.execute("SET device_memory = '5KB'")
    cursor = con.execute(BVH)
    assert "to sort 300 rows do not fit the device's memory; cpu built it" in str(
        cursor.messages[0][1]
    )


def test_an_interrupt_ends_a_build_on_the_device(con, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(cuda_build, "_find_offsets", interrupt)
    with pytest.raises(KeyboardInterrupt):
        con.execute(BVH)
    monkeypatch.undo()
    con.execute(BVH)
    assert built_on(con) == "cuda"


def test_device_memory_limits_what_is_kept(con):
    con.execute(BVH)
    whole, _ = answers(con, QUERY)
    kept = devices()[0].columns.size_bytes
    assert kept > 600
    con.execute("SET device_memory = '500B'")
    (turns,), (cpu,) = answers(con, QUERY)
    assert turns == cpu == whole[0]
    assert " turns)" in explain(con, QUERY)
    assert devices()[0].columns.size_bytes <= 500
    mine, theirs = answers(con, LOCATED)
    assert mine == theirs
    con.execute("SET device_memory = '20B'")
    cursor = con.execute(QUERY)
    assert "do not fit the device's memory; cpu answered" in str(cursor.messages[0][1])
    con.execute("RESET device_memory")
    assert con.execute(QUERY).messages == []


def test_deleted_rows_are_left_out(con):
    con.execute(BVH)
    con.execute("DELETE FROM sale WHERE price % 3 = 0")
    mine, theirs = answers(con, QUERY, LOCATED)
    assert mine == theirs
    assert "FusedScanAggregate" in explain(con, QUERY)


def test_several_devices(con, monkeypatch):
    found = tuple(Device(0) for _ in range(3))
    monkeypatch.setattr(cuda_backend, "devices", lambda: found)
    monkeypatch.setattr(split, "PART_ROWS", 100)
    con.execute(BVH)
    con.execute("DELETE FROM sale WHERE price % 3 = 0")
    mine, theirs = answers(con, QUERY, LOCATED)
    assert mine == theirs
    assert "3 devices" in explain(con, QUERY)
    assert all(device.columns.size_bytes for device in found)


def test_a_table_scan_says_where_it_ran(con, monkeypatch):
    monkeypatch.setattr("raydb.planner.stars.table_scan.MIN_ROWS", 0)
    mine, theirs = answers(con, QUERY)
    assert mine == theirs
    plan = explain(con, QUERY)
    assert "FusedTableScan" in plan
    assert RAN.search(plan)
    monkeypatch.setattr(cuda_backend, "_accumulate", fail)
    assert "ran on: cpu (cuda: the device's memory is full)" in explain(con, QUERY)
    con.execute(BVH)
    con.execute("INSERT INTO sale SELECT * FROM sale WHERE year > 2020")
    monkeypatch.setattr("raydb.planner.stars.delta.MIN_SCANNED", 0)
    plan = explain(con, QUERY)
    assert "DeltaScan" in plan
    assert plan.count("ran on: cpu (cuda: the device's memory is full)") == 2


def test_a_stream_tells_what_happened(con, monkeypatch):
    con.execute(BVH)
    text = f"SELECT 1 AS x, * FROM ({QUERY}) UNION ALL SELECT 2, 'z', 0, 0"
    expected = con.execute(text).fetchall()
    with monkeypatch.context() as patch:
        patch.setattr(cuda_backend, "_accumulate", fail)
        reader = con.stream(text)
        rows = reader.read_all()
        assert len(rows) == len(expected)
        [(kind, message)] = con.messages
        assert kind is raydb.Warning
        assert str(message) == "cuda: the device's memory is full; cpu answered"
        con.stream(QUERY).read_all()
        assert len(con.messages) == 1
    con.stream(QUERY).read_all()
    assert con.messages == []
    # A stream is read with the limit that is set, also after its statement.
    con.execute("SET device_memory = '20B'")
    con.stream(text).read_all()
    assert "do not fit" in str(con.messages[0][1])


def test_sums_are_the_same_to_the_last_digit(con):
    con.execute(BVH)
    rng = np.random.default_rng(3)
    for year in rng.integers(2019, 2029, 4):
        text = f"SELECT region, sum(price) FROM sale WHERE year >= {year} GROUP BY 1 ORDER BY 1"
        mine, theirs = answers(con, text)
        assert mine == theirs


VECTORS = "SELECT id, rank, distance, probes FROM vector_search(docs, emb, $q, k => 5, nprobe => 2)"


@pytest.fixture
def docs(con):
    rng = np.random.default_rng(4)
    vectors = rng.normal(size=(120, 4)).astype(np.float32)
    con.execute("CREATE TABLE docs (id INTEGER, lang VARCHAR, emb FLOAT[4])")
    con.executemany(
        "INSERT INTO docs VALUES (?, ?, ?)",
        [(n, "en" if n % 3 else "de", list(map(float, v))) for n, v in enumerate(vectors)],
    )
    con.execute("CREATE INDEX near ON docs USING ivf (emb) WITH (lists = 8, seed = 1)")
    return con


def test_vectors_are_searched_on_the_device(docs, monkeypatch):
    searched = []
    kept = cuda_nearest.search_on_device

    def noted(*arguments, **options):
        searched.append(len(arguments[1]))
        return kept(*arguments, **options)

    monkeypatch.setattr(cuda_nearest, "search_on_device", noted)
    query = {"q": [0.3, -0.2, 1.0, 0.1]}
    filtered = f"{VECTORS} WHERE lang = 'en'"

    def ask(text):
        found = []
        for backend in ("cuda", "cpu"):
            docs.execute(f"SET backend = '{backend}'")
            cursor = docs.execute(text, query)
            told = [str(message) for _, message in cursor.messages]
            assert all(each.startswith("WHERE has left out") for each in told)
            assert bool(told) == (text == filtered)
            found.append(cursor.fetchall())
        return found

    for text in (VECTORS, filtered):
        mine, theirs = ask(text)
        assert mine
        assert mine == theirs
    docs.execute("DELETE FROM docs WHERE id % 4 = 0")
    mine, theirs = ask(VECTORS)
    assert mine == theirs
    assert len(searched) == 3


def test_a_search_that_the_device_cannot_do_is_done_by_the_cpu(docs, monkeypatch):
    query = {"q": [0.3, -0.2, 1.0, 0.1]}
    expected = docs.execute(VECTORS, query).fetchall()
    docs.execute("SET device_memory = '1KB'")
    cursor = docs.execute(VECTORS, query)
    assert cursor.fetchall() == expected
    sentence = "cuda: the vectors of the index do not fit the device's memory"
    assert [str(message) for _, message in cursor.messages] == [f"{sentence}; cpu answered"]
    reader = docs.stream(VECTORS, query)
    assert len(reader.read_all()) == 5
    assert len(docs.messages) == 1
    docs.execute("SET fallback = 'error'")
    with pytest.raises(raydb.OperationalError) as error:
        docs.execute(VECTORS, query)
    assert str(error.value) == f"{sentence}; SET fallback = 'next' lets another backend answer"
    docs.execute("RESET device_memory")
    assert docs.execute(VECTORS, query).fetchall() == expected

    class IllegalAddressError(Exception):
        __module__ = "numba.cuda.cudadrv.driver"

    def lost(*_):
        raise IllegalAddressError("CUDA_ERROR_ILLEGAL_ADDRESS")

    docs.execute("SET fallback = 'next'")
    monkeypatch.setattr(cuda_nearest, "_compare", lost)
    for _ in range(2):  # A device that is lost stays so.
        cursor = docs.execute(VECTORS, query)
        assert cursor.fetchall() == expected
        assert "cuda: the device was lost: CUDA_ERROR_ILLEGAL_ADDRESS" in str(cursor.messages[0][1])
