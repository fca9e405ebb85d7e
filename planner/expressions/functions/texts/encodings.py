"""Bytes and numbers in other letters: binary and other bases, Base64, and parts of URLs."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import numpy as np

from raydb.errors import DataError, ProgrammingError
from raydb.planner.expressions.columns.adapters import of_rows
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.registry import scalar
from raydb.planner.expressions.signature import require_integer
from raydb.planner.expressions.types import BIGINT, BLOB, INTEGER, TEXT, is_integer
from raydb.planner.expressions.typing_rules import cast, typed
from raydb.storage.integers import is_unsigned

if TYPE_CHECKING:
    from collections.abc import Callable

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MOST_DIGITS = 10_000


def _binder(result: object, *, takes_integers: bool) -> Callable[..., Expression]:
    """Return the binder of a function of the bytes of a text or a BLOB, or of an integer."""

    def bind(name: str, operand: Expression) -> Expression:
        operand = typed(operand, TEXT)
        function = next(iter(known for known, names in _NAMES.items() if name in names))
        if takes_integers and is_integer(operand.type):
            wide = operand if is_unsigned(operand.type) else cast(operand, BIGINT)
            return Call(function, (wide,), result)
        if operand.type not in (TEXT, BLOB):
            needed = "an integer, a string or a BLOB" if takes_integers else "a string or a BLOB"
            raise ProgrammingError(f"{name}() needs {needed}, not {describe(operand)}")
        return Call(function, (operand,), result)

    return bind


_NAMES = {"bin": ("bin", "to_binary"), "base64": ("base64", "to_base64")}


def _bytes_of(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


@scalar(
    "bin(a), to_binary(a)",
    "the bits of an integer, or of the bytes of a text or BLOB: bin(5), bin('A')"
    " -> '101' | '01000001'",
    bind=_binder(TEXT, takes_integers=True),
)
@of_rows
def _bin(value: int | str | bytes) -> str:
    if isinstance(value, int):
        return f"{value & 2**64 - 1:b}"
    return "".join(f"{byte:08b}" for byte in _bytes_of(value))


@scalar(
    "unbin(text), from_binary(text) -> BLOB",
    "the BLOB of binary digits: unbin('01000001') -> x'41'",
    can_fail=True,
)
@of_rows
def _unbin(digits: str) -> bytes:
    if digits.strip("01"):
        raise DataError(f"'{digits}' has other digits than 0 and 1")
    return int(digits or "0", 2).to_bytes(-(-len(digits) // 8), "big")


@scalar(
    "base64(a), to_base64(a)",
    "the bytes of a text or BLOB as Base64: base64('Ray') -> 'UmF5'",
    bind=_binder(TEXT, takes_integers=False),
)
@of_rows
def _base64(value: str | bytes) -> str:
    return base64.b64encode(_bytes_of(value)).decode()


@scalar(
    "from_base64(text) -> BLOB",
    "the BLOB of Base64: decode(from_base64('UmF5')) -> 'Ray'",
    can_fail=True,
)
@of_rows
def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise DataError(f"'{text}' is no Base64") from None


@scalar(
    "to_base(n, radix: n [, digits: n])",
    "a number from 0 on to a base of 2 to 36, with zeros before it up to a number of digits:"
    " to_base(255, 16), to_base(5, 2, 8) -> 'FF' | '00000101'",
    bind=lambda name, *given: Call(
        "to_base",
        tuple(
            cast(require_integer(name, each), BIGINT) for each in (*given, Literal(0, INTEGER))[:3]
        ),
        TEXT,
    ),
    can_fail=True,
)
@of_rows
def _to_base(number: int, radix: int, count: int) -> str:
    if number < 0 or not 2 <= radix <= len(_DIGITS) or not 0 <= count <= _MOST_DIGITS:
        raise DataError(
            f"to_base() needs a number from 0 on, a base of 2 to {len(_DIGITS)} and at most"
            f" {_MOST_DIGITS} digits, not {number}, {radix} and {count}"
        )
    return np.base_repr(number, radix).rjust(count, "0")


@scalar(
    "url_encode(text) -> VARCHAR",
    "a text as a part of a URL: url_encode('a b&c') -> 'a%20b%26c'",
)
@of_rows
def _url_encode(text: str) -> str:
    return quote(text, safe="")


@scalar(
    "url_decode(text) -> VARCHAR",
    "the text of a part of a URL: url_decode('a%20b%26c') -> 'a b&c'",
    can_fail=True,
)
@of_rows
def _url_decode(text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise DataError(f"'{text}' has bytes that are no UTF-8") from None
