"""The project of docs/dbt.md, as a reader pastes it, and what the page says of models."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from dbt.adapters.factory import reset_adapters
from dbt.cli.main import dbtRunner

import raydb

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[2] / "docs/dbt.md"
FILE = re.compile(r"^`([\w/.]+)`\n\n```[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def dbt(*words: str) -> None:
    """Run a command of dbt, which has to succeed, in the current folder."""
    done = dbtRunner().invoke([*words, "--no-send-anonymous-usage-stats"])
    assert done.success, done.exception or done.result


def rows(sql: str) -> list[tuple[object, ...]]:
    with raydb.connect("shop.raydb") as con:
        return [tuple(map(str, row)) for row in con.execute(sql).fetchall()]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    for name, text in FILE.findall(PAGE.read_text(encoding="utf-8")):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    yield tmp_path
    # dbt keeps the adapter of its last run, and the next test of this process would use it.
    reset_adapters()


def test_the_project_is_built_twice(project: Path) -> None:
    dbt("build")
    dbt("docs", "generate")
    assert (project / "target/catalog.json").exists()
    income = "SELECT * FROM income ORDER BY day, city"
    built = [("2026-05-01", "Lyon", "7.25"), ("2026-05-01", "Oslo", "10.5")]
    assert rows(income) == [
        *built,
        ("2026-05-02", "Oslo", "4.0"),
    ]
    with (project / "seeds/sale.csv").open("a") as file:
        file.write("4,2026-05-02,Oslo,1.00\n5,2026-05-03,Lyon,2.00\n")
    dbt("build")
    new = [("2026-05-02", "Oslo", "5.0"), ("2026-05-03", "Lyon", "2.0")]
    assert rows(income) == [*built, *new]


def test_schemas_that_exist_are_not_made(project: Path) -> None:
    dbt("build")
    assert "create schema" not in (project / "logs/dbt.log").read_text(encoding="utf-8")


def test_views_stay_while_their_columns_do(project: Path) -> None:
    model = project / "models/city.sql"
    model.write_text("select distinct city from {{ ref('sale') }}")
    dbt("build")
    with raydb.connect("shop.raydb") as con:
        con.execute("CREATE VIEW report AS SELECT city FROM city")
    model.write_text("select city, count(*) as sales from {{ ref('sale') }} group by city")
    dbt("run")
    assert rows("SELECT * FROM report ORDER BY city") == [("Lyon",), ("Oslo",)]
    model.write_text("select count(*) as sales from {{ ref('sale') }}")
    dbt("run")
    assert (
        rows("SELECT table_name FROM information_schema.tables WHERE table_name = 'report'") == []
    )


def test_the_query_of_a_model_is_run_once(project: Path) -> None:
    with raydb.connect("shop.raydb") as con:
        con.execute("CREATE SEQUENCE steps")
    (project / "models/step.sql").write_text("select nextval('steps') as step")
    for number in ("1", "2", "3"):
        dbt("run", "--select", "step")
        assert rows("SELECT step FROM step") == [(number,)]


def test_a_model_that_fails_leaves_the_old_rows(project: Path) -> None:
    dbt("build")
    model = project / "models/income.sql"
    model.write_text(
        "{{ config(materialized='table', post_hook='select nothing') }} select 1 as income"
    )
    assert not dbtRunner().invoke(["run"]).success
    assert rows("SELECT count(*) FROM income") == [("3",)]


def test_many_threads_write_without_conflicts(project: Path) -> None:
    for number in range(12):
        text = f"select {number} as n, count(*) as sales from {{{{ ref('sale') }}}}"
        (project / f"models/part_{number}.sql").write_text(text)
    for _ in range(3):
        dbt("build", "--threads", "8")
    parts = " UNION ALL ".join(f"SELECT * FROM part_{number}" for number in range(12))
    assert rows(f"SELECT sum(n), sum(sales) FROM ({parts})") == [("66", "36")]
