"""The dot commands, completion and colours, without a terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

import raydb
from raydb.engine.shell import cli, history
from raydb.engine.shell.commands import COMMANDS
from raydb.engine.shell.completion import SqlCompleter
from raydb.engine.shell.highlighting import colored_parts
from raydb.engine.shell.render import progress
from raydb.engine.shell.render.progress import _Bar, showing_progress
from raydb.engine.shell.schema import schema_statements
from raydb.engine.table_functions.registered import TABLE_FUNCTIONS
from raydb.keywords import KEYWORDS, quoted

SHOP = """
CREATE TABLE shop (
    s_id INTEGER PRIMARY KEY, s_city VARCHAR NOT NULL UNIQUE,
    rent DECIMAL(10, 2) DEFAULT 1.5 CHECK (rent > 0),
    CONSTRAINT lucky CHECK (s_id <> 13));
CREATE TABLE "Sale" (
    day DATE NOT NULL, shop INTEGER NOT NULL REFERENCES shop (s_id) ON DELETE CASCADE,
    amount BIGINT NOT NULL,
    "Odd name" VARCHAR DEFAULT 'a''b', "order" INTEGER[], v FLOAT[3], PRIMARY KEY (day, shop))
    WITH (day.chunk_rows = 500, "Odd name".encoding = fsst, "Odd name".offset_index = off);
CREATE TABLE part (
    day DATE, shop INTEGER,
    CONSTRAINT of_sale FOREIGN KEY (day, shop) REFERENCES "Sale" (day, shop));
CREATE INDEX by_day ON "Sale" (day DESC, "Odd name");
CREATE UNIQUE INDEX one_rent ON shop (rent);
CREATE INDEX near ON "Sale" USING ivf (v) WITH (metric = cosine, seed = 3);
CREATE INDEX joined ON "Sale" USING hnsw (v) WITH (metric = ip, m = 8);
CREATE BVH sales ON "Sale" (
    SCAN (s_city, day), GROUP BY (s_city), AGGREGATE (amount, amount * shop));
CREATE BVH cells ON "Sale" (SCAN (day), AGGREGATE (amount)) WITH (sieve = true);
CREATE VIEW towns (town) AS SELECT s_city FROM shop;
CREATE VIEW more_towns AS SELECT * FROM towns;
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    with raydb.connect("shop") as connection:
        connection.execute(SHOP)
    return "shop"


def run(capfd: pytest.CaptureFixture[str], database: str, *lines: str) -> tuple[str, str]:
    """Return what the shell writes, and what it complains about."""
    arguments = [part for line in lines for part in ("-c", line)]
    cli.main([database, *arguments])
    said = capfd.readouterr()
    return said.out, said.err


def test_schema_makes_the_same_database_again(shop: str, capfd: pytest.CaptureFixture[str]) -> None:
    text, _ = run(capfd, shop, ".schema")
    with raydb.connect("again") as again:
        again.execute(text)
        assert "\n".join(schema_statements(again)) + "\n" == text
    assert "FOREIGN KEY (shop) REFERENCES shop (s_id) ON DELETE CASCADE" in text
    assert "CONSTRAINT lucky CHECK (s_id <> 13)" in text
    options = (
        "day.chunk_rows = 500",
        '"Odd name".encoding = fsst',
        '"Odd name".offset_index = off',
    )
    assert f") WITH (\n    {', '.join(options)}\n);".replace(", ", ",\n    ") in text
    assert text.count("WITH (sieve = true);") == 1
    assert "near ON Sale USING ivf (v) WITH (metric = 'cosine', seed = 3);" in text
    graph = "metric = 'ip', seed = 0, m = 8, ef_construction = 24"
    assert f"joined ON Sale USING hnsw (v) WITH ({graph});" in text
    one, _ = run(capfd, shop, ".schema towns")
    assert (
        one == 'CREATE VIEW towns AS SELECT * FROM (SELECT s_city FROM shop) AS "towns" ("town");\n'
    )
    assert run(capfd, shop, ".schema shp") == (
        "",
        "error: there is no table or view 'shp'; did you mean 'shop'?\n",
    )


