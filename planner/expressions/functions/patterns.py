"""LIKE and regular expressions, both by RE2.

As in PostgreSQL `.` matches any character, a line break too, and `^` and `$` the ends of the text.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.errors import DataError, ProgrammingError
from raydb.late import pc
from raydb.names import fold
from raydb.planner.expressions.collations import collated_keys
from raydb.planner.expressions.columns.adapters import of_rows, require_room, with_constants
from raydb.planner.expressions.columns.arrays import Values, each
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.functions.nested.structs import struct_of
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.registry import constants_fail, scalar
from raydb.planner.expressions.signature import require_integer, require_text
from raydb.planner.expressions.types import BOOLEAN, INTEGER, TEXT, is_list, is_struct
from raydb.planner.expressions.typing_rules import choose, label, typed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_OPERATORS = {
    "like": ("LIKE", "like"),
    "ilike": ("ILIKE", "ilike"),
    "similar": ("SIMILAR TO", "similar"),
    "glob": ("GLOB", "glob"),
    "~": ("~", "regexp_matches"),
    "~*": ("~*", "regexp_matches"),
}


def match(operator: str, *operands: Expression) -> Expression:
    """Return `text operator pattern`, for LIKE and SIMILAR TO with an escape behind it.

    `operator` is one of like, ilike, similar, glob, ~ and ~*.
    """
    written, function = _OPERATORS[operator]
    texts = tuple(label(typed(operand, TEXT)) for operand in operands)
    for text in texts:
        if text.type != TEXT:
            raise ProgrammingError(f"{written} needs strings, not {describe(text)}")
    if operator in ("like", "ilike", "glob"):
        texts = (*collated_keys(texts[:2]), *texts[2:])
    if operator == "~*":
        texts = (*texts, Literal("i", TEXT))
    return Call(function, texts, BOOLEAN)


# -- LIKE and SIMILAR TO


def _like(ignore_case: bool, _: Call, text: Values, pattern: str, escape: str = "\\") -> Values:
    """Match % and _; the escape takes away the meaning of the character after it."""
    pieces = list(_pieces(pattern, escape, "LIKE"))
    # Arrow has loops of its own for % at the ends alone, where case matters. Its match_like (26.0)
    # keeps a backslash before any other character than % and _.
    is_plain = set(pattern).isdisjoint({"_", "\\", escape}) and "%" not in pattern[1:-1]
    if is_plain and not ignore_case:
        return pc.match_like(text, pattern)
    return pc.match_substring_regex(text, _like_regex(pieces), ignore_case=ignore_case)


# What LIKE's own characters are in a regular expression, unless they are escaped.
_WILDCARDS = {("%", False): ".*", ("_", False): "."}


def _like_regex(pieces: Iterable[tuple[str, bool]]) -> str:
    """Return the regular expression to search for. One of both ends takes 1.3 times as long."""
    regex = "".join(_WILDCARDS.get(piece) or re.escape(piece[0]) for piece in pieces)
    return f"(?s){f'^{regex}$'.removeprefix('^.*').removesuffix('.*$')}"


for _name, _ignores_case in (("like", False), ("ilike", True)):
    scalar(name=_name, can_fail=constants_fail)(
        with_constants(functools.partial(_like, _ignores_case))
    )


@scalar(name="similar", can_fail=constants_fail)
@with_constants
def _similar(_: Call, text: Values, pattern: str, escape: str = "\\") -> Values:
    """Match the regular expressions of the SQL standard: % and _ and | * + ? {m,n} ( ) [ ]."""
    meanings = {"%": ".*", "_": ".", "(": "(?:", **{each: each for each in "|*+?{}[])-,"}}
    parts = []
    in_brackets = False
    for character, is_escaped in _pieces(pattern, escape, "SIMILAR TO"):
        if is_escaped:
            parts.append(re.escape(character))
        elif in_brackets:
            parts.append(character)
            in_brackets = character != "]"
        else:
            parts.append(meanings.get(character) or re.escape(character))
            in_brackets = character == "["
    return _search(text, f"(?s)^(?:{''.join(parts)})$", pattern)


@scalar(name="glob", can_fail=constants_fail)
@with_constants
def _glob(_: Call, text: Values, pattern: str) -> Values:
    """Match as names of files are matched: * and ? and [a-z] and [!a-z]."""
    return _search(text, f"(?s)^{_GLOB_PART.sub(_glob_part, pattern)}$", pattern)


# A class of characters, an escaped character, or any other one.
_GLOB_PART = re.compile(r"\[([!^]?)(\]?[^\]]*)\]|\\(.)|.", re.DOTALL)


def _glob_part(part: re.Match[str]) -> str:
    negation, characters, escaped = part.groups()
    if characters:
        escapes = characters.translate({ord(each): rf"\{each}" for each in "\\[]^"})
        return f"[{'^' if negation else ''}{escapes}]"
    return {"*": ".*", "?": "."}.get(part[0]) or re.escape(escaped or part[0])


def _pieces(pattern: str, escape: str, operator: str) -> Iterator[tuple[str, bool]]:
    """Yield the characters of a pattern, and whether each one is escaped."""
    if len(escape) > 1:
        raise DataError(f"the escape of {operator} is one character or none, not '{escape}'")
    characters = iter(pattern)
    for character in characters:
        if character != escape:
            yield character, False
            continue
        escaped = next(characters, None)
        if escaped is None:
            raise DataError(
                f"the {operator} pattern '{pattern}' must not end with its escape character"
            )
        yield escaped, True


# -- regular expressions


def _search(text: Values, regex: str, pattern: str) -> Values:
    try:
        return pc.match_substring_regex(text, regex)
    except pa.ArrowInvalid as error:
        raise _bad_pattern(pattern, error) from error


def _bad_pattern(pattern: str, error: Exception) -> DataError:
    reason = str(error).removeprefix("Invalid regular expression: ").partition(":")[0]
    return DataError(f"'{pattern}' is not a valid regular expression: {reason}")


def _with_flags(pattern: str, flags: str) -> str:
    """Return a pattern with PostgreSQL's flags in the syntax of RE2."""
    settings = {"i": False, "s": True, "m": False}
    for flag in flags:
        match flag:
            case "i" | "c":
                settings["i"] = flag == "i"
            case "s":
                settings.update(s=True, m=False)
            case "n" | "m":
                settings.update(s=False, m=True)
            case _:
                raise DataError(f"there is no flag '{flag}' for regular expressions")
    letters = "".join(letter for letter, is_set in settings.items() if is_set)
    return f"(?{letters}){pattern}" if letters else pattern


