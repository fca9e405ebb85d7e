"""RayDB's dialect of SQL: PostgreSQL as sqlglot reads it, without what it reads loosely."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

from sqlglot import TokenType, exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import ErrorLevel, ParseError
from sqlglot.generators.postgres import PostgresGenerator
from sqlglot.parsers.postgres import PostgresParser

from raydb.errors import OperationalError
from raydb.planner.expressions.interval_text import unit_name

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlglot import Token

_Node = TypeVar("_Node", bound=exp.Expr)

# Functions with a syntax of their own; every other call comes out as exp.Anonymous with its name
# and arguments as written, so that sqlglot neither rewrites nor validates them.
_SPECIAL_FUNCTIONS = (
    "CAST",
    "EXTRACT",
    "OVERLAY",
    "POSITION",
    "SUBSTRING",
    "TRIM",
    "TRY_CAST",
)


# Where sqlglot keeps a word as it was written: it is in capitals for all who read the tree.
_WORDS: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.Insert: ("alternative",),
    exp.WindowSpec: ("kind", "start_side", "end_side"),
}


class RayDialect(Postgres):
    """The dialect that RayDB speaks."""

    NUMBERS_CAN_BE_UNDERSCORE_SEPARATED = True
    SUPPORTS_FIXED_SIZE_ARRAYS = True
    TABLESAMPLE_SIZE_IS_PERCENT = False
    INDEX_OFFSET = 0  # subscripts stay as written

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
            "//": TokenType.DIV,
            "FLOAT": TokenType.FLOAT,
            "UTINYINT": TokenType.UTINYINT,
            "USMALLINT": TokenType.USMALLINT,
            "UINTEGER": TokenType.UINT,
            "UBIGINT": TokenType.UBIGINT,
            "TIMESTAMP_S": TokenType.TIMESTAMP_S,
            "TIMESTAMP_MS": TokenType.TIMESTAMP_MS,
            "TIMESTAMP_US": TokenType.TIMESTAMP,
            "TIMESTAMP_NS": TokenType.TIMESTAMP_NS,
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

        # `list(x)[1]` is an element of what an aggregate gives.
        ARRAY_CONSTRUCTORS: ClassVar = {"ARRAY": exp.Array}

        PRIMARY_PARSERS: ClassVar = {
            **PostgresParser.PRIMARY_PARSERS,
            TokenType.NUMBER: lambda self, token: self._number_of(token),
            TokenType.HEX_STRING: lambda self, token: self._hex_number_of(token),
        }

        def expression(
            self,
            instance: _Node,
            token: Token | None = None,
            comments: list[str] | None = None,
        ) -> _Node:
            """Return a node that was read, with its words in capitals."""
            for name in _WORDS.get(type(instance), ()):
                if (word := instance.args.get(name)) is not None:
                    instance.set(name, word.upper())
            return super().expression(instance, token, comments)

        def _parse_generated_as_identity(self) -> Any:
            """Return GENERATED ... AS IDENTITY, whose options may come in any order."""
            start = self._index
            always = not self._match_text_seq("BY", "DEFAULT")
            if always:
                self._match_text_seq("ALWAYS")
            if not self._match_text_seq("AS", "IDENTITY"):
                self._retreat(start)
                return super()._parse_generated_as_identity()
            options: dict[str, exp.Expr | bool | None] = {}
            if self._match(TokenType.L_PAREN):
                while not self._match(TokenType.R_PAREN):
                    name, value = self._identity_option()
                    options[name] = value
            return self.expression(exp.GeneratedAsIdentityColumnConstraint(this=always, **options))

        def _identity_option(self) -> tuple[str, exp.Expr | bool | None]:
            if self._match_text_seq("NO"):
                for word in ("MINVALUE", "MAXVALUE", "CYCLE"):
                    if self._match_text_seq(word):
                        return word.lower(), None
            if self._match_text_seq("CYCLE"):
                return "cycle", True
            words = ("START", "INCREMENT", "MINVALUE", "MAXVALUE")
            option = next((each for each in words if self._match_text_seq(each)), None)
            if option is None:
                self.raise_error("unexpected token", self._curr)
            for filler in ("WITH", "BY"):
                self._match_text_seq(filler)
            return option.lower(), self._parse_unary()

        def _number_of(self, token: Token) -> exp.Expr:
            # `1abc` is not 1 with the alias abc.
            if self._curr and self._curr.start == token.end + 1 and self._is_name(self._curr):
                self.raise_error("unexpected token", self._curr)
            return self.expression(exp.Literal(this=token.text, is_string=False), token)

        def _is_name(self, token: Token) -> bool:
            return token.token_type is TokenType.VAR or token.text.isalpha()

        def _hex_number_of(self, token: Token) -> exp.Expr:
            # sqlglot makes one kind of token of 0x1F, a number, and of x'1F', bytes.
            if self.sql[token.start] == "0":
                number = exp.Literal(this=str(int(token.text, 16)), is_string=False)
                return self.expression(number, token)
            return self.expression(exp.HexString(this=token.text), token)

        EXPRESSION_PARSERS: ClassVar = {
            **PostgresParser.EXPRESSION_PARSERS,
            exp.ColumnDef: lambda self: self._parse_constraint() or self._parse_field_def(),
            exp.DataType: lambda self: self._parse_types(schema=True),
        }

        def raise_error(self, message: str, token: Token | None = None) -> NoReturn:
            """Raise a ParseError that knows the offset of the offending token in the text."""
            found = token or self._curr or None
            start = None if found is None else found.start
            raise ParseError(message, [{"start": start}])

        def _parse_as_command(self, start: Token) -> NoReturn:
            # sqlglot would log a warning and take any text at all.
            self.raise_error("unexpected token", self._curr or start)

        def _parse_type(
            self, parse_interval: bool = True, fallback_to_identifier: bool = False
        ) -> exp.Expr | None:
            # `DATE '2024-01-02'::VARCHAR` casts the date; sqlglot would cast the string first.
            kind, index = self._curr.token_type, self._index
            if kind is TokenType.MAP and self._next.token_type is TokenType.L_BRACE:
                return self._parse_column_ops(self._parse_map())
            is_type = kind in self.TYPE_TOKENS and kind is not TokenType.INTERVAL
            if is_type and self._next.token_type is TokenType.LT:
                return self._parse_column()  # `range < 3`, which sqlglot takes for RANGE<type>
            if is_type and self._next.token_type is TokenType.STRING:
                data_type = self._parse_types(check_func=True, allow_identifiers=False)
                text = self._parse_primary()
                if isinstance(data_type, exp.DataType) and text is not None:
                    cast = self.expression(exp.Cast(this=text, to=data_type))
                    return self._parse_column_ops(cast)
                self._retreat(index)
            return super()._parse_type(parse_interval, fallback_to_identifier)

        def _parse_map(self) -> exp.Map:
            """Read MAP {key: value, ...}, of which sqlglot makes a struct."""
            self._advance(2)
            entries: list[tuple[exp.Expr | None, exp.Expr | None]] = []
            while not self._match(TokenType.R_BRACE):
                if entries and not self._match(TokenType.COMMA):
                    self.raise_error("unexpected token")
                key = self._parse_bitwise()
                if not self._match(TokenType.COLON):
                    self.raise_error("unexpected token")
                entries.append((key, self._parse_disjunction()))
            keys, values = ([entry[side] for entry in entries] for side in (0, 1))
            both = (exp.Array(expressions=each) for each in (keys, values))
            return self.expression(exp.Map(**dict(zip(("keys", "values"), both, strict=True))))

        def _parse_cube_or_rollup(self, with_prefix: bool = False) -> exp.Cube | exp.Rollup | None:
            # sqlglot expects no comparison among the keys.
            is_cube = self._match(TokenType.CUBE)
            if with_prefix or not (is_cube or self._match(TokenType.ROLLUP)):
                return None
            keys = self._parse_wrapped_csv(self._parse_disjunction)
            return self.expression((exp.Cube if is_cube else exp.Rollup)(expressions=keys))

        def _parse_grouping_set(self) -> exp.Expr | None:
            sets = self._parse_grouping_sets() or self._parse_cube_or_rollup()
            return sets or self._parse_disjunction()

        def _parse_interval(
            self,
            require_interval: bool = True,  # noqa: ARG002
            parse_function_unit: bool = True,  # noqa: ARG002
        ) -> exp.Interval | None:
            # sqlglot takes strings apart, and `INTERVAL '1 day' + 1` for a sum of intervals.
            index = self._index
            if not self._match(TokenType.INTERVAL):
                return None
            is_text = bool(self._match(TokenType.STRING, advance=False))
            value = self._parse_primary() if is_text else self._parse_unary()
            unit: exp.Expr | None = self._parse_interval_unit()
            if unit is not None and self._match_text_seq("TO"):
                unit = exp.IntervalSpan(this=unit, expression=self._parse_interval_unit())
            if value is None or not (is_text or unit):
                self._retreat(index)  # a column of that name
                return None
            return self.expression(exp.Interval(this=value, unit=unit))

        def _parse_interval_unit(self) -> exp.Var | None:
            """Return a unit; the 3 of DAY (3), the digits that a value may have, says no more."""
            if not self._curr or unit_name(self._curr.text) is None:
                return None
            self._advance()
            unit = exp.Var(this=self._prev.text.upper())
            if self._match_pair(TokenType.L_PAREN, TokenType.NUMBER):
                self._match_r_paren()
            return unit

        def _parse_types(
            self,
            check_func: bool = False,
            schema: bool = False,
            allow_identifiers: bool = True,
            with_collation: bool = False,
        ) -> exp.Expr | None:
            # sqlglot forgets the ARRAY of `x::INTEGER ARRAY` at the end of a text.
            found = super()._parse_types(check_func, schema, allow_identifiers, with_collation)
            if (
                isinstance(found, exp.DataType)
                and found.this is not exp.DType.ARRAY
                and self._prev.token_type is TokenType.ARRAY
            ):
                return exp.DataType(this=exp.DType.ARRAY, expressions=[found], nested=True)
            return found

        def _parse_struct_types(self, type_required: bool = False) -> exp.Expr | None:
            # A field of a type of CREATE TYPE, whose name sqlglot does not expect.
            names = (TokenType.VAR, TokenType.IDENTIFIER)
            if self._next.token_type in names and self._curr.token_type in names:
                return self._parse_column_def(self._parse_id_var())
            return super()._parse_struct_types(type_required)

        def _parse_unnest(self, with_alias: bool = True) -> exp.Unnest | None:
            # BigQuery's WITH OFFSET counts from 0, and its tree is that of WITH ORDINALITY.
            start = self._index
            found = super()._parse_unnest(with_alias)
            kinds = pairwise(token.token_type for token in self._tokens[start : self._index])
            if (TokenType.WITH, TokenType.OFFSET) in kinds:
                self.raise_error("unexpected token", self._prev)
            return found

        def _parse_table_part(self, schema: bool = False) -> exp.Expr | None:
            # sqlglot takes a string for a quoted name; it is the path of a file.
            if self._match(TokenType.STRING):
                return exp.Literal.string(self._prev.text)
            return super()._parse_table_part(schema)

        def _parse_derived_table_values(
            self, allow_value_synonym: bool = False
        ) -> exp.Values | None:
            # Only INSERT allows MySQL's VALUE, and it forgets ORDER BY and LIMIT behind the rows.
            values = super()._parse_derived_table_values()
            return self._parse_query_modifiers(values) if allow_value_synonym else values

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

        def pow_sql(self, expression: exp.Pow) -> str:
            """Write `a ^ b` as it was written, where PostgreSQL's generator has POWER(a, b)."""
            return self.binary(expression, "^")

        def intdiv_sql(self, expression: exp.IntDiv) -> str:
            """Write `a // b`, which PostgreSQL does not have."""
            return self.binary(expression, "//")

        def placeholder_sql(self, expression: exp.Placeholder) -> str:
            """Write `:name` as it was written, where PostgreSQL's drivers have `%(name)s`."""
            return f":{expression.name}"

        def trycast_sql(self, expression: exp.TryCast) -> str:
            """Write TRY_CAST, which PostgreSQL does not have."""
            return f"TRY_CAST({self.sql(expression, 'this')} AS {self.sql(expression, 'to')})"

        def struct_sql(self, expression: exp.Struct) -> str:
            """Write {'a': 1}."""
            fields = (
                f"'{each.this.name}': {self.sql(each, 'expression')}"
                for each in expression.expressions
            )
            return f"{{{', '.join(fields)}}}"

        def map_sql(self, expression: exp.Map) -> str:
            """Write MAP {'a': 1}."""
            keys, values = (expression.args[name].expressions for name in ("keys", "values"))
            pairs = (f"{self.sql(k)}: {self.sql(v)}" for k, v in zip(keys, values, strict=True))
            return f"MAP {{{', '.join(pairs)}}}"

        def interval_sql(self, expression: exp.Interval) -> str:
            """Write `INTERVAL x DAY` with whatever the x is."""
            unit = self.sql(expression, "unit")
            return f"INTERVAL {self.sql(expression, 'this')}{unit and ' '}{unit}"


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


def parse_tokens(
    tokens: list[Token], text: str, into: type[exp.Expr] | None = None
) -> exp.Expr | None:
    """Return the tree of a statement, or of what `into` says; raises sqlglot's ParseError.

    exp.Condition is a scalar expression, exp.ColumnDef an entry of CREATE TABLE, exp.DataType a
    type.
    """
    parser = _DIALECT.parser()
    found = parser.parse(tokens, text) if into is None else parser.parse_into(into, tokens, text)
    return found[0]


def identifier_tokens() -> frozenset[TokenType]:
    """Return the kinds of tokens that may stand for a name."""
    return frozenset(RayDialect.Parser.ID_VAR_TOKENS) | {TokenType.IDENTIFIER}


def text_of(tree: exp.Expr) -> str:
    """Return a tree as SQL, for names of columns and messages."""
    # PostgreSQL lacks some of what we write, such as IGNORE NULLS: no reason for a warning.
    return tree.sql(
        dialect=_DIALECT, normalize_functions="lower", unsupported_level=ErrorLevel.IGNORE
    )
