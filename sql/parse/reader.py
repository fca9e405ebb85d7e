"""Tokens: text to tokens, statements apart, a reader for hand-written grammar, syntax errors."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from sqlglot import Token, TokenType, exp
from sqlglot.errors import TokenError

from raydb.errors import Error, ProgrammingError
from raydb.keywords import Scanner
from raydb.names import Unquoted, fold, is_same
from raydb.running import null_order
from raydb.sql.parse import shown
from raydb.sql.parse.dialect import (
    UnexpectedToken,
    identifier_tokens,
    parse_tokens,
)
from raydb.sql.parse.dollar_quotes import split
from raydb.sql.parse.nodes import (
    MOST_NESTED,
    may_nest_deeply,
    nodes_of,
    note_words,
    refuse_deep_tokens,
)
from raydb.sql.parse.rewritten_tokens import (
    CLOSING,
    OPENING,
    arrow_lambdas,
    called_names,
    joined_words,
    key_lists,
    name_field_types,
    number_parameters,
    part_exponents,
    positional_names,
    replace_into,
    row_types,
    without_generated,
)
from raydb.sql.parse.schema_names import check_writable
from raydb.sql.parse.settle import settle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_Part = TypeVar("_Part")

# The number of a row, which is a name where a table has no such column.
ROW_ID = "rowid"
_NAME_TOKENS = identifier_tokens()
# What a text has where a number may run into a word, or nothing may stand before a comma: where
# neither is found no token need be looked at.
# The first of two is found in a fifth of the time, for it begins with a digit.
_BEFORE_WORD = re.compile(r"[0-9]\.*[^\W0-9]")
_GLUED = re.compile(r"(?<!\w)\.?[0-9][0-9_.]*[^\W0-9]")
# A comment amid ORDER BY.
_COMMENTED = re.compile(r"\b(?:order|group|partition)\s*(?:--|/\*)", re.IGNORECASE)
_SHOWN = re.compile(r"\(\s*(?:SHOW|DESC|SUMMARIZE)", re.IGNORECASE)
_EMPTY = re.compile(r",(?:(?<=[\s,(/],)|(?<=[sS\u017f][eE][lL][eE][cC][tT],))")
_BEFORE_NO_COMMA = (TokenType.COMMA, TokenType.L_PAREN, TokenType.SELECT)
_OPENED = {'"': "quoted name", "/*": "comment"}


def tokenize(text: str) -> tuple[tuple[Token, ...], ...]:
    """Split a text into statements, and each statement into tokens; empty statements are left out.

    `?` becomes `$1`, `$2`, ... in each statement, because only the order of the tokens tells which
    parameter a `?` stands for. A byte order mark, with which some editors begin a file, is a space.
    """
    try:
        tokens = split(" " + text[1:] if text.startswith("\ufeff") else text)
    except TokenError:
        # It holds a part of the text, which may be a secret.
        raise _unreadable(text) from None
    if _COMMENTED.search(text):
        tokens = joined_words(tokens)
    statements: list[list[Token]] = [[]]
    if ";" not in text:
        statements[0] = tokens
    else:
        for token in tokens:
            if token.token_type is TokenType.SEMICOLON:
                statements.append([])
            else:
                statements[-1].append(token)
    return tuple(tuple(_prepared(text, part)) for part in statements if part)


def _prepared(text: str, tokens: list[Token]) -> list[Token]:
    """Return the tokens of a statement as the parser takes them."""
    kinds = {token.token_type for token in tokens}
    own = text[tokens[0].start : tokens[-1].end + 1]
    if (len(tokens) > MOST_NESTED or TokenType.JOIN in kinds) and may_nest_deeply(own):
        refuse_deep_tokens(tokens)
    if TokenType.UNNEST in kinds and TokenType.OFFSET in kinds:
        _refuse_offsets(text, tokens)
    if TokenType.NUMBER in kinds and _BEFORE_WORD.search(own) and _GLUED.search(own):
        tokens = part_exponents(tokens)
        _refuse_glued(text, tokens)
    if TokenType.COMMA in kinds and _EMPTY.search(own):
        _refuse_empty(text, tokens)
    if TokenType.REPLACE in kinds and TokenType.INTO in kinds:
        tokens = replace_into(tokens)
    if TokenType.ROW in kinds:
        tokens = row_types(tokens)
        kinds = {token.token_type for token in tokens}
    if TokenType.STRUCT in kinds:
        tokens = name_field_types(tokens)
    if TokenType.APPLY in kinds:
        tokens = called_names(tokens)
    if TokenType.POSITIONAL in kinds:
        tokens = positional_names(tokens)
    if TokenType.L_PAREN in kinds and _SHOWN.search(own):
        tokens = shown.shown_queries(tokens)
    if TokenType.USING in kinds and TokenType.WITH in kinds:
        tokens = key_lists(tokens)
    if TokenType.COLON in kinds:
        tokens = arrow_lambdas(tokens)
    if TokenType.PLACEHOLDER in kinds:
        if TokenType.PARAMETER in kinds:
            raise ProgrammingError("the parameters are written both as ? and as $; use one of them")
        tokens = number_parameters(tokens)
    return tokens


def _refuse_offsets(text: str, tokens: list[Token]) -> None:
    """Raise ProgrammingError for WITH OFFSET, whose tree is that of WITH ORDINALITY."""
    for token, after in pairwise(tokens):
        if token.token_type is TokenType.WITH and after.token_type is TokenType.OFFSET:
            raise syntax_error(text, after)


def _refuse_empty(text: str, tokens: list[Token]) -> None:
    """Raise ProgrammingError for a list with nothing before a comma, which sqlglot leaves out."""
    for token, after in pairwise(tokens):
        if after.token_type is TokenType.COMMA and token.token_type in _BEFORE_NO_COMMA:
            raise syntax_error(text, after)


def _refuse_glued(text: str, tokens: list[Token]) -> None:
    """Raise ProgrammingError for a number that runs into a word: `1a` would read as `1 AS a`."""
    for token, after in pairwise(tokens):
        if token.token_type is TokenType.NUMBER and after.start == token.end + 1:
            sign = text[after.start]
            if sign.isalnum() or sign == "_":
                raise syntax_error(text, after)


def _unreadable(text: str) -> ProgrammingError:
    """Describe text that does not split into tokens: mostly a string that does not end."""
    scanner, start, place = Scanner(), 0, 0
    for _, piece in scanner.scan(text):
        start, place = place, place + len(piece)
    if scanner.opener in ("", "--"):
        return ProgrammingError("syntax error: the statement holds a malformed constant")
    line, column = _position(text, start)
    what = _OPENED.get(scanner.opener, "string")
    return ProgrammingError(
        f"syntax error at line {line}, column {column}: this {what} does not end"
    )


def _position(text: str, offset: int) -> tuple[int, int]:
    r"""Return the line and the column of an offset, both counted from 1.

    >>> _position("SELECT\n  1", 9)
    (2, 3)
    """
    before = text[:offset]
    return before.count("\n") + 1, offset - before.rfind("\n")


def syntax_error(
    text: str, token: Token | None, expected: str = "", last: Token | None = None
) -> ProgrammingError:
    """Return the error for an unexpected token, or for the end of the statement after `last`."""
    if token is None:
        offset = len(text.rstrip()) if last is None else last.end + 1
        found = "the statement ends too early"
    else:
        offset = token.start
        found = f"unexpected '{text[token.start : token.end + 1]}'"
    line, column = _position(text, offset)
    wanted = f", expected {expected}" if expected else ""
    return ProgrammingError(f"syntax error at line {line}, column {column}: {found}{wanted}")


def locate_name(error: Error, text: str) -> None:
    """Give an error without a position that of the name that its sentence quotes first.

    The small statements are read without a tree whose nodes could tell.
    """
    quoted = re.search(r"'([^']+)'", error.sentence)
    if error.position is not None or quoted is None or error.sentence.startswith("syntax error"):
        return
    found = [t for part in tokenize(text) for t in part if is_same(t.text, quoted[1])]
    if found:
        error.position = _position(text, found[0].start)


def parse_tree(text: str, tokens: Iterable[Token]) -> exp.Expr:
    """Return the tree of a statement; a ProgrammingError names the first token that is wrong."""
    return _parse(text, list(tokens), None)


def parse_scalar(text: str, tokens: Iterable[Token]) -> exp.Expr:
    """Return the tree of a scalar expression; errors as in `parse_tree`."""
    return _parse(text, list(tokens), exp.Condition)


def _parse(
    text: str, tokens: list[Token], into: type[exp.Expr] | None, after: Token | None = None
) -> exp.Expr:
    """Return the tree of a statement or a part of one; after: the token behind the part."""
    last = tokens[-1] if tokens else None
    try:
        tree = parse_tokens(tokens, text, into)
        if tree is None:
            raise UnexpectedToken("", None)
        nodes = settle(tree, text)
    except UnexpectedToken as error:
        expecting = re.search(r"Expecting ([^\s.]+)", str(error))
        expected = f"'{expecting[1]}'" if expecting else ""
        raise syntax_error(text, error.token or after, expected, last) from error
    note_words(tree, tokens, text, nodes)
    if (placed := null_order()) is not None:
        _place_nulls(tree, parse_tokens(tokens, text, into, nulls_are_small=True), placed)
    return tree


def _place_nulls(tree: exp.Expr, other: exp.Expr | None, placed: tuple[bool, bool]) -> None:
    """Let keys of ORDER BY that say nothing of NULLs have them where a setting says.

    other: the tree of the same tokens with the opposite default, by which these keys are known.
    placed: whether NULLs come first in ascending and in descending order.
    """
    assert other is not None
    pairs = zip(nodes_of(tree, exp.Ordered), nodes_of(other, exp.Ordered), strict=True)
    for key, opposite in pairs:
        if bool(key.args.get("nulls_first")) != bool(opposite.args.get("nulls_first")):
            key.set("nulls_first", placed[bool(key.args.get("desc"))])


def name_in(identifier: exp.Expr) -> str:
    """Return the name that an identifier means; one without quotes is an `Unquoted`."""
    name: str = identifier.name
    return name if identifier.args.get("quoted") else Unquoted(name)


_STRINGS = (TokenType.STRING, TokenType.BYTE_STRING)


class TokenReader:
    """Reads one statement from left to right; every `expect` raises the syntax error."""

    def __init__(self, text: str, tokens: tuple[Token, ...]) -> None:
        self.text = text
        self._tokens = tokens
        self._index = 0
        self.place: tuple[str, ...] = ()
        self._has_relation = False

    def peek(self) -> Token | None:
        """Return the next token without reading it, or None at the end."""
        return self._tokens[self._index] if self._index < len(self._tokens) else None

    def error(self, expected: str = "") -> ProgrammingError:
        """Return the syntax error at the next token."""
        last = self._tokens[self._index - 1] if self._index else None
        return syntax_error(self.text, self.peek(), expected, last)

    def accept(self, *words: str) -> bool:
        """Read the words (or signs) if they come next; quoted names and strings are no words."""
        ahead = self._tokens[self._index : self._index + len(words)]
        if not ahead or word_of(ahead[0]) != words[0]:
            return False
        if len(ahead) < len(words) or any(
            word_of(token) != word for token, word in zip(ahead, words, strict=True)
        ):
            return False
        self._index += len(words)
        return True

    def at_any(self, *words: str) -> bool:
        """Say whether one of the words comes next, without reading it."""
        token = self.peek()
        return token is not None and word_of(token) in words

    def accept_any(self, *words: str) -> str | None:
        """Read one of the words if it comes next, and return it."""
        token = self.peek()
        found = "" if token is None else word_of(token)
        if found not in words:
            return None
        self._index += 1
        return found

    def expect(self, *words: str) -> None:
        """Read the words, one after the other."""
        for word in words:
            if not self.accept(word):
                raise self.error(f"'{word}'")

    def name(self, what: str) -> str:
        """Read a name; one without quotes is an `Unquoted`."""
        token = self.peek()
        if token is None or token.token_type not in _NAME_TOKENS:
            raise self.error(what)
        self._index += 1
        return token.text if token.token_type is TokenType.IDENTIFIER else Unquoted(token.text)

    def word(self, what: str) -> str:
        """Read a name that SQL itself gives, such as that of an option, in lower case."""
        return fold(self.name(what))

    def dotted(self, what: str, most: int) -> list[str]:
        """Read names with dots between them, at most so many."""
        names = [self.name(what)]
        while len(names) < most and self.accept("."):
            names.append(self.name(what))
        return names

    def relation(self, what: str) -> str:
        """Read the name of a table or view; `place` is what is written before it."""
        names = self.dotted(what, 3)
        place = tuple(names[:-1])
        check_writable(place)
        if self._has_relation and place != self.place:
            raise ProgrammingError("what one statement changes is in one database")
        self.place, self._has_relation = place, True
        return names[-1]

    def place_named(self) -> tuple[str, ...]:
        """Read a database, a schema, or both."""
        first = self.name("the name of a database or a schema")
        return (first, self.name("a schema")) if self.accept(".") else (first,)

    def separated(self, read: Callable[[], _Part]) -> tuple[_Part, ...]:
        """Read parts with commas between them, each by `read`; there is one at least."""
        found = [read()]
        while self.accept(","):
            found.append(read())
        return tuple(found)

    def listed(self, read: Callable[[], _Part]) -> tuple[_Part, ...]:
        """Read parts with commas between them, in parentheses."""
        self.expect("(")
        found = self.separated(read)
        self.expect(")")
        return found

    def relations(self, what: str) -> tuple[str, ...]:
        """Read `name, name, ...` of tables or views."""
        return self.separated(lambda: self.relation(what))

    def names(self, what: str) -> tuple[str, ...]:
        """Read `(name, name, ...)`."""
        return self.listed(lambda: self.name(what))

    def string(self, what: str) -> str:
        """Read a string constant, 'a' or E'a', and return its value."""
        token = self.peek()
        if token is None or token.token_type not in _STRINGS:
            raise self.error(what)
        self._index += 1
        return token.text

    def take(self) -> Token:
        """Read the next token, whatever it is."""
        token = self.peek()
        if token is None:
            raise self.error()
        self._index += 1
        return token

    def rest(self) -> tuple[Token, ...]:
        """Read everything to the end of the statement; there must be something."""
        tokens = self._tokens[self._index :]
        if not tokens:
            raise self.error()
        self._index = len(self._tokens)
        return tokens

    def skip(self) -> None:
        """Read everything to the end of the statement, if there is anything."""
        self._index = len(self._tokens)

    def all_tokens(self) -> tuple[Token, ...]:
        """Return the whole statement, also what was read already."""
        return self._tokens

    def named_scalar(self) -> tuple[str | None, exp.Expr]:
        """Read an expression, or `name := expression`, where => means the same."""
        ahead = self._tokens[self._index : self._index + 2]
        if len(ahead) < 2 or ahead[0].token_type not in _NAME_TOKENS:
            return None, self.scalar()
        if ahead[1].token_type not in (TokenType.COLON_EQ, TokenType.FARROW):
            return None, self.scalar()
        self._index += 2
        return ahead[0].text, self.scalar()

    def scalar(self) -> exp.Expr:
        """Read an expression, which ends before a comma or a parenthesis."""
        return self._part("an expression", exp.Condition)

    def text_or_scalar(self) -> exp.Expr:
        """Read an expression; a word alone is a text."""
        tokens = self._until_comma()
        if not tokens:
            raise self.error("a value")
        if len(tokens) == 1 and tokens[0].token_type is not TokenType.NUMBER:
            return exp.Literal.string(tokens[0].text)
        return _parse(self.text, list(tokens), exp.Condition, self.peek())

    def table_entry(self) -> exp.Expr:
        """Read what may stand in the parentheses of CREATE TABLE: a column or a constraint."""
        what = "a column or a constraint"
        tokens, computed, has_type = without_generated(list(self._until_comma()))
        if not tokens:
            raise self.error(what)
        entry = _parse(self.text, tokens, exp.ColumnDef, self.peek())
        if computed is None and entry.find(exp.ComputedColumnConstraint):
            raise ProgrammingError("the expression of a generated column needs parentheses")
        if computed is not None:
            if not isinstance(entry, exp.ColumnDef):
                raise syntax_error(self.text, tokens[0], "a column")
            value = _parse(self.text, computed, exp.Condition, self.peek())
            generated = exp.ColumnConstraint(kind=exp.ComputedColumnConstraint(this=value))
            entry.set("constraints", [generated, *entry.args.get("constraints", ())])
            entry.set("kind", entry.args.get("kind") if has_type else None)
        return entry

    def data_type(self, *ends: str) -> exp.DataType:
        """Read a type, which ends before a comma or one of the words."""
        tree = self._part("a type", exp.DataType, *ends)
        assert isinstance(tree, exp.DataType), tree
        return tree

    def _part(self, what: str, into: type[exp.Expr], *ends: str) -> exp.Expr:
        tokens = self._until_comma(*ends)
        if not tokens:
            raise self.error(what)
        return _parse(self.text, list(tokens), into, self.peek())

    def parenthesised(self) -> tuple[Token, ...]:
        """Read `( ... )` and return the tokens in between."""
        self.expect("(")
        start, depth = self._index, 0
        while (token := self.peek()) is not None:
            depth += (token.token_type is TokenType.L_PAREN) - (
                token.token_type is TokenType.R_PAREN
            )
            if depth < 0:
                break
            self._index += 1
        inside = self._tokens[start : self._index]
        self.expect(")")
        return inside

    def is_behind_parentheses(self, word: str) -> bool:
        """Say whether a word follows the parentheses that begin here."""
        start = self._index
        self.parenthesised()
        found = self.at_any(word)
        self._index = start
        return found

    def _until_comma(self, *words: str) -> tuple[Token, ...]:
        """Read up to the comma, the parenthesis or the word that ends an expression."""
        start, depth, ends = self._index, 0, (TokenType.COMMA, TokenType.R_PAREN)
        while (token := self.peek()) is not None:
            if depth == 0 and (token.token_type in ends or word_of(token) in words):
                break
            depth += (token.token_type in OPENING) - (token.token_type in CLOSING)
            self._index += 1
        return self._tokens[start : self._index]

    def finish(self) -> None:
        """Check that nothing is left of the statement."""
        if self.peek() is not None:
            raise self.error("the end of the statement")


def word_of(token: Token) -> str:
    """Return the word or the sign that a token is; quoted names and strings are none."""
    if token.token_type in (TokenType.IDENTIFIER, TokenType.STRING):
        return ""
    return " ".join(token.text.upper().split())
