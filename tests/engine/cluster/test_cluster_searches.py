"""LIMIT over joins, vector searches and motifs at workers: the answers of one process."""

from __future__ import annotations

import time
from concurrent.futures import Future

import numpy as np
import pyarrow as pa
import pytest
from cluster_cases import explained, wait_for_workers

import raydb
from raydb.engine.cluster import cluster as coordinator
from raydb.engine.cluster.worker import Worker
from raydb.engine.session import queries
from raydb.engine.table_functions.motif import motif_search

pytestmark = pytest.mark.long

WIDTH = 8
VECTORS = np.random.default_rng(3).normal(size=(120_000, WIDTH)).astype(np.float32)
EDGES = 120_000


@pytest.fixture(autouse=True)
def _free_calls(monkeypatch):
    monkeypatch.setattr(queries, "CALL_COST", 0.0)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    found = str(tmp_path_factory.mktemp("searches") / "shop.raydb")
    rng = np.random.default_rng(4)
    ids = np.arange(len(VECTORS))
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(VECTORS.ravel()), WIDTH)
    ends = rng.integers(0, 4000, (2, EDGES))
    sources = pa.array(ends[0], mask=np.arange(EDGES) % 1000 == 7)
    times = rng.integers(0, 1_000_000, EDGES)
    with raydb.connect(found) as con:
        con.register("v", pa.table({"id": ids, "g": ids % 5, "emb": vectors}))
        con.execute("CREATE TABLE docs (id INTEGER PRIMARY KEY, g INTEGER, emb FLOAT[8])")
        con.execute("INSERT INTO docs SELECT * FROM v")
        con.execute("DELETE FROM docs WHERE id % 77 = 3")
        con.execute("CREATE TABLE few AS SELECT * FROM docs WHERE id < 20000")
        con.execute("CREATE INDEX near ON few USING ivf (emb)")
        con.execute("CREATE TABLE asking AS SELECT id AS a, emb FROM docs WHERE id % 300 = 7")
        con.execute("CREATE TABLE kinds (g INTEGER PRIMARY KEY, name VARCHAR)")
        con.execute("INSERT INTO kinds SELECT range, 'k' || (range % 3) FROM range(4)")
        table = pa.table({"s": sources, "d": ends[1], "t": times, "w": rng.integers(0, 100, EDGES)})
        con.register("e", table)
        con.execute("CREATE TABLE edges AS SELECT * FROM e")
        con.execute(
            "CREATE TABLE paid AS"
            " SELECT s, d, w, TIMESTAMP '2026-01-01' + to_seconds(t) AS t FROM e"
        )
    return found


@pytest.fixture
def con(workers, path):
    config = {"segment_rows": 25_000}
    with raydb.connect(path, read_only=True, cluster=workers.client, config=config) as con:
        wait_for_workers(con, 2)
        yield con


def agree(con, alone, query, parameters=()):
    """Check that workers give the rows of one process, and its messages."""
    cursor = con.execute(query, parameters)
    expected = alone.execute(query, parameters)
    assert cursor.fetchall() == expected.fetchall(), query
    assert list(map(str, cursor.messages)) == list(map(str, expected.messages))


ROWS = [
    "SELECT id, name FROM docs JOIN kinds USING (g) WHERE id < 90000 AND name = 'k1' {} LIMIT 9",
    "SELECT id, name FROM docs LEFT JOIN kinds USING (g) {} LIMIT 30 OFFSET 3",
    "SELECT id FROM docs WHERE g IN (SELECT g FROM kinds WHERE name = 'k0') {} LIMIT 12",
    "SELECT id FROM docs WHERE g NOT IN (SELECT g FROM kinds) {} LIMIT 12",
    "SELECT id, a FROM docs JOIN asking ON id = a WHERE g = 2 {} LIMIT 7",
    "SELECT id + 1 AS i FROM docs WHERE id BETWEEN 60000 AND 61000 {} LIMIT 11",
]


@pytest.mark.parametrize("query", ROWS)
def test_first_rows_of_joins_are_those_of_one_process(con, alone, query):
    ordered = query.format("ORDER BY 1 DESC")
    assert "SegmentRows" in explained(con, ordered)
    agree(con, alone, ordered)


@pytest.mark.parametrize("query", ROWS)
def test_any_first_rows_are_rows_of_the_query(con, alone, query):
    any_rows = query.format("")
    # Before a LEFT JOIN few rows are read, wherever they are.
    assert ("SegmentRows" in explained(con, any_rows)) == ("LEFT" not in query)
    found = con.execute(any_rows).fetchall()
    every = alone.execute(query.format("").split(" LIMIT")[0]).fetchall()
    assert len(found) == len(set(found)) == len(alone.execute(any_rows).fetchall())
    assert set(found) <= set(every)


