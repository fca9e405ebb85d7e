"""Streams give the rows of `execute`, block by block, and hold no more than a block."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest

import raydb

# Several blocks of 131,072 rows.
MANY = "generate_series(1, 400000) AS t(i)"


@pytest.fixture(scope="module")
def con():
    con = raydb.connect()
    con.execute(f"""
        CREATE TABLE fact AS SELECT i, i % 7 AS k, 'text ' || i AS s FROM {MANY};
        CREATE TABLE few (k BIGINT PRIMARY KEY, name VARCHAR);
        INSERT INTO few VALUES (0, 'zero'), (3, 'three'), (6, NULL);
        DELETE FROM fact WHERE i % 1000 = 0
    """)
    return con


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1 AS one, 'a' AS a",
        "SELECT 1 AS one WHERE false",
        "SELECT * FROM fact",
        "SELECT s, i FROM fact WHERE k = 3",
        "SELECT i FROM fact WHERE i > 399990 AND k < 3",
        "SELECT i FROM fact WHERE false",
        f"SELECT i, i * 2 AS d FROM {MANY}",
        f"SELECT 1 AS one FROM {MANY}",
        f"SELECT i FROM {MANY} WHERE i % 3 = 0 LIMIT 100000 OFFSET 50000",
        f"SELECT i FROM {MANY} LIMIT 0",
        f"SELECT i FROM {MANY} OFFSET 399999",
        f"SELECT i FROM {MANY} OFFSET 500000",
        f"SELECT i FROM {MANY} ORDER BY i % 10, i DESC LIMIT 150000",
        f"SELECT i AS n FROM {MANY} UNION ALL SELECT k FROM fact UNION ALL SELECT -1 LIMIT 700000",
        f"SELECT i FROM {MANY} UNION SELECT i FROM fact ORDER BY 1",
        f"SELECT i, unnest([i, -i, NULL]) AS u FROM {MANY} WHERE i % 2 = 0",
        "SELECT i, u FROM fact, UNNEST([k, k + 1]) AS e(u) WHERE u > 2 LIMIT 200000",
        "SELECT i, name FROM fact JOIN few USING (k) ORDER BY i",
        "SELECT k, count(*) AS n, sum(i) AS total FROM fact GROUP BY k ORDER BY k",
        "SELECT i, row_number() OVER (ORDER BY i DESC) AS r FROM fact ORDER BY i",
        "WITH c AS (SELECT i FROM fact) SELECT i FROM c WHERE i < 9 UNION ALL SELECT i FROM c",
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 9) TABLE r",
        "VALUES (1, 'a'), (2, NULL)",
    ],
)
def test_a_stream_gives_what_execute_gives(con, query):
    expected = con.execute(query).to_arrow_table()
    with con.stream(query) as reader:
        found = reader.read_all()
    assert found.schema.names == expected.schema.names
    assert found.schema.types == expected.schema.types
    assert found.equals(expected.cast(found.schema))


def test_the_fused_path_streams_too():
    con = raydb.connect()
    con.execute("""
        CREATE TABLE sale (day INTEGER, amount INTEGER);
        INSERT INTO sale SELECT i % 10, i FROM generate_series(1, 1000) AS t(i);
        CREATE BVH b ON sale (SCAN (day), AGGREGATE (amount))
    """)
    query = "SELECT day, sum(amount) AS total FROM sale GROUP BY day ORDER BY day"
    assert con.stream(query).read_all().equals(con.execute(query).to_arrow_table())


def test_parameters_and_names(con):
    reader = con.stream(
        'SELECT i AS "Odd name", $x AS x FROM fact WHERE i <= $last', {"x": 5, "last": 2}
    )
    assert reader.read_all().to_pylist() == [{"Odd name": 1, "x": 5}, {"Odd name": 2, "x": 5}]


def test_settings_are_those_of_the_statement(con):
    query = "SELECT current_setting('threads') FROM range(3) WHERE current_setting('threads') <> ''"
    assert (
        con.stream(query).read_all().to_pydict() == con.execute(query).to_arrow_table().to_pydict()
    )


def test_the_first_block_comes_before_the_last_is_computed(con):
    # The whole of it would take 16 TB.
    reader = con.stream("SELECT i, i * 2 AS d FROM generate_series(1, 1000000000000) AS t(i)")
    assert next(iter(reader)).column("d")[1].as_py() == 4


def test_a_failing_row_is_an_error_when_it_is_read(con):
    reader = con.stream(f"SELECT 1 / (i - 390000) AS q FROM {MANY}")
    assert next(iter(reader)).num_rows > 0
    with pytest.raises(raydb.DataError, match="division by zero"):
        reader.read_all()


def test_memory_stays_flat(con):
    before = pa.total_allocated_bytes()
    most = 0
    for batch in con.stream("SELECT 'row ' || i AS s FROM generate_series(1, 3000000) AS t(i)"):
        most = max(most, pa.total_allocated_bytes() - before)
        assert batch.num_rows
    # 3,000,000 such texts take 45 MB; blocks of 2 MB are in work, a few ahead.
    assert most < 25_000_000


def test_the_rows_are_those_of_the_start():
    con = raydb.connect()
    con.execute("CREATE TABLE t AS SELECT i FROM generate_series(1, 300000) AS s(i)")
    reader = con.stream("SELECT i FROM t")
    con.execute("DELETE FROM t; INSERT INTO t VALUES (0)")
    con.execute("DROP TABLE t")
    assert sum(batch.num_rows for batch in reader) == 300000


def test_statements_run_between_blocks(con):
    reader = con.stream(f"SELECT i FROM {MANY}")
    found = 0
    for batch in reader:
        found += batch.num_rows
        assert con.execute("SELECT count(*) FROM few").fetchone() == (3,)
    assert found == 400000


def test_another_thread_reads(con):
    reader = con.stream(f"SELECT sum(i) AS total FROM {MANY}")
    found = []
    thread = threading.Thread(target=lambda: found.append(reader.read_all().to_pylist()))
    thread.start()
    thread.join()
    assert found == [[{"total": 80000200000}]]


@pytest.mark.parametrize("text", ["CREATE TABLE x (a INTEGER)", "SELECT 1; SELECT 2", "BEGIN"])
def test_only_a_query_is_streamed(con, text):
    with pytest.raises(raydb.ProgrammingError, match="whose rows are streamed is one query"):
        con.stream(text)


def test_errors_of_the_text_come_at_once(con):
    with pytest.raises(raydb.ProgrammingError, match="column 'ii' does not exist") as caught:
        con.stream("SELECT ii FROM fact")
    assert caught.value.position == (1, 8)


def test_a_closed_connection():
    con = raydb.connect()
    con.close()
    with pytest.raises(raydb.InterfaceError, match="the connection is closed"):
        con.stream("SELECT 1")


@pytest.fixture
def late(tmp_path):
    """A file whose last value is a text where 30,000 before it are integers."""
    path = tmp_path / "late.csv"
    path.write_text("i,k\n" + "".join(f"{i},1\n" for i in range(30_000)) + "late,2\n")
    return str(path)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM '{}'",
        "SELECT i, k + 1 AS n FROM '{}' WHERE k = 2",
        "SELECT count(*) AS n, max(i) AS m FROM '{}'",
        "SELECT i FROM '{0}' UNION ALL SELECT i FROM '{0}' WHERE k = 2",
    ],
)
def test_a_late_value_of_a_text_file_tells_the_type(con, late, query):
    expected = con.execute(query.format(late)).to_arrow_table()
    found = con.stream(query.format(late)).read_all()
    assert found.equals(expected.cast(found.schema))
    assert found.schema.types == expected.schema.types


def test_a_late_value_behind_rows_that_are_out_is_an_error_with_a_way_out(con, late):
    query = f"SELECT i FROM (SELECT i FROM fact LIMIT 5) q UNION ALL SELECT i FROM '{late}'"
    reader = con.stream(query)
    assert reader.read_next_batch().num_rows == 5
    for _ in range(2):
        with pytest.raises(raydb.DataError) as caught:
            reader.read_next_batch()
        assert str(caught.value) == (
            f"file '{late}', line 30002, field 1 (i): 'late' is not a BIGINT; the types of the"
            " columns are those of the rows before, and rows of the stream are out: tell the types"
            " with read_csv(..., types => {...}) or find them from all rows with sample_size => -1"
        )
    whole = f"SELECT i FROM read_csv('{late}', sample_size => -1) UNION ALL SELECT 'a'"
    assert con.stream(whole).read_all().num_rows == 30_002
