"""The benchmark's SQL files: the schema, the BVHs and the 13 queries in both forms."""

from __future__ import annotations

from importlib import resources
from typing import Final, Literal, TypeAlias

Form: TypeAlias = Literal["star", "flat"]

QUERIES: Final = (
    "q1.1", "q1.2", "q1.3",
    "q2.1", "q2.2", "q2.3",
    "q3.1", "q3.2", "q3.3", "q3.4",
    "q4.1", "q4.2", "q4.3",
)  # fmt: skip


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
    """Return the text of a query, such as 'q1.1', in one of its two forms."""
    (text,) = statements(f"queries/{name}.sql" if form == "star" else f"queries/{name}_flat.sql")
    return text
