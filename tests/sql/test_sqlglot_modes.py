"""sqlglot with compiled modules and without: RayDB's parser is the same with both."""

from __future__ import annotations

import os
import subprocess
import sys
from inspect import isroutine
from pathlib import Path

import pytest
from sqlglot import parser, tokenizer_core

from raydb.sql.parse.dialect import _Tables

HERE = Path(__file__).parent


def test_the_parser_is_made_of_tables_alone() -> None:
    # Compiled methods call each other without looking for those of a derived class.
    assert not [name for name, value in vars(_Tables).items() if isroutine(value)]


@pytest.mark.long
def test_the_parser_without_compiled_modules() -> None:
    own = (HERE / "test_sql_parse.py", f"{__file__}::test_modules_are_of_one_kind")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "interpreted_sqlglot", *own],
        env={**os.environ, "PYTHONPATH": str(HERE), "SQLGLOT_IS": "interpreted"},
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout


def test_modules_are_of_one_kind() -> None:
    files = [str(module.__file__) for module in (parser, tokenizer_core)]
    compiled = [not file.endswith(".py") for file in files]
    assert compiled in ([False, False], [True, True])
    if os.environ.get("SQLGLOT_IS") == "interpreted":
        assert not any(compiled)
