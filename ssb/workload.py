"""The benchmark's SQL files: the schema, the BVHs, the 13 queries, and 20 others.

The 13 come in two forms, over the star and over the flat table. The others ask what the four BVHs
were not made for: other groups and predicates, lists, disjunctions, nothing but a total.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from raydb.ssb import rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Form: TypeAlias = Literal["star", "flat"]
Workload: TypeAlias = Literal["star", "other"]

QUERIES: Final = (
    "q1.1", "q1.2", "q1.3",
    "q2.1", "q2.2", "q2.3",
    "q3.1", "q3.2", "q3.3", "q3.4",
    "q4.1", "q4.2", "q4.3",
)  # fmt: skip
OTHERS: Final = tuple(f"o{number:02}" for number in range(1, 21))

_EQUALITY: Final = re.compile(r"\b(\w+) = ('[^']*'|\d+)")
# The values that the numbers which queries ask for by '=' may take.
_NUMBERS: Final[Mapping[str, tuple[int, ...]]] = {
    "d_year": tuple(range(1992, 1999)),
    "d_yearmonthnum": tuple(100 * y + m for y in range(1992, 1998) for m in range(1, 13)),
    "d_weeknuminyear": tuple(range(1, 53)),
}


@dataclass(frozen=True, slots=True)
class Query:
    """A query in both forms."""

    name: str
    star: str
    flat: str

    @property
    def flight(self) -> str | None:
        """The flight of one of the 13 queries, '1' to '4'; None for the others."""
        return self.name[1] if self.name in QUERIES else None


def statements(file_name: str) -> list[str]:
    """Return the statements of one of the benchmark's SQL files, without their comments.

    >>> [statement.split()[2] for statement in statements("bvhs.sql")]
    ['discounts', 'brands', 'cities', 'profits']
    """
    text = resources.files("raydb.ssb").joinpath(file_name).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    # These files have no ';' inside a literal.
    return [part.strip() for part in "\n".join(lines).split(";") if part.strip()]


def query(name: str, form: Form) -> str:
    """Return the text of one of the 13 queries, such as 'q1.1', in one of its two forms."""
    (text,) = statements(f"queries/{name}.sql" if form == "star" else f"queries/{name}_flat.sql")
    return text


def names(workload: Workload) -> tuple[str, ...]:
    """Return the names of a workload's queries."""
    return QUERIES if workload == "star" else OTHERS


def find(name: str) -> Query:
    """Return a query of either workload by its name."""
    if name in OTHERS:
        star, flat = statements(f"queries/other/{name}.sql")
        return Query(name, star, flat)
    return Query(name, query(name, "star"), query(name, "flat"))


def with_other_constants(text: str) -> Iterator[str]:
    """Yield the query with each `column = constant` moved on to the column's next value, and so on.

    It ends where the query itself comes again.
    """
    shift = 1
    while (varied := _shift(text, shift)) != text:
        yield varied
        shift += 1


def _shift(text: str, shift: int) -> str:
    def moved(found: re.Match[str]) -> str:
        column, constant = found.groups()
        if constant.startswith("'"):
            values = [f"'{value}'" for value in rules.VALUES[column]]
        else:
            values = [str(number) for number in _NUMBERS[column]]
        return f"{column} = {values[(values.index(constant) + shift) % len(values)]}"

    return _EQUALITY.sub(moved, text)
