"""The shapes of answers: what they look like, and that none loses or mangles a value."""

from __future__ import annotations

import csv
import io
import json
from html.parser import HTMLParser

import pytest

from raydb.engine.shell import cli
from raydb.engine.shell.render import answer as answer_of_shell
from raydb.engine.shell.render.modes import MODES
from raydb.engine.shell.render.words import clipped, padded, plain, width

VALUES = """
SELECT * FROM (VALUES (1, 'Rex; "the" | dog', 31.50), (2, NULL, NULL), (3, '', -1.00))
    AS pet (id, name, weight)
"""
EXPECTED = {
    "box": """\
┌─────────┬──────────────────┬──────────────┐
│      id │ name             │       weight │
│ INTEGER │ VARCHAR          │ DECIMAL(4,2) │
├─────────┼──────────────────┼──────────────┤
│       1 │ Rex; "the" | dog │        31.50 │
│       2 │ NULL             │         NULL │
│       3 │                  │        -1.00 │
└─────────┴──────────────────┴──────────────┘
""",
    "table": """\
+----+------------------+--------+
| id | name             | weight |
+----+------------------+--------+
|  1 | Rex; "the" | dog |  31.50 |
|  2 | NULL             |   NULL |
|  3 |                  |  -1.00 |
+----+------------------+--------+
""",
    "markdown": r"""
|  id | name              | weight |
| --: | ----------------- | -----: |
|   1 | Rex; "the" \| dog |  31.50 |
|   2 | NULL              |   NULL |
|   3 |                   |  -1.00 |
""".lstrip(),
    "csv": 'id,name,weight\n1,"Rex; ""the"" | dog",31.50\n2,,\n3,"",-1.00\n',
    "tsv": 'id\tname\tweight\n1\t"Rex; ""the"" | dog"\t31.50\n2\t\t\n3\t""\t-1.00\n',
    "json": (
        '[{"id": 1, "name": "Rex; \\"the\\" | dog", "weight": 31.50},\n'
        ' {"id": 2, "name": null, "weight": null},\n'
        ' {"id": 3, "name": "", "weight": -1.00}]\n'
    ),
    "jsonlines": (
        '{"id": 1, "name": "Rex; \\"the\\" | dog", "weight": 31.50}\n'
        '{"id": 2, "name": null, "weight": null}\n'
        '{"id": 3, "name": "", "weight": -1.00}\n'
    ),
    "line": """\
    id = 1
  name = Rex; "the" | dog
weight = 31.50

    id = 2
  name = NULL
weight = NULL

    id = 3
  name =\x20
weight = -1.00
""",
    "list": 'id|name|weight\n1|Rex; "the" | dog|31.50\n2|NULL|NULL\n3||-1.00\n',
    "html": """\
<table>
<thead><tr><th>id</th><th>name</th><th>weight</th></tr></thead>
<tbody>
<tr><td>1</td><td>Rex; &quot;the&quot; | dog</td><td>31.50</td></tr>
<tr><td>2</td><td>NULL</td><td>NULL</td></tr>
<tr><td>3</td><td></td><td>-1.00</td></tr>
</tbody>
</table>
""",
}


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(list(arguments)) == 0
    said = capsys.readouterr()
    assert said.err == ""
    return str(said.out)


