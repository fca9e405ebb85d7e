"""What the page's server answers: runs, windows, errors, downloads, and how things end."""

import http.client
import io
import json
import os
import threading
import time
from pathlib import Path

import pytest
from page_client import Client
from pyarrow import parquet

import raydb
from raydb.engine.ui import routes
from raydb.engine.ui.command import open_page
from raydb.engine.ui.runs import gives_rows_late

LONG = "SELECT count(*) FROM range(100_000) a, range(1_000_000) b WHERE a.range * b.range = 7"


def test_a_query_gives_windows_of_texts(client):
    found = client.result("SELECT city, amount FROM sale JOIN shop ON shop = id")
    assert found["names"] == ["city", "amount"]
    assert found["types"] == ["VARCHAR", "DECIMAL(8,2)"]
    rows = client.window(found["result"])
    assert sorted(rows, key=str) == [("Lyon", None), ("Oslo", "10.50"), ("Oslo", "4.00")]
    assert client.window(found["result"], 1, 1) == rows[1:2]
    assert client.window(found["result"], 3, 5) == []


def test_values_are_as_the_shell_has_them(client):
    found = client.result(
        "SELECT true AS b, 1e300 AS d, DATE '2026-05-01' AS t, INTERVAL 3 DAY AS i, [1, NULL] AS l,"
        " {'a': 1} AS s, 'x'::BLOB AS x, list_transform(range(60), x -> x)::INTEGER[60] AS v"
    )
    row = client.window(found["result"])[0]
    assert row[:7] == ("true", "1e+300", "2026-05-01", "3 days", "[1, NULL]", "{'a': 1}", "\\x78")
    assert row[7].endswith("39, … 60 in all]")


def test_enums_and_uuids(client):
    found = client.result(
        "CREATE TYPE mood AS ENUM ('sad', 'glad');"
        "SELECT 'glad'::mood AS m, ['sad'::mood] AS l, '7f1d0c1e-0000-4000-8000-000000000001'::UUID"
    )
    uuid = "7f1d0c1e-0000-4000-8000-000000000001"
    assert client.window(found["result"]) == [("glad", "[sad]", uuid)]


def test_two_columns_of_one_name_and_no_rows(client):
    found = client.result("SELECT 1 AS a, 2 AS a")
    assert client.window(found["result"]) == [("1", "2")]
    found = client.result("SELECT * FROM shop WHERE id = 7")
    assert found["count"] == 0
    assert client.window(found["result"]) == []


def test_rows_come_while_others_are_computed(client):
    heard = client.run("SELECT i, i * 2 AS twice FROM range(1_000_000) t(i)")
    columns = next(event for event in heard if event["event"] == "columns")
    assert columns["count"] < 1_000_000
    whole = [event for event in heard if event["event"] == "rows"][-1]
    assert (whole["count"], whole["is_whole"]) == (1_000_000, True)
    assert client.window(columns["result"], 777_777, 2) == [
        ("777777", "1555554"),
        ("777778", "1555556"),
    ]


def test_several_statements_and_what_they_wrote(client):
    heard = client.run("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1), (2)")
    assert heard[-1]["event"] == "done"
    assert heard[-1]["written"] == 2
    assert client.run("SELECT * FROM t; UPDATE t SET a = 3")[-1]["written"] == 2


@pytest.mark.parametrize(
    ("text", "marked", "sentence"),
    [
        ("SELECT 1; SELECT nme FROM shop", "nme", "column 'nme' does not exist in 'shop'"),
        ("SELECT '𝄞';\nSELECT 1 +\n  zip FROM shop;", "zip", "column 'zip' does not exist"),
        ("SELECT 1 FROM", "FROM", "syntax error"),
        ("SELECT 1 / 0", "SELECT 1 / 0", "division by zero"),
        (".tables", ".tables", "'.tables' is a command of the shell"),
    ],
)
def test_an_error_has_its_place(client, text, marked, sentence):
    failed = client.run(text)[-1]
    assert sentence in failed["sentence"]
    assert "\n" not in failed["sentence"]
    units = text.encode("utf-16-le")
    found = units[2 * failed["start"] : 2 * failed["end"]].decode("utf-16-le")
    assert marked in found or found in marked or failed["start"] == failed["end"]


def test_an_error_in_a_later_row_keeps_the_rows_before(client):
    heard = client.run("SELECT 10 / (200_000 - i) FROM range(300_000) t(i)")
    assert heard[-1]["event"] == "failed"
    assert [event["event"] for event in heard].count("columns") <= 1


