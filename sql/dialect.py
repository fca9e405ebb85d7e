"""RayDB's dialect of SQL: PostgreSQL as sqlglot reads it, without what it reads loosely."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NoReturn

from sqlglot import TokenType, exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import ParseError
from sqlglot.generators.postgres import PostgresGenerator
from sqlglot.parsers.postgres import PostgresParser

from raydb.errors import OperationalError

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlglot import Token

# Functions with a syntax of their own; every other call comes out as exp.Anonymous with its name
# and arguments as written, so that sqlglot neither rewrites nor validates them.
_SPECIAL_FUNCTIONS = ("CAST", "EXTRACT", "SUBSTRING", "TRIM", "TRY_CAST")


class RayDialect(Postgres):
    """The dialect that RayDB speaks."""

    NUMBERS_CAN_BE_UNDERSCORE_SEPARATED = True

    class Tokenizer(Postgres.Tokenizer):
        """Splits text into tokens; no token swallows the rest of a statement."""

        COMMANDS: ClassVar = set()
        # `$name` is a parameter, so `$tag$ text $tag$` can't be a string.
        HEREDOC_STRINGS: ClassVar = []
        SINGLE_TOKENS: ClassVar = {**Postgres.Tokenizer.SINGLE_TOKENS, "$": TokenType.PARAMETER}
        # `?` is a parameter, also in `?||'x'`, which PostgreSQL's operator `?|` would swallow.
        KEYWORDS: ClassVar = {
            **{
                keyword: token_type
                for keyword, token_type in Postgres.Tokenizer.KEYWORDS.items()
                if "?" not in keyword and token_type is not TokenType.COMMAND
            },
            "FLOAT": TokenType.FLOAT,
        }

    class Parser(PostgresParser):
        """Builds sqlglot's trees; whatever it does not understand is a syntax error."""

        FUNCTIONS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = {
            name: parser
            for name, parser in PostgresParser.FUNCTION_PARSERS.items()
            if name in _SPECIAL_FUNCTIONS
        }
        NO_PAREN_FUNCTION_PARSERS: ClassVar = {
            name: parser
            for name, parser in PostgresParser.NO_PAREN_FUNCTION_PARSERS.items()
            if name in ("ANY", "CASE")
        }

        def raise_error(self, message: str, token: Token | None = None) -> NoReturn:
            """Raise a ParseError that knows the offset of the offending token in the text."""
            found = token or self._curr or None
            start = None if found is None else found.start
            raise ParseError(message, [{"start": start}])

        def _parse_as_command(self, start: Token) -> NoReturn:
            # sqlglot would log a warning and take any text at all.
            self.raise_error("unexpected token", self._curr or start)

        def _parse_table_part(self, schema: bool = False) -> exp.Expr | None:
            # sqlglot takes a string for a quoted name; it is the path of a file.
            if self._match(TokenType.STRING):
                return exp.Literal.string(self._prev.text)
            return super()._parse_table_part(schema)

        def _parse_join(
            self,
            skip_join_token: bool = False,
            parse_bracket: bool = False,
            alias_tokens: Collection[TokenType] | None = None,
        ) -> exp.Join | None:
            # Tells `a, b` from `a JOIN b` without ON, which sqlglot reads as the same tree.
            after_comma = self._curr.token_type is TokenType.COMMA
            join = super()._parse_join(skip_join_token, parse_bracket, alias_tokens)
            if join is not None and after_comma:
                join.set("kind", "COMMA")
            return join

    class Generator(PostgresGenerator):
        """Writes trees as SQL again, for the names of columns."""

        def placeholder_sql(self, expression: exp.Placeholder) -> str:
            """Write `:name` as it was written, where PostgreSQL's drivers have `%(name)s`."""
            return f":{expression.name}"


_DIALECT = RayDialect()


def check_parser() -> None:
    """Raise OperationalError if sqlglot is compiled, for its classes then take no subclasses."""
    try:
        _DIALECT.parser()
    except TypeError as error:
        raise OperationalError(
            "RayDB extends sqlglot's parser, which sqlglotc (the compiled sqlglot) forbids;"
            " uninstall sqlglotc"
        ) from error


check_parser()


def split_tokens(text: str) -> list[Token]:
    """Return the tokens of a text; raises sqlglot's TokenError."""
    return _DIALECT.tokenize(text)


def parse_tokens(tokens: list[Token], text: str) -> exp.Expr | None:
    """Return the tree of one statement; raises sqlglot's ParseError."""
    return _DIALECT.parser().parse(tokens, text)[0]


def parse_expression_tokens(tokens: list[Token], text: str) -> exp.Expr | None:
    """Return the tree of one scalar expression; raises sqlglot's ParseError."""
    return _DIALECT.parser().parse_into(exp.Condition, tokens, text)[0]


def identifier_tokens() -> frozenset[TokenType]:
    """Return the kinds of tokens that may stand for a name."""
    return frozenset(RayDialect.Parser.ID_VAR_TOKENS) | {TokenType.IDENTIFIER}


def text_of(tree: exp.Expr) -> str:
    """Return a tree as SQL, for names of columns and messages."""
    return tree.sql(dialect=_DIALECT, normalize_functions="lower")
