"""Functions of text."""

from __future__ import annotations

import functools

import pyarrow as pa

from raydb.errors import ProgrammingError
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.sql.bind.expression.operators import arithmetic
from raydb.sql.functions.signature import (
    Signature,
    require_integer,
    require_text,
    takes,
    typed,
)
from raydb.sql.functions.text_format import as_text, text_or_nothing
from raydb.sql.types import is_integer
from raydb.sql.typing_rules import cast

_TEXT, _BIGINT, _INTEGER, _BOOLEAN = pa.string(), pa.int64(), pa.int32(), pa.bool_()
_BLOB = pa.binary()
_ONE = Literal(1, _BIGINT)


def substring(text: Expression, *bounds: Expression) -> Expression:
    """Return a part of a string; `start`, the first of the bounds, counts from 1."""
    integers = tuple(require_integer("substring", bound) for bound in bounds)
    return Call("substring", (require_text("substring", text), *integers), _TEXT)


def trim(text: Expression, *characters: Expression, side: str = "both") -> Expression:
    """Return a string without the spaces, or the characters, on both sides or on one."""
    function = {"both": "trim", "leading": "ltrim", "trailing": "rtrim"}[side]
    wanted = tuple(require_text("trim", each) for each in characters)
    return Call(function, (require_text("trim", text), *wanted), _TEXT)


def position(part: Expression, text: Expression) -> Expression:
    """Return where a part of a string begins, from 1; 0 where it does not occur."""
    arguments = (require_text("position", text), require_text("position", part))
    return Call("position", arguments, _BIGINT)


def overlay(
    text: Expression, new: Expression, start: Expression, *length: Expression
) -> Expression:
    """Return a string with `length` characters from `start` on replaced, as many as are new."""
    name = "overlay"
    text, new = require_text(name, text), require_text(name, new)
    start = arithmetic("multiply", require_integer(name, start), _ONE)  # a BIGINT: no overflow
    count = require_integer(name, length[0]) if length else Call("length", (new,), _BIGINT)
    before = Call("substring", (text, _ONE, arithmetic("subtract", start, _ONE)), _TEXT)
    after = Call("substring", (text, arithmetic("add", start, count)), _TEXT)
    return Call("concat", (before, new, after), _TEXT)


def _substring(_: str, *arguments: Expression) -> Expression:
    return substring(*arguments)


def _trim(side: str, name: str, *arguments: Expression) -> Expression:
    text, *characters = (require_text(name, each) for each in arguments)
    return trim(text, *characters, side=side)


def _overlay(_: str, *arguments: Expression) -> Expression:
    return overlay(*arguments)


def _position(_: str, text: Expression, part: Expression) -> Expression:
    return position(part, text)


def _bit_length(name: str, text: Expression) -> Expression:
    bytes_ = Call("octet_length", (require_text(name, text),), _BIGINT)
    return arithmetic("multiply", bytes_, Literal(8, _BIGINT))


def _concat(_: str, *arguments: Expression) -> Expression:
    """Join texts and other values; NULL counts for nothing, unlike with ||."""
    return Call("concat", tuple(map(text_or_nothing, arguments)), _TEXT)


def _concat_ws(name: str, separator: Expression, *arguments: Expression) -> Expression:
    texts = tuple(map(as_text, arguments))
    return Call(name, (require_text(name, separator), *texts), _TEXT)


def _octets(name: str, operand: Expression) -> Expression:
    operand = typed(operand, _TEXT)
    if operand.type != _BLOB:
        require_text(name, operand)
    return Call("octet_length", (operand,), _BIGINT)


def _hex(name: str, operand: Expression) -> Expression:
    """Return the digits of an integer as a BIGINT, or those of the bytes of a string or a BLOB."""
    operand = typed(operand, _TEXT)
    if is_integer(operand.type):
        digits = Call("to_hex", (cast(operand, _BIGINT),), _TEXT)
        return Call("upper", (digits,), _TEXT)
    if operand.type not in (_TEXT, _BLOB):
        raise ProgrammingError(
            f"{name}() needs an integer, a string or a BLOB, not {describe(operand)}"
        )
    return Call("hex", (operand,), _TEXT)