def test_tables(shop: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert (
        run(capfd, shop, ".tables")[0] == "Sale        more_towns  part        shop        towns\n"
    )
    assert run(capfd, shop, ".tables %town%")[0] == "more_towns  towns\n"
    assert "no table or view 'x'" in run(capfd, shop, ".tables x")[1]
    assert run(capfd, ":memory:", ".tables", ".schema") == ("", "")


def test_bvhs_and_indexes(shop: str, capfd: pytest.CaptureFixture[str]) -> None:
    text, _ = run(capfd, shop, ".mode list", ".bvhs", ".indexes")
    assert "sales|Sale|s_city, day|s_city|" in text
    assert "one_rent|shop|rent|true\n" in text


def test_explain(shop: str, capfd: pytest.CaptureFixture[str]) -> None:
    query = "SELECT count(*) FROM shop"
    text, _ = run(capfd, shop, f".explain {query}")
    assert text == "".join(f"{line}\n" for line in _plan(shop, query))
    assert run(capfd, shop, f"{query};", ".mode list", ".explain")[0].endswith(text)
    assert " ms" in run(capfd, shop, f".explain analyze {query}")[0]
    assert ".explain needs a query" in run(capfd, shop, ".explain")[1]
    assert '"explain"' in run(capfd, shop, ".mode json", f".explain {query}")[0]


def test_a_plan_may_be_a_page(capfd: pytest.CaptureFixture[str]) -> None:
    text, _ = run(capfd, ":memory:", "EXPLAIN (FORMAT HTML) SELECT 1")
    with raydb.connect() as connection:
        ((page,),) = connection.execute("EXPLAIN (FORMAT HTML) SELECT 1").fetchall()
    assert text == f"{page}\n"


def _plan(database: str, query: str) -> list[str]:
    with raydb.connect(database) as connection:
        return [line for (line,) in connection.execute(f"EXPLAIN {query}")]


def test_import_makes_a_table_or_adds_to_one(shop: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("pet.csv").write_text('id,name\n1,Rex\n2,\n3,""\n')
    Path("odd name's.txt").write_text("# a comment\nid,name\n4,Tom\n")
    text, errors = run(
        capfd, shop, ".mode list", ".import pet.csv pet", ".import pet.csv PET",
        """.import --csv --skip 1 "odd name's.txt" pet""", "SELECT count(*), sum(id) FROM pet",
        """.import --csv --skip 1 "odd name's.txt" "other pet" """, "DESCRIBE otherpet",
        "SELECT count(*) FROM \"other pet\"",
    )  # fmt: skip
    assert text == "count(*)|sum(id)\n7|16\ncount(*)\n1\n"
    assert errors.startswith("error: table 'otherpet' does not exist; did you mean 'other pet'?\n")


def test_a_wrong_import_names_what_is_wrong(shop: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("pet.csv").write_text("id,name\n1,Rex\n")
    Path("bad.csv").write_text("id,name\n1,Rex\nx,Tom\n")
    text, errors = run(
        capfd, shop, ".import pet.csv", ".import --skip x pet.csv pet", ".import --tab pet.csv pet",
        ".import none.csv pet", ".import pet.bin pet", ".import pet.csv pet",
        ".import bad.csv pet", ".import pet.csv towns", ".mode list", "SELECT count(*) FROM pet",
    )  # fmt: skip
    usage = "error: .import is used as: .import [--csv] [--skip LINES] FILE TABLE "
    lines = errors.splitlines()
    assert all(line.startswith(usage) for line in lines[:3])
    assert lines[3:] == [
        "error: file 'none.csv' does not exist",
        "error: file 'pet.bin' has the unknown extension '.bin'; the format may be flat, parquet,"
        " csv, tbl, json, arrow or xlsx, by the extension",
        "error: file 'bad.csv', line 3, field 1 (id): 'x' is not a BIGINT",
        "error: 'towns' is a view, not a table",
    ]
    assert text == "count(*)\n1\n"


def test_output_and_once(shop: str, capfd: pytest.CaptureFixture[str]) -> None:
    text, errors = run(
        capfd, shop, ".mode csv", ".once one.csv", "SELECT 1 AS a", "SELECT 2 AS b",
        ".output many.csv", "SELECT 3 AS c", "SELECT 4 AS d; .print never a command",
        ".tables", ".output", "SELECT 5 AS e",
        ".once /nowhere/x", ".output a b", ".once",
    )  # fmt: skip
    assert text == "b\n2\ne\n5\n"
    assert Path("one.csv").read_text() == "a\n1\n"
    assert Path("many.csv").read_text().startswith("c\n3\nd\n4\n")
    assert errors.splitlines()[-3:] == [
        "error: file '/nowhere/x' cannot be written: no such file or directory",
        "error: .output is used as: .output [FILE]",
        "error: .once is used as: .once FILE",
    ]


def test_a_box_in_a_file_has_all_rows(shop: str, capfd: pytest.CaptureFixture[str]) -> None:
    query = "SELECT x FROM generate_series(1, 100) t (x)"
    run(capfd, shop, ".maxrows 10", ".output rows.txt", query)
    assert len(Path("rows.txt").read_text(encoding="utf-8").splitlines()) == 105


def test_timer_and_settings(capfd: pytest.CaptureFixture[str]) -> None:
    text, told = run(capfd, ":memory:", ".timer on", "SELECT 1", "CREATE TABLE t (a INTEGER)")
    assert re.search(r"^1 row, [\d.e+]+ m?s\n[\d.e+]+ m?s\n$", told)
    text, _ = run(capfd, ":memory:", ".mode ndjson", ".maxrows 7", ".nullvalue ~", ".show", ".mode")
    assert ".maxrows   7\n.mode      jsonlines\n.nullvalue ~\n" in text
    assert text.endswith("\njsonlines\n")


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (".modes", "command '.modes' does not exist; did you mean '.mode'?"),
        (".", "command '.' does not exist; .help lists them"),
        (".he", "command '.he' may be .headers or .help"),
        (".mode jsno", "mode 'jsno' does not exist; did you mean 'json'?"),
        (".mode a b", ".mode is used as: .mode [NAME]"),
        (".timer maybe", ".timer is on or off, not 'maybe'"),
        (".maxrows -1", ".maxrows is a number of rows, 0 for all, not '-1'"),
        (".read 'x", ".read: a quote in ''x' does not end"),
        (".read none.sql", "file 'none.sql' cannot be read: no such file or directory"),
        (".help foo", "command '.foo' does not exist; .help lists them"),
    ],
)
def test_wrong_commands(line: str, error: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(capfd, ":memory:", line) == ("", f"error: {error}\n")


def test_help_knows_every_command(capfd: pytest.CaptureFixture[str]) -> None:
    text, _ = run(capfd, ":memory:", ".help")
    assert [line.split()[0] for line in text.split("\n\n")[0].splitlines()] == sorted(COMMANDS)
    for name, command in COMMANDS.items():
        text, _ = run(capfd, ":memory:", f".help {name[1:]}")
        assert command.summary in text
    documented = (Path(__file__).parents[3] / "docs" / "shell.md").read_text(encoding="utf-8")
    assert not [name for name in COMMANDS if f"`{name}" not in documented]


def test_short_names(capfd: pytest.CaptureFixture[str]) -> None:
    assert (
        run(capfd, ":memory:", ".print  a  b;", ".MODE", ".exit;", ".print no")[0] == "a  b;\nbox\n"
    )


# -- completion and colours


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("SELECT am|", ["amount"]),
        ("SELECT s| FROM shop", ["s_id", "s_city"]),
        ('SELECT s.| FROM "Sale" s', ["day", "shop", "amount"]),
        ("SELECT S.| FROM SALE s", ["day", "shop", "amount"]),
        ("SELECT * FROM |", ["Sale", "more_towns", "part", "shop", "towns"]),
        ("SELECT * FROM shop, to|", ["towns"]),
        ("SELECT * FROM shop JOIN pa|", ["part"]),
        ("SELECT * FROM gen|", ["generate_series("]),
        ("SELECT * FROM motif_count(|", ["Sale", "more_towns", "part", "shop", "towns"]),
        ("SELECT * FROM motif_count((FROM sho|", ["shop"]),
        ("SELECT * FROM motif_count(shop, sr|", ["src => "]),
        ("SELECT * FROM motif_sample(shop, src => 's', |", ["src => ", "dst => ", "time => "]),
        ("SELECT * FROM vector_search(part|", ["part"]),
        ("SELECT * FROM vector_search(part, emb, ?, n|", ["nprobe => "]),
        ("SELECT * FROM advise_bvh('SELECT 1', me|", ["memory => "]),
        ("SELECT * FROM read_csv('a.csv', he|", ["header => "]),
        ('SELECT "Od| FROM "Sale"', ['"Odd name"']),
        ("SELECT rent FROM shop whe|", ["when", "where"]),
        ("SELECT 1; SELECT rent FROM shop WHE|", ["WHEN", "WHERE"]),
        ("SELECT 'am|", []),
        ("SELECT 1 -- am|", []),
        ("SELECT x.|", []),
        ("SELECT .|", []),
        ("|", []),
        (".he|", [".headers", ".help"]),
        (".mode js|", ["json", "jsonlines"]),
        (".timer |", ["on", "off"]),
        (".schema s|", ["Sale", "shop"]),
        (".help .ma|", [".maxrows"]),
        (".nothing |", []),
        (".explain SELECT rent FROM to|", ["towns"]),
    ],
)
def test_completion(shop: str, text: str, first: list[str]) -> None:
    with raydb.connect(shop) as connection:
        found = list(_completions(connection, text))
    assert found[: len(first)] == first
    assert bool(found) == bool(first)


