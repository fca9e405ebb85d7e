"""The tables of functions in docs/sql/functions.md are those of the registry.

Each stands behind a comment that names the files of `planner/expressions/functions/` whose
functions it has, in their order; those of files that no comment names stand behind `others`.
`pytest tests/test_reference.py --golden-update` writes them anew; `test_docs.py` runs the examples.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from test_docs import REFERENCE, ROOT

from raydb.engine.session.settings import SETTINGS
from raydb.planner.expressions.aggregates import (
    AGGREGATE_TABLE,
    AGGREGATES,
    WINDOW_FUNCTIONS,
    WINDOW_TABLE,
    WITHIN_GROUP,
)
from raydb.planner.expressions.registry import SCALARS
from raydb.planner.plan.table_function import TABLE_FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from raydb.planner.expressions.aggregates import AggregateFunction
    from raydb.planner.expressions.registry import ScalarFunction

PAGE = ROOT / "docs" / "sql" / "functions.md"
MARK = re.compile(r"<!-- functions: (.*) -->\n((?:\|.*\n)*)")


def generated(page: str) -> str:
    """Return the page with its tables as the registry has them."""
    named = {family for mark in MARK.finditer(page) for family in mark[1].split(", ")}
    families: dict[str, list[ScalarFunction | AggregateFunction]] = {
        "aggregates": list(AGGREGATE_TABLE),
        "windows": list(WINDOW_TABLE),
    }
    for function in {id(each): each for each in SCALARS.values()}.values():
        families.setdefault(function.family.rpartition(".")[2], []).append(function)
    families["others"] = [
        each for family, listed in families.items() if family not in named for each in listed
    ]

    def table(mark: re.Match[str]) -> str:
        listed = [each for family in mark[1].split(", ") for each in families[family]]
        return f"<!-- functions: {mark[1]} -->\n" + "".join(f"{row}\n" for row in rows(listed))

    return MARK.sub(table, page)


def rows(functions: Iterable[ScalarFunction | AggregateFunction]) -> Iterator[str]:
    """Yield the lines of a table of functions."""
    for place, function in enumerate(functions):
        if not place:
            yield from ("| Function | Meaning | Example | Answer |", "|---|---|---|---|")
        forms = ", ".join(f"`{form}`" for form in function.signature.forms)
        shown, _, answer = function.says.rpartition(" -> ")
        meaning, example = with_example(shown)
        cells = (forms, meaning, f"`{example}`", f"`{answer}`")
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def with_example(text: str) -> tuple[str, str]:
    """Split `meaning: example` at the last colon that is not within brackets."""
    meaning, _, example = text.rpartition(": ")
    while any(example.count(one) != example.count(other) for one, other in ("{}", "()")):
        meaning, _, more = meaning.rpartition(": ")
        example = f"{more}: {example}"
    return meaning, example


def test_tables_are_those_of_the_registry(pytestconfig: pytest.Config) -> None:
    page = PAGE.read_text(encoding="utf-8")
    if pytestconfig.getoption("--golden-update") and generated(page) != page:
        PAGE.write_text(generated(page), encoding="utf-8")
        pytest.skip("the tables are rewritten")
    assert generated(page) == page


def test_reference_names_everything() -> None:
    """No function, setting or table of the information schema is missing from the reference."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in REFERENCE)
    tables = {name for name in TABLE_FUNCTIONS if "." in name}
    of_from = {name for name, each in TABLE_FUNCTIONS.items() if each.is_called} - tables
    functions = {*SCALARS, *AGGREGATES, *WITHIN_GROUP, *of_from, *WINDOW_FUNCTIONS}
    assert not sorted(name for name in functions if f"{name}(" not in text)
    assert not [table for table in tables if f"`{table}`" not in text]
    assert not [name for name in SETTINGS if f"`{name}`" not in text]
