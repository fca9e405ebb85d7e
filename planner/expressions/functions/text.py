"""Functions of text. Lengths and positions are in characters, and positions count from 1."""

from __future__ import annotations

import binascii
import functools
import re

import pyarrow as pa

from raydb.errors import DataError, ProgrammingError
from raydb.interrupts import check_interrupt
from raydb.late import pc
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.columns.adapters import (
    of_arrow,
    of_rows,
    of_values,
    require_room,
    row_by_row,
    with_constants,
)
from raydb.planner.expressions.columns.arrays import Values, as_array, each
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.operators import arithmetic, concatenate_lists
from raydb.planner.expressions.registry import composed, constants_fail, scalar
from raydb.planner.expressions.signature import require_integer, require_text
from raydb.planner.expressions.types import BIGINT, BLOB, TEXT, is_integer, is_list
from raydb.planner.expressions.typing_rules import as_text, cast, typed
from raydb.storage.bits import BIT
from raydb.storage.integers import is_unsigned

# No value that a function makes longer has more characters; an Arrow array holds 2 GiB.
_LONGEST = 10**8


# -- lengths and cases


def _bind_characters(name: str, operand: Expression) -> Expression:
    operand = typed(operand, TEXT)
    if operand.type == BIT:
        return Call("bits_length", (operand,), BIGINT)
    if is_list(operand.type):
        return Call("list_length", (operand,), BIGINT)
    return Call("text_length", (require_text(name, operand),), BIGINT)


scalar(
    "char_length(text), character_length(text)",
    "number of characters, of elements of a list, or of bits: char_length('Zoë') -> 3",
    name="text_length",
    bind=_bind_characters,
)(of_arrow("utf8_length"))


def _bind_octets(_: str, operand: Expression) -> Expression:
    operand = typed(operand, TEXT)
    if operand.type == BIT:
        return Call("bits_octets", (operand,), BIGINT)
    if operand.type != BLOB:
        operand = require_text("octet_length", operand)
    return Call("octet_length", (operand,), BIGINT)


scalar(
    "octet_length(text), strlen(text)",
    "number of bytes, in UTF-8; also of a BLOB: octet_length('Zoë') -> 4",
    bind=_bind_octets,
)(of_arrow("binary_length"))


@composed("bit_length(text)", "eight times that, and the bits of a BIT: bit_length('Zoë') -> 32")
def _bit_length(name: str, operand: Expression) -> Expression:
    if operand.type == BIT:
        return Call("bits_length", (operand,), BIGINT)
    octets = Call("octet_length", (require_text(name, operand),), BIGINT)
    return arithmetic("multiply", octets, Literal(8, BIGINT))


scalar("lower(text), lcase(text) -> VARCHAR", "in lower case: lower('Oslo') -> 'oslo'")(
    of_arrow("utf8_lower")
)
scalar("upper(text), ucase(text) -> VARCHAR", "in upper case: upper('Oslo') -> 'OSLO'")(
    of_arrow("utf8_upper")
)


@scalar(
    "initcap(text) -> VARCHAR",
    "each word with a capital: initcap('new york-east') -> 'New York-East'",
)
@of_rows
def _initcap(text: str) -> str:
    """Write each word, a run of letters and digits, with one capital at its beginning."""
    return re.sub(r"[^\W_]+", lambda word: word[0][0].upper() + word[0][1:].lower(), text)


# -- joining


def text_or_nothing(operand: Expression) -> Expression:
    """Return a value as a string, which is empty for NULL."""
    return Call("coalesce", (as_text(operand), Literal("", TEXT)), TEXT)


def _bind_concat(_: str, *operands: Expression) -> Expression:
    known = [each for each in operands if each.type != pa.null()]
    if known and all(is_list(each.type) for each in known):
        return functools.reduce(concatenate_lists, known)
    return Call("concat", tuple(map(text_or_nothing, operands)), TEXT)


@scalar(
    "concat(a, ...)",
    "all values joined, or all lists; NULL counts for nothing: concat('a', NULL, 1) -> 'a1'",
    bind=_bind_concat,
)
def _concat(_: Call, *values: Values) -> Values:
    texts = [cast_values(value, TEXT) for value in values]
    return pc.binary_join_element_wise(*texts, "", null_handling="emit_null")


@scalar(name="blob_concat")
@of_values
def _blob_concat(*blobs: Values) -> Values:
    return pc.binary_join_element_wise(*blobs, b"", null_handling="emit_null")


