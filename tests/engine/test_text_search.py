"""text_search() and fts indexes: equal to BM25 as a formula, whatever becomes of the rows."""

from __future__ import annotations

import re
import threading
from collections import Counter
from math import log

import numpy as np
import pytest

import raydb

WORDS = np.array(
    ["red", "blue", "shoe", "boat", "sea", "the", "a", "stone", "x1", "Éclair", "Straße"]
)
SEARCH = "SELECT id, score FROM text_search({rows}, body, ?, k => {k}{more}) ORDER BY rank"


def texts(seed, count, longest=9):
    """Return random texts, some NULL, some without a word, words by a skewed chance."""
    rng = np.random.default_rng(seed)
    chances = 1 / np.arange(1, len(WORDS) + 1)
    made = []
    for _ in range(count):
        words = rng.choice(WORDS, rng.integers(0, longest), p=chances / chances.sum())
        made.append(None if rng.random() < 0.05 else " - ".join(words) + "." * rng.integers(0, 2))
    return made


def words_of(text):
    """Return the words of a text, in another way: these texts have no other signs."""
    return re.findall(r"\w+", text.lower().replace("é", "e"))


def fitting(rows, query, k, k1=1.2, b=0.75, all_words=False):
    """Return the ids and scores of the k rows that fit a query best: BM25 as it is written."""
    counts = {key: Counter(words_of(text)) for key, text in rows if text is not None}
    lengths = {key: sum(each.values()) for key, each in counts.items()}
    mean = sum(lengths.values()) / max(len(lengths), 1)
    wanted = set(words_of(query))
    df = {word: sum(word in each for each in counts.values()) for word in wanted}
    scores = {}
    for key, own in counts.items():
        there = [word for word in wanted if own[word]]
        if not there or (all_words and len(there) < len(wanted)):
            continue
        scores[key] = sum(
            log(1 + (len(counts) - df[word] + 0.5) / (df[word] + 0.5))
            * own[word]
            * (k1 + 1)
            / (own[word] + k1 * (1 - b + b * lengths[key] / mean))
            for word in there
        )
    places = {key: place for place, (key, _) in enumerate(rows)}
    order = sorted(scores, key=lambda key: (-round(scores[key], 9), places[key]))
    return [(key, scores[key]) for key in order[:k]]


def check(con, query, k=7, rows="t", where="", **options):
    """Compare a search with the formula; rows that follow each other are in the order of a scan."""
    more = "".join(f", {name} => {value}" for name, value in options.items())
    found = con.execute(SEARCH.format(rows=rows, k=k, more=more), [query]).fetchall()
    known = con.execute(f"SELECT id, body FROM t {where}").fetchall()
    wanted = fitting(known, query, k, **options)
    assert [key for key, _ in found] == [key for key, _ in wanted]
    np.testing.assert_allclose([x for _, x in found], [x for _, x in wanted], rtol=1e-9)


def check_all(con):
    for query in ("red", "the RED sea", "Eclair straße stone", "nowhere", "red nowhere", ""):
        check(con, query)
        check(con, query, k=1000)
        check(con, query, all_words=True)
    check(con, "sea the blue", k1=0.4, b=0.2)
    check(con, "sea the blue", k1=0)
    filtered = "(SELECT * FROM t WHERE id % 3 = 1)"
    check(con, "the red sea", rows=filtered, where="WHERE id % 3 = 1")


def add(con, first, made):
    rows = [(first + number, text) for number, text in enumerate(made)]
    con.executemany("INSERT INTO t VALUES (?, ?)", rows)


@pytest.mark.parametrize("indexed", [True, False])
def test_scores_are_those_of_the_formula_while_rows_change(tmp_path, indexed):
    path = tmp_path / "db"
    con = raydb.connect(path)
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, body VARCHAR)")
    add(con, 0, texts(1, 300))
    if indexed:
        con.execute("CREATE INDEX i ON t USING fts (body)")
    check_all(con)
    add(con, 300, texts(2, 60))
    con.execute("DELETE FROM t WHERE id % 7 = 2")
    con.execute("UPDATE t SET body = 'red red the boat' WHERE id % 11 = 5")
    check_all(con)
    con.execute("BEGIN; DELETE FROM t WHERE id < 100; INSERT INTO t VALUES (900, 'Sea sea sea')")
    check_all(con)
    con.execute("ROLLBACK")
    check_all(con)
    con.close()
    con = raydb.connect(path)  # The log is replayed beside the index.
    check_all(con)
    con.execute("CHECKPOINT")
    check_all(con)
    con.execute("VACUUM")
    check_all(con)
    con.close()
    con = raydb.connect(path)
    check_all(con)
    con.execute("DELETE FROM t WHERE id % 5 = 0; REINDEX")
    check_all(con)
    con.execute("TRUNCATE t")
    assert con.execute("SELECT * FROM text_search(t, body, 'red')").fetchall() == []
    add(con, 0, texts(3, 50))
    check_all(con)


