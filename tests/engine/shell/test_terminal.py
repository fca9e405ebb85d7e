"""The shell on a real terminal, which is what its users see."""

from __future__ import annotations

import re
import shutil
import stat
from typing import TYPE_CHECKING

import pytest
from terminal import CTRL_C, CTRL_D, CTRL_R, ENTER, TAB, UP, Terminal

import raydb

if TYPE_CHECKING:
    from pathlib import Path

LONG_QUERY = (
    "SELECT count(*) FROM generate_series(1, 200000) a (x), generate_series(1, 200000) b (y)"
    " WHERE x * y % 7 = 3;"
)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    with raydb.connect("shop.raydb") as connection:
        connection.execute("""
            CREATE TABLE sale (day DATE, amount DECIMAL(10, 2), "Odd name" VARCHAR);
            CREATE TABLE customer (c_id INTEGER PRIMARY KEY, c_city VARCHAR);
            INSERT INTO sale VALUES ('2026-01-01', 10.5, 'x'), (NULL, NULL, NULL);
        """)
    return "shop.raydb"


def test_statements_of_many_lines() -> None:
    with Terminal() as terminal:
        assert terminal.lines[0].startswith(f"RayDB {raydb.__version__}, a database in memory.")
        terminal.type("SELECT 'a;\r")
        terminal.expect("     >")
        terminal.type("b' AS t, -- one;\r/* two; */ 2 AS n;\r")
        terminal.expect("1 row")
        assert terminal.lines[1:11] == [
            "raydb> SELECT 'a;",
            "     > b' AS t, -- one;",
            "     > /* two; */ 2 AS n;",
            "┌─────────┬─────────┐",
            "│ t       │       n │",
            "│ VARCHAR │ INTEGER │",
            "├─────────┼─────────┤",
            r"│ a;\nb   │       2 │",
            "└─────────┴─────────┘",
            terminal.lines[10],
        ]
        assert terminal.lines[10].startswith("1 row, ")
        assert terminal.lines[10].endswith("ms")
        # Two statements in one line, and a blank one.
        terminal.run("SELECT 7 AS a; SELECT 8 AS b", "     >")
        terminal.run(";", "│       8 │")
        terminal.run("", "raydb>")
        terminal.type("SELECT forgotten")
        terminal.expect("raydb> SELECT forgotten")
        terminal.cancel()
        terminal.run("SELECT 9 AS kept;", "│       9 │")
        terminal.expect_prompt()
        terminal.type(CTRL_D)
        assert terminal.expect_end() == 0


def test_errors_are_marked_and_nearest_names_told(shop: str) -> None:
    with Terminal(shop) as terminal:
        terminal.run("SELECT day,\r  amuont\rFROM sale;", "^^^^^^")
        start = next(n for n, line in enumerate(terminal.lines) if line.startswith("error:"))
        error, line, mark = terminal.lines[start : start + 3]
        assert error == "error: column 'amuont' does not exist in 'sale'; did you mean 'amount'?"
        assert line == "LINE 2:   amuont"
        assert mark.index("^") == line.index("amuont")
        assert b"\x1b[1;31merror:" in terminal.bytes
        terminal.run(".tabels", "did you mean '.tables'?")
        terminal.run(r"\d", "command '.d' does not exist; did you mean '.cd'?")
        terminal.run("SELECT 1;", "1 row")
        terminal.type("exit\r")
        assert terminal.expect_end() == 0


def test_without_colours(shop: str) -> None:
    with Terminal(shop, environment={"NO_COLOR": "1"}) as terminal:
        terminal.run("SELEC 1; SELECT NULL;", "1 row")
        assert b"\x1b[1;31m" not in terminal.bytes
        assert b"\x1b[2m" not in terminal.bytes
        assert b"\x1b[3" not in terminal.bytes


def test_a_terminal_that_only_writes_lines() -> None:
    with Terminal(environment={"TERM": "dumb"}) as terminal:
        terminal.run("SELECT 1", "     >")
        terminal.run("AS one;", "1 row")
        terminal.run("SELECT (", "     >")
        terminal.type(CTRL_C)
        terminal.run(".print still here", "still here")
        assert b"\x1b" not in terminal.bytes
        terminal.type(CTRL_D)
        assert terminal.expect_end() == 0