def test_the_arguments_that_are_completed_are_there(shop: str) -> None:
    with raydb.connect(shop) as connection:
        for function in ("motif_count", "motif_sample"):
            assert TABLE_FUNCTIONS[function].named
            for name in TABLE_FUNCTIONS[function].named:
                with pytest.raises(raydb.ProgrammingError) as caught:
                    connection.execute(f"FROM {function}(shop, {name} => NULL)")
                assert f"{name} of {function}() is NULL" in str(caught.value)


def _completions(connection: object, text: str) -> list[str]:
    document = Document(text.replace("|", ""), text.index("|"))
    completer = SqlCompleter(connection)
    return [c.text for c in completer.get_completions(document, CompleteEvent())]


def test_completion_follows_the_catalog() -> None:
    connection = raydb.connect()
    completer = SqlCompleter(connection)
    document = Document("SELECT * FROM fre")
    assert not list(completer.get_completions(document, CompleteEvent()))
    connection.execute("CREATE TABLE fresh (a INTEGER)")
    completer.forget()
    assert [c.text for c in completer.get_completions(document, CompleteEvent())] == ["fresh"]
    connection.close()
    completer.forget()
    assert not list(completer.get_completions(document, CompleteEvent()))


@pytest.mark.parametrize(
    "text", ["", ".mode csv", "SELECT sum(a) FROM t; -- x\nWHERE 'a\nb' > 1.5e3"]
)
def test_colours_change_no_text(text: str) -> None:
    parts = list(colored_parts(text))
    assert "".join(part for _, part in parts) == text
    if "sum" in text:
        kinds = {part: kind for kind, part in parts}
        assert (kinds["sum"], kinds["FROM"], kinds["1.5e3"]) == ("function", "keyword", "number")
        assert (kinds["'a\nb'"], kinds["-- x"]) == ("string", "comment")