NEAREST = [
    "SELECT id FROM docs ORDER BY array_distance(emb, $1) LIMIT 5",
    "SELECT id FROM docs WHERE g = 3 ORDER BY emb <=> $1 LIMIT 5 OFFSET 2",
    "SELECT id, rank, distance, probes, guarantee FROM vector_search(docs, emb, $1, k => 7)",
    "SELECT id, rank FROM vector_search((SELECT * FROM docs WHERE g = 3), emb, $1, k => 9)",
    'SELECT id, rank FROM vector_search(docs, emb, $1, k => 4, "offset" => 3)',
    "SELECT id, rank, distance FROM vector_search(docs, emb, $1, max_distance => 1.4)",
    "SELECT id, rank FROM vector_search(docs, emb, $1, k => 3, metric => 'ip')",
    "SELECT id, i FROM vector_search((SELECT *, id + 1 AS i FROM docs WHERE id < 9), emb, $1)",
    "SELECT id FROM vector_search((SELECT * FROM docs WHERE id < 0), emb, $1, k => 3)",
]


@pytest.mark.long
@pytest.mark.parametrize("query", NEAREST)
@pytest.mark.parametrize("vector", [VECTORS[11], VECTORS[11].tolist()], ids=["array", "list"])
def test_rows_near_a_vector_are_those_of_one_process(con, alone, query, vector):
    (plan,) = ["\n".join(line for (line,) in con.execute(f"EXPLAIN {query}", [vector]).fetchall())]
    assert "SegmentRows" in plan
    for _ in range(2):
        agree(con, alone, query, [vector])


@pytest.mark.long
def test_an_exact_search_beside_an_index_is_shared(con, alone):
    for call in ("exact => true", "k => 3, exact => true"):
        query = f"SELECT id, rank, guarantee FROM vector_search(few, emb, $1, {call})"
        agree(con, alone, query, [VECTORS[5]])
    few = "SELECT id FROM vector_search(few, emb, [1, 2, 3, 4, 5, 6, 7, 8])"
    assert "'near' finds the rows near one vector sooner" in explained(con, few)
    agree(con, alone, few)


BATCHES = [
    "SELECT a, n.* EXCLUDE (emb) FROM asking q, LATERAL vector_search(few, emb, q.emb, k => 3) n",
    "SELECT a, n.id FROM asking q, LATERAL vector_search(few, emb, q.emb, k => 2, nprobe => 3) n"
    " WHERE a > 9000",
    "SELECT a, n.id FROM asking q LEFT JOIN LATERAL vector_search((SELECT * FROM few WHERE g = 1),"
    " emb, q.emb, k => 2) n ON true",
    "SELECT count(*), max(n.rank) FROM asking q,"
    " LATERAL vector_search(docs, emb, q.emb, k => greatest(1, least(a, 3))) n",
]


@pytest.mark.parametrize("query", BATCHES)
def test_searches_for_many_vectors_are_shared(con, alone, query):
    assert "SegmentRows: NearestRows" in explained(con, query)
    agree(con, alone, query)


def test_settings_of_searches_are_those_of_the_connection(con, alone):
    query = "SELECT a, n.id FROM asking q, LATERAL vector_search(few, emb, q.emb, k => 3) n"
    for nprobe in (1, 9):
        for each in (con, alone):
            each.execute(f"SET nprobe = {nprobe}")
        agree(con, alone, query)
    alone.execute("RESET nprobe")


def test_what_a_search_has_to_tell_comes_from_workers(con, alone, path):
    with raydb.connect(path) as writer:
        writer.execute("CREATE TABLE grown (id INTEGER, emb FLOAT[8])")
        writer.execute("INSERT INTO grown SELECT id, emb FROM docs WHERE id < 1000")
        writer.execute("CREATE INDEX small ON grown USING ivf (emb)")
        writer.execute("INSERT INTO grown SELECT id, emb FROM docs WHERE id BETWEEN 1000 AND 8000")
    query = "SELECT a, n.id FROM asking q, LATERAL vector_search(grown, emb, q.emb, k => 1) n"
    cursor = con.execute(query)
    assert len(cursor.fetchall()) > 300
    ((_, told),) = cursor.messages
    assert "rows lie beside the" in str(told)


MOTIFS = [
    "'a->b, b->c', delta => 3000",
    "'a->b, b->a', delta => 20000, ties => 'index'",
    "'a->b, b->a', delta => 900000",
    "'a->b, b->c, c->a', delta => 30000",
    "'a->b, b->a', delta => 20000, where => 'e2.w > e1.w AND e1.w > 20'",
    "'a->b, b->a', delta => 90000, min_gap => 100, max_gap => 40000",
    "'a--b, b--a', delta => 9000",
    "'a->b, a->b', delta => 9000, vertices => 'any'",
    "'a->b, b->c', delta => 0",
]


