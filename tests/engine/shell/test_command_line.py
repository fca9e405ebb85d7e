"""The command `raydb` without a terminal: scripts, exit codes, pipes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import raydb
from raydb.engine.shell import cli

SHOP = """
CREATE TABLE pet (id INTEGER, name VARCHAR, weight DECIMAL(5, 2), born DATE, x DOUBLE, raw BLOB);
INSERT INTO pet VALUES (1, 'Rex; "the" dog', 31.50, '2019-04-01', 0.1, NULL),
    (2, NULL, NULL, NULL, NULL, NULL), (3, '', -1, NULL, 1e300, NULL); -- the end;
"""
COMMAND = [sys.executable, "-m", "raydb"]
TIMEOUT_S = 120


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    with raydb.connect("shop") as connection:
        connection.execute(SHOP)
    return "shop"


def run_command(
    *arguments: str, text: str | bytes = "", environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*COMMAND, *arguments],
        input=text if isinstance(text, bytes) else text.encode(),
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
        env={**os.environ, "PYTHONUTF8": "1", **(environment or {})},
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


def test_boxes(shop: str) -> None:
    query = "SELECT id, name, weight FROM pet; SELECT count(*) AS n FROM pet"
    done = run_command(shop, "-c", query)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "┌─────────┬────────────────┬──────────────┐",
        "│      id │ name           │       weight │",
        "│ INTEGER │ VARCHAR        │ DECIMAL(5,2) │",
        "├─────────┼────────────────┼──────────────┤",
        '│       1 │ Rex; "the" dog │        31.50 │',
        "│       2 │ NULL           │         NULL │",
        "│       3 │                │        -1.00 │",
        "└─────────┴────────────────┴──────────────┘",
        "┌────────┐",
        "│      n │",
        "│ BIGINT │",
        "├────────┤",
        "│      3 │",
        "└────────┘",
    ]


def test_a_script_goes_on_after_an_error_unless_told_to_stop() -> None:
    script = "SELECT 1 AS a;\nSELECT 2,\n  wrong FROM pet;\n.nonsense\nSELECT 3 AS c"
    done = run_command("--csv", text=script)
    assert done.returncode == 1
    assert done.stdout == "a\n1\nc\n3\n"
    assert done.stderr == (
        "stdin:3: error: table 'pet' does not exist\n"
        "LINE 2:   wrong FROM pet;\n"
        "                     ^^^\n"
        "stdin:4: error: command '.nonsense' does not exist; .help lists them\n"
    )
    for arguments, text in ((["--bail"], script), ([], ".bail on\n" + script)):
        done = run_command("--csv", *arguments, text=text)
        assert (done.returncode, done.stdout) == (1, "a\n1\n")
        assert done.stderr.count("error:") == 1


def test_scripts_run_in_the_order_given(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.sql"
    script.write_text("INSERT INTO t VALUES (2);\n", encoding="utf-8")
    first, last = "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1)", "SELECT a FROM t"
    assert cli.main(["-c", first, "-f", str(script), "-c", ".mode list", "-c", last]) == 0
    assert capfd.readouterr().out == "a\n1\n2\n"


def test_files_of_other_systems(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "windows.sql"
    script.write_bytes(
        b"\xef\xbb\xbf.mode csv\r\nSELECT 'a\r\nb' AS t, -- c\r\n  2 AS n;\r\n.headers off\r\n"
        b"SELECT 3;\r\n"
    )
    assert cli.main(["-f", str(script)]) == 0
    assert capfd.readouterr().out == 't,n\n"a\r\nb",2\n3\n'
    assert run_command(text=script.read_bytes()).stdout == 't,n\n"a\r\nb",2\n3\n'


def test_files_that_cannot_be_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "bad.sql"
    script.write_bytes(b"SELECT '\xff'")
    for path, reason in (
        (str(tmp_path / "none.sql"), "no such file or directory"),
        (str(script), "it is not UTF-8"),
        (str(tmp_path), "is a directory"),
    ):
        assert cli.main(["-f", path, "--csv", "-c", "SELECT 1"]) == 1
        said = capfd.readouterr()
        assert said.err == f"error: file '{path}' cannot be read: {reason}\n"
        assert said.out == "1\n1\n"
    done = run_command(text=b"SELECT 1;\nSELECT '\xff';")
    assert (done.returncode, done.stderr) == (1, "error: standard input, line 2 is not UTF-8\n")
    script.write_text(f".read {script}\n")
    assert cli.main(["-f", str(script)]) == 1
    assert "scripts call each other 20 deep" in capfd.readouterr().err


def test_readonly(shop: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main([shop, "--readonly", "-c", "DROP TABLE pet"]) == 1
    assert "error: the database is opened read-only\n" in capfd.readouterr().err
    assert cli.main(["nowhere", "--readonly", "-c", "SELECT 1"]) == 1
    assert capfd.readouterr().err.startswith("error: ")


def test_an_open_transaction_is_rolled_back(shop: str) -> None:
    done = run_command(shop, text="BEGIN; DELETE FROM pet;")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "the transaction was open and is rolled back\n"
    assert run_command(shop, "--list", "-c", "SELECT count(*) FROM pet").stdout.endswith("\n3\n")


def test_flat_inspect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["-c", "COPY (SELECT 1 AS a) TO 'x.flat'"]) == 0
    assert capfd.readouterr().out == ""
    assert cli.main(["flat", "inspect", "x.flat"]) == 0
    assert capfd.readouterr().out.startswith("x.flat: FlatStor version 2, 1 rows, 1 columns")
    with pytest.raises(SystemExit):
        cli.main(["flat"])
    assert "a database of that name is './flat'" in capfd.readouterr().err
    assert cli.main(["flat", "inspect", "y.flat"]) == 1
    assert capfd.readouterr().err == "error: file 'y.flat' does not exist\n"


@pytest.mark.parametrize("arguments", [["--csv", "--json"], ["--nonsense"], ["a", "b"], ["-c"]])
def test_bad_arguments(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(arguments)
    assert "usage: raydb" in capsys.readouterr().err


@pytest.mark.parametrize(("argument", "text"), [("--version", "RayDB 0."), ("--help", "--bail")])
def test_questions(argument: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main([argument])
    assert text in capsys.readouterr().out


def test_our_own_mistakes_are_told_as_such(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("the moon is down")

    for name in ("execute", "stream"):
        monkeypatch.setattr(raydb.connect().__class__, name, fail)
    assert cli.main(["-c", "SELECT 1; SELECT 2"]) == 1
    said = capfd.readouterr().err
    assert said.count("error: AssertionError: the moon is down; this is RayDB's own mistake") == 2


def test_ctrl_c_ends_a_script(shop: str) -> None:
    query = (
        "SELECT count(*) FROM generate_series(1, 200000) a (x), generate_series(1, 200000) b (y)"
    )
    process = subprocess.Popen(
        [
            *COMMAND,
            shop,
            "-c",
            "BEGIN",
            "-c",
            ".print",
            "-c",
            f"{query} WHERE x * y % 7 = 3; DROP TABLE pet",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=TIMEOUT_S)
    # A shell shows both as 130. Python ends a module by the signal where that came amid an exec of
    # text, which a dataclass does when it is imported, although KeyboardInterrupt was caught.
    assert process.returncode in {cli.INTERRUPTED, -signal.SIGINT}
    assert errors == b"the transaction was open and is rolled back\n"


def test_a_closed_input_is_an_empty_one() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f"{sys.executable} -m raydb <&-"],
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


# -- pipes


# Each is a process of its own.
LONG_MODES = ("table", "markdown", "tsv", "json", "line", "list", "html")


@pytest.mark.parametrize(
    "mode",
    [
        *("box", "csv", "jsonlines"),
        *(pytest.param(mode, marks=pytest.mark.long) for mode in LONG_MODES),
    ],
)
def test_a_reader_that_leaves_early_ends_a_large_answer(mode: str) -> None:
    query = "SELECT x, 'row ' || x AS t FROM generate_series(1, 200000) s (x)"
    _read_some(f"--{mode}", "-c", query)


def test_ten_million_rows_through_head() -> None:
    _read_some("-c", "SELECT * FROM generate_series(1, 10000000) s (x)")


def _read_some(*arguments: str) -> None:
    """Read ten lines of an answer and leave: the process ends without a word."""
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUTF8": "1"},
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(10)]
    process.stdout.close()
    assert all(lines)
    assert process.wait(TIMEOUT_S) == cli.READER_LEFT
    assert process.stderr is not None
    with process.stderr:
        assert process.stderr.read() == b""


def test_a_closed_output_is_an_error() -> None:
    program = ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *COMMAND, "-c", "SELECT 1"]
    done = subprocess.run(program, stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 1
    assert done.stderr == b"error: standard output cannot be written: it is closed\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_an_error() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*COMMAND, "-c", "SELECT 1"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 1
    assert done.stderr == b"error: standard output cannot be written: no space left on device\n"
    assert cli.main(["-c", ".output /dev/full", "-c", "SELECT 1"]) == 1


def test_nothing_but_text_without_a_terminal() -> None:
    script = "SELECT NULL AS a;\nBEGIN;\nSELEC;\nROLLBACK;\n"
    done = run_command("--box", text=script, environment={"TERM": "xterm-256color"})
    assert "\x1b" not in done.stdout + done.stderr
    assert "raydb" not in done.stdout
    assert "RayDB" not in done.stdout


def test_terminals_without_unicode_get_ascii_boxes() -> None:
    done = subprocess.run(
        [*COMMAND, "-c", "SELECT 'Århus' AS a, '東京' AS b"],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"},
    )
    assert done.returncode == 0
    lines = done.stdout.decode("latin-1").splitlines()
    assert lines[0] == "+---------+---------+"
    assert lines[4] == r"| Århus   | \u6771\u4eac    |"


def test_a_script_loads_nothing_that_only_a_terminal_needs() -> None:
    code = (
        "import sys; from raydb.engine.shell.cli import main; main(['-c', 'SELECT 1'])\n"
        "heavy = {'prompt_toolkit', 'rich', 'wcwidth', 'pygments'}\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""


@pytest.mark.long
def test_an_init_file_runs_first_and_options_have_the_last_word(shop: str) -> None:
    Path("init.sql").write_text(".mode json\nSELECT 1 AS a;\nSELEC 2;\n.nullvalue -\n")
    done = run_command(shop, "--init", "init.sql", "-c", "SELECT 2 AS b")
    assert (done.returncode, done.stdout) == (1, '[{"a": 1}]\n[{"b": 2}]\n')
    assert done.stderr.startswith("init.sql:3: error: syntax error")
    done = run_command(shop, "--init", "init.sql", "--list", "-c", "SELECT NULL AS b")
    assert done.stdout == '[{"a": 1}]\nb\n-\n'
    done = run_command(shop, "--init", "init.sql", "--bail", "-c", "SELECT 2 AS b")
    assert (done.returncode, done.stdout) == (1, '[{"a": 1}]\n')
    done = run_command(shop, "--init", "none.sql", "--list", "-c", "SELECT 2 AS b")
    assert (done.returncode, done.stdout) == (1, "b\n2\n")
    assert done.stderr == "error: file 'none.sql' cannot be read: no such file or directory\n"


def test_a_script_runs_no_file_of_the_users_own(shop: str) -> None:
    Path(".raydbrc").write_text(".mode json\n")
    home = {"HOME": str(Path.cwd()), "XDG_CONFIG_HOME": ""}
    done = run_command(shop, "--list", "-c", "SELECT 2 AS b", environment=home)
    assert done.stdout == "b\n2\n"
    done = run_command(shop, text=".mode\n", environment=home)
    assert done.stdout == "box\n"