@scalar(
    "concat_ws(separator: text, a: value, ...) -> VARCHAR",
    "joined with a separator, NULLs left out, '' if all are:"
    " concat_ws('-', 2026, NULL, 5) -> '2026-5'",
)
def _concat_ws(_: Call, separator: Values, *texts: Values) -> Values:
    # A row of NULLs is '', and not no row at all as Arrow (26.0) has it.
    all_null = functools.reduce(pc.and_, map(pc.is_null, texts))
    first = pc.if_else(all_null, "", texts[0])
    return pc.binary_join_element_wise(first, *texts[1:], separator, null_handling="skip")


# -- parts


# Arrow holds no longer text.
_MOST_CHARACTERS = 2**63 - 1


@scalar(
    "substring(text, start: n [, count: n]), substr(text, start [, count]) -> VARCHAR",
    "a part; also `substring(text FROM 2 FOR 3)`: substring('Bergen', 2, 3) -> 'erg'",
    can_fail=constants_fail,
)
@with_constants
def _substring(_: Call, text: Values, start: int, length: int | None = None) -> Values:
    """Return the characters at the positions start, ..., start + length - 1 that exist.

    As in the SQL standard the positions before the first one count: substring('hello', -1, 3) is
    'h'.
    """
    first = max(start, 1) - 1
    if first >= _MOST_CHARACTERS:
        return pc.utf8_slice_codeunits(text, 0, 0)
    if length is None:
        return pc.utf8_slice_codeunits(text, first)
    if length < 0:
        raise DataError(f"the length of a substring cannot be negative, as {length} is")
    last = min(max(start + length - 1, first), _MOST_CHARACTERS)
    return pc.utf8_slice_codeunits(text, first, last)


@scalar(
    "left(text, n) -> VARCHAR",
    "the first characters; all but the last `-n`:"
    " left('Bergen', 3), left('Bergen', -2) -> 'Ber' | 'Berg'",
)
@with_constants
def _left(_: Call, text: Values, count: int) -> Values:
    return pc.utf8_slice_codeunits(text, 0, count)


@scalar(
    "right(text, n) -> VARCHAR",
    "the last characters; all but the first `-n`: right('Bergen', 3) -> 'gen'",
)
@with_constants
def _right(_: Call, text: Values, count: int) -> Values:
    if count == 0:
        return pc.utf8_slice_codeunits(text, 0, 0)
    return pc.utf8_slice_codeunits(text, min(-count, _MOST_CHARACTERS))


@scalar(
    "split_part(text, separator: text, n) -> VARCHAR",
    "the n-th part, from the end if negative; '' if there is none:"
    " split_part('a-b-c', '-', 2) -> 'b'",
    can_fail=constants_fail,
)
@with_constants
def _split_part(_: Call, text: Values, separator: str, number: int) -> Values:
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
        return pc.if_else(array.is_valid(), found, pa.scalar(None, TEXT))

    return each(text, part, TEXT)


# -- searches


@scalar(
    "position(part IN text), strpos(text, part: text), instr(text, part), position(text, part)"
    " -> BIGINT",
    "where a part begins, 0 if it does not occur: position('g' IN 'Bergen') -> 4",
    name="position",
)
@with_constants
def _position(_: Call, text: Values, part: str) -> Values:
    if pc.all(pc.string_is_ascii(text)).as_py() is not False:
        return pc.add(pc.find_substring(text, part), 1)  # in bytes
    return row_by_row(lambda value: value.find(part) + 1, BIGINT, text)


@scalar(
    "starts_with(text, part: text), prefix(text, part) -> BOOLEAN",
    "whether it is the beginning: starts_with('Bergen', 'Be') -> true",
)
@with_constants
def _starts_with(_: Call, text: Values, part: str) -> Values:
    return pc.starts_with(text, part)


@scalar(
    "ends_with(text, part: text), suffix(text, part) -> BOOLEAN",
    "whether it is the end: ends_with('Bergen', 'gen') -> true",
)
@with_constants
def _ends_with(_: Call, text: Values, part: str) -> Values:
    return pc.ends_with(text, part)


@scalar(
    "contains(text, part: text) -> BOOLEAN", "whether it occurs: contains('Bergen', 'erg') -> true"
)
@with_constants
def _contains(_: Call, text: Values, part: str) -> Values:
    return pc.match_substring(text, part)