def test_keywords_are_quoted_as_names() -> None:
    with raydb.connect() as connection:
        for name in (*(word.lower() for word in sorted(KEYWORDS)), "Odd name", 'a"b', "x1", "é"):
            connection.execute(f"CREATE TABLE {quoted(name)} ({quoted(name)} INTEGER)")
            assert connection.execute(f"SELECT * FROM {quoted(name)}").description[0][0] == name


# -- history and progress


def test_a_long_history_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MAX_ENTRIES", 3)
    monkeypatch.setenv("RAYDB_HISTORY", str(tmp_path / "history"))
    for number in range(5):
        kept, problem = history.open_history()
        assert problem == ""
        kept.store_string(f"SELECT {number}\n, 'æ\udcff';")
    kept, _ = history.open_history()
    assert list(kept.load_history_strings()) == [f"SELECT {n}\n, 'æ?';" for n in (4, 3, 2)]
    assert [file.name for file in tmp_path.iterdir()] == ["history"]


def test_the_bar_follows_the_work(capfd: pytest.CaptureFixture[str]) -> None:
    bar = _Bar()
    bar.update("BVH sales: sort rows", 0.25)
    bar.start()
    bar.update("BVH sales: [sum] rows", 0.5)
    assert bar._progress is not None
    (task,) = bar._progress.tasks
    assert (task.description, task.percentage) == ("BVH sales: [sum] rows", 50)
    bar.stop()
    late = _Bar()
    late.stop()
    late.start()
    assert late._progress is None


def test_a_script_is_told_that_loops_are_compiled(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "COMPILING_DELAY_S", 0.01)
    monkeypatch.setattr(progress._Notice, "_was_told", False)
    with raydb.connect() as connection:
        with showing_progress(connection):
            connection.progress("motif_count: graph", 0.5)
            connection.progress("compile, once on a machine: first", 0.0)
            connection.progress("motif_count: graph", 0.9)
        with showing_progress(connection):
            connection.progress("compile, once on a machine: first", 0.0)
            waited = connection.progress.__self__._timer
            connection.progress("compile, once on a machine: second", 0.0)
            if waited is not None:  # It has not told yet.
                waited.join(30)
        with showing_progress(connection):
            connection.progress("compile, once on a machine: third", 0.0)
            assert connection.progress.__self__._timer is None
        assert connection.progress is None
    told = capfd.readouterr()
    assert told.out == ""
    assert told.err == "compiling loops, once on this machine: it takes 10 to 25 seconds ...\n"


def test_attached_databases(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "other.raydb"
    with raydb.connect(path) as other:
        other.execute('CREATE TABLE town (name VARCHAR); CREATE VIEW "Big ones" AS FROM town')
    attach = f"ATTACH '{path}' AS other; CREATE TABLE own (i INTEGER)"
    listed, _ = run(capfd, ":memory:", attach, ".databases", ".tables", ".tables o%")
    assert listed.splitlines() == [
        "raydb: in memory",
        f"other: {path}",
        "own             other.Big ones  other.town",
        "own",
    ]
    assert "town" not in run(capfd, ":memory:", attach, ".schema")[0]
    with raydb.connect() as con:
        con.execute(attach)
        completer = SqlCompleter(con)
        for text, expected in (
            ("SELECT * FROM oth", ["other"]),
            ("SELECT * FROM other.", ['"Big ones"', "town"]),
            ("SELECT * FROM other.to", ["town"]),
        ):
            found = completer.get_completions(Document(text), CompleteEvent())
            assert [each.text for each in found] == expected