@scalar(
    "regexp_matches(text, pattern: text [, flags: text]), regexp_like(text, pattern [, flags])"
    " -> BOOLEAN",
    "whether a part matches: regexp_matches('Bergen', '^b', 'i') -> true",
    can_fail=constants_fail,
)
@with_constants
def _regexp_matches(_: Call, text: Values, pattern: str, flags: str = "") -> Values:
    return _search(text, _with_flags(pattern, flags), pattern)


@scalar(
    "regexp_full_match(text, pattern: text [, flags: text]) -> BOOLEAN",
    "whether all of it matches: regexp_full_match('Bergen', 'B.*') -> true",
    can_fail=constants_fail,
)
@with_constants
def _regexp_full_match(_: Call, text: Values, pattern: str, flags: str = "") -> Values:
    return _search(text, _with_flags(rf"\A(?:{pattern})\z", flags), pattern)


@scalar(
    "regexp_replace(text, pattern: text, new: text [, flags: text]) -> VARCHAR",
    "the first match replaced, all with the flag `g`; `\\1` is a group:"
    r" regexp_replace('a1b2', '(\d)', '<\1>', 'g') -> 'a<1>b<2>'",
    can_fail=True,
)
@with_constants
def _regexp_replace(
    _: Call, text: Values, pattern: str, replacement: str, flags: str = ""
) -> Values:
    r"""Replace the first match, or with the flag g all; \1 is a group of it, \& all of it."""
    most = None if "g" in flags else 1
    regex = _with_flags(pattern, flags.replace("g", ""))
    rewrite = re.sub(r"\\(.?)", _rewritten, replacement, flags=re.DOTALL)
    try:
        require_room(
            "regexp_replace",
            text,
            len(rewrite.encode()),
            lambda texts: pc.count_substring_regex(texts, regex),
            copies=1 + rewrite.count("\\"),
        )
        return pc.replace_substring_regex(text, regex, rewrite, max_replacements=most)
    except pa.ArrowInvalid as error:
        if "Invalid replacement string" in str(error):
            raise DataError(
                f"the replacement '{replacement}' names a group that '{pattern}' does not have"
            ) from error
        raise _bad_pattern(pattern, error) from error


def _rewritten(escape: re.Match[str]) -> str:
    character = escape[1]
    if character == "&":
        return r"\0"
    return rf"\{character}" if character in "123456789\\" and character else rf"\\{character}"


def _bind_extract(name: str, *arguments: Expression) -> Expression:
    """Without a group it is all of the match, with a list of names a struct of the first groups."""
    if len(arguments) > 2 and is_list(arguments[2].type):
        return _groups_by_name(name, *arguments)
    kind = pa.list_(TEXT) if name == "regexp_extract_all" else TEXT
    kinds = (require_text, require_text, require_integer, require_text)
    if len(arguments) == 3 and arguments[2].type == TEXT:  # flags, and no group
        arguments = (*arguments[:2], Literal(0, INTEGER), arguments[2])
    given = arguments if len(arguments) > 2 else (*arguments, Literal(0, INTEGER))
    checked = [require(name, each) for require, each in zip(kinds, given, strict=False)]
    return Call(name, tuple(checked), kind)


