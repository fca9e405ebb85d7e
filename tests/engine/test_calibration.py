"""CALIBRATE INDEX from SQL: what is promised holds, is kept, and is known to be stale."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

import raydb
from raydb.engine.catalog.database import Database
from raydb.engine.statements import calibrate
from raydb.kernels.vector import drift, graph_trace

WIDTH = 8
STATES = (
    "SELECT k, fnr, score, queries, null_queries, threshold, risk, state, rows_added, rows_deleted "
    "FROM index_calibrations('i') ORDER BY k, fnr, score"
)


def clustered(rng, count, centres):
    """Return vectors around some centres, so far from each that lists overlap."""
    made = centres[rng.integers(0, len(centres), count)]
    return (made + rng.normal(size=made.shape)).astype(np.float32)


def rows_of(vectors, first=0):
    column = pa.FixedSizeListArray.from_arrays(vectors.ravel(), vectors.shape[1])
    return pa.table({"id": range(first, first + len(vectors)), "emb": column})


def fill(con, table, vectors, first=0):
    con.register("added", rows_of(vectors, first))
    con.execute(f"INSERT INTO {table} SELECT * FROM added")
    con.unregister("added")


def database(path=None, rows=1500, lists=40, seed=0, metric="l2", method="ivf"):
    """Return a connection to 1,500 vectors in 40 lists, and 300 queries like them."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(30, WIDTH))
    con = raydb.connect() if path is None else raydb.connect(path)
    for table, count in (("t", rows), ("asked", 300)):
        con.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, emb FLOAT[{WIDTH}])")
        fill(con, table, clustered(rng, count, centres))
    options = f"lists = {lists}, metric = '{metric}'"
    con.execute(f"CREATE INDEX i ON t USING {method} (emb) WITH ({options})")
    return con, rng, centres


def missed_share(con, table, options, metric="l2"):
    """Return the mean share of the 10 nearest rows of `t` that a search misses, and its probes."""
    searched = "SELECT q.id AS q, d.id AS d, probes FROM {} q, LATERAL vector_search(t, emb, q.emb"
    found, probes = con.execute(
        f"WITH every AS ({searched}, k => 10, metric => '{metric}', exact => true) d), "
        f"some AS ({searched}, k => 10, metric => '{metric}', {options}) d) "
        "SELECT (SELECT count(*) FROM every JOIN some ON every.q = some.q AND every.d = some.d) "
        "/ (SELECT count(*)::DOUBLE FROM every), (SELECT avg(probes) FROM some)".format(
            table, table
        )
    ).fetchone()
    return 1 - found, probes


@pytest.mark.long
@pytest.mark.parametrize("score", ["ratio", "kth"])
@pytest.mark.parametrize("metric", ["l2", "cosine", "ip"])
def test_the_missed_share_is_near_the_promised_one(metric, score):
    """One split varies by some .01, so that the mean of several is looked at."""
    con, rng, centres = database(metric=metric)
    con.execute("CREATE TABLE new (id INTEGER, emb FLOAT[8])")
    fill(con, "new", clustered(rng, 600, centres))
    shares = {0.05: [], 0.2: []}
    for seed in range(4):
        con.execute("DELETE FROM asked")
        fill(con, "asked", clustered(rng, 600, centres), 1000 * seed)
        con.execute(
            "CALIBRATE INDEX i USING (SELECT emb FROM asked) "
            f"WITH (fnr = '0.05,0.2', score = '{score}', seed = {seed})"
        )
        for fnr, found in shares.items():
            found.append(missed_share(con, "new", f"fnr => {fnr}", metric)[0])
    for fnr, found in shares.items():
        print(f"fnr {fnr}: {found}")
        assert abs(np.mean(found) - fnr) < 0.025, (fnr, found)


