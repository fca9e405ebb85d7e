"""Tokens: text to tokens, statements apart, a reader for hand-written grammar, syntax errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, TokenError

from raydb.errors import Error, ProgrammingError
from raydb.names import Unquoted, fold, is_same
from raydb.sql.parse.dialect import identifier_tokens, parse_tokens, split_tokens
from raydb.sql.parse.schema_names import database_of, resolve_schemas
from raydb.sql.parse.searched_tables import name_searched_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_Part = TypeVar("_Part")

_NAME_TOKENS = identifier_tokens()
_CLOSED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)
_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
_OPENERS = {"'": "string", '"': "quoted name", "/*": "comment"}


def tokenize(text: str) -> tuple[tuple[Token, ...], ...]:
    """Split a text into statements, and each statement into tokens; empty statements are left out.

    `?` becomes `$1`, `$2`, ... in each statement, because only the order of the tokens tells which
    parameter a `?` stands for.
    """
    try:
        tokens = split_tokens(text)
    except TokenError as error:
        raise _unreadable(text) from error
    statements: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            statements.append([])
        else:
            statements[-1].append(token)
    return tuple(tuple(_number_parameters(text, part)) for part in statements if part)


def _number_parameters(text: str, tokens: list[Token]) -> list[Token]:
    numbered: list[Token] = []
    count = 0
    for index, token in enumerate(tokens):
        if _is_glued(text, tokens, index):
            raise syntax_error(text, tokens[index + 1])
        if token.token_type is not TokenType.PLACEHOLDER:
            numbered.append(token)
            continue
        count += 1
        place = (token.line, token.col, token.start, token.end)
        numbered.append(Token(TokenType.PARAMETER, "$", *place))
        numbered.append(Token(TokenType.NUMBER, str(count), *place))
    explicit = any(token.token_type is TokenType.PARAMETER for token in tokens)
    if count and explicit:
        raise ProgrammingError("the parameters are written both as ? and as $; use one of them")
    return numbered


def _is_glued(text: str, tokens: list[Token], index: int) -> bool:
    """Say whether a number runs into a word, as in `1abc`, which would read as `1 AS abc`."""
    token = tokens[index]
    end = token.end + 1
    return (
        token.token_type is TokenType.NUMBER
        and index + 1 < len(tokens)
        and tokens[index + 1].start == end
        and (text[end].isalnum() or text[end] == "_")
    )


def _unreadable(text: str) -> ProgrammingError:
    """Describe text that does not split into tokens: mostly a string that does not end."""
    rest = _CLOSED.sub(lambda match: " " * len(match[0]), text)
    found = re.search(r"'|\"|/\*", rest)
    if found is None:
        return ProgrammingError("syntax error: the statement holds a malformed constant")
    line, column = _position(text, found.start())
    return ProgrammingError(
        f"syntax error at line {line}, column {column}: this {_OPENERS[found[0]]} does not end"
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
    return resolve_schemas(name_searched_tables(_parse(text, list(tokens), None)))


def parse_scalar(text: str, tokens: Iterable[Token]) -> exp.Expr:
    """Return the tree of a scalar expression; errors as in `parse_tree`."""
    return _parse(text, list(tokens), exp.Condition)


def _parse(text: str, tokens: list[Token], into: type[exp.Expr] | None) -> exp.Expr:
    last = tokens[-1] if tokens else None
    try:
        tree = parse_tokens(tokens, text, into)
    except ParseError as error:
        start = error.errors[0].get("start") if error.errors else None
        found = next((token for token in tokens if token.start == start), None)
        expecting = re.search(r"Expecting ([^\s.]+)", str(error))
        expected = f"'{expecting[1]}'" if expecting else ""
        raise syntax_error(text, found, expected, last) from error
    if tree is None:
        raise syntax_error(text, None, last=last)
    return tree


def name_in(identifier: exp.Expr) -> str:
    """Return the name that an identifier means; one without quotes is an `Unquoted`."""
    name: str = identifier.name
    return name if identifier.args.get("quoted") else Unquoted(name)


class TokenReader:
    """Reads one statement from left to right; every `expect` raises the syntax error."""

    def __init__(self, text: str, tokens: tuple[Token, ...]) -> None:
        self.text = text
        self._tokens = tokens
        self._index = 0
        self.database: str | None = None
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
        if len(ahead) < len(words) or any(
            _word(token) != word for token, word in zip(ahead, words, strict=True)
        ):
            return False
        self._index += len(words)
        return True

    def at_any(self, *words: str) -> bool:
        """Say whether one of the words comes next, without reading it."""
        token = self.peek()
        return token is not None and _word(token) in words

    def accept_any(self, *words: str) -> str | None:
        """Read one of the words if it comes next, and return it."""
        return next((word for word in words if self.accept(word)), None)

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

    def relation(self, what: str) -> str:
        """Read the name of a table or view; `database` is the one that is written before it."""
        names = [self.name(what)]
        while len(names) < 3 and self.accept("."):
            names.append(self.name(what))
        *before, name = names
        database = None
        if before:
            database = database_of(before[0] if len(before) > 1 else None, before[-1])
        if self._has_relation and database != self.database:
            raise ProgrammingError("what one statement changes is in one database")
        self.database, self._has_relation = database, True
        return name

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
        """Read a string constant and return its value."""
        token = self.peek()
        if token is None or token.token_type is not TokenType.STRING:
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

    def table_entry(self) -> exp.Expr:
        """Read what may stand in the parentheses of CREATE TABLE: a column or a constraint."""
        return self._part("a column or a constraint", exp.ColumnDef)

    def data_type(self, *ends: str) -> exp.DataType:
        """Read a type, which ends before a comma or one of the words."""
        tree = self._part("a type", exp.DataType, *ends)
        assert isinstance(tree, exp.DataType), tree
        return tree

    def _part(self, what: str, into: type[exp.Expr], *ends: str) -> exp.Expr:
        tokens = self._until_comma(*ends)
        if not tokens:
            raise self.error(what)
        return _parse(self.text, list(tokens), into)

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

    def _until_comma(self, *words: str) -> tuple[Token, ...]:
        """Read up to the comma, the parenthesis or the word that ends an expression."""
        start, depth = self._index, 0
        ends = (TokenType.COMMA, TokenType.R_PAREN)
        while (token := self.peek()) is not None:
            if depth == 0 and (token.token_type in ends or _word(token) in words):
                break
            depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
            self._index += 1
        return self._tokens[start : self._index]

    def finish(self) -> None:
        """Check that nothing is left of the statement."""
        if self.peek() is not None:
            raise self.error("the end of the statement")


def _word(token: Token) -> str:
    if token.token_type in (TokenType.IDENTIFIER, TokenType.STRING):
        return ""
    return " ".join(token.text.upper().split())