def test_cancel(client):
    client.post("run", tab="a", text=LONG)
    client.wait("statement")
    assert "runs in this tab" in client.refused("run", tab="a", text="SELECT 1")
    start = time.monotonic()
    client.post("cancel", tab="a")
    failed = client.wait("failed")
    assert failed["is_cancelled"]
    assert failed["sentence"] == "the statement was interrupted"
    assert time.monotonic() - start < 20
    assert client.run("SELECT 1")[-1]["event"] == "done"


def test_cancel_of_rows_that_come(client):
    client.post("run", tab="a", text="SELECT i FROM range(100_000_000_000) t(i)")
    columns = client.wait("columns")
    client.post("cancel", tab="a")
    assert client.wait("failed")["is_cancelled"]
    assert client.window(columns["result"], 0, 1) == [("0",)]


def test_tabs_have_their_own_transactions(client):
    assert client.run("BEGIN; INSERT INTO shop VALUES (3, 'Bergen')", tab="a")[-1]["written"] == 1
    other = client.result("SELECT count(*) FROM shop", tab="b")
    assert client.window(other["result"]) == [("2",)]
    client.post("close_tab", tab="a")
    other = client.result("SELECT count(*) FROM shop", tab="b")
    assert client.window(other["result"]) == [("2",)]


def test_rows_that_are_gone(client):
    first = client.result("SELECT 1")["result"]
    client.result("SELECT 2")
    status, _, contents = client.send("GET", f"/api/rows?result={first}&offset=0&count=1")
    assert status == 410
    assert b"run the statement again" in contents


def test_questions_of_the_page(client):
    told = client.post(
        "ask", sql="SELECT city, 1.5::DOUBLE, NULL FROM shop WHERE id = ?", parameters=[1]
    )
    assert told["rows"] == [["Oslo", 1.5, None]]
    result = client.result("SELECT i FROM range(1000) t(i)")["result"]
    told = client.post("ask", sql="SELECT sum(i), max(i) FROM result", result=result)
    assert told["rows"] == [[499500, 999]] or told["rows"] == [["499500", 999]]
    assert "does not exist" in client.refused("ask", sql="SELECT a FROM b")
    assert "external_access" in client.refused("ask", sql="FROM 'x.csv'", result=result)


def test_completion_and_history(client, ui):
    found = client.post("complete", text="SELECT am FROM sale", before="SELECT am")
    assert found[0]["text"] == "amount"
    assert found[0]["replaces"] == 2
    assert client.post("complete", text="SELECT 'am", before="SELECT 'am") == []
    client.run("SELECT 1 AS one")
    client.run("SELECT 1 AS one")
    client.run("CREATE SECRET s (TYPE s3, KEY_ID 'k', SECRET 'hidden')")
    assert client.post("history") == ["SELECT 1 AS one"]
    assert "SELECT 1 AS one" in Path(os.environ["RAYDB_HISTORY"]).read_text("utf-8")
    assert "hidden" not in Path(os.environ["RAYDB_HISTORY"]).read_text("utf-8")


def test_downloads(client):
    result = client.result("SELECT city, id FROM shop ORDER BY id")["result"]
    made = {
        name: client.post("download", result=result, format=name)["path"]
        for name in ("csv", "json", "parquet")
    }
    status, headers, contents = client.send("GET", made["csv"], headers={})
    assert (status, contents) == (200, b"city,id\nOslo,1\nLyon,2\n")
    assert headers["content-disposition"] == 'attachment; filename="result.csv"'
    assert b'{"city": "Oslo", "id": 1}' in client.send("GET", made["json"], headers={})[2]
    table = parquet.read_table(io.BytesIO(client.send("GET", made["parquet"], headers={})[2]))
    assert table.to_pylist() == [{"city": "Oslo", "id": 1}, {"city": "Lyon", "id": 2}]
    status, _, contents = client.send("GET", made["csv"], headers={})
    assert status == 410
    assert b"ask for it again" in contents
    assert "did you mean 'csv'" in client.refused("download", result=result, format="cvs")


def test_a_whole_value(client):
    result = client.result(
        "SELECT repeat('long ', 200) AS t, unhex('89504e470d0a1a0a') AS p, NULL AS n"
    )["result"]
    assert client.window(result)[0][0].endswith("…")
    status, headers, contents = client.send("GET", f"/api/cell?result={result}&row=0&column=0")
    assert (status, len(contents), headers["content-type"][:10]) == (200, 1000, "text/plain")
    assert client.send("GET", f"/api/cell?result={result}&row=5&column=0")[0] == 400
    assert client.send("GET", f"/api/cell?result={result}&row=0&column=9")[0] == 400