@pytest.mark.long
@pytest.mark.parametrize("metric", ["l2", "cosine", "ip"])
def test_a_walk_misses_about_what_is_promised(metric):
    """A graph of few edges, along which many of the nearest rows are missed by short walks.

    Rows that a filter leaves are all compared.
    """
    con, rng, centres = database(rows=3000, metric=metric)
    con.execute("DROP INDEX i")
    con.execute(f"CREATE INDEX i ON t USING hnsw (emb) WITH (m = 2, metric = '{metric}')")
    con.execute("CREATE TABLE new (id INTEGER, emb FLOAT[8])")
    fill(con, "new", clustered(rng, 1500, centres))
    shares = {0.03: [], 0.1: []}
    for seed in range(5):
        con.execute("DELETE FROM asked")
        fill(con, "asked", clustered(rng, 800, centres), 1000 * seed)
        con.execute(
            "CALIBRATE INDEX i USING (SELECT emb FROM asked) "
            f"WITH (fnr = '0.03,0.1', seed = {seed})"
        )
        for fnr, found in shares.items():
            found.append(missed_share(con, "new", f"fnr => {fnr}", metric)[0])
    for fnr, found in shares.items():
        print(f"fnr {fnr}: {found}")
        # ef is a whole number, and may be more than is needed.
        assert fnr / 3 < np.mean(found) < fnr + 0.005, (fnr, found)
    searched = f"vector_search((FROM t WHERE emb[1] > 0.5), emb, q.emb, metric => '{metric}', {{}})"
    some, every = (
        con.execute(
            f"SELECT q.id, d.id FROM (FROM new LIMIT 50) q, LATERAL {searched.format(options)} d "
            "ORDER BY ALL"
        ).fetchall()
        for options in ("fnr => 0.1", "exact => true")
    )
    assert some == every


def test_deleted_rows_on_the_way_of_a_walk_are_part_of_a_promise():
    con, _, _ = database(method="hnsw")
    con.execute("DELETE FROM t WHERE id % 10 <> 0")
    con.execute("CALIBRATE INDEX i USING (SELECT emb FROM asked) WITH (fnr = '0.1')")
    ((risk,),) = con.execute("SELECT risk FROM index_calibrations()").fetchall()
    assert missed_share(con, "asked", "fnr => 0.1")[0] <= risk + 1e-9 <= 0.1


def test_no_walk_keeps_a_promise_that_it_cannot(monkeypatch):
    """Where no walk meets enough, all rows are compared."""
    monkeypatch.setattr(graph_trace, "MOST_EF", 12)
    con, rng, centres = database(rows=3000)
    con.execute("DROP INDEX i; CREATE INDEX i ON t USING hnsw (emb) WITH (m = 2)")
    con.execute("CALIBRATE INDEX i USING (SELECT emb FROM asked) WITH (fnr = '0.01,0.5')")
    assert con.execute(
        "SELECT fnr, threshold > 2000, risk < 0.5 FROM index_calibrations() ORDER BY fnr"
    ).fetchall() == [(0.01, True, True), (0.5, False, True)]
    search = "SELECT DISTINCT guarantee FROM vector_search(t, emb, ?, fnr => {})"
    query = clustered(rng, 1, centres)
    assert con.execute(search.format(0.01), [query[0]]).fetchall() == [("exact",)]
    assert con.execute(search.format(0.5), [query[0]]).fetchall() == [("marginal",)]
    told = str(con.execute("EXPLAIN " + search.format(0.01), [query[0]]).fetchall())
    assert "all rows are compared: no walk along the graph of 'i' finds enough" in told


@pytest.mark.long
def test_a_promise_takes_fewer_lists_than_a_fixed_number():
    con, _, _ = database(rows=4000, lists=64)
    con.execute("CALIBRATE INDEX i WITH (fnr = 0.1)")
    ((probes, fixed),) = con.execute(
        "SELECT mean_probes, fixed_nprobe FROM index_calibrations('i')"
    ).fetchall()
    assert probes < fixed
    _, searched = missed_share(con, "asked", "fnr => 0.1")
    assert abs(searched - probes) < 0.3 * probes


def test_a_held_out_row_does_not_count_for_itself():
    """Rows find themselves at once; a promise by them would be kept by the first list alone."""
    con, _, _ = database()
    con.execute("CALIBRATE INDEX i WITH (k = 1, fnr = 0.02)")
    con.execute("CALIBRATE INDEX i USING (SELECT emb FROM t) WITH (k = 1, fnr = 0.03)")
    by_source = dict(con.execute("SELECT source, mean_probes FROM index_calibrations()").fetchall())
    assert by_source["queries"] == 1
    assert by_source["held-out rows"] > 2