@pytest.mark.long
@pytest.mark.parametrize("motif", MOTIFS)
@pytest.mark.parametrize("rows", ["edges", "(SELECT * FROM edges WHERE w > 50)"])
def test_motifs_are_counted_by_slices_of_time(con, alone, rows, motif):
    query = (
        f"SELECT * EXCLUDE (seconds) FROM motif_count({rows}, src => 's', dst => 'd',"
        f" time => 't', method => 'exact', motif => {motif})"
    )
    assert "of each slice" in explained(con, query)
    for _ in range(2):
        (found,), (expected,) = con.execute(query).fetchall(), alone.execute(query).fetchall()
        assert found == expected


class WorkersHere:
    """Two workers within the process, which answer at once."""

    is_local = True

    def __init__(self):
        self._workers = {"one": Worker(), "two": Worker()}

    def workers(self, *, anew=False):
        return {each: each for each in self._workers}

    def call(self, questions):
        answers = {each: Future() for each in questions}
        for each, question in questions.items():
            answers[each].set_result(self._workers[each].answer(question))
        return answers

    def end(self, worker, call):
        self._workers[worker].end(call)

    def close(self):
        for each in self._workers.values():
            each.close()


def test_what_a_new_worker_compiles_takes_no_time_of_motifs(path, alone, monkeypatch):
    def compile_slowly(part):
        if part not in compiled:
            compiled.add(part)
            time.sleep(1.2)

    query = (
        "SELECT count FROM motif_count(edges, src => 's', dst => 'd', time => 't',"
        " method => 'exact', motif => 'a->b, b->a', delta => 9000, max_seconds => 1)"
    )
    expected = alone.execute(query).fetchall()
    compiled = set()
    monkeypatch.setattr(motif_search, "_make_ready", compile_slowly)
    with raydb.connect(path, read_only=True) as con:
        cluster = con._session.queries.cluster = coordinator.Cluster(WorkersHere(), path)
        assert con.execute(query).fetchall() == expected
        assert compiled == {"graph", "count"}
        assert cluster._times, "workers have counted"


@pytest.mark.long
def test_motifs_over_timestamps_and_two_of_one_text(con, alone):
    call = "motif_count(paid, src => 's', dst => 'd', time => 't', motif => '{}', delta => {})"
    one = call.format("a->b, b->a", "INTERVAL 3 HOUR")
    other = call.format("a->b, b->c", "INTERVAL 1 HOUR")
    query = f"SELECT x.count, y.count, x.vertices, y.edges FROM {one} x, {other} y"
    assert explained(con, query).count("of each slice") == 2
    agree(con, alone, query)


@pytest.mark.long
def test_estimates_of_slices_are_those_that_are_promised(con, alone):
    call = (
        "FROM motif_count(edges, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c, c->d',"
        " delta => 40000, rel_error => 0.05, method => '{}', seed => {})"
    )
    ((truth,),) = alone.execute("SELECT count " + call.format("exact", 1)).fetchall()
    off = []
    for seed in range(12):
        query = "SELECT estimate, std_error, ci_low, ci_high, converged, method "
        cursor = con.execute(query + call.format("timest", seed))
        ((estimate, error, low, high, converged, method),) = cursor.fetchall()
        assert converged
        assert method == "timest"
        assert not cursor.messages[1:]
        assert estimate - low <= high - estimate <= 0.05 * estimate
        off.append((estimate - truth) / error)
    assert np.mean(np.square(off)) < 3, off
    assert abs(np.mean(off)) < 1.2, off


@pytest.mark.long
def test_slices_that_tell_too_little_are_asked_as_a_whole(con, alone):
    # Nearly all instances begin in one slice, whose estimate may be twice as far off.
    rows = "(SELECT s % 5 AS s, d % 5 AS d, CASE WHEN t < 20000 THEN t ELSE 100 * t END AS t"
    query = (
        f"SELECT converged FROM motif_count({rows} FROM edges), src => 's', dst => 'd',"
        " time => 't', motif => 'a->b, b->c, c->a', delta => 20000, method => 'timest')"
    )
    cursor = con.execute(query)
    assert cursor.fetchall() == [(True,)]


@pytest.mark.long
def test_rows_that_workers_see_otherwise_are_the_coordinators(con, alone, monkeypatch):
    monkeypatch.setattr(coordinator, "identity_of", lambda *_: "another")
    for query in (
        "SELECT count FROM motif_count(edges, src => 's', dst => 'd', time => 't',"
        " motif => 'a->b, b->a', delta => 2000)",
        "SELECT id, rank FROM vector_search(docs, emb, [1, 2, 3, 4, 5, 6, 7, 8], k => 3)",
        BATCHES[0],
    ):
        cursor = con.execute(query)
        assert cursor.fetchall() == alone.execute(query).fetchall()
        assert "the coordinator reads" in str(cursor.messages[0][1])
