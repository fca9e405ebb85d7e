"""The options of `WITH (name = value, ...)` and of ATTACH, and the values that they take."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from raydb.errors import ProgrammingError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raydb.sql.parse.reader import TokenReader

_Word = TypeVar("_Word", bound=str)
_Value = TypeVar("_Value")

SWITCH = {"true": True, "on": True, "false": False, "off": False}
_WHOLE = re.compile(r"\d{1,10}", re.ASCII)


def read_options(
    reader: TokenReader, known: Sequence[str], kind: str, owner: str
) -> dict[str, str]:
    """Read the options if WITH comes next; `kind` has those `known`, and `owner` is one of it."""

    def value(_: str) -> str:
        reader.expect("=")
        return "".join(reader.accept_any(sign) or "" for sign in "-.") + reader.take().text

    return read_list(reader, known, kind, owner, value) if reader.accept("WITH") else {}


def read_list(
    reader: TokenReader,
    known: Sequence[str],
    kind: str,
    owner: str,
    value: Callable[[str], _Value],
) -> dict[str, _Value]:
    """Read options in parentheses, see `read_options`; value: reads what one of a name is given."""
    given: dict[str, _Value] = {}

    def read_option() -> None:
        option = reader.word("the name of an option")
        if option not in known:
            near = did_you_mean(option, known)
            raise ProgrammingError(f"option '{option}' of {kind} does not exist{near}")
        if option in given:
            raise ProgrammingError(f"the {owner} has the option '{option}' twice")
        given[option] = value(option)

    reader.listed(read_option)
    return given


def whole_number(what: str, text: str, least: int) -> int:
    """Return the number that a text is. Raises ProgrammingError for what is none or too small."""
    if not _WHOLE.fullmatch(text) or not least <= int(text) < 2**31:
        raise ProgrammingError(f"{what} is a whole number from {least}, not '{text}'")
    return int(text)


def one_of(what: str, text: str, known: Sequence[_Word]) -> _Word:
    """Return the known word that a text is in any case; raises ProgrammingError for another."""
    for word in known:
        if word == text.lower():
            return word
    listed = f"{', '.join(known[:-1])} or {known[-1]}"
    near = did_you_mean(text.lower(), known)
    raise ProgrammingError(f"{what} is {listed}, not '{text.lower()}'{near}")