@pytest.mark.parametrize(
    ("way", "method"),
    [("reopen", "ivf"), ("checkpoint", "hnsw"), ("log", "ivf"), ("reader", "hnsw")],
)
def test_calibrations_are_kept(tmp_path, way, method):
    path = tmp_path / "db"
    con, _, _ = database(path, method=method)
    con.execute("INSERT INTO asked VALUES (1000, NULL)")
    con.execute("CALIBRATE INDEX i WITH (k = '3,10')")
    con.execute("CALIBRATE INDEX i USING (SELECT emb FROM asked) WITH (score = 'kth')")
    if way == "checkpoint":
        con.execute("CHECKPOINT")
    if way == "log":
        con.execute("DELETE FROM t WHERE id < 7")
    expected = con.execute(STATES).fetchall()
    assert {row[-3] for row in expected} == {"stale" if way == "log" else "fresh"}
    search = "SELECT id, probes, guarantee FROM vector_search(t, emb, ?, fnr => 0.05) ORDER BY rank"
    query = [np.linspace(-1, 1, WIDTH).astype(np.float32)]
    found = con.execute(search, query).fetchall()
    if way == "reader":
        with raydb.connect(path, read_only=True) as reader:
            assert reader.execute(STATES).fetchall() == expected
            assert reader.execute(search, query).fetchall() == found
            con.execute("CALIBRATE INDEX i WITH (k = 4, fnr = 0.5)")
            assert len(reader.execute(STATES).fetchall()) == len(expected) + 1
            with pytest.raises(raydb.OperationalError, match="read-only"):
                reader.execute("CALIBRATE INDEX i")
    con.close()
    with raydb.connect(path) as con:
        if way != "reader":
            assert con.execute(STATES).fetchall() == expected
            assert con.execute(search, query).fetchall() == found
        # The queries are kept with what they are for.
        con.execute("DROP TABLE asked; REINDEX i")
        again = con.execute(STATES).fetchall()
        assert {row[-3] for row in again} == {"fresh"}
        assert [row[:5] for row in again][: len(expected)] == [row[:5] for row in expected][
            : len(again)
        ] or way == "reader"
        con.execute("DROP INDEX i; CHECKPOINT")
    assert not list(path.rglob("*.cal"))


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "db"
    con, _, _ = database(path)
    con.execute("CALIBRATE INDEX i USING (SELECT emb FROM asked)")
    con.close()
    (file,) = path.rglob("*.cal")
    file.chmod(0o600)
    data = bytearray(file.read_bytes())
    data[-70] ^= 1
    file.write_bytes(data)
    with raydb.connect(path) as con, pytest.raises(raydb.OperationalError, match=r"\.cal"):
        con.execute("SELECT * FROM index_calibrations()")


@pytest.mark.parametrize("seed", range(3))
def test_changes_since_are_counted_through_everything(tmp_path, seed):
    """Beside a model: the ids at the time of each calibration, where an UPDATE makes a new row."""
    print(f"seed {seed}")
    chance = random.Random(seed)
    path = tmp_path / "db"
    con, rng, centres = database(path, rows=300, lists=10, seed=seed)
    con.execute("CALIBRATE INDEX i WITH (k = 2, fnr = 0.1)")
    then, now = set(range(300)), set(range(300))
    count, version = 300, 0
    for _ in range(25):
        match chance.choice(("insert", "delete", "update", "vacuum", "calibrate", "open", "undo")):
            case "insert":
                fill(con, "t", clustered(rng, 5, centres), count)
                now |= set(range(count, count + 5))
                count += 5
            case "delete":
                number = chance.randrange(count)
                con.execute("DELETE FROM t WHERE id = ?", [number])
                now = {each for each in now if int(each) != number}
            case "update":
                number = chance.randrange(count)
                con.execute("UPDATE t SET emb = emb WHERE id = ?", [number])
                version += 1
                # A whole number with another fraction is another version of the row.
                now = {number + version / 1000 if int(each) == number else each for each in now}
            case "vacuum":
                con.execute(chance.choice(("VACUUM", "CHECKPOINT")))
            case "calibrate":
                con.execute(chance.choice(("REINDEX i", "CALIBRATE INDEX i WITH (k=2, fnr=0.1)")))
                then = set(now)
            case "open":
                con.close()
                con = raydb.connect(path)
            case _:
                con.execute("BEGIN; DELETE FROM t WHERE id % 2 = 0; REINDEX i; ROLLBACK")
        expected = ("stale" if then != now else "fresh", len(now - then), len(then - now))
        ((*found, guarantees),) = con.execute(
            "SELECT state, rows_added, rows_deleted, (SELECT array_agg(DISTINCT guarantee) FROM "
            "vector_search(t, emb, [0, 0, 0, 0, 0, 0, 0, 0], k => 2, fnr => 0.1)) "
            "FROM index_calibrations('i')"
        ).fetchall()
        assert tuple(found) == expected
        assert guarantees in (["exact"], ["stale" if expected[0] == "stale" else "marginal"])
    con.close()


