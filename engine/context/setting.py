"""A setting, and what parses the texts that settings take; see `raydb.engine.session.settings`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from raydb.errors import ProgrammingError
from raydb.kernels.backends.choice import check_setting
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from raydb.engine.session.settings import Settings

T = TypeVar("T")

# Twelve days at most: a slip of the keyboard would be longer.
_MILLISECONDS = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """A setting.

    parse: returns the value for the text that SET gives and the setting's name; it raises
    ProgrammingError for another text. values, meaning: what it takes, and what it does, as the
    page says it. guard: raises OperationalError where the settings as they are forbid a text.
    shown: what SHOW says of a value, by default what SET takes.
    """

    name: str
    default: T
    parse: Callable[[str, str], T]
    values: str
    meaning: str
    guard: Callable[[Settings, str], None] | None = None
    shown: Callable[[T], str] | None = None


SETTINGS: dict[str, Setting[Any]] = {}


def register(setting: Setting[T]) -> Setting[T]:
    """Add a setting to the table."""
    SETTINGS[setting.name] = setting
    return setting


# -- what settings take


def one_of(known: Sequence[str]) -> Callable[[str, str], str]:
    """Return what takes one of some words."""

    def parse(text: str, name: str) -> str:
        check_setting(name, text, tuple(known))
        return text

    return parse


def either(known: Mapping[str, T]) -> Callable[[str, str], T]:
    """Return what parses one of some words in any case; errors name the first two."""
    one, other, *_ = known

    def parse(text: str, name: str) -> T:
        if text.lower() not in known:
            raise ProgrammingError(f"{name} is '{one}' or '{other}', not '{text}'")
        return known[text.lower()]

    return parse


def as_written(parse: Callable[[str, str], object]) -> Callable[[str, str], str]:
    """Return what keeps a text that can be parsed: what it stands for may change meanwhile."""

    def check(text: str, name: str) -> str:
        parse(text, name)
        return text

    return check


def whole_number(least: int, most: int) -> Callable[[str, str], int]:
    """Return what takes a number of a range."""

    def parse(text: str, name: str) -> int:
        if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
            raise ProgrammingError(f"{name} is a number from {least} to {most}, not '{text}'")
        return int(text)

    return parse


def parse_milliseconds(text: str, name: str) -> int:
    """Return a number of milliseconds."""
    if not _MILLISECONDS.fullmatch(text):
        raise ProgrammingError(f"{name} is a number of milliseconds, 0 for none, not '{text}'")
    return int(text)


parse_switch = either({"on": True, "off": False, "true": True, "false": False})
ON_OFF = "`'on'`, `'off'`"
