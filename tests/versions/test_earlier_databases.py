"""Databases that earlier versions made are read and written on: one of everything, from each.

make.py makes them; answers.sql and other pages, in the form of the golden files, have the answers.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
from test_golden import agrees, as_lines, read_statements, run, with_answers

import raydb

HERE = Path(__file__).parent
DATABASES = sorted(HERE.glob("*.zip"))
# The pages, and the version that has added what they ask for.
PAGES = {"answers": "0.1.0a1", "newer": "0.1.0a3", "enums": "0.1.0a4", "searches": "0.1.0a5"}
CHANGES = """
    INSERT INTO country (id, name) VALUES (3, 'Spain');
    INSERT INTO shop VALUES (5, 'Vigo', 3);
    INSERT INTO sale VALUES ('2025-01-05', 5, 7, 'new');
    UPDATE shop SET city = 'Oslo S' WHERE id = 1;
    DELETE FROM sale WHERE shop = 2;
    INSERT INTO item VALUES (101, [29.6, 2]);
"""
# Of a BVH, a join and a vector index, beside the rows of CHANGES.
QUESTIONS = (
    "SELECT name, city, count(*), sum(amount) FROM sale JOIN shop ON shop = shop.id "
    "JOIN country ON country = country.id WHERE day < '2025-03-01' "
    "GROUP BY name, city ORDER BY name, city",
    "SELECT id FROM vector_search(item, place, [30, 2], k => 3) ORDER BY distance",
    "SELECT count(*), count(note) FROM sale WHERE note = 'new' OR note = 'note 5'",
)


@pytest.fixture(params=DATABASES, ids=lambda file: file.stem)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a database of an earlier version."""
    with zipfile.ZipFile(request.param) as archive:
        archive.extractall(tmp_path)
    return tmp_path / "everything.raydb"


def answers(con: Any) -> list[list[tuple[Any, ...]]]:
    return [con.execute(question).fetchall() for question in QUESTIONS]


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize("name", PAGES)
def test_an_earlier_database_answers(
    path: Path, name: str, read_only: bool, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    version = request.node.callspec.params["path"].stem
    if version < PAGES[name]:
        pytest.skip("the version has none of it")
    page = HERE / f"{name}.sql"
    lines = page.read_text(encoding="utf-8").splitlines()
    with raydb.connect(path, read_only=read_only) as con:
        found = [
            (each, run(con, each.sql, tmp_path))
            for each in read_statements(lines)
            if not (read_only and each.sql.startswith("INSERT"))
        ]
    if request.config.getoption("--golden-update"):
        if not read_only:
            page.write_text(with_answers(lines, found), encoding="utf-8")
        pytest.skip("answers are rewritten")
    wrong = [
        "\n".join([each.sql, "expected:", *as_lines(each.answer), "found:", *as_lines(answer)])
        for each, answer in found
        if not agrees(each, answer)
    ]
    assert not wrong, "\n\n".join(wrong)


def test_an_earlier_database_is_written_on(path: Path) -> None:
    with raydb.connect(path) as con:
        con.execute(CHANGES)
        logged = answers(con)
    with raydb.connect(path) as con:
        assert answers(con) == logged
        con.execute("CHECKPOINT")
        con.execute("VACUUM")
        assert answers(con) == logged
    with raydb.connect(path, read_only=True) as con:
        con.execute("SET fused_path = 'off'")
        assert answers(con) == logged
    assert [len(rows) for rows in logged] == [4, 3, 1]