@pytest.mark.long
def test_completion(shop: str) -> None:
    with Terminal(shop) as terminal:
        for typed, completed in (
            ("SELECT * FROM sa", "SELECT * FROM sale"),
            ("SELECT coun", "SELECT count"),
            ("sel", "select"),
            (".ind", ".indexes"),
            (".mode markd", ".mode markdown"),
            (".schema cus", ".schema customer"),
            (".read shop.r", ".read shop.raydb"),
            ("SELECT * FROM 'shop.r", "SELECT * FROM 'shop.raydb"),
        ):
            terminal.type(typed + TAB)
            terminal.expect(completed)
            terminal.cancel()
        # Of several the columns come with their types.
        terminal.type("SELECT s. FROM sale s" + "\x1b[D" * len(" FROM sale s") + TAB)
        terminal.expect("sale: DECIMAL(10,2)")
        terminal.expect('"Odd name"')
        terminal.cancel()
        terminal.type(CTRL_D)
        assert terminal.expect_end() == 0


@pytest.mark.long
def test_history(tmp_path: Path) -> None:
    state = {"XDG_STATE_HOME": str(tmp_path / "state"), "RAYDB_HISTORY": ""}
    file = tmp_path / "state" / "raydb" / "history"
    # An empty name keeps nothing, as does the word off.
    with Terminal(environment=state) as terminal:
        terminal.run("SELECT 1;", "1 row")
    assert not file.exists()
    state["RAYDB_HISTORY"] = str(file)
    with Terminal(environment=state) as terminal:
        terminal.run("SELECT 11,\r22 AS many;", "1 row")
        terminal.run("SELECT 33;", "1 row")
        terminal.expect_prompt()
        terminal.type(CTRL_D)
        assert terminal.expect_end() == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    with Terminal(environment=state) as terminal:
        terminal.type(UP)
        terminal.expect("SELECT 33;")
        terminal.type(UP)
        terminal.expect("     > 22 AS many;")
        terminal.cancel()
        terminal.type(CTRL_R + "11,")
        terminal.expect("I-search backward: 11,")
        terminal.type(ENTER)
        terminal.type(ENTER)
        terminal.expect("1 row")
        assert "│      11 │      22 │" in terminal.text


def test_ctrl_c_cancels_a_statement_and_keeps_the_session(shop: str) -> None:
    with Terminal(shop) as terminal:
        terminal.run("BEGIN; INSERT INTO sale (amount) VALUES (7);", "raydb*>")
        terminal.run(LONG_QUERY, "running, Ctrl-C cancels")
        terminal.type(CTRL_C)
        terminal.expect("interrupted")
        terminal.expect("raydb*>")
        assert "running" not in terminal.text
        terminal.run("SELECT count(*) AS rows_here FROM sale;", "│         3 │")
        terminal.expect_prompt()
        terminal.type(CTRL_D)
        terminal.expect("the transaction was open and is rolled back")
        assert terminal.expect_end() == 0
    with raydb.connect(shop) as connection:
        assert connection.execute("SELECT count(*) FROM sale").fetchone() == (2,)


@pytest.mark.long
@pytest.mark.skipif(shutil.which("less") is None, reason="less is not installed")
def test_long_answers_are_paged() -> None:
    environment = {"PAGER": "less -SRFX"}
    with Terminal(lines=20, environment=environment) as terminal:
        terminal.run("SELECT x FROM generate_series(1, 15) t (x) LIMIT 5;", "5 rows")
        terminal.run("SELECT x FROM generate_series(1, 500000) t (x);", "│      1 │")
        terminal.expect("\n:")
        assert "500,000 rows," not in terminal.text
        terminal.type("G")
        terminal.expect("│ 500000 │")
        terminal.type("q")
        terminal.expect("500,000 rows,")
        # A reader who leaves early does not wait for the rest.
        terminal.run(".mode list", "raydb>")
        terminal.run("SELECT x FROM generate_series(1, 500000) t (x);", "\n:")
        terminal.type("q")
        terminal.expect("500,000 rows,")
        terminal.run(".pager off", "raydb>")
        terminal.run("SELECT x FROM generate_series(1, 50) t (x);", "50 rows,")
        terminal.run(".pager no-such-pager", "raydb>")
        terminal.run("SELECT x FROM generate_series(1, 50) t (x);", "50 rows,")
        assert "pager 'no-such-pager' cannot be run" in terminal.bytes.decode()