def _groups_by_name(
    name: str, text: Expression, pattern: Expression, names: Expression, *flags: Expression
) -> Expression:
    """Return {name: the group, ...}, or a list of those of each match; NULL for a text that is."""
    known = (names.value if isinstance(names, Literal) else None) or []
    are_texts = bool(known) and all(isinstance(each, str) for each in known)
    if not are_texts or len(set(map(fold, known))) < len(known):
        raise ProgrammingError(f"{name}() needs a group, or different names for the first ones")
    if name == "regexp_extract_all":
        kind = pa.list_(pa.struct([(each, TEXT) for each in known]))
        checked = [require_text(name, each) for each in (text, pattern, *flags)]
        return Call("regexp_extract_all_named", tuple(checked), kind)
    numbers = (Literal(number, INTEGER) for number in range(1, len(known) + 1))
    groups = [_bind_extract(name, text, pattern, number, *flags) for number in numbers]
    nothing = Call("is_null", (groups[0],), BOOLEAN)
    found = struct_of(dict(zip(known, groups, strict=True)))
    return choose([nothing], [Literal(None, found.type), found])


@scalar(
    "regexp_extract(text, pattern [, group] [, flags]),"
    " regexp_extract(text, pattern, names [, flags])",
    "the first match or a group of it, '' if there is none, or a struct of its groups:"
    r" regexp_extract('2026-05', '(\d+)-(\d+)', 2) -> '05'",
    bind=_bind_extract,
    can_fail=constants_fail,
)
@with_constants
def _regexp_extract(_: Call, text: Values, pattern: str, group: int = 0, flags: str = "") -> Values:
    """Return the first match, or a group of it; '' where there is none."""
    regex = _with_flags(_only_group(pattern, group), flags)

    def extract(array: pa.Array) -> pa.Array:
        found = pc.extract_regex(array, regex).field(0)
        return pc.if_else(array.is_valid(), pc.fill_null(found, ""), pa.scalar(None, pa.string()))

    try:
        return each(text, extract, pa.string())
    except pa.ArrowInvalid as error:
        raise _bad_pattern(pattern, error) from error


@scalar(
    "regexp_escape(text) -> VARCHAR",
    r"a pattern that only the text matches: regexp_escape('a.b') -> 'a\.b'",
)
@of_rows
def _regexp_escape(text: str) -> str:
    return re.sub(r"([^\w\x80-\U0010ffff])", r"\\\1", text, flags=re.ASCII)


def _bind_split(name: str, text: Expression, pattern: Expression) -> Expression:
    arguments = (require_text(name, text), require_text(name, pattern))
    return Call("regexp_split_to_array", arguments, pa.list_(TEXT))


@scalar(
    "regexp_split_to_array(text, pattern), string_split_regex(text, pattern),"
    " str_split_regex(text, pattern)",
    r"the parts between the matches: regexp_split_to_array('a1b22c', '\d+') -> ['a', 'b', 'c']",
    bind=_bind_split,
    can_fail=constants_fail,
)
@with_constants
def _regexp_split(_: Call, text: Values, pattern: str) -> Values:
    try:
        # Arrow (26.0) never ends at a match of nothing, and takes each rest for a text of its own.
        nothing = pc.match_substring_regex(pa.scalar(""), pattern).as_py()
        if not nothing and not _PLACES.search(pattern):
            return pc.split_pattern_regex(text, pattern)
        return each(text, lambda array: _split_by_marks(array, pattern), pa.list_(pa.string()))
    except pa.ArrowInvalid as error:
        raise _bad_pattern(pattern, error) from error


# What matches a place between characters, not [^a]: a pattern with one may match nothing there.
_PLACES = re.compile(r"\$|(?<!\[)\^|\\[AbBz]")


def _split_by_marks(texts: pa.Array, pattern: str) -> pa.Array:
    """Return the parts of texts between matches that may be of nothing."""
    first, last = _marks(texts)
    marked = pc.replace_substring_regex(texts, pattern, rf"{first}\0{last}")

    @functools.cache
    def matches_between(before: str, after: str) -> bool:
        nothing = rf"\A(?s:.)(?:{pattern})(?s:.)\z"
        return bool(pc.match_substring_regex(pa.scalar(before + after), nothing).as_py())

    def parts(text: str | None) -> list[str] | None:
        if not text or text == first + last:
            # Without a text DuckDB has one part, and none by an empty pattern.
            return None if text is None else [""] * bool(pattern)
        return _parts(text.split(first), last, matches_between)

    return pa.array(map(parts, marked.to_pylist()), pa.list_(pa.string()))