@scalar(
    "levenshtein(text, other: text), editdist3(text, other) -> BIGINT",
    "how many characters must be inserted, deleted or replaced:"
    " levenshtein('kitten', 'sitting') -> 3",
)
@of_rows
def _levenshtein(one: str, other: str) -> int:
    distances = list(range(len(other) + 1))
    for row, character in enumerate(one, 1):
        check_interrupt()
        diagonal, distances[0] = distances[0], row
        for place, candidate in enumerate(other, 1):
            replaced = diagonal + (character != candidate)
            diagonal = distances[place]
            distances[place] = min(replaced, diagonal + 1, distances[place - 1] + 1)
    return distances[-1]


# The digit of each letter that sounds, in a-z; 0 for those that do not.
_SOUNDS = dict(zip("abcdefghijklmnopqrstuvwxyz", "01230120022455012623010202", strict=True))


@scalar(
    "soundex(text) -> VARCHAR",
    "a letter and three digits that are the same for names that sound alike, as in PostgreSQL;"
    " '' for no letter: soundex('Anne'), soundex('Ann') -> 'A500' | 'A500'",
)
@of_rows
def _soundex(text: str) -> str:
    code, before = "", ""
    for character in text.lower():
        sound = _SOUNDS.get(character, "")
        if sound and not code:
            code = character.upper()
        elif sound not in ("", "0", before) and code:
            code += sound
        before = sound
    return code and code[:4].ljust(4, "0")


# -- changes


def _trim(side: str, _: Call, text: Values, characters: str = " ") -> Values:
    return getattr(pc, f"utf8_{side}")(text, characters) if characters else text


scalar(
    "trim([BOTH] [characters FROM] text), btrim(text [, characters: text]),"
    " trim(text [, characters]) -> VARCHAR",
    "without spaces, or a set of characters, at both ends:"
    " trim('  a '), trim(BOTH 'x' FROM 'xax') -> 'a' | 'a'",
    name="trim",
)(with_constants(functools.partial(_trim, "trim")))
scalar(
    "ltrim(text [, characters: text]) -> VARCHAR",
    "the same on the left; also `trim(LEADING ...)`: ltrim('xxa', 'x') -> 'a'",
)(with_constants(functools.partial(_trim, "ltrim")))
scalar(
    "rtrim(text [, characters: text]) -> VARCHAR",
    "the same on the right; also `trim(TRAILING ...)`: rtrim('axx', 'x') -> 'a'",
)(with_constants(functools.partial(_trim, "rtrim")))


@composed(
    "overlay(text PLACING new FROM n [FOR n]), overlay(text, new, n [, n])",
    "a part replaced by its place: overlay('Txxxxas' PLACING 'hom' FROM 2 FOR 4) -> 'Thomas'",
)
def _overlay(
    name: str, operand: Expression, new: Expression, start: Expression, *length: Expression
) -> Expression:
    operand, new, one = require_text(name, operand), require_text(name, new), Literal(1, BIGINT)
    start = arithmetic("multiply", require_integer(name, start), one)  # a BIGINT: no overflow
    count = require_integer(name, length[0]) if length else Call("text_length", (new,), BIGINT)
    before = Call("substring", (operand, one, arithmetic("subtract", start, one)), TEXT)
    after = Call("substring", (operand, arithmetic("add", start, count)), TEXT)
    return Call("concat", (before, new, after), TEXT)


@scalar(
    "replace(text, part: text, new: text) -> VARCHAR",
    "every occurrence replaced: replace('banana', 'an', 'o') -> 'booa'",
    can_fail=True,
)
@with_constants
def _replace(_: Call, text: Values, part: str, replacement: str) -> Values:
    if not part:  # for which Arrow's replace_substring (26.0) never ends
        return text
    growth = len(replacement.encode()) - len(part.encode())
    require_room("replace", text, max(growth, 0), lambda texts: pc.count_substring(texts, part))
    return pc.replace_substring(text, part, replacement)


@scalar(
    "translate(text, characters: text, new: text) -> VARCHAR",
    "characters replaced one by one: translate('12345', '143', 'ax') -> 'a2x5'",
)
@with_constants
def _translate(_: Call, text: Values, characters: str, replacements: str) -> Values:
    table: dict[int, str | None] = {}
    for place, character in enumerate(characters):
        table.setdefault(ord(character), replacements[place : place + 1] or None)
    return row_by_row(lambda value: value.translate(table), TEXT, text)