def test_how_well_a_text_is_known(client):
    text = "SELECT city, count(*) FROM shop WHERE id = 1 GROUP BY city"

    def known(text):
        heard = client.run(text)
        return next(event for event in heard if event["event"] == "columns")["familiarity"]

    assert known(text) == "new"
    assert known(text) == "repeated"
    assert known(text.replace("= 1", "= 2")) == "new"  # The second text makes the template.
    assert known(text.replace("= 1", "= 3")) == "new constants"
    client.run("INSERT INTO shop VALUES (9, 'Rome')")
    assert known(text) == "new"


def test_plans(client):
    sql = "SELECT city, count(*) FROM sale JOIN shop ON shop = id GROUP BY city"
    found = client.post("explain", sql=sql)
    assert found["time_ms"] is None
    measured = client.post("explain", sql=sql, measures=True)
    assert measured["time_ms"] > 0
    assert any(name == "gave" for name, _ in measured["plan"]["lines"])
    assert "of a query alone" in client.refused("explain", sql="DELETE FROM sale")
    found = client.post("compare", sql=sql)
    assert found["without"]["path"] == "general"
    assert found["with"]["new_ms"] > 0
    assert client.post("ask", sql="SHOW fused_path")["rows"] == [["on"]]
    assert "of a query alone" in client.refused("compare", sql="SELECT 1; DELETE FROM sale")


def test_a_file_that_is_dropped(client):
    status, _, contents = client.send("POST", "/api/upload?name=pets.csv", b"name,born\nRex,2020\n")
    assert status == 200
    path = json.loads(contents)["path"]
    found = client.result(f"SELECT * FROM '{path}'")
    assert found["types"] == ["VARCHAR", "BIGINT"]
    assert client.window(found["result"]) == [("Rex", "2020")]
    client.post("drop_upload", path=path)
    assert not Path(path).parent.exists()
    assert "no such upload" in client.refused("drop_upload", path="/etc/passwd")
    for name in ("x.exe", "../../x", "", "x.csv/..", "csv"):
        status, _, contents = client.send("POST", f"/api/upload?name={name}", b"x")
        assert (status, b"none that RayDB reads" in contents) == (400, True), name


def test_uploads_go_with_their_page(client, monkeypatch):
    monkeypatch.setattr(routes, "GRACE_S", 0.05)
    _, _, contents = client.send("POST", "/api/upload?name=a/b/../pets.JSON", b'{"a": 1}')
    path = Path(json.loads(contents)["path"])
    assert path.name == "file.json"
    assert path.exists()
    client.leave()
    wait_until(lambda: not path.parent.exists())


def test_advice_is_about_the_history(client):
    assert client.post("advise") == {"queries": [], "proposals": [], "refused": []}
    client.run("INSERT INTO sale SELECT 1 + i % 2, i % 100 FROM range(50_000) t(i)")
    client.run(
        "SELECT city, sum(amount) FROM sale JOIN shop ON shop = id"
        " WHERE amount BETWEEN 3 AND 5 GROUP BY city; SELECT 1"
    )
    client.run("SELECT count(*) FROM another_database GROUP BY x")
    client.run("SELECT count(*) FROM range(5)")
    found = client.post("advise")
    assert len(found["queries"]) == 2
    assert [each["query"] for each in found["refused"]] == [1], found
    (proposal,) = found["proposals"]
    assert proposal["queries"] == [2]
    assert client.run(proposal["statement"])[-1]["event"] == "done"


# -- how things end


def run_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("raydb-ui")]


def open_files():
    """Return the files without a name that this process has open (Linux)."""
    folder = Path("/proc/self/fd")
    if not folder.exists():
        pytest.skip("/proc is missing")
    found = []
    for each in folder.iterdir():
        try:
            found.append(str(each.readlink()))
        except OSError:
            continue
    return [name for name in found if "(deleted)" in name]


def wait_until(holds):
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_page_that_is_killed_leaves_nothing(client, con, monkeypatch):
    monkeypatch.setattr(routes, "GRACE_S", 0.05)
    before = len(open_files())
    client.post("run", tab="b", text="SELECT i FROM range(1000) t(i)")
    client.wait("done", tab="b")
    client.post("run", tab="a", text=LONG)
    client.wait("statement")
    assert len(open_files()) > before
    client.leave()
    wait_until(lambda: not [t for t in run_threads() if t.name == "raydb-ui-run"])
    wait_until(lambda: len(open_files()) <= before)


def test_a_server_that_is_closed_leaves_nothing(con, ui, client):
    client.post("run", tab="a", text=LONG)
    client.wait("statement")
    start = time.monotonic()
    ui.close()
    assert client.has_ended.wait(10)
    assert time.monotonic() - start < 20
    wait_until(lambda: not run_threads())
    assert con.execute("SELECT count(*) FROM shop").fetchone() == (2,)
    with pytest.raises(ConnectionError):
        client.send("GET", "/")