@pytest.mark.parametrize("mode", MODES)
def test_modes(mode: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert answer(capfd, f"--{mode}", "-c", VALUES) == EXPECTED[mode]
    assert answer(capfd, "-c", f".mode {mode}", "-c", VALUES) == EXPECTED[mode]


@pytest.mark.parametrize("mode", MODES)
def test_no_rows(mode: str, capfd: pytest.CaptureFixture[str]) -> None:
    text = answer(capfd, f"--{mode}", "-c", "SELECT 1 AS only WHERE false")
    if mode in {"jsonlines", "line"}:
        assert text == ""
    elif mode == "json":
        assert text == "[]\n"
    else:
        assert "only" in text
        assert "NULL" not in text


def test_programs_read_every_value_back(capfd: pytest.CaptureFixture[str]) -> None:
    nasty = "a,b\t\"q\" 'x'\n\r\x1b[2J | \\ <b> 東京 🙂"
    sql = f"SELECT chr(65) AS a, '{nasty.replace(chr(39), chr(39) * 2)}' AS \"b,c\", 0.1e0 AS d"
    ((names, row),) = [list(csv.reader(io.StringIO(answer(capfd, "--csv", "-c", sql), newline="")))]
    assert (names, row) == (["a", "b,c", "d"], ["A", nasty, "0.1"])
    for mode, read in (("json", lambda text: json.loads(text)[0]), ("jsonlines", json.loads)):
        assert read(answer(capfd, f"--{mode}", "-c", sql)) == {"a": "A", "b,c": nasty, "d": 0.1}
    cells: list[str] = []

    class Reader(HTMLParser):
        def handle_data(self, data: str) -> None:
            cells.extend([data] if data.strip() else [])

    Reader().feed(answer(capfd, "--html", "-c", sql))
    assert cells[4] == plain(nasty)


@pytest.mark.parametrize("mode", ["box", "table", "markdown", "line", "list", "html"])
def test_readers_get_no_character_that_moves_the_cursor(
    mode: str, capfd: pytest.CaptureFixture[str]
) -> None:
    text = answer(capfd, f"--{mode}", "-c", "SELECT 'a\nb\x1b[2J\u202e\x85' AS \"x\ty\"")
    assert r"a\nb\x1b[2J\u202e\x85" in text
    assert not {"\x1b", "\u202e", "\x85", "\t"} & set(text)


def test_values_of_all_types(capfd: pytest.CaptureFixture[str]) -> None:
    sql = """SELECT true AS a, x'ab' AS b, [1, NULL] AS c, INTERVAL '1 day 2 hours' AS d,
        TIME '10:01' AS e,
        TIMESTAMP '2026-01-02 03:04:05' AS f, 'NaN'::DOUBLE AS g, 1e300 AS h"""
    text = answer(capfd, "--list", "-c", ".headers off", "-c", sql)
    assert text == ("true|\\xab|[1, NULL]|1 day 02:00:00|10:01:00|2026-01-02 03:04:05|nan|1e+300\n")
    row = json.loads(answer(capfd, "--json", "-c", sql))[0]
    assert row["c"] == [1, None]
    assert row["g"] == "nan"


def test_csv_is_what_copy_writes(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(str(tmp_path))
    for kind in ("csv", "tsv"):
        text = answer(capfd, f"--{kind}", "-c", VALUES)
        assert answer(capfd, "-c", f"COPY ({VALUES}) TO 'pet.{kind}'") == ""
        with open(f"pet.{kind}", encoding="utf-8") as file:  # noqa: PTH123
            assert file.read() == text


def test_csv_has_quotes_where_they_are_needed(capfd: pytest.CaptureFixture[str]) -> None:
    sql = """SELECT * FROM (VALUES
        ('plain text', 1.5e0), ('a,b', 2e0), ('say "a"', NULL), ('', 4e0), (NULL, 1e300),
        (' a', 'NaN'::DOUBLE), ('b' || chr(10) || 'c', 'inf'::DOUBLE), ('it''s', -0.0e0),
        (E'a\tb', 8e0)) AS t("a,b", x)"""
    assert answer(capfd, "--csv", "-c", sql) == (
        '"a,b",x\nplain text,1.5\n"a,b",2.0\n"say ""a""",\n"",4.0\n,1e+300\n'
        '" a",nan\n"b\nc",inf\nit\'s,-0.0\na\tb,8.0\n'
    )
    assert answer(capfd, "--tsv", "-c", sql).endswith('"a\tb"\t8.0\n')
    types = "SELECT [1, NULL] AS l, INTERVAL '1 day' AS i, '\\xAB'::BLOB AS b, true AS t"
    assert answer(capfd, "--csv", "-c", types) == 'l,i,b,t\n"[1, NULL]",1 day,\\xab,true\n'


def test_headers_and_null(capfd: pytest.CaptureFixture[str]) -> None:
    settings = ("-c", ".headers off", "-c", ".nullvalue -", "-c", "SELECT 1 AS a, NULL AS b")
    assert answer(capfd, "--csv", *settings) == "1,\n"
    assert answer(capfd, "--list", *settings) == "1|-\n"
    assert answer(capfd, "--box", *settings) == "┌───┬───┐\n│ 1 │ - │\n└───┴───┘\n"
    assert answer(capfd, "--json", *settings) == '[{"a": 1, "b": null}]\n'


def test_rows_in_the_middle_are_left_out_when_asked(capfd: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT x FROM generate_series(1, 1234) t (x)"
    lines = answer(capfd, "-c", ".maxrows 3", "-c", sql).splitlines()
    assert [line.strip("│ ") for line in lines[4:8]] == ["1", "2", "…", "1234"]
    assert lines[-1] == "1,234 rows (3 shown)"
    assert len(answer(capfd, "-c", sql).splitlines()) == 1234 + 5


def test_a_long_box_goes_on_where_later_rows_are_wider(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(answer_of_shell, "BATCH_ROWS", 4)
    sql = "SELECT repeat('x', (i / 6 * 9)::INTEGER) AS t FROM generate_series(1, 9) t (i)"
    lines = answer(capfd, "--table", "-c", sql).splitlines()
    assert len([line for line in lines if line.startswith("|")]) == 9 + 2
    assert [len(line) for line in lines if line.startswith("+")] == [5] * 3 + [13] * 3


@pytest.mark.parametrize(
    ("text", "columns"),
    [("Lyon", 4), ("東京", 4), ("e\u0301", 1), ("🙂", 2), ("\u3000", 2), ("👨\u200d👩", 2)],
)
def test_widths(text: str, columns: int) -> None:
    assert width(text) == columns
    assert plain(text) == text
    assert width(padded(text, 9)) == width(padded(text, 9, right=True)) == 9
    for limit in range(1, 6):
        assert width(clipped(text * 3, limit)) <= limit