def _parts(pieces: list[str], last: str, matches_between: Callable[[str, str], bool]) -> list[str]:
    """Return the parts between marked matches, as DuckDB does.

    A match of nothing where a part would begin makes the next character a part of its own. RE2
    marks no such match right behind another match: `matches_between` two characters tells of it.
    """
    part, *matches = pieces
    found: list[str] = []
    is_open = True
    for match in matches:
        matched, _, rest = match.partition(last)
        if matched or part:
            found.append(part)
            part, is_open = "", True
        if rest and (not matched or matches_between(matched[-1], rest[0])):
            found.append(rest[0])
            rest, is_open = rest[1:], False
        part += rest
    return [*found, part] if part or is_open else found


@scalar(
    "regexp_extract_all(text, pattern [, group [, flags]])",
    "all matches or a group of each, by a list of names structs of the first groups:"
    r" regexp_extract_all('a1 b2', '([a-z])(\d)', 2) -> ['1', '2']",
    bind=_bind_extract,
    can_fail=constants_fail,
)
@with_constants
def _regexp_extract_all(
    _: Call, text: Values, pattern: str, group: int = 0, flags: str = ""
) -> Values:
    """Return the matches, or a group of each."""
    return _all_matches(text, pattern, [group], flags, pa.list_(TEXT))


@scalar(name="regexp_extract_all_named", can_fail=constants_fail)
@with_constants
def _all_named(call: Call, text: Values, pattern: str, flags: str = "") -> Values:
    """Return the first groups of each match by their names, '' for one that takes no part."""
    groups = range(1, call.type.value_type.num_fields + 1)
    return _all_matches(text, pattern, groups, flags, call.type)


def _all_matches(
    text: Values, pattern: str, groups: Sequence[int], flags: str, kind: pa.DataType
) -> Values:
    """Return groups of each match, found by marks that are put around them; several as a struct."""
    regex = _with_flags(pattern, flags)
    group = groups[0]

    def extract(array: pa.Array) -> pa.Array:
        nonlocal group
        first, last = _marks(array)
        columns = []
        for group in groups:
            if not 0 <= group <= _MOST_GROUPS:
                raise DataError(
                    f"regexp_extract_all() knows the groups 0 to {_MOST_GROUPS}, not {group}"
                )
            marked = pc.replace_substring_regex(array, regex, rf"{first}\{group}{last}")
            found = pc.list_slice(pc.split_pattern(marked, first), 1)
            columns.append(pc.list_element(pc.split_pattern(found.flatten(), last), 0))
        lengths = pc.fill_null(pc.list_value_length(found), 0)
        ends = np.concatenate([[0], np.cumsum(lengths.to_numpy())]).astype(np.int32)
        matches = columns[0]
        if is_struct(kind.value_type):
            matches = pa.StructArray.from_arrays(columns, fields=list(kind.value_type))
        return pa.ListArray.from_arrays(pa.array(ends), matches, mask=pa.array(array.is_null()))

    try:
        return each(text, extract, kind)
    except pa.ArrowInvalid as error:
        if "Invalid replacement string" in str(error):
            raise DataError(f"the regular expression '{pattern}' has no group {group}") from error
        raise _bad_pattern(pattern, error) from error


_MOST_GROUPS = 9


def _marks(texts: pa.Array) -> tuple[str, str]:
    """Return two characters that stand in none of some texts."""
    candidates = (chr(code) for code in range(0xE000, 0xF8FF))
    unused = (mark for mark in candidates if not pc.any(pc.match_substring(texts, mark)).as_py())
    return next(unused), next(unused)


# An escaped character, a quotation, a class of characters, or the beginning of a group.
_TOKEN = re.compile(
    r"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\[:.*?:\]|\\.|[^\]\\])*\]|\((?!\?)|\(\?P?<[^>]*>", re.DOTALL
)


def _only_group(pattern: str, group: int) -> str:
    """Return a pattern with one named group, the one of that number, or the whole for 0.

    Arrow returns named groups, and allows for no others.

    >>> _only_group("(a)(b)", 2)
    '(?:a)(?P<found>b)'
    """
    numbers = iter(range(1, len(pattern) + 1))

    def rename(token: re.Match[str]) -> str:
        if not token[0].startswith("("):
            return token[0]
        return "(?P<found>" if next(numbers) == group else "(?:"

    renamed = _TOKEN.sub(rename, pattern)
    if group == 0:
        return f"(?P<found>{renamed})"
    if not 0 < group < next(numbers):
        raise DataError(f"the regular expression '{pattern}' has no group {group}")
    return renamed