def test_closing_the_connection_closes_the_page():
    con = raydb.connect()
    ui = con.ui(port=0, browser=False)
    assert con.ui(browser=False) is ui
    assert "token=" in ui._repr_html_()
    con.close()
    assert not ui.is_running
    assert repr(ui) == "<a page that is closed>"


def test_two_pages_at_once(ui, client):
    other = Client(ui, "another-page")
    client.run("BEGIN; DELETE FROM sale")
    assert other.window(other.result("SELECT count(*) FROM sale")["result"]) == [("3",)]
    result = client.result("SELECT 1")["result"]
    assert other.send("GET", f"/api/rows?result={result}&offset=0&count=1")[0] == 410


def test_a_taken_port_is_an_error(con, ui):
    with raydb.connect() as other, pytest.raises(raydb.OperationalError, match="cannot listen"):
        open_page(other, port=ui.port)


def test_a_read_only_database(tmp_path):
    with raydb.connect(tmp_path / "shop.raydb") as writer:
        writer.execute("CREATE TABLE t (a INTEGER)")
    with raydb.connect(tmp_path / "shop.raydb", read_only=True) as reader:
        client = Client(reader.ui(port=0, browser=False))
        assert client.post("facts")["is_read_only"] is True
        assert "read" in client.run("INSERT INTO t VALUES (1)")[-1]["sentence"]


def test_which_queries_are_executed_as_a_whole():
    assert gives_rows_late("SELECT a, count(*) FROM t GROUP BY a")
    assert gives_rows_late("SELECT sum (a) FROM t")
    assert gives_rows_late("FROM t ORDER BY a")
    assert not gives_rows_late("SELECT * FROM (SELECT sum(a) FROM t GROUP BY b)")
    assert not gives_rows_late("SELECT row_number() OVER (ORDER BY a) FROM t LIMIT 5")
    assert not gives_rows_late("SELECT 'GROUP BY', \"order\" FROM t -- ORDER BY a")


def test_a_body_that_is_too_long(client):
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=20)
    try:
        connection.request("POST", "/api/run", b"x" * (17 << 20), client.headers)
        answer = connection.getresponse()
    except ConnectionError:
        return  # The server has closed before all was sent.
    assert answer.status == 400
    assert b"too long" in answer.read()


def test_columns_of_one_name_are_told_apart_in_sql_over_a_result(client):
    about = client.result("SELECT 1 AS a, 2 AS A, 3 AS a_1, 4 AS a")
    assert about["names"] == ["a", "A", "a_1", "a"]
    assert about["keys"] == ["a", "A_1", "a_1_1", "a_2"]
    asked = 'SELECT "A_1", "a_2" FROM result'
    assert client.post("ask", result=about["result"], sql=asked)["rows"] == [[2, 4]]


def test_every_type_has_a_summary(client):
    texts = "[1, 2] AS l, {'a': 1} AS s, MAP {'k': 1} AS m, INTERVAL 1 DAY AS i, NULL AS n"
    about = client.result(f"SELECT {texts}, [1, 2]::FLOAT[2] AS v FROM range(3)")
    told = client.post("ask", result=about["result"], sql="SUMMARIZE result")
    assert [row[0] for row in told["rows"]] == about["names"]


def test_parquet_of_an_interval_is_refused_with_its_column(client):
    result = client.result("SELECT 1 AS a, INTERVAL 1 DAY AS b, [INTERVAL 1 DAY] AS c")["result"]
    assert client.refused("download", result=result, format="parquet") == (
        "Parquet has no INTERVAL, which column 'b' and 'c' has; CSV and JSON do"
    )


def test_json_that_is_too_deep_is_refused(client):
    status, _, contents = client.send("POST", "/api/ask", "[" * 100_000)
    assert (status, json.loads(contents)["kind"]) == (400, "ProgrammingError")


@pytest.mark.parametrize("port", [-1, 2**16, 99_999, "x"])
def test_a_number_that_is_no_port(con, port):
    with pytest.raises(raydb.OperationalError, match=f"{port!r} is no port"):
        con.ui(port=port, browser=False)


def test_a_certificate_that_is_none(con, tmp_path):
    file = tmp_path / "bad.pem"
    file.write_text("hello")
    with pytest.raises(raydb.OperationalError, match="are no certificate and its key"):
        open_page(con, port=0, certificate=str(file), key=str(file))
    assert con.execute("SELECT 1").fetchall() == [(1,)]