@pytest.mark.parametrize("where", ["memory", "disk"])
@pytest.mark.parametrize("moment", ["early", "late", "after"])
def test_an_interrupt_leaves_the_database_as_it_was(tmp_path, monkeypatch, where, moment):
    con, _, _ = database(None if where == "memory" else tmp_path / "db")
    con.execute("CALIBRATE INDEX i WITH (k = 5, fnr = 0.2)")
    before = con.execute(STATES).fetchall()
    calls = 0

    def interrupted(*_):
        nonlocal calls
        calls += 1
        if calls == {"early": 1, "late": 4}[moment]:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if moment == "after":
            define = Database.define

            def run(self, snapshot):
                define(self, snapshot)
                raise KeyboardInterrupt

            patch.setattr(Database, "define", run)
        else:
            patch.setattr(calibrate, "report", interrupted)
        with pytest.raises(KeyboardInterrupt):
            con.execute("CALIBRATE INDEX i WITH (k = '5,7', fnr = '0.1,0.2')")
    assert con.execute(STATES).fetchall() == before
    con.execute("CALIBRATE INDEX i WITH (k = '5,7', fnr = '0.1,0.2')")
    assert len(con.execute(STATES).fetchall()) == 4
    con.close()


def test_a_calibration_keeps_to_the_memory_limit():
    con, _, _ = database()
    con.execute("SET memory_limit = '20MB'")
    with pytest.raises(raydb.OperationalError, match=r"CALIBRATE INDEX 'i' needs about .* 20 MB"):
        con.execute("CALIBRATE INDEX i WITH (k = 100)")
    assert con.execute(STATES).fetchall() == []
    con.execute("RESET memory_limit; CALIBRATE INDEX i WITH (k = 100)")


def test_of_very_many_queries_some_are_kept(monkeypatch):
    con, _, _ = database()
    monkeypatch.setattr(calibrate, "MAX_QUERIES", 120)
    con.execute("INSERT INTO asked SELECT id + 1000, NULL FROM asked WHERE id < 7")
    con.execute("CALIBRATE INDEX i USING (SELECT emb FROM asked) WITH (fnr = 0.2)")
    assert con.execute(
        "SELECT queries, tuning_queries, null_queries FROM index_calibrations()"
    ).fetchall() == [(120, 0, 7)]


def test_progress_is_told():
    con, _, _ = database()
    told = []
    con.progress = lambda step, share: told.append((step, share))
    con.execute("CALIBRATE INDEX i")
    assert {step for step, _ in told} == {"index i: calibration"}
    assert told[-1][1] == 1.0


def test_a_drift_of_queries_is_told_once():
    con, rng, centres = database()
    con.execute("CALIBRATE INDEX i USING (SELECT emb FROM asked) WITH (fnr = 0.1)")
    text = "SELECT id FROM vector_search(t, emb, ?, fnr => 0.1)"
    for vector in clustered(rng, 400, centres):
        assert con.execute(text, [vector]).messages == []
    seen = "SELECT searched, recent_probes, log10_martingale, warning FROM index_calibrations('i')"
    ((searched, probes, level, warning),) = con.execute(seen).fetchall()
    assert (searched, warning) == (400, None)
    assert probes >= 1
    assert level < 2
    # Vectors lie in the middle of all lists from now on.
    messages = []
    for vector in rng.normal(size=(600, WIDTH)).astype(np.float32) / 5:
        messages += con.execute(text, [vector]).messages
    ((_, told),) = messages
    assert "k => 10, fnr => 0.1" in str(told)
    ((searched, _, level, warning),) = con.execute(seen).fetchall()
    assert searched == 1000
    assert level > np.log10(drift.WARNING)
    assert warning == str(told)
    # A new calibration begins anew, and ROLLBACK takes nothing back of what was seen.
    con.execute("BEGIN; CALIBRATE INDEX i WITH (fnr = 0.1)")
    assert con.execute(seen).fetchall() == [(0, None, 0.0, None)]
    con.execute("ROLLBACK")