def test_long_texts_and_words_that_stand_often():
    con = raydb.connect()
    con.execute("CREATE TABLE t (id INTEGER, body VARCHAR); CREATE INDEX i ON t USING fts (body)")
    add(con, 0, [*texts(4, 40, longest=700), "red " * 250, "red " * 200 + "blue " * 900])
    check_all(con)
    con.execute("REINDEX i")
    check_all(con)


def test_many_rows_of_common_words():
    """The words that put no row among the best are looked up, and not added up."""
    rng = np.random.default_rng(5)
    count = 6_000
    shares = {"common": 0.7, "usual": 0.3, "some": 0.02, "rare": 0.001}
    there = {word: rng.random(count) < share for word, share in shares.items()}
    fill = rng.integers(0, 6, count)
    made = [
        " ".join([*(word for word in shares if there[word][row]), *["y"] * int(fill[row])])
        for row in range(count)
    ]
    con = raydb.connect()
    con.execute("CREATE TABLE t (id INTEGER, body VARCHAR)")
    with con.appender("t") as rows:
        for number, text in enumerate(made):
            rows.append(number, text)
    con.execute("CREATE INDEX i ON t USING fts (body)")
    for query in ("common rare", "usual some rare common", "common usual", "rare"):
        for k in (1, 10, 300):
            check(con, query, k=k)
        check(con, query, all_words=True)
    con.execute("DELETE FROM t WHERE id % 2 = 0")
    check(con, "common rare usual")


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Crème BRÛLÉE", "creme brulee"),
        ("naïve", "NAI\u0308VE"),
        ("don't", "don t"),
        ("ΑΘΉΝΑ", "αθηνα"),
        ("Ёлка", "елка"),
        ("東京タワー", "京"),
        ("東京タワー", "タワー"),
        ("हिन्दी", "हिन्दी"),
        ("ﬁne ①", "fine 1"),
        ("e-mail: a_b@c.org", "b c"),
        ("straße", "STRASSE Straße"),
    ],
)
@pytest.mark.parametrize("indexed", [True, False])
def test_words(text, query, indexed):
    con = raydb.connect()
    con.execute("CREATE TABLE t (body VARCHAR)")
    con.execute("INSERT INTO t VALUES (?), ('other'), (NULL), (''), ('--')", [text])
    if indexed:
        con.execute("CREATE INDEX i ON t USING fts (body)")
    found = con.execute("SELECT body FROM text_search(t, body, ?)", [query]).fetchall()
    assert found == [(text,)]


def test_stems():
    pytest.importorskip("snowballstemmer")
    con = raydb.connect()
    con.execute("CREATE TABLE t (id INTEGER, body VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'running shoes'), (2, 'the runs'), (3, 'shoe')")
    search = "SELECT id FROM text_search(t, body, 'run shoe'{}) ORDER BY id"
    assert con.execute(search.format("")).fetchall() == [(3,)]
    english = con.execute(search.format(", stemmer => 'English'")).fetchall()
    assert english == [(1,), (2,), (3,)]
    con.execute("CREATE INDEX i ON t USING fts (body) WITH (stemmer = 'english')")
    assert con.execute(search.format("")).fetchall() == english
    con.execute("INSERT INTO t VALUES (4, 'Runner'), (5, 'He runs')")
    assert con.execute(search.format("")).fetchall() == [(1,), (2,), (3,), (5,)]
    assert con.execute(search.format(", stemmer => 'none'")).fetchall() == [(3,)]
    assert con.execute("SELECT stemmer, texts, rows_beside FROM text_indexes()").fetchall() == [
        ("english", 3, 2)
    ]
    with pytest.raises(raydb.ProgrammingError, match="did you mean 'german'"):
        con.execute("CREATE INDEX j ON t USING fts (body) WITH (stemmer = 'germam')")


