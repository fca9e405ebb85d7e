"""SQLAlchemy's own tests of a dialect, Alembic's, and pandas' of SQL; see tests/*_suite."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "sqlalchemy_suite"

# What fails by choice, and why.
CHOICES = {
    "test_string_length_reflection": "VARCHAR has no length",
    "test_reflect_table_temp_table": "VARCHAR has no length",
    "test_index_typed_access[_decimal1]": "JSON has the digits of a DOUBLE, as in DuckDB",
    "test_index_typed_comparison[_decimal1]": "the same",
    "test_path_typed_comparison[_decimal1]": "the same",
    "test_get_foreign_keys_local_repeated": "a foreign key names no column twice",
    "test_get_foreign_keys_remote_repeated": "the same",
    "test_reflect_constraint_local_repeated": "the same",
    "test_reflect_constraint_remote_repeated": "the same",
}


PANDAS_CHOICES = {
    "test_copy_from_callable": "a method of psycopg's cursors",
    "test_dtype[": "VARCHAR, not TEXT, is what is reflected",
    "test_read_iris_query_string_with_parameter": "parameters are not %s",
    "test_read_sql_iris_parameter": "the same",
    "test_to_sql_on_public_schema": "the schema is main",
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("tests", "least"), [("dialect_tests.py", 1600), ("migration_tests.py", 100)]
)
def test_others_own_tests(tests: str, least: int, tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy", minversion="2.1")
    database = f"--dburi=raydb:///{tmp_path / 'suite.raydb'}"
    _run(FOLDER, CHOICES, least, "-p", "sqlalchemy_dialect", "-c", "setup.cfg", database, tests)


@pytest.mark.long
def test_pandas_own_tests() -> None:
    postgresql = "-k=postgresql_psycopg2"
    _run(
        FOLDER.parent / "pandas_suite",
        PANDAS_CHOICES,
        320,
        "-c",
        "pytest.ini",
        postgresql,
        "sql_tests.py",
    )


def _run(folder: Path, choices: dict[str, str], least: int, *arguments: str) -> None:
    """Run others' tests; all but some choices have to pass, and at least so many."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-q",
            "-rfE",
            "--tb=line",
            *arguments,
        ],
        cwd=folder,
        env={"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r"^(?:FAILED|ERROR) \S+?::(?:\w+\S*?::)?(\S+)", done.stdout, re.MULTILINE)
    others = {name for name in found if not name.startswith(tuple(choices))}
    assert others == set(), done.stdout
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None, done.stdout + done.stderr
    assert int(passed[1]) > least
