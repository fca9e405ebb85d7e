"""Names of tables, columns and all else: found without regard to case, kept as they were made.

    amount, AMOUNT, "AMOUNT"    the one column that was made as Amount
    "A", "a"                    two columns, each of which needs its quotes

A plain string is a name in quotes, or one that a program gives: where there is one of exactly that
name, it means that one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Self

from raydb.errors import ProgrammingError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence


class Unquoted(str):
    """A name that a statement writes without quotes: of two that differ by case it is neither."""

    __slots__ = ()


class Qualified(str):
    """The name of a table with what stands before it: a database, a schema or both.

    place: these, the last first.
    """

    __slots__ = ("place",)
    place: tuple[str, ...]

    def __new__(cls, name: str, *place: str) -> Self:
        """Make a name of both."""
        made = super().__new__(cls, name)
        made.place = place
        return made


def fold(name: str) -> str:
    """Return what names that differ by case alone have in common.

    Not `casefold`, by which Straße and Strasse would be one name.
    """
    return name.lower()


def is_same(name: str, other: str) -> bool:
    """Tell whether two names differ by case at most."""
    return name.lower() == other.lower()


class Names:
    """Some names in order, each to be found by whatever way a statement writes it."""

    __slots__ = ("_names", "_places")

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._places: dict[str, list[int]] = {}
        for place, name in enumerate(names):
            self._places.setdefault(name.lower(), []).append(place)

    def places(self, name: str) -> Sequence[int]:
        """Return where the names are that a name may mean; some may differ by case."""
        found: Sequence[int] = self._places.get(name.lower(), ())
        if len(found) < 2 or isinstance(name, Unquoted):
            return found
        return [place for place in found if self._names[place] == name] or found

    def find(self, name: str, kind: str) -> str | None:
        """Return the name that is meant as it was made, None if there is none such.

        kind: what has the name, for the ProgrammingError of one that may mean several.
        """
        places = self.places(name)
        if not places:
            return None
        found = [self._names[place] for place in places]
        if len(found) > 1 and any(made != found[0] for made in found):
            raise needs_quotes(name, kind, found)
        return found[0]


@lru_cache(maxsize=512)
def _known(names: tuple[str, ...]) -> Names:
    return Names(names)


def index_names(names: Iterable[str]) -> Names:
    """Return names to be found, which are kept: those of a schema are folded once."""
    return _known(tuple(names))


def find_name(name: str, known: Iterable[str], kind: str) -> str | None:
    """Return the known name that a name means; see `Names.find`."""
    return index_names(known).find(name, kind)


def known_name(name: str, known: Iterable[str], kind: str, place: str = "") -> str:
    """Return the known name that a name means.

    kind, place: what has the name and where, for the ProgrammingError of one that is not known, as
    in "column 'x' does not exist in 't'".
    """
    names = tuple(known)
    return _required(find_name(name, names, kind), name, names, kind, place)


def find_object(name: str, known: Collection[str], kind: str) -> str | None:
    """Return the name of a table, view, BVH or index as it was made, None if there is none such.

    No two of a database differ by case alone, unless an earlier version has made them. A name
    without quotes meant the one in lower case then, as the texts of views and BVHs still do.
    """
    exact = name.lower() if isinstance(name, Unquoted) else name
    return exact if exact in known else find_name(name, known, kind)


def known_object(name: str, known: Collection[str], kind: str) -> str:
    """Return the name of an object; ProgrammingError for one that is not known."""
    return _required(find_object(name, known, kind), name, known, kind)


def _required(
    found: str | None, name: str, known: Iterable[str], kind: str, place: str = ""
) -> str:
    if found is None:
        near = did_you_mean(name, known)
        raise ProgrammingError(f"{kind} '{name}' does not exist{place}{near}")
    return found


def needs_quotes(name: str, kind: str, made: Iterable[str]) -> ProgrammingError:
    """Return the error for a name that means several, which differ by case."""
    listed = " and ".join(f"'{each}'" for each in dict.fromkeys(made))
    return ProgrammingError(
        f"{kind} '{name}' is ambiguous: there are {listed}, which differ by case; write the one"
        " that is meant in double quotes"
    )