def test_wide_tables_fit() -> None:
    columns = ", ".join(f"repeat('{n} ', 30) AS column_{n}" for n in range(9))
    with Terminal(columns=80) as terminal:
        terminal.run(f"SELECT {columns};", "1 row,")
        box = [line for line in terminal.lines if line.startswith(("│", "┌", "└"))]
        assert {len(line) for line in box} == {80}
        assert box[1].split()[1::2] == ["column_0", "column_1", "…", "column_8"]
        assert "9 columns (3 shown)" in terminal.lines
        terminal.run("SELECT 1 AS n, repeat('wide ', 100) AS w, true AS ok;", "1 row,")
        box = [line for line in terminal.lines if line.startswith(("│", "┌", "└"))]
        assert {len(line) for line in box} == {80}
        assert re.search(r"wide.*… │ true    │", terminal.text)
        assert "columns (" not in terminal.text


def test_wide_characters_keep_the_lines_straight() -> None:
    with Terminal() as terminal:
        rows = "('東京', 1), ('e\u0301a', 2), ('🙂', 3), ('\u200b\u202e', 4)"
        query = f"SELECT * FROM (VALUES {rows}) t (c, n);"
        terminal.run(query, "4 rows,")
        box = [line for line in terminal.lines if line.startswith("│")]
        # A wide character fills two cells of the screen, of which the second one is empty.
        assert [line.rindex("│") for line in box] == [25, 25, 23, 25, 24, 25]
        assert r"│ \u200b\u202e │       4 │" in terminal.text


def test_files_and_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "script.sql").write_text("SELECT 5 AS five;\nSELECT wrong;\nSELECT 6 AS six;\n")
    with Terminal() as terminal:
        terminal.run(".read script.sql", "│       6 │")
        assert "script.sql:2: error: column 'wrong' does not exist" in terminal.text
        terminal.run(".once out.csv", "raydb>")
        terminal.run(".mode csv", "raydb>")
        terminal.run("SELECT 1 AS a;", "1 row")
        terminal.run("SELECT 2 AS b;", "\n2\n")
        terminal.run(".timer off", "raydb>")
        terminal.run("SELECT 3 AS c;", "\n3\n")
        assert "1 row" not in terminal.text
        terminal.type(".quit\r")
        assert terminal.expect_end() == 0
    assert (tmp_path / "out.csv").read_text() == "a\n1\n"


def test_a_disk_that_takes_no_history() -> None:
    with Terminal(environment={"RAYDB_HISTORY": "/dev/null/history"}) as terminal:
        assert "the history is not kept: file '/dev/null/history'" in terminal.text
        terminal.run("SELECT 1;", "1 row")


@pytest.mark.long
def test_a_session_begins_with_the_users_own_file(tmp_path: Path) -> None:
    (tmp_path / ".raydbrc").write_text(".mode list\n.bail on\n.timer offf\n")
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    with Terminal(environment=home) as terminal:
        said = "".join(terminal.text.split())
        assert f"{tmp_path}/.raydbrc:3:error:.timerisonoroff,not'offf'" in said
        terminal.run(".mode", "list")
        terminal.run("SELECT 4 AS a, 5 AS b;", "4|5")
    with Terminal("--json", environment=home) as terminal:
        terminal.run(".mode", "json")
    with Terminal("--no-rc", environment=home) as terminal:
        terminal.run(".mode", "box")
    (tmp_path / "config" / "raydb").mkdir(parents=True)
    (tmp_path / "config" / "raydb" / "raydbrc").write_text(".mode csv\n")
    with Terminal(environment=home) as terminal:
        terminal.run(".mode", "csv")
    (tmp_path / "other").write_text(".mode line\n")
    with Terminal("--init", str(tmp_path / "other"), environment=home) as terminal:
        terminal.run(".mode", "line")
