"""Functions of text. Lengths and positions are in characters, and positions count from 1."""

from __future__ import annotations

import binascii
import functools
import hashlib
import re
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from raydb.errors import DataError
from raydb.planner.expressions.casts.casts import Values, cast_values, each
from raydb.planner.expressions.function import (
    Function,
    arrow,
    by_constants,
    require_room,
    row_by_row,
    with_constants,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from raydb.planner.expressions.nodes import Call

# No value that a function makes longer has more characters; an Arrow array holds 2 GiB.
_LONGEST = 10**8


def _concat(_: Call, *values: Values) -> Values:
    texts = [cast_values(value, pa.string()) for value in values]
    return pc.binary_join_element_wise(*texts, "", null_handling="emit_null")


def _concat_ws(_: Call, separator: Values, *texts: Values) -> Values:
    """Join the texts that are not NULL."""
    return pc.binary_join_element_wise(*texts, separator, null_handling="skip")


# -- parts


def _substring(_: Call, text: Values, start: int, length: int | None = None) -> Values:
    """Return the characters at the positions start, ..., start + length - 1 that exist.

    As in the SQL standard the positions before the first one count: substring('hello', -1, 3) is
    'h'.
    """
    first = max(start, 1) - 1
    if length is None:
        return pc.utf8_slice_codeunits(text, first)
    if length < 0:
        raise DataError(f"the length of a substring cannot be negative, as {length} is")
    return pc.utf8_slice_codeunits(text, first, max(start + length - 1, first))


def _left(_: Call, text: Values, count: int) -> Values:
    """Return the first characters, or all but the last -count."""
    return pc.utf8_slice_codeunits(text, 0, count)


def _right(_: Call, text: Values, count: int) -> Values:
    """Return the last characters, or all but the first -count."""
    if count == 0:
        return pc.utf8_slice_codeunits(text, 0, 0)
    return pc.utf8_slice_codeunits(text, -count)


def _split_part(_: Call, text: Values, separator: str, number: int) -> Values:
    """Return the part of that number, from the end where it is negative; '' where there is none."""
    if number == 0:
        raise DataError("split_part() counts from 1, or from -1 at the end; there is no part 0")
    if not separator:
        return text if abs(number) == 1 else pc.utf8_slice_codeunits(text, 0, 0)

    def part(array: pa.Array) -> pa.Array:
        # One split more than is wanted leaves the rest in a part of its own.
        most = {"max_splits": number} if number > 0 else {}
        parts = pc.split_pattern(array, separator, **most)
        ends = parts.offsets[1:] if number < 0 else pc.subtract(parts.offsets[:-1], 1)
        exists = pc.greater_equal(pc.list_value_length(parts), abs(number))
        places = pc.if_else(exists, pc.add(ends, number), pa.scalar(None, pa.int32()))
        found = pc.fill_null(parts.values.take(places), "")
        return pc.if_else(array.is_valid(), found, pa.scalar(None, pa.string()))

    return each(text, part, pa.string())


# -- searches


def _position(_: Call, text: Values, part: str) -> Values:
    """Return where a part begins, 0 where it does not occur."""
    if pc.all(pc.string_is_ascii(text)).as_py() is not False:
        return pc.add(pc.find_substring(text, part), 1)  # in bytes
    return row_by_row(lambda value: value.find(part) + 1, pa.int64(), text)


def _starts_with(_: Call, text: Values, part: str) -> Values:
    return pc.starts_with(text, part)


def _ends_with(_: Call, text: Values, part: str) -> Values:
    return pc.ends_with(text, part)


def _contains(_: Call, text: Values, part: str) -> Values:
    return pc.match_substring(text, part)


def _levenshtein(one: str, other: str) -> int:
    """Return how many characters must be inserted, deleted or replaced."""
    distances = list(range(len(other) + 1))
    for row, character in enumerate(one, 1):
        diagonal, distances[0] = distances[0], row
        for place, candidate in enumerate(other, 1):
            replaced = diagonal + (character != candidate)
            diagonal = distances[place]
            distances[place] = min(replaced, diagonal + 1, distances[place - 1] + 1)
    return distances[-1]


# -- changes


def _trim(side: str, _: Call, text: Values, characters: str = " ") -> Values:
    """Remove the characters that are in a set from one side or both."""
    return getattr(pc, f"utf8_{side}")(text, characters) if characters else text


def _replace(_: Call, text: Values, part: str, replacement: str) -> Values:
    if not part:  # for which Arrow's replace_substring (26.0) never ends
        return text
    growth = len(replacement.encode()) - len(part.encode())
    require_room("replace", text, max(growth, 0), lambda texts: pc.count_substring(texts, part))
    return pc.replace_substring(text, part, replacement)


def _translate(_: Call, text: Values, characters: str, replacements: str) -> Values:
    """Replace each character by the one at the same place, or remove it if there is none."""
    table: dict[int, str | None] = {}
    for place, character in enumerate(characters):
        table.setdefault(ord(character), replacements[place : place + 1] or None)
    return row_by_row(lambda value: value.translate(table), pa.string(), text)


def _repeat(_: Call, text: Values, count: int) -> Values:
    count = max(count, 0)
    longest = pc.max(pc.binary_length(_at_least_one(text))).as_py() or 0
    if longest * count > _LONGEST:
        raise DataError(f"the result of repeat() is longer than {_LONGEST} bytes")
    return pc.binary_repeat(text, count)


def _at_least_one(text: Values) -> Values:
    return pa.repeat(text, 1) if isinstance(text, pa.Scalar) else text


def _pad(name: str, _: Call, text: Values, width: int, fill: str = " ") -> Values:
    """Fill text up to a width on the left or the right; what is longer is cut on the right."""
    if width > _LONGEST:
        raise DataError(f"the result of {name}() is longer than {_LONGEST} characters")
    width = max(width, 0)
    cut = pc.utf8_slice_codeunits(text, 0, width)
    if len(fill) <= 1:
        return getattr(pc, f"utf8_{name}")(cut, width, fill) if fill else cut
    padding = (fill * (width // len(fill) + 1))[:width]
    if name == "lpad":
        return row_by_row(lambda value: padding[: width - len(value)] + value, pa.string(), cut)
    return row_by_row(lambda value: value + padding[: width - len(value)], pa.string(), cut)


def _initcap(text: str) -> str:
    """Write each word, a run of letters and digits, with one capital at its beginning."""
    return re.sub(r"[^\W_]+", lambda word: word[0][0].upper() + word[0][1:].lower(), text)


# -- characters and codes


def _code_point(of_nothing: int, _: Call, text: Values) -> Values:
    """Return the number of the first character."""
    first = pc.utf8_slice_codeunits(text, 0, 1)
    return row_by_row(lambda value: ord(value) if value else of_nothing, pa.int32(), first)


def _character(number: int) -> str:
    if not 0 < number < 0x110000 or 0xD800 <= number < 0xE000:
        raise DataError(f"there is no character with the number {number}")
    return chr(number)


def _hex_digits(bits: int, number: int) -> str:
    return f"{number & ((1 << bits) - 1):x}"


def _to_hex(_: Call, number: Values) -> Values:
    digits = functools.partial(_hex_digits, number.type.bit_width)
    return row_by_row(digits, pa.string(), number)


def _hex(value: str | bytes) -> str:
    """Return the bytes of a text or a BLOB as hexadecimal digits."""
    return (value.encode() if isinstance(value, str) else value).hex().upper()


def _unhex(digits: str) -> bytes:
    try:
        return binascii.unhexlify(digits)
    except ValueError:
        raise DataError(f"'{digits}' is not an even number of hexadecimal digits") from None


def _python(function: Callable[..., object]) -> Callable[..., Values]:
    """Make a function of Python values a kernel."""
    return lambda call, *values: row_by_row(function, call.type, *values)


def _printf(form: str, *values: object) -> str:
    return form % values


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


TEXT: Mapping[str, Function] = {
    "concat": Function(_concat),
    "concat_ws": Function(_concat_ws),
    "lower": arrow(pc.utf8_lower),
    "upper": arrow(pc.utf8_upper),
    "initcap": Function(_python(_initcap)),
    "length": arrow(pc.utf8_length),
    "octet_length": arrow(pc.binary_length),
    "substring": by_constants(_substring),
    "left": Function(with_constants(_left)),
    "right": Function(with_constants(_right)),
    "split_part": by_constants(_split_part),
    "position": Function(with_constants(_position)),
    "starts_with": Function(with_constants(_starts_with)),
    "ends_with": Function(with_constants(_ends_with)),
    "contains": Function(with_constants(_contains)),
    "levenshtein": Function(_python(_levenshtein)),
    "trim": Function(with_constants(functools.partial(_trim, "trim"))),
    "ltrim": Function(with_constants(functools.partial(_trim, "ltrim"))),
    "rtrim": Function(with_constants(functools.partial(_trim, "rtrim"))),
    "replace": Function(with_constants(_replace), can_fail=True),
    "translate": Function(with_constants(_translate)),
    "reverse": arrow(pc.utf8_reverse),
    "repeat": Function(with_constants(_repeat), can_fail=True),
    "lpad": by_constants(functools.partial(_pad, "lpad")),
    "rpad": by_constants(functools.partial(_pad, "rpad")),
    "ascii": Function(functools.partial(_code_point, 0)),
    "unicode": Function(functools.partial(_code_point, -1)),
    "chr": Function(_python(_character), can_fail=True),
    "to_hex": Function(_to_hex),
    "hex": Function(_python(_hex)),
    "unhex": Function(_python(_unhex), can_fail=True),
    "printf": Function(_python(_printf)),
    "md5": Function(_python(_md5)),
}