def test_rows_of_queries_frames_and_a_text_for_each_row():
    con = raydb.connect()
    con.execute("CREATE TABLE t (id INTEGER, lang VARCHAR, body VARCHAR)")
    con.execute(
        "INSERT INTO t VALUES (1, 'en', 'a red shoe'), (2, 'en', 'red'), (3, 'de', 'red Schuh'), "
        "(4, 'de', NULL)"
    )
    joined = "(SELECT a.id, a.body || ' ' || b.lang AS body FROM t a JOIN t b USING (id))"
    assert con.execute(f"SELECT id FROM text_search({joined}, body, 'EN shoe')").fetchall() == [
        (1,),
        (2,),
    ]
    asked = "(VALUES (1, 'red'), (2, NULL), (3, 'shoe'), (4, 'none')) q (n, words)"
    lateral = f"FROM {asked}, LATERAL text_search(t, body, q.words, k => 2) d ORDER BY n, rank"
    assert con.execute(f"SELECT n, d.id {lateral}").fetchall() == [(1, 2), (1, 3), (3, 1)]
    left = f"FROM {asked} LEFT JOIN LATERAL text_search(t, body, q.words, k => 1) d ON true"
    assert con.execute(f"SELECT n, d.id, d.rank, score > 0 {left} ORDER BY n").fetchall() == [
        (1, 2, 1, True),
        (2, None, None, None),
        (3, 1, 1, True),
        (4, None, None, None),
    ]
    own = (
        "SELECT q.lang, d.id FROM (SELECT DISTINCT lang FROM t) q, LATERAL "
        "text_search((SELECT * FROM t o WHERE o.lang = q.lang), body, 'red shoe schuh', k => 1) d"
    )
    assert con.execute(f"{own} ORDER BY lang").fetchall() == [("de", 3), ("en", 1)]
    frame = con.execute("FROM t").to_arrow_table()  # noqa: F841  (a query names it)
    assert con.execute("SELECT id FROM text_search(frame, body, 'schuh')").fetchall() == [(3,)]


def test_fused_ranks():
    con = raydb.connect()
    con.execute("CREATE TABLE t (id INTEGER, body VARCHAR, emb FLOAT[2])")
    con.execute(
        "INSERT INTO t VALUES (1, 'red shoe', [9, 9]), (2, 'boat', [0, 1]), (3, 'red', [0, 0])"
    )
    found = con.execute("""
        WITH near AS (SELECT id, rank FROM vector_search(t, emb, [0, 1], k => 2)),
             fitting AS (SELECT id, rank FROM text_search(t, body, 'red shoe', k => 2))
        SELECT id,
            coalesce(1.0 / (60 + near.rank), 0) + coalesce(1.0 / (60 + fitting.rank), 0) AS rrf
        FROM near FULL JOIN fitting USING (id) ORDER BY rrf DESC, id
    """).fetchall()
    assert found == [(3, 2 / 62), (1, 1 / 61), (2, 1 / 61)]


def test_errors():
    con = raydb.connect()
    con.execute("CREATE TABLE t (id INTEGER, body VARCHAR); CREATE INDEX i ON t USING fts (body)")

    def fails(text, told, kind=raydb.ProgrammingError):
        with pytest.raises(kind, match=re.escape(told)):
            con.execute(text)

    fails("SELECT * FROM text_search(t, id, 'x')", "column 'id' of text_search() is INTEGER, not")
    fails("SELECT * FROM text_search(t, body, 3)", "text_search() needs a text, not")
    fails("SELECT * FROM text_search(t, body, 'x', k => 0)", "k of text_search() is a whole")
    fails("SELECT * FROM text_search(t, body, 'x', b => 2)", "b of text_search() is a number")
    fails("SELECT * FROM text_search(t, body, 'x', k => NULL)", "from 1, not NULL")
    for wrong in ("'inf'::DOUBLE", "1e308", "-1", "NULL"):
        fails(f"SELECT * FROM text_search(t, body, 'x', k1 => {wrong})", "k1 of text_search()")
    fails("SELECT * FROM text_search(t, body, 'x', stemmer => 'nix')", "stemmer of text_search()")
    fails("CREATE INDEX j ON t USING fts (body)", "has the fts index 'i' already")
    kind = raydb.NotSupportedError
    fails("CREATE INDEX j ON t USING fts (id)", "but an fts index needs VARCHAR", kind)
    fails("CREATE INDEX j ON t USING fts (id, body)", "is of one column", kind)
    fails("ALTER TABLE t ALTER COLUMN body TYPE BLOB", "the index 'i' needs it", kind)
    fails("CALIBRATE INDEX i", "index 'i' is no ivf index")


def test_definitions_follow_their_table(tmp_path):
    con = raydb.connect(tmp_path / "db")
    con.execute("CREATE TABLE t (id INTEGER, body VARCHAR); INSERT INTO t VALUES (1, 'red')")
    con.execute("CREATE INDEX i ON t USING fts (body); ALTER TABLE t RENAME COLUMN body TO words")
    con.execute("ALTER TABLE t RENAME TO u")
    assert con.execute("SELECT id FROM text_search(u, words, 'red')").fetchall() == [(1,)]
    counts = "SELECT name, table_name, column_name, texts, words, terms FROM text_indexes()"
    assert con.execute(counts).fetchall() == [("i", "u", "words", 1, 1, 1)]
    con.close()
    con = raydb.connect(tmp_path / "db")
    assert con.execute(counts).fetchall() == [("i", "u", "words", 1, 1, 1)]
    con.execute("ALTER TABLE u DROP COLUMN words")
    assert con.execute(counts).fetchall() == []
    con.close()
    assert raydb.connect(tmp_path / "db").execute(counts).fetchall() == []