def _bind_repeat(name: str, operand: Expression, count: Expression) -> Expression:
    count = require_integer(name, count)
    if is_list(operand.type):
        return Call("list_repeat", (operand, count), pa.list_(operand.type.value_type))
    if operand.type != BLOB:
        operand = require_text(name, operand)
    return Call("repeat", (operand, count), operand.type)


@scalar(
    "repeat(text, n)",
    "`n` times, also of a BLOB or a list: repeat('ab', 3), repeat([1, 2], 2) -> 'ababab' |"
    " [1, 2, 1, 2]",
    bind=_bind_repeat,
    can_fail=True,
)
@with_constants
def _repeat(_: Call, text: Values, count: int) -> Values:
    count = max(count, 0)
    longest = pc.max(pc.binary_length(as_array(text, 1))).as_py() or 0
    if longest * count > _LONGEST:
        raise DataError(f"the result of repeat() is longer than {_LONGEST} bytes")
    return pc.binary_repeat(text, count)


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
        return row_by_row(lambda value: padding[: width - len(value)] + value, TEXT, cut)
    return row_by_row(lambda value: value + padding[: width - len(value)], TEXT, cut)


scalar(
    "lpad(text, width: n [, fill: text]) -> VARCHAR",
    "filled, or cut, to a width from the left: lpad('7', 3, '0') -> '007'",
    can_fail=constants_fail,
)(with_constants(functools.partial(_pad, "lpad")))
scalar(
    "rpad(text, width: n [, fill: text]) -> VARCHAR",
    "the same from the right: rpad('a', 3, '.') -> 'a..'",
    can_fail=constants_fail,
)(with_constants(functools.partial(_pad, "rpad")))
scalar("reverse(text) -> VARCHAR", "backwards: reverse('Oslo') -> 'olsO'")(of_arrow("utf8_reverse"))


# -- characters and codes


def _code_point(of_nothing: int, _: Call, text: Values) -> Values:
    """Return the number of the first character."""
    first = pc.utf8_slice_codeunits(text, 0, 1)
    return row_by_row(lambda value: ord(value) if value else of_nothing, pa.int32(), first)


scalar("ascii(text) -> INTEGER", "the number of the first character, 0 for '': ascii('A') -> 65")(
    functools.partial(_code_point, 0)
)
scalar("unicode(text), ord(text) -> INTEGER", "the same, -1 for '': unicode('Å') -> 197")(
    functools.partial(_code_point, -1)
)


@scalar("chr(n) -> VARCHAR", "the character of a number: chr(65) -> 'A'", can_fail=True)
@of_rows
def _character(number: int) -> str:
    if not 0 < number < 0x110000 or 0xD800 <= number < 0xE000:
        raise DataError(f"there is no character with the number {number}")
    return chr(number)


@scalar("to_hex(n) -> VARCHAR", "hexadecimal, in lower case: to_hex(255) -> 'ff'")
def _to_hex(_: Call, number: Values) -> Values:
    mask = (1 << number.type.bit_width) - 1
    return row_by_row(lambda value: f"{value & mask:x}", TEXT, number)


def _bind_hex(name: str, operand: Expression) -> Expression:
    operand = typed(operand, TEXT)
    if is_integer(operand.type):
        wide = operand if is_unsigned(operand.type) else cast(operand, BIGINT)
        digits = Call("to_hex", (wide,), TEXT)
        return Call("upper", (digits,), TEXT)
    if operand.type not in (TEXT, BLOB):
        raise ProgrammingError(
            f"{name}() needs an integer, a string or a BLOB, not {describe(operand)}"
        )
    return Call("hex", (operand,), TEXT)


@scalar(
    "hex(a)",
    "the digits of an integer, or of the bytes of a text or BLOB:"
    " hex('Ray'), hex(255) -> '526179' | 'FF'",
    bind=_bind_hex,
)
@of_rows
def _hex(value: str | bytes) -> str:
    return (value.encode() if isinstance(value, str) else value).hex().upper()


@scalar(
    "unhex(text), from_hex(text) -> BLOB",
    "the BLOB of hexadecimal digits: unhex('526179') -> x'526179'",
    can_fail=True,
)
@of_rows
def _unhex(digits: str) -> bytes:
    try:
        return binascii.unhexlify(digits)
    except ValueError:
        raise DataError(f"'{digits}' is not an even number of hexadecimal digits") from None