def test_searches_of_a_filter_or_a_fixed_number_tell_nothing_of_a_drift():
    con, _, _ = database()
    con.execute("CALIBRATE INDEX i WITH (fnr = 0.1)")
    for options in ("nprobe => 3", "exact => true"):
        con.execute(
            f"SELECT id FROM vector_search(t, emb, (SELECT emb FROM asked LIMIT 1), {options})"
        )
    con.execute(
        "SELECT d.id FROM asked q, "
        "LATERAL vector_search((SELECT * FROM t WHERE id > 9), emb, q.emb, fnr => 0.1) d"
    )
    con.execute(
        "EXPLAIN ANALYZE SELECT d.id FROM asked q, "
        "LATERAL vector_search(t, emb, q.emb, fnr => 0.1) d"
    )
    query = "SELECT searched FROM index_calibrations()"
    assert con.execute(query).fetchall() == [(0,)]
    text = "SELECT d.id FROM asked q, LATERAL vector_search(t, emb, q.emb, fnr => 0.1) d"
    con.execute(text)
    con.stream(text).read_all()
    assert con.execute(query).fetchall() == [(600,)]


def test_a_parameter_may_be_a_number_of_float32():
    con, _, _ = database()
    con.execute("CALIBRATE INDEX i WITH (fnr = 0.05)")
    text = "SELECT count(*) FROM vector_search(t, emb, $q, k => $k, fnr => $fnr)"
    query = np.zeros(WIDTH, np.float32)
    for fnr in (0.05, np.float32(0.05), np.float64(0.05)):
        assert con.execute(text, {"q": query, "k": 10, "fnr": fnr}).fetchall() == [(10,)]


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("kind", ["random", "along", "far"])
def test_a_promise_holds_among_filtered_rows(kind, share):
    rng = np.random.default_rng(5)
    centres = rng.normal(size=(20, WIDTH)) * 2
    made, asked, new = (clustered(rng, count, centres) for count in (3000, 200, 100))
    # Rows that pass are those whose key is least: any, those on one side, those far from `new`.
    keys = {
        "random": rng.random(3000),
        "along": made[:, 0],
        "far": -np.linalg.norm(made - new[0], axis=1),
    }
    key = np.argsort(np.argsort(keys[kind]))
    con = raydb.connect()
    con.register("made", rows_of(made).append_column("key", pa.array(key)))
    con.register("asked", rows_of(asked))
    con.register("new", rows_of(new))
    con.execute("CREATE TABLE t AS SELECT * FROM made; CREATE INDEX i ON t USING ivf (emb)")
    con.execute("CALIBRATE INDEX i USING (SELECT emb FROM asked) WITH (fnr = 0.05)")
    count = int(share * 3000)
    answer = con.execute(
        "SELECT q.id AS q, d.id, guarantee FROM new q, LATERAL "
        f"vector_search((SELECT * FROM t WHERE key < {count}), emb, q.emb, fnr => 0.05) d"
    ).fetchall()
    allowed, found = np.flatnonzero(key < count), {(q, d) for q, d, _ in answer}
    distances = np.linalg.norm(made[allowed][None].astype(np.float64) - new[:, None], axis=2)
    nearest = allowed[np.argsort(distances, axis=1)[:, :10]]
    missed = np.array(
        [np.mean([(q, d) not in found for d in each]) for q, each in enumerate(nearest)]
    )
    assert missed.mean() <= 0.05 + 2 * missed.std(ddof=1) / 10
    assert {guarantee for _, _, guarantee in answer} == {"exact"}


def test_a_filter_outside_a_search_is_told():
    con, _, _ = database()
    query = "SELECT id, rank FROM vector_search({}, emb, (SELECT emb FROM asked LIMIT 1), k => 20)"
    con.execute("ALTER TABLE t ADD COLUMN kind INTEGER; UPDATE t SET kind = id % 2")
    outside = con.execute(query.format("t") + " WHERE kind = 1")
    left = len(outside.fetchall())
    ((_, told),) = outside.messages
    assert f"WHERE has left out {20 - left} rows of those that vector_search() found" in str(told)
    for quiet in (
        query.format("t"),
        query.format("t") + " WHERE rank < 5",
        query.format("t") + " WHERE id >= 0",
        query.format("(SELECT * FROM t WHERE kind = 1)"),
    ):
        assert con.execute(quiet).messages == []
