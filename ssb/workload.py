"""The benchmark's SQL files: the schema, the BVHs, the 13 queries, and 20 others.

The 13 come in two forms, over the star and over the flat table. The others ask what the four BVHs
were not made for: other groups and predicates, lists, disjunctions, nothing but a total.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from raydb.ssb import rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Form: TypeAlias = Literal["star", "flat"]
Workload: TypeAlias = Literal["star", "other"]

QUERIES: Final = (
    "q1.1", "q1.2", "q1.3",
    "q2.1", "q2.2", "q2.3",
    "q3.1", "q3.2", "q3.3", "q3.4",
    "q4.1", "q4.2", "q4.3",
)  # fmt: skip
OTHERS: Final = tuple(f"o{number:02}" for number in range(1, 21))

# `column = constant`, or what a column lies between.
_CONDITION: Final = re.compile(
    r"\b(?P<column>\w+) (?:= (?P<equal>'[^']*'|\d+)"
    r"|BETWEEN (?P<low>'[^']*'|\d+) AND (?P<high>'[^']*'|\d+))"
)
# What the columns of conditions may be, as SQL writes it.
_CONSTANTS: Final[Mapping[str, Sequence[str]]] = {
    **{name: [f"'{text}'" for text in texts] for name, texts in rules.VALUES.items()},
    **{
        name: [str(number) for number in numbers]
        for name, numbers in {
            "d_year": range(1992, 1999),
            "d_yearmonthnum": [100 * y + m for y in range(1992, 1998) for m in range(1, 13)],
            "d_weeknuminyear": range(1, 53),
            "lo_discount": range(11),
            "lo_quantity": range(1, 51),
        }.items()
    },
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
    """Yield the query with each constant moved on to the column's next value, and so on.

    Constants are those of `column = constant` and of `column BETWEEN constant AND constant`, whose
    ends move together. Where all of them have come round, the first one moves once more. It ends
    where the query itself comes again.
    """
    sizes = [len(values) for found in _CONDITION.finditer(text) if (values := _values_of(found))]
    if not sizes:
        return
    period = math.lcm(*sizes)
    for shift in range(1, period * math.gcd(sizes[0], math.lcm(*sizes[1:]))):
        moves = itertools.chain([shift + shift // period], itertools.repeat(shift))
        yield _CONDITION.sub(partial(_moved, moves), text)


def _moved(moves: Iterator[int], found: re.Match[str]) -> str:
    values = _values_of(found)
    return values[next(moves) % len(values)] if values else found[0]


def _values_of(found: re.Match[str]) -> list[str]:
    """Return what may stand in the place of a condition, from what stands there on."""
    column, equal = found["column"], found["equal"]
    constants = _CONSTANTS.get(column, ())
    if not constants:
        return []
    if equal is not None:
        values = [f"{column} = {each}" for each in constants]
    else:
        width = constants.index(found["high"]) - constants.index(found["low"])
        ends = zip(constants, constants[width:], strict=False)
        values = [f"{column} BETWEEN {low} AND {high}" for low, high in ends]
    start = values.index(found[0])
    return values[start:] + values[:start]