_LENGTH = Signature(takes("length", _BIGINT, require_text), 1, 1)
_OCTETS = Signature(_octets, 1, 1)
_LOWER = Signature(takes("lower", _TEXT, require_text), 1, 1)
_UNHEX = Signature(takes("unhex", _BLOB, require_text), 1, 1)
_UPPER = Signature(takes("upper", _TEXT, require_text), 1, 1)
_POSITION = Signature(_position, 2, 2)
_STARTS_WITH = Signature(takes("starts_with", _BOOLEAN, require_text, require_text), 2, 2)
_ENDS_WITH = Signature(takes("ends_with", _BOOLEAN, require_text, require_text), 2, 2)
_CODE_POINT = Signature(takes("unicode", _INTEGER, require_text), 1, 1)
_OF_PAD = (require_text, require_integer, require_text)
_THREE_TEXTS = (require_text, require_text, require_text)

TEXT = {
    "ascii": Signature(takes("ascii", _INTEGER, require_text), 1, 1),
    "bit_length": Signature(_bit_length, 1, 1),
    "btrim": Signature(functools.partial(_trim, "both"), 1, 2),
    "char_length": _LENGTH,
    "character_length": _LENGTH,
    "chr": Signature(takes("chr", _TEXT, require_integer), 1, 1),
    "concat": Signature(_concat, 1, None),
    "concat_ws": Signature(_concat_ws, 2, None),
    "contains": Signature(takes("contains", _BOOLEAN, require_text, require_text), 2, 2),
    "ends_with": _ENDS_WITH,
    "from_hex": _UNHEX,
    "hex": Signature(_hex, 1, 1),
    "initcap": Signature(takes("initcap", _TEXT, require_text), 1, 1),
    "instr": _POSITION,
    "lcase": _LOWER,
    "left": Signature(takes("left", _TEXT, require_text, require_integer), 2, 2),
    "length": _LENGTH,
    "levenshtein": Signature(takes("levenshtein", _BIGINT, require_text, require_text), 2, 2),
    "lower": _LOWER,
    "lpad": Signature(takes("lpad", _TEXT, *_OF_PAD), 2, 3),
    "ltrim": Signature(functools.partial(_trim, "leading"), 1, 2),
    "md5": Signature(takes("md5", _TEXT, require_text), 1, 1),
    "octet_length": _OCTETS,
    "ord": _CODE_POINT,
    "overlay": Signature(_overlay, 3, 4),
    "prefix": _STARTS_WITH,
    "repeat": Signature(takes("repeat", _TEXT, require_text, require_integer), 2, 2),
    "replace": Signature(takes("replace", _TEXT, *_THREE_TEXTS), 3, 3),
    "reverse": Signature(takes("reverse", _TEXT, require_text), 1, 1),
    "right": Signature(takes("right", _TEXT, require_text, require_integer), 2, 2),
    "rpad": Signature(takes("rpad", _TEXT, *_OF_PAD), 2, 3),
    "rtrim": Signature(functools.partial(_trim, "trailing"), 1, 2),
    "split_part": Signature(
        takes("split_part", _TEXT, require_text, require_text, require_integer), 3, 3
    ),
    "starts_with": _STARTS_WITH,
    "strlen": _OCTETS,
    "strpos": _POSITION,
    "substr": Signature(_substring, 2, 3),
    "substring": Signature(_substring, 2, 3),
    "suffix": _ENDS_WITH,
    "to_hex": Signature(takes("to_hex", _TEXT, require_integer), 1, 1),
    "translate": Signature(takes("translate", _TEXT, *_THREE_TEXTS), 3, 3),
    "trim": Signature(functools.partial(_trim, "both"), 1, 2),
    "ucase": _UPPER,
    "unhex": _UNHEX,
    "unicode": _CODE_POINT,
    "upper": _UPPER,
}
