"""ORDER BY a distance LIMIT k: through an index the rows are those without it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import raydb

WIDTH = 5
MEASURES = {
    "l2": ["array_distance(emb, $q)", "emb <-> $q", "list_distance($q, emb)"],
    "cosine": ["array_cosine_distance(emb, $q)", "emb <=> $q", "-array_cosine_similarity(emb, $q)"],
    "ip": ["array_negative_inner_product(emb, $q)", "emb <#> $q"],
}
ASKED = [
    "SELECT id FROM t ORDER BY {m} LIMIT 7",
    "SELECT id, {m} AS d FROM t ORDER BY d LIMIT 5 OFFSET 3",
    "SELECT word, id, emb, {m} FROM t ORDER BY {m} LIMIT 4",
    "SELECT * FROM (SELECT id, {m} AS d FROM t) WHERE id % 3 = 1 ORDER BY d LIMIT 6",
    "SELECT id FROM t WHERE word LIKE 'w1%' ORDER BY {m} NULLS FIRST LIMIT 300",
    "SELECT id FROM t ORDER BY {m} LIMIT 60",
    "SELECT id FROM t ORDER BY {m} DESC LIMIT 5",
    "SELECT id FROM t ORDER BY {m}, id LIMIT 5",
    "SELECT id FROM t WHERE id < 30 ORDER BY {m} LIMIT 25",
    "SELECT id + 1, upper(word) FROM t ORDER BY {m} LIMIT 0",
]


def fill(con, metric, count=500):
    rng = np.random.default_rng(7)
    made = rng.normal(size=(count, WIDTH)).astype("f4")
    mask = pa.array(np.arange(count) % 9 == 4)
    column = pa.FixedSizeListArray.from_arrays(pa.array(made.ravel()), WIDTH, mask=mask)
    con.register("made", pa.table({"id": np.arange(count), "emb": column}))
    con.execute("CREATE TABLE t AS SELECT id, emb, 'w' || id AS word FROM made")
    if metric is not None:
        con.execute(f"CREATE INDEX i ON t USING ivf (emb) WITH (lists = 15, metric = '{metric}')")
    return rng


@pytest.mark.parametrize("metric", MEASURES)
def test_rows_are_those_without_the_index(metric):
    con, plain = raydb.connect(), raydb.connect()
    rng = fill(con, metric)
    fill(plain, None)
    con.execute("SET nprobe = 'all'")
    change = "DELETE FROM t WHERE id % 11 = 3; INSERT INTO t SELECT 600 + id, emb, word FROM t"
    for step in ("", change):
        for each in (con, plain):
            each.execute(step or "SELECT 1")
        asked = [form.format(m=MEASURES[metric][0]) for form in ASKED]
        asked += [ASKED[1].format(m=measure) for measure in MEASURES[metric][1:]]
        for text in asked:
            for vector in rng.normal(size=(2, WIDTH)).astype("f4"):
                wanted = plain.execute(text, {"q": vector}).fetchall()
                assert con.execute(text, {"q": vector}).fetchall() == wanted, text
                first = con.execute(text, {"q": vector}).to_arrow_table().column(0).to_pylist()
                assert first == [row[0] for row in wanted], text
            literal = text.replace("$q", f"{vector.tolist()}::FLOAT[{WIDTH}]")
            assert con.execute(literal).fetchall() == wanted, literal


def test_vectors_without_a_distance_order_nothing():
    con = raydb.connect()
    fill(con, "cosine")
    text = "SELECT id FROM t WHERE emb IS NOT NULL ORDER BY emb <=> ? LIMIT 5"
    plain = "SELECT id, emb <=> $q AS d FROM t ORDER BY d LIMIT 5"
    for _ in range(3):
        for vector in (np.zeros(WIDTH), np.full(WIDTH, np.nan), np.full(WIDTH, 1e20)):
            assert len(con.execute(text, [vector]).fetchall()) == 5
            found = con.execute(plain, {"q": vector}).fetchall()
            assert len(found) == 5
            assert all(value is not None for _, value in found)
        with pytest.raises(raydb.Error, match="does not fit"):
            con.execute(text, [np.ones(WIDTH + 1)])
        assert len(con.execute(text, [np.ones(WIDTH)]).fetchall()) == 5


def explained(con, text, vector):
    return "\n".join(line for (line,) in con.execute("EXPLAIN " + text, [vector]).fetchall())


def test_explain_says_how_and_why_not():
    con = raydb.connect()
    fill(con, "l2")
    vector = np.ones(WIDTH)
    ordered = "SELECT id FROM t ORDER BY array_distance(emb, ?) LIMIT 5"
    assert "search: 4 of 15 lists of 'i'" in explained(con, ordered, vector)
    con.execute("SET nprobe = 9")
    assert "search: 9 of 15 lists of 'i'" in explained(con, ordered, vector)
    con.execute("CALIBRATE INDEX i WITH (fnr = '0.05,0.2', k = 5)")
    assert "search: 9 of 15 lists of 'i'" in explained(con, ordered, vector)
    con.execute("RESET nprobe")
    assert "at most 0.05 missed on average" in explained(con, ordered, vector)
    for text, reason in (
        (
            "SELECT id FROM t ORDER BY emb <=> ? LIMIT 5",
            "'i' is for l2, and the order is by cosine",
        ),
        (ordered.replace("LIMIT", "DESC LIMIT"), "the farthest rows are asked for"),
        (ordered.replace("LIMIT", ", id LIMIT"), "more than the distance orders the rows"),
        (ordered.replace("LIMIT", "NULLS FIRST LIMIT"), "NULLs are asked for first"),
        (ordered.replace("LIMIT 5", "LIMIT 5 OFFSET 1000"), "a large part of the rows"),
        (
            "SELECT t.id FROM t JOIN t AS o USING (id) ORDER BY array_distance(t.emb, ?) LIMIT 5",
            "the rows are not those of one table",
        ),
    ):
        assert f"index: not used ({reason}" in explained(con, text, vector)
    filtered = "SELECT id FROM t WHERE id > 9 ORDER BY array_distance(emb, ?) LIMIT 5"
    assert "all rows that the filter leaves are compared" in explained(con, filtered, vector)
    con.execute("DROP INDEX i")
    assert "index" not in explained(con, ordered, vector)


def test_nprobe_is_a_number_of_lists():
    con = raydb.connect()
    fill(con, "l2")
    for value in ("0", "-1", "2.5", "many", ""):
        with pytest.raises(raydb.ProgrammingError, match="nprobe is 'auto', 'all' or a number"):
            con.execute(f"SET nprobe = '{value}'")
    text = "SELECT DISTINCT probes, guarantee FROM vector_search(t, emb, ?, k => 3)"
    for value, found in (
        ("2", (2, "uncalibrated")),
        ("all", (15, "exact")),
        ("auto", (4, "uncalibrated")),
    ):
        con.execute(f"SET nprobe = '{value}'")
        assert con.execute(text, [np.ones(WIDTH)]).fetchall() == [found]
