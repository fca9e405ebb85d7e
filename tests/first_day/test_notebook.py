"""Notebooks: the magic commands in a real kernel, and results as HTML."""

from __future__ import annotations

import html
import os
import re
from pathlib import Path

import nbclient
import nbformat
import pytest

import raydb
from raydb.jupyter import _split

PACKAGE = str(Path(raydb.__file__).parents[1])


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Run a notebook; return what each cell printed, showed and failed with."""
    folder = tmp_path_factory.mktemp("notebook")
    cells = [
        "%load_ext raydb",
        "%%sql\nCREATE TABLE t (n INTEGER, s VARCHAR);\nINSERT INTO t VALUES (1, 'a<b'), (2, NULL)",
        "%sql SELECT * FROM t ORDER BY n",
        "%%sql -o kept\nSELECT sum(n) AS total\nFROM t",
        "kept.fetchone()",
        "prices = {'n': [1, 2], 'price': [0.5, 1.5]}",
        "%sql SELECT n, price FROM t JOIN prices USING (n) ORDER BY n",
        "%%sql\nSELECT nothing FROM t",
        "%%sql -d shop.raydb\nCREATE TABLE kept_on_disk AS SELECT 1 AS n",
        "%sql SHOW TABLES",
        "import raydb; con = raydb.connect()",
        "%sql -c con SELECT 42 AS answer",
        "%sql -c prices SELECT 1",
        "%sql -x SELECT 1",
        "%sql -c con SELECT :nobody",
        "%sql -c con SELECT {'a':n}['a'] AS field FROM (SELECT 7 AS n)",
        "least, quoted = 1, \"x' OR 'a<b'='a<b\"",
        "%sql -c con SELECT :least + 1 AS more, {least} AS same, ':least' AS text",
        "%sql -c con SELECT $quoted AS quoted, 'a' = {quoted} AS equal",
        "%sql -c con EXPLAIN (FORMAT HTML) SELECT 1",
        "%sql",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in cells])
    paths = [PACKAGE, *filter(None, [os.environ.get("PYTHONPATH")])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(paths))
        nbclient.NotebookClient(
            notebook,
            timeout=120,
            allow_errors=True,
            kernel_name="python3",
            resources={"metadata": {"path": str(folder)}},
        ).execute()
    assert (folder / "shop.raydb").is_dir()
    return dict(zip(cells, (cell.outputs for cell in notebook.cells), strict=True))


def shown(outputs, start):
    """Return the texts of the one table that a cell shows, tag by tag."""
    ((output,),) = (found for cell, found in outputs.items() if cell.startswith(start))
    return [html.unescape(text) for text in re.split(r"<[^>]+>", output.data["text/html"]) if text]


def test_a_query_is_a_table(outputs):
    texts = shown(outputs, "%sql SELECT * FROM t")
    assert texts == ["n", "INTEGER", "s", "VARCHAR", "1", "a<b", "2", "NULL", "2 rows"]


def test_statements_show_nothing(outputs):
    assert all(
        not found
        for cell, found in outputs.items()
        if "CREATE TABLE" in cell or "-o kept" in cell or cell == "%sql"
    )


def test_a_result_goes_into_a_variable(outputs):
    assert outputs["kept.fetchone()"][0].data["text/plain"] == "(3,)"


def test_variables_of_the_notebook_are_values_and_never_text(outputs):
    assert shown(outputs, "%sql -c con SELECT :least")[6:] == ["2", "1", ":least", "1 row"]
    assert shown(outputs, "%sql -c con SELECT $quoted")[4:] == [
        "x' OR 'a<b'='a<b", "False", "1 row",
    ]  # fmt: skip
    assert shown(outputs, "%sql -c con SELECT {'a':n}")[2:] == ["7", "1 row"]


def test_a_plan_is_a_page(outputs):
    (output,) = outputs["%sql -c con EXPLAIN (FORMAT HTML) SELECT 1"]
    assert output.data["text/html"].startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')


def test_variables_of_the_notebook_are_tables(outputs):
    assert shown(outputs, "%sql SELECT n, price")[4:] == ["1", "0.5", "2", "1.5", "2 rows"]


def test_the_database_is_kept(outputs):
    assert "kept_on_disk" in shown(outputs, "%sql SHOW TABLES")


def test_a_connection_of_the_notebook(outputs):
    assert shown(outputs, "%sql -c con SELECT 42")[2:] == ["42", "1 row"]


@pytest.mark.parametrize(
    ("start", "sentence"),
    [
        ("%%sql\nSELECT nothing", "ProgrammingError: column 'nothing' does not exist"),
        ("%sql -c prices", "ProgrammingError: the variable 'prices' is no connection of RayDB"),
        (
            "%sql -c con SELECT :n",
            "ProgrammingError: the value 'nobody' is no variable of the noteb",
        ),
        ("%sql -x", "ProgrammingError: '-x SELECT' is no option of %sql: it takes -d for a"),
    ],
)
def test_an_error_is_one_sentence(outputs, start, sentence):
    ((output,),) = (found for cell, found in outputs.items() if cell.startswith(start))
    assert output.output_type == "error"
    (line,) = output.traceback
    assert line.startswith(sentence)


@pytest.mark.parametrize(
    ("line", "options", "rest"),
    [
        ("SELECT 1", {}, "SELECT 1"),
        ("-d 'my shop.raydb' -o x SELECT -1", {"-d": "my shop.raydb", "-o": "x"}, " SELECT -1"),
        ('-d "a b"', {"-d": "a b"}, ""),
    ],
)
def test_options(line, options, rest):
    assert _split(line) == (options, rest)


# Results as HTML


def test_long_results_and_long_texts_are_cut():
    con = raydb.connect()
    text = con.execute("SELECT i FROM generate_series(1, 1000) AS t(i)")._repr_html_()
    assert text.count("<tr>") == 101
    assert "1,000 rows, the first 100 of which are shown" in text
    text = con.execute("SELECT repeat('x', 1000) AS s")._repr_html_()
    assert "x" * 200 + "…" in text
    assert "x" * 201 not in text


def test_markup_is_escaped():
    con = raydb.connect()
    text = con.execute("SELECT '<script>' AS \"<b>\"")._repr_html_()
    assert "<script>" not in text
    assert "<b>" not in text


def test_there_may_be_nothing_to_show():
    con = raydb.connect()
    cur = con.cursor()
    assert cur._repr_html_() is None
    cur.execute("CREATE TABLE t (n INTEGER)")
    assert cur._repr_html_() is None
    assert "0 rows" in cur.execute("SELECT * FROM t")._repr_html_()
    cur.close()
    assert cur._repr_html_() is None
