"""SQLAlchemy's own tests of a dialect, and Alembic's; see tests/sqlalchemy_suite."""

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


@pytest.mark.long
@pytest.mark.parametrize(
    ("tests", "least"), [("dialect_tests.py", 1600), ("migration_tests.py", 100)]
)
def test_others_own_tests(tests: str, least: int, tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy", minversion="2.1")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "sqlalchemy_dialect", "-p", "no:cacheprovider"),
            *("-c", "setup.cfg", "-q", "-rfE", "--tb=line", tests),
            f"--dburi=raydb:///{tmp_path / 'suite.raydb'}",
        ],
        cwd=FOLDER,
        env={"PYTHONPATH": str(FOLDER)},
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r"^(?:FAILED|ERROR) \S+?::\w+\S*?::(\S+)", done.stdout, re.MULTILINE)
    others = {name for name in found if not name.startswith(tuple(CHOICES))}
    assert others == set(), done.stdout
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None, done.stdout + done.stderr
    assert int(passed[1]) > least
