"""A search for other vectors than before: the rows are those without a plan cache, unplanned."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import raydb
from raydb.engine.plans import template_cache
from raydb.engine.session import queries

WIDTH = 8

QUERIES = [
    "SELECT id, distance FROM vector_search(t, emb, ?, k => 7, nprobe => 3)",
    "SELECT * FROM vector_search(t, emb, ?, k => 5) ORDER BY rank",
    "SELECT word, rank, guarantee, probes FROM vector_search(t, emb, ?, k => 40) LIMIT 9 OFFSET 3",
    "SELECT id AS a, id AS b, day FROM vector_search(t, emb, ?, k => 6) ORDER BY distance",
    "SELECT id FROM vector_search(t, emb, ?, k => 6) ORDER BY rank DESC",
    "SELECT id, distance FROM vector_search(t, emb, ?, k => 6) ORDER BY distance, id",
    "SELECT word, round(1 - distance, 3) FROM vector_search(t, emb, ?, k => 6)",
    "SELECT count(*), min(id) FROM vector_search(t, emb, ?, k => 9)",
    "SELECT id FROM vector_search(t, emb, ?, k => 9) WHERE id % 2 = 0",
    "SELECT id FROM vector_search((SELECT * FROM t WHERE id < 300), emb, ?, k => 9)",
    "SELECT id, emb, seen FROM vector_search(t, emb, ?, k => 4, exact => true)",
    "SELECT seen, mood FROM vector_search(t, emb, ?, k => 4)",
    "SELECT id, distance FROM vector_search(t, emb, ?, k => 10, fnr => 0.1)",
]


def fill(con, count=600, seed=5):
    rng = np.random.default_rng(seed)
    made = (rng.integers(-2, 3, (count, WIDTH)) + rng.normal(size=(count, WIDTH)) / 4).astype("f4")
    column = pa.FixedSizeListArray.from_arrays(pa.array(made.ravel()), WIDTH)
    con.register("made", pa.table({"id": np.arange(count, dtype=np.int32), "emb": column}))
    con.execute("CREATE TYPE mood AS ENUM ('glad', 'sad')")
    con.execute(
        "CREATE TABLE t AS SELECT id, emb, CASE WHEN id % 5 > 0 THEN 'w' || id END AS word,"
        " DATE '2024-01-01' + id % 30 AS day, now() AS seen, 'sad'::mood AS mood FROM made"
    )
    con.execute("CREATE INDEX i ON t USING ivf (emb) WITH (lists = 20, seed = 1)")
    con.execute("CALIBRATE INDEX i WITH (fnr = 0.1, k = 10)")
    return rng


def asked(con, text, vector):
    """Return the rows by a parameter, by the text, and by Arrow."""
    by_text = text.replace("?", str(vector.tolist()))
    table = con.execute(text, [vector]).to_arrow_table()
    return [
        con.execute(text, [vector]).fetchall(),
        con.execute(text, (vector.tolist(),)).fetchall(),
        con.execute(text.replace("?", "$q"), {"q": vector}).fetchall(),
        con.execute(by_text).fetchall(),
        con.execute(text.replace("?", f"'{vector.tolist()}'")).fetchall(),
        [tuple(row) for row in zip(*(con_values(column) for column in table.columns), strict=True)],
    ]


def con_values(column):
    values = column.to_pylist()
    is_array = pa.types.is_fixed_size_list(column.type)
    return [tuple(each) for each in values] if is_array else values


@pytest.mark.parametrize(("place", "metric"), [("memory", "l2"), ("disk", "cosine")])
def test_rows_are_those_without_a_plan_cache(tmp_path, place, metric):
    path = None if place == "memory" else tmp_path / "db"
    con = raydb.connect(path)
    rng = fill(con)
    if metric != "l2":
        con.execute("DROP INDEX i")
        con.execute(f"CREATE INDEX i ON t USING ivf (emb) WITH (lists = 20, metric = '{metric}')")
        con.execute("CALIBRATE INDEX i WITH (fnr = 0.1, k = 10)")
    if path is not None:
        con.close()
        con = raydb.connect(path)
    changes = [
        "",
        "DELETE FROM t WHERE id % 7 = 2; INSERT INTO t SELECT 900 + id, * EXCLUDE id FROM t",
    ]
    plain = con.duplicate()
    plain.execute("SET plan_cache = 'off'")
    for change in changes:
        if change:
            con.execute(change)
        for text in QUERIES:
            for vector in rng.normal(size=(2, WIDTH)).astype("f4"):
                first, *others = asked(con, text, vector)
                wanted = plain.execute(text, [vector]).fetchall()
                assert len(wanted) > 0 or "WHERE" in text
                assert first == wanted, text
                for other in others[:-1]:
                    assert other == wanted, text
                if "seen" not in text and "SELECT *" not in text and "mood" not in text:
                    assert others[-1] == wanted, text


def test_a_known_text_is_neither_bound_nor_planned(monkeypatch):
    con = raydb.connect()
    rng = fill(con)
    text = "SELECT id, distance FROM vector_search(t, emb, ?, k => ?, nprobe => 3) ORDER BY rank"
    written = "SELECT id FROM vector_search(t, emb, {}, k => 3)"
    quoted = written.format("'{}'")
    for vector in rng.normal(size=(3, WIDTH)):
        con.execute(text, (vector, 4))
        con.execute(text, (vector, 6))
        con.execute(written.format(vector.tolist()))
        con.execute(quoted.format(vector.tolist()))

    def fail(*_, **__):
        raise AssertionError("a known search is planned")

    with monkeypatch.context() as patched:
        for name in ("plan_query", "choose_plan"):
            patched.setattr(queries, name, fail)
        patched.setattr(queries.plan_runner, "run", fail)
        patched.setattr(template_cache.TemplateCache, "filled", fail)
        for vector in rng.normal(size=(3, WIDTH)):
            assert len(con.execute(text, (vector, 4)).fetchall()) == 4
            assert len(con.execute(text, (vector.tolist(), 6)).fetchall()) == 6
            assert len(con.execute(written.format(vector.tolist())).fetchall()) == 3
            assert len(con.execute(quoted.format(vector.tolist())).fetchall()) == 3
    assert len(con.execute(text, (vector.astype("f4"), 5)).fetchall()) == 5


def test_what_is_no_such_vector_is_refused_each_time():
    con = raydb.connect()
    fill(con)
    text = "SELECT id FROM vector_search(t, emb, ?, k => 3)"
    for _ in range(3):
        assert len(con.execute(text, [np.ones(WIDTH)]).fetchall()) == 3
        assert len(con.execute(text, [np.zeros(WIDTH)]).fetchall()) == 3
        assert len(con.execute(text, [[1] * WIDTH]).fetchall()) == 3
        assert con.execute(text, [None]).fetchall() == []
        for vector, message in (
            (np.ones(WIDTH + 1), "8 numbers, the query has 9"),
            (np.full(WIDTH, np.nan), "NaN or infinity"),
            (np.full(WIDTH, 1e18), "a number beyond 1e17"),
            ([1.0] * (WIDTH - 1) + [1e300], "out of range"),
            (np.ones((1, WIDTH)), "no type of SQL"),
            (["a"] * WIDTH, "needs a vector"),
        ):
            with pytest.raises(raydb.Error, match=message):
                con.execute(text, [vector])
        with pytest.raises(raydb.ProgrammingError, match="1 parameter, but 2"):
            con.execute(text, [np.ones(WIDTH), 3])
    con.execute("DELETE FROM t WHERE id > 1")
    for _ in range(3):
        with pytest.raises(raydb.ProgrammingError, match="cannot find 3 rows"):
            con.execute(text, [np.ones(WIDTH)])


def test_a_vector_that_is_rounded_otherwise_is_not_taken_as_it_is():
    con = raydb.connect()
    rng = fill(con)
    text = "SELECT id FROM vector_search(t, emb, {}, k => 30)"
    halved = text.format(f"list_transform(?, x -> round(x))::FLOAT[{WIDTH}]")
    twice = f"SELECT id, ?::FLOAT[{WIDTH}] = emb FROM vector_search(t, emb, ?, k => 5)"
    for vector in rng.normal(size=(4, WIDTH)):
        rounded = con.execute(text.format("?"), [np.round(vector)]).fetchall()
        assert con.execute(halved, [vector]).fetchall() == rounded
        found = con.execute(twice.replace("?", "$q"), {"q": vector}).fetchall()
        assert [is_same for _, is_same in found] == [False] * 5


def test_searches_of_a_kept_plan_are_watched():
    con = raydb.connect()
    rng = fill(con, 2000)
    text = "SELECT id FROM vector_search(t, emb, ?, k => 10, fnr => 0.1)"
    told = []
    for vector in rng.normal(size=(600, WIDTH)) / 9:
        told += con.execute(text, [vector]).messages
    assert len(told) == 1
    assert "not like those of its calibration" in str(told[0][1])
    assert con.execute("SELECT searched FROM index_calibrations()").fetchall() == [(600,)]


@pytest.mark.parametrize("quote", ["", "'"])
def test_a_constant_that_is_no_such_vector_is_told_as_before(quote):
    con = raydb.connect()
    rng = fill(con)
    plain = con.duplicate()
    plain.execute("SET plan_cache = 'off'")
    text = f"SELECT id FROM vector_search(t, emb, {quote}{{}}{quote}, k => 3)"
    for vector in rng.normal(size=(4, WIDTH)):
        con.execute(text.format(vector.tolist()))
    start = "[" + "1, " * (WIDTH - 1)
    for given in (
        f"{start}NULL]",
        f"{start}1e39]",
        f"{start}nan]",
        f"{start}x]",
        f"{start}1, 1]",
        f"[{start}1]]",
        f"{start}]",
    ):
        answers = []
        for each in (con, con, plain):
            try:
                answers.append(each.execute(text.format(given)).fetchall())
            except raydb.Error as error:
                answers.append((type(error), str(error)))
        assert answers[0] == answers[1] == answers[2], given
        assert quote == "" or isinstance(answers[0], tuple)


def test_other_constants_are_other_searches():
    con = raydb.connect()
    rng = fill(con)
    text = "SELECT id, '{}' FROM vector_search(t, emb, {}, k => {}) ORDER BY rank LIMIT {}"
    for vector in rng.normal(size=(4, WIDTH)):
        for word, k, count in (("a", 5, 4), ("a", 5, 2), ("a", 6, 4), ("[1]", 5, 4), ("b", 5, 4)):
            rows = con.execute(text.format(word, vector.tolist(), k, count)).fetchall()
            wanted = con.execute(text.format(word, "?", k, count), [vector]).fetchall()
            assert rows == wanted
            assert len(rows) == count
            assert {each for _, each in rows} == {word}