def test_transactions_of_two_connections(tmp_path):
    one, other = raydb.connect(tmp_path / "db"), raydb.connect(tmp_path / "db")
    one.execute("CREATE TABLE t (id INTEGER, body VARCHAR); CREATE INDEX i ON t USING fts (body)")
    one.execute("INSERT INTO t VALUES (1, 'red')")
    one.execute("BEGIN; INSERT INTO t VALUES (2, 'red'); REINDEX i")
    search = "SELECT id FROM text_search(t, body, 'red') ORDER BY id"
    assert one.execute(search).fetchall() == [(1,), (2,)]
    assert other.execute(search).fetchall() == [(1,)]
    other.execute("INSERT INTO t VALUES (3, 'red')")
    with pytest.raises(raydb.OperationalError, match="changed by another connection"):
        one.execute("COMMIT")
    assert one.execute(search).fetchall() == [(1,), (3,)]


def test_memory_is_bounded():
    con = raydb.connect()
    con.execute("CREATE TABLE t (body VARCHAR)")
    con.execute(
        "INSERT INTO t SELECT concat_ws(' ', range, range + 1, range + 2) FROM range(200000)"
    )
    con.execute("SET memory_limit = '8MB'")
    with pytest.raises(raydb.OperationalError, match="index 'i'"):
        con.execute("CREATE INDEX i ON t USING fts (body)")
    with pytest.raises(raydb.OperationalError, match="the words of table 't'"):
        con.execute("SELECT * FROM text_search(t, body, '17')")
    con.execute("RESET memory_limit")
    assert len(con.execute("SELECT * FROM text_search(t, body, '17')").fetchall()) == 3


def test_interrupts_are_heard():
    con = raydb.connect()
    con.execute("CREATE TABLE t (body VARCHAR)")
    con.execute("INSERT INTO t SELECT 'a b c d ' || range % 77 FROM range(400000)")
    timer = threading.Timer(0.1, con.interrupt)
    timer.start()
    with pytest.raises(raydb.OperationalError, match="interrupted"):
        con.execute("CREATE INDEX i ON t USING fts (body)")
    assert con.execute("SELECT * FROM text_indexes()").fetchall() == []


def test_many_rows_beside_an_index_are_told():
    con = raydb.connect()
    con.execute("CREATE TABLE t (body VARCHAR); CREATE INDEX i ON t USING fts (body)")
    con.execute("INSERT INTO t SELECT 'red ' || range FROM range(5001)")
    search = "SELECT count(*) FROM text_search(t, body, 'red')"
    ((_, told),) = con.execute(search).messages
    assert "5001 rows lie beside the 0 of index 'i'" in str(told)
    con.execute("REINDEX TABLE t")
    assert con.execute(search).messages == []


def test_a_backup_has_the_index(tmp_path):
    con = raydb.connect(tmp_path / "db")
    con.execute("CREATE TABLE t (body VARCHAR); INSERT INTO t VALUES ('red shoe')")
    con.execute("CREATE INDEX i ON t USING fts (body)")
    con.execute(f"EXPORT DATABASE '{tmp_path / 'out'}'")
    other = raydb.connect()
    other.execute(f"IMPORT DATABASE '{tmp_path / 'out'}'")
    listed = "SELECT name, column_name, stemmer, texts FROM text_indexes()"
    assert other.execute(listed).fetchall() == [("i", "body", "none", 1)]


def test_an_attached_database_is_searched(tmp_path):
    con = raydb.connect(tmp_path / "db")
    con.execute("CREATE TABLE t (body VARCHAR); INSERT INTO t VALUES ('red shoe')")
    con.execute("CREATE INDEX i ON t USING fts (body)")
    con.close()
    other = raydb.connect()
    other.execute(f"ATTACH '{tmp_path / 'db'}' AS a (READ_ONLY)")
    search = "SELECT body FROM text_search(a.t, body, 'shoe')"
    assert other.execute(search).fetchall() == [("red shoe",)]
    assert any("words of" in line for (line,) in other.execute(f"EXPLAIN {search}").fetchall())


def test_a_damaged_index_is_told(tmp_path):
    con = raydb.connect(tmp_path / "db")
    con.execute("CREATE TABLE t (body VARCHAR); INSERT INTO t VALUES ('red shoe'), ('red')")
    con.execute("CREATE INDEX i ON t USING fts (body)")
    con.close()
    (file,) = (tmp_path / "db").rglob("*.fts")
    content = bytearray(file.read_bytes())
    content[content.index(b"redshoe")] ^= 1
    file.write_bytes(content)
    con = raydb.connect(tmp_path / "db")
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(2,)]
    with pytest.raises(raydb.OperationalError, match=r"fts' is damaged"):
        con.execute("SELECT * FROM text_search(t, body, 'red')")
