"""The command `raydb`: statements from -c, -f, a pipe and a terminal, in three shapes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import pytest

import raydb
from raydb.engine import cli
from raydb.engine.script import is_complete, split_statements

SHOP = """
CREATE TABLE pet (id INTEGER, name VARCHAR, weight DECIMAL(5, 2), born DATE, x DOUBLE, raw BLOB);
INSERT INTO pet VALUES (1, 'Rex; "the" dog', 31.50, '2019-04-01', 0.1, NULL),
    (2, NULL, NULL, NULL, NULL, NULL), (3, '', -1, NULL, 1e300, NULL); -- the end;
"""


class Terminal(io.StringIO):
    """A standard input that claims to be a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with raydb.connect("shop") as con:
        con.execute(SHOP)
    return "shop"


def run_command(*arguments, text=""):
    code = "import sys; from raydb.engine.cli import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONUTF8": "1"},
    )


def test_a_process_prints_boxes(shop):
    done = run_command(
        shop, "-c", "SELECT id, name, weight FROM pet; SELECT count(*) AS n FROM pet"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "┌────┬────────────────┬────────┐",
        "│ id │ name           │ weight │",
        "├────┼────────────────┼────────┤",
        '│  1 │ Rex; "the" dog │  31.50 │',
        "│  2 │ NULL           │   NULL │",
        "│  3 │                │  -1.00 │",
        "└────┴────────────────┴────────┘",
        "┌───┐",
        "│ n │",
        "├───┤",
        "│ 3 │",
        "└───┘",
    ]


def test_a_process_reads_a_pipe_and_fails_in_one_line():
    done = run_command(text="SELECT 1 AS a;\nSELEC 2;\nSELECT 3 AS c")
    assert done.returncode == 1
    assert "│ a │" in done.stdout
    assert "│ c │" not in done.stdout
    assert done.stderr == (
        "error: syntax error at line 1, column 1: unexpected 'SELEC'; did you mean 'SELECT'?\n"
    )


def test_json(shop, capsys):
    assert cli.main([shop, "--json", "-c", "SELECT * FROM pet WHERE id < 3"]) == 0
    text = capsys.readouterr().out
    assert '"weight": 31.50' in text
    first, second = json.loads(text)
    assert first["name"] == 'Rex; "the" dog'
    assert (first["born"], first["x"]) == ("2019-04-01", 0.1)
    assert second == {"id": 2, "name": None, "weight": None, "born": None, "x": None, "raw": None}
    assert cli.main([shop, "--json", "-c", "SELECT id FROM pet WHERE id > 9"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_csv_is_what_copy_writes(shop, capsys, tmp_path):
    assert cli.main([shop, "--csv", "-c", "SELECT id, name, weight FROM pet"]) == 0
    written = capsys.readouterr().out
    assert cli.main([shop, "-c", "COPY pet (id, name, weight) TO 'pet.csv'"]) == 0
    assert (tmp_path / "pet.csv").read_text(encoding="utf-8") == written
    assert capsys.readouterr().out == ""


def test_characters_that_move_the_cursor_are_shown(capsys):
    assert cli.main(["-c", "SELECT 'a\nb\x1b[2J' AS \"x\ty\", true AS ok"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["│", r"x\ty", "│", "ok", "│"]
    assert lines[3].split() == ["│", r"a\nb\x1b[2J", "│", "true", "│"]


def test_a_file_of_statements(shop, tmp_path, capsys):
    script = tmp_path / "script.sql"
    script.write_text("CREATE TABLE t (a INTEGER);\nINSERT INTO t VALUES (7);\n", encoding="utf-8")
    assert cli.main([shop, "-f", str(script)]) == 0
    assert cli.main([shop, "--csv", "-c", "SELECT a FROM t"]) == 0
    assert capsys.readouterr().out == "a\n7\n"
    script.write_bytes(b"SELECT '\xff'")
    for path, reason in (
        ("none.sql", "no such file or directory"),
        (str(script), "it is not utf-8"),
    ):
        assert cli.main([shop, "-f", path]) == 1
        assert capsys.readouterr().err == f"error: file '{path}' cannot be read: {reason}\n"


def test_readonly(shop, capsys):
    assert cli.main([shop, "--readonly", "-c", "DROP TABLE pet"]) == 1
    assert capsys.readouterr().err == "error: the database is opened read-only\n"
    assert cli.main(["nowhere", "--readonly", "-c", "SELECT 1"]) == 1
    assert capsys.readouterr().err.startswith("error: ")


def test_flat_inspect(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["-c", "COPY (SELECT 1 AS a) TO 'x.flat'"]) == 0
    assert cli.main(["flat", "inspect", "x.flat"]) == 0
    assert capsys.readouterr().out.startswith("x.flat: FlatStor version 1, 1 rows, 1 columns")
    assert cli.main(["flat", "inspect", "y.flat"]) == 1
    assert capsys.readouterr().err == "error: file 'y.flat' does not exist\n"


@pytest.mark.parametrize("arguments", [["--csv", "--json"], ["-c", "a", "-f", "b"], ["a", "b"]])
def test_bad_arguments(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        cli.main(arguments)
    assert "usage: raydb" in capsys.readouterr().err


def test_a_terminal(monkeypatch, capsys):
    lines = iter(
        ["SELECT 1", "+ 1 AS a; SELECT ';'", ";", "SELECT (", KeyboardInterrupt, "SELEC;", ""]
    )
    prompts = []

    def read_line(prompt):
        prompts.append(prompt)
        line = next(lines, EOFError)
        if isinstance(line, type):
            raise line
        return line

    monkeypatch.setattr("builtins.input", read_line)
    monkeypatch.setattr(sys, "stdin", Terminal())
    assert cli.main(["--csv"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == ["a", "2", "';'", '";"', "", ""]
    assert said.err.count("\n") == 1
    assert "unexpected 'SELEC'" in said.err
    first, more = "raydb> ", "     > "
    assert prompts == [first, more, more, first, more, first, first, first]


@pytest.mark.parametrize("shape", ["--box", "--csv", "--json"])
def test_a_reader_that_has_left_is_no_error_to_report(shape):
    read_end, write_end = os.pipe()
    os.close(read_end)
    code = "import sys; from raydb.engine.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, shape, "-c", "SELECT 1"]
    done = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, check=False)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize(
    ("text", "statements", "complete"),
    [
        ("", [], True),
        ("  -- nothing; here", [], True),
        ("SELECT 1", ["SELECT 1"], False),
        ("SELECT 1; -- more", ["SELECT 1;"], True),
        ("a;;b; /* ; */ c -- ;", ["a;", "b;", "/* ; */ c -- ;"], False),
        ("SELECT ';'';'; SELECT \"a;\"\";\"", ["SELECT ';'';';", 'SELECT "a;"";"'], False),
        ("SELECT ';", ["SELECT ';"], False),
        ("SELECT 1 - 2 / 3;", ["SELECT 1 - 2 / 3;"], True),
        ("SELECT 1 /* ;", ["SELECT 1 /* ;"], False),
    ],
)
def test_statements_are_told_apart(text, statements, complete):
    assert split_statements(text) == statements
    assert is_complete(text) is complete
