"""RayDB's dialect of SQL: PostgreSQL as sqlglot reads it, without what it reads loosely.

sqlglot finds in tables what reads a word. The tables are ours, and so are some of the functions in
them; its methods stay as they are, for where it is compiled they cannot be replaced.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from sqlglot import TokenType, exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import ParseError
from sqlglot.parsers.postgres import PostgresParser

from raydb.errors import ProgrammingError
from raydb.names import is_same
from raydb.planner.expressions.interval_text import unit_name
from raydb.sql.parse.row_statements import insert, merge

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot import Token
    from sqlglot.tokens import Tokenizer


_Read = TypeVar("_Read")


class RayDialect(Postgres):
    """The dialect that RayDB speaks."""

    NUMBERS_CAN_BE_UNDERSCORE_SEPARATED = True
    SUPPORTS_FIXED_SIZE_ARRAYS = True
    TABLESAMPLE_SIZE_IS_PERCENT = False
    INDEX_OFFSET = 0  # subscripts stay as written

    class Tokenizer(Postgres.Tokenizer):
        """Splits text into tokens; no token swallows the rest of a statement."""

        COMMANDS: ClassVar = set()
        # `$name` is a parameter; dollar_quotes.py finds the strings between dollars before.
        HEREDOC_STRINGS: ClassVar = []
        SINGLE_TOKENS: ClassVar = {**Postgres.Tokenizer.SINGLE_TOKENS, "$": TokenType.PARAMETER}
        # `?` is a parameter, also in `?||'x'`, which PostgreSQL's operator `?|` would swallow.
        KEYWORDS: ClassVar = {
            **{
                keyword: token_type
                for keyword, token_type in Postgres.Tokenizer.KEYWORDS.items()
                if "?" not in keyword and keyword != "-|-" and token_type is not TokenType.COMMAND
            },
            "//": TokenType.DIV,
            "**": TokenType.DSTAR,
            "PIVOT_WIDER": TokenType.PIVOT,
            "PIVOT_LONGER": TokenType.UNPIVOT,
            # As pgvector has them, beside `<->`; the node of PostgreSQL's `-|-` stands for `<=>`,
            # and nodes and tokens of other dialects for the last two.
            "<=>": TokenType.NULLSAFE_EQ,
            "<#>": TokenType.LLRR_ARROW,
            "<+>": TokenType.COLON_GT,
            "<~>": TokenType.NCOLON_GT,
            "POSITIONAL": TokenType.POSITIONAL,
            "SUMMARIZE": TokenType.SUMMARIZE,
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


# The text of the bracket that stands for the word.
LAMBDA = "lambda"

_BASES = {TokenType.HEX_STRING: (16, exp.HexString), TokenType.BIT_STRING: (2, exp.BitString)}
_MOST_DIGITS = 1000  # zeros in front included; more stand for no number that SQL has

# How deep operators before their operand may nest; a level takes up to 3 KB of the stack.
_MOST_NESTED = 100


class _Nesting(threading.local):
    """How deep the parser of a thread is in operators before their operand."""

    levels = 0


_nesting = _Nesting()


class _Splitting(threading.local):
    """The tokenizer and the parser of a thread, which hold the text that was read last."""

    tokenizer: Tokenizer | None = None
    parser: PostgresParser | None = None


_splitting = _Splitting()


def _nested(read: Callable[[PostgresParser], _Read]) -> Callable[[PostgresParser], _Read]:
    """Return what reads the same, but raises RecursionError where it nests too deeply.

    Compiled functions count no levels: they would overflow the stack.
    """

    def nested(parser: PostgresParser) -> _Read:
        if _nesting.levels == _MOST_NESTED:
            raise RecursionError
        _nesting.levels += 1
        try:
            return read(parser)
        finally:
            _nesting.levels -= 1

    return nested


def _based_number(parser: PostgresParser, token: Token) -> exp.Expr:
    """Read 0x1F or 0b101, numbers, whose tokens are as those of x'1F', bytes, and b'101', bits."""
    base, string = _BASES[token.token_type]
    if parser.sql[token.start] == "0":
        if len(token.text) > _MOST_DIGITS:
            raise ProgrammingError("a number has more than 38 digits")
        number = exp.Literal(this=str(int(token.text.lstrip("_"), base)), is_string=False)
        return parser.expression(number, token)
    return parser.expression(string(this=token.text), token)


def _typed(parser: PostgresParser) -> exp.Expr | None:
    """Read what begins with the word of a type, mostly a column of that name.

    `DATE '2024-01-02'::VARCHAR` casts the date, where sqlglot would cast the string first.
    `range < 3` is no RANGE<type>, and ARRAY[1] no type: sqlglot would read what is in the brackets
    twice, and what is in brackets there four times.
    """
    after = parser._curr.token_type
    parser._retreat(parser._index - 1)
    if after in (TokenType.LT, TokenType.L_BRACKET):
        return parser._parse_column()
    start = parser._index
    if after is TokenType.STRING:
        data_type = parser._parse_types(check_func=True, allow_identifiers=False)
        text = parser._parse_primary()
        if isinstance(data_type, exp.DataType) and text is not None:
            return parser._parse_column_ops(parser.expression(exp.Cast(this=text, to=data_type)))
        parser._retreat(start)
    return parser._parse_type()


def _map(parser: PostgresParser) -> exp.Expr | None:
    """Read MAP {key: value, ...}, of which sqlglot makes a struct."""
    if not parser._match(TokenType.L_BRACE):
        return _typed(parser)
    keys: list[exp.Expr | None] = []
    values: list[exp.Expr | None] = []
    while not parser._match(TokenType.R_BRACE):
        if keys and not parser._match(TokenType.COMMA):
            parser.raise_error("unexpected token")
        keys.append(parser._parse_bitwise())
        if not parser._match(TokenType.COLON):
            parser.raise_error("unexpected token")
        values.append(parser._parse_disjunction())
    both = exp.Map(keys=exp.Array(expressions=keys), values=exp.Array(expressions=values))
    return parser._parse_column_ops(parser.expression(both))


def _positional(parser: PostgresParser) -> exp.Expr | None:
    """Read #1, the first column of FROM; its number is no constant of the text."""
    if not parser._match(TokenType.NUMBER) or not parser._prev.text.isdigit():
        parser.raise_error("unexpected token")
    place = exp.PositionalColumn(this=exp.Var(this=parser._prev.text))
    return parser._parse_column_ops(parser.expression(place))


def _interval(parser: PostgresParser) -> exp.Expr | None:
    """Read INTERVAL x unit, or a column of that name.

    sqlglot takes strings apart, and `INTERVAL '1 day' + 1` for a sum of intervals.
    """
    start = parser._index - 1
    is_text = parser._match(TokenType.STRING, advance=False)
    value = parser._parse_primary() if is_text else parser._parse_unary()
    unit: exp.Expr | None = _interval_unit(parser)
    if unit is not None and parser._match_text_seq("TO"):
        unit = exp.IntervalSpan(this=unit, expression=_interval_unit(parser))
    if value is None or not (is_text or unit):
        parser._retreat(start)
        return parser._parse_column()
    return parser._parse_column_ops(parser.expression(exp.Interval(this=value, unit=unit)))


def _interval_unit(parser: PostgresParser) -> exp.Var | None:
    """Return a unit; the 3 of DAY (3), the digits that a value may have, says no more."""
    if not parser._curr or unit_name(parser._curr.text) is None:
        return None
    parser._advance()
    unit = exp.Var(this=parser._prev.text.upper())
    if parser._match_pair(TokenType.L_PAREN, TokenType.NUMBER):
        parser._match_r_paren()
    return unit


def _group(parser: PostgresParser) -> tuple[str, exp.Group]:
    """Read GROUP BY, of whose ROLLUPs and CUBEs sqlglot expects no comparison among the keys."""
    parser._advance()
    group = exp.Group()
    if parser._match(TokenType.ALL):
        group.set("all", True)
    if not parser._match_set(parser.QUERY_MODIFIER_TOKENS, advance=False):
        group.set("expressions", parser._parse_csv(lambda: _group_key(parser)))
    return "group", parser.expression(group)


def _group_key(parser: PostgresParser) -> exp.Expr | None:
    if parser._match(TokenType.GROUPING_SETS):
        sets = parser._parse_wrapped_csv(lambda: _group_key(parser))
        return parser.expression(exp.GroupingSets(expressions=sets))
    for word, kind in ((TokenType.ROLLUP, exp.Rollup), (TokenType.CUBE, exp.Cube)):
        if parser._match(word):
            keys = parser._parse_wrapped_csv(parser._parse_disjunction)
            return parser.expression(kind(expressions=keys))
    return parser._parse_disjunction()


def _arrow(parser: PostgresParser, names: list[exp.Expr]) -> exp.Expr | None:
    """Read an argument behind its first arrow: `x -> x + 1`, or `json -> path`.

    sqlglot takes all for functions, but one names again what stands before the arrow, or was
    written `lambda x: 1`.
    """
    opening = parser._tokens[max(parser._index - 4, 0)]
    is_lambda = len(names) > 1 or opening.text == LAMBDA or _names_again(parser, names[0].name)
    if is_lambda:
        return parser.expression(exp.Lambda(this=parser._parse_disjunction(), expressions=names))
    parser._retreat(parser._index - 2)
    return parser._parse_order(parser._parse_disjunction())


def _names_again(parser: PostgresParser, name: str) -> bool:
    depth = 0
    for token in parser._tokens[parser._index :]:
        if is_same(token.text, name):
            return True
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth < 0 or (not depth and token.token_type is TokenType.COMMA):
            return False
    return False


def _json_at(kind: type[exp.Expr]) -> Callable[[PostgresParser, exp.Expr, exp.Expr], exp.Expr]:
    """Return what reads `json -> path` with the path as it is written."""
    return lambda parser, json, path: parser.expression(kind(this=json, expression=path))


def _cast(parser: PostgresParser, operand: exp.Expr, to: exp.Expr) -> exp.Expr:
    return parser.expression(exp.Cast(this=operand, to=_whole_type(parser, to)))


def _whole_type(parser: PostgresParser, read: Any) -> Any:
    """Return a type; sqlglot forgets the ARRAY of `INTEGER ARRAY` at the end of a text."""
    if (
        isinstance(read, exp.DataType)
        and read.this is not exp.DType.ARRAY
        and parser._prev.token_type is TokenType.ARRAY
    ):
        return exp.DataType(this=exp.DType.ARRAY, expressions=[read], nested=True)
    return read


def _table_entry(parser: PostgresParser) -> exp.Expr | None:
    """Read a column or a constraint of CREATE TABLE."""
    entry: exp.Expr | None = parser._parse_constraint() or parser._parse_field_def()
    if isinstance(entry, exp.ColumnDef):
        entry.set("kind", _whole_type(parser, entry.args.get("kind")))
    return entry


def _generated(parser: PostgresParser) -> exp.Expr:
    """Read ... AS IDENTITY behind GENERATED; its options may come in any order."""
    start = parser._index
    always = not parser._match_text_seq("BY", "DEFAULT")
    if always:
        parser._match_text_seq("ALWAYS")
    if not parser._match_text_seq("AS", "IDENTITY"):
        parser._retreat(start)
        return parser._parse_generated_as_identity()
    options: dict[str, exp.Expr | bool | None] = {}
    if parser._match(TokenType.L_PAREN):
        while not parser._match(TokenType.R_PAREN):
            name, value = _identity_option(parser)
            options[name] = value
    return parser.expression(exp.GeneratedAsIdentityColumnConstraint(this=always, **options))


def _identity_option(parser: PostgresParser) -> tuple[str, exp.Expr | bool | None]:
    if parser._match_text_seq("NO"):
        for word in ("MINVALUE", "MAXVALUE", "CYCLE"):
            if parser._match_text_seq(word):
                return word.lower(), None
    if parser._match_text_seq("CYCLE"):
        return "cycle", True
    words = ("START", "INCREMENT", "MINVALUE", "MAXVALUE")
    option = next((each for each in words if parser._match_text_seq(each)), "")
    if not option:
        parser.raise_error("unexpected token")
    for filler in ("WITH", "BY"):
        parser._match_text_seq(filler)
    return option.lower(), parser._parse_unary()


def _array_call(parser: PostgresParser) -> exp.Expr:
    """Read ARRAY(SELECT ...), in parentheses: sqlglot takes `array(..)[1]` for ARRAY[1]."""
    arguments = parser._parse_csv(parser._parse_select_or_expression)
    return exp.Paren(this=exp.Anonymous(this="array", expressions=arguments))


def _pivot(parser: PostgresParser) -> exp.Expr | None:
    """Read PIVOT or UNPIVOT in place of a query, as SELECT * FROM (PIVOT ...)."""
    is_unpivot = parser._prev.token_type is TokenType.UNPIVOT
    turned = exp.Subquery(this=parser._parse_simplified_pivot(is_unpivot))
    return parser._parse_query_modifiers(exp.Select(expressions=[exp.Star()]).from_(turned))


def _chosen(table: dict[Any, Any], *names: Any) -> dict[Any, Any]:
    return {name: table[name] for name in names}


class _Tables(PostgresParser):
    """sqlglot's parser with our tables; methods of our own would not be called, see `_parser`."""

    __slots__ = ()

    # Every call comes out as exp.Anonymous with its name and arguments as written, so that sqlglot
    # neither rewrites nor validates them, but for functions with a syntax of their own.
    FUNCTIONS: ClassVar = {}
    FUNCTION_PARSERS: ClassVar = _chosen(
        PostgresParser.FUNCTION_PARSERS,
        *("CAST", "EXTRACT", "OVERLAY", "POSITION", "SUBSTRING", "TRIM", "TRY_CAST"),
    )
    FUNCTION_PARSERS["ARRAY"] = _array_call
    NO_PAREN_FUNCTION_PARSERS: ClassVar = {
        name: _nested(PostgresParser.NO_PAREN_FUNCTION_PARSERS[name]) for name in ("ANY", "CASE")
    }
    # `list(x)[1]` is an element of what an aggregate gives.
    ARRAY_CONSTRUCTORS: ClassVar = {"ARRAY": exp.Array}
    PRIMARY_PARSERS: ClassVar = {
        **PostgresParser.PRIMARY_PARSERS,
        **dict.fromkeys(_BASES, _based_number),
    }
    UNARY_PARSERS: ClassVar = {
        **{kind: _nested(read) for kind, read in PostgresParser.UNARY_PARSERS.items()},
        **dict.fromkeys(PostgresParser.TYPE_TOKENS - PostgresParser.PRIMARY_PARSERS.keys(), _typed),
        TokenType.INTERVAL: _nested(_interval),
        TokenType.MAP: _map,
        TokenType.HASH: _positional,
    }
    EQUALITY: ClassVar = _chosen(PostgresParser.EQUALITY, TokenType.EQ, TokenType.NEQ)
    EXPONENT: ClassVar = {**PostgresParser.EXPONENT, TokenType.DSTAR: exp.Pow}
    FACTOR: ClassVar = {
        **PostgresParser.FACTOR,
        TokenType.NULLSAFE_EQ: exp.Adjacent,
        TokenType.COLON_GT: exp.Match,
        TokenType.NCOLON_GT: exp.NestedJSONSelect,
    }
    COLUMN_OPERATORS: ClassVar = {**PostgresParser.COLUMN_OPERATORS, TokenType.DCOLON: _cast}
    JSON_OPERATORS: ClassVar = {
        **PostgresParser.JSON_OPERATORS,
        TokenType.ARROW: _json_at(exp.JSONExtract),
        TokenType.DARROW: _json_at(exp.JSONExtractScalar),
    }
    LAMBDAS: ClassVar = {**PostgresParser.LAMBDAS, TokenType.ARROW: _arrow}
    CONSTRAINT_PARSERS: ClassVar = {**PostgresParser.CONSTRAINT_PARSERS, "GENERATED": _generated}
    EXPRESSION_PARSERS: ClassVar = {
        exp.Condition: PostgresParser.EXPRESSION_PARSERS[exp.Condition],
        exp.ColumnDef: _table_entry,
        exp.DataType: lambda parser: _whole_type(parser, parser._parse_types(schema=True)),
    }
    QUERY_MODIFIER_PARSERS: ClassVar = {
        **PostgresParser.QUERY_MODIFIER_PARSERS,
        TokenType.GROUP_BY: _group,
    }
    # What else begins a statement is read by hand; sqlglot takes any text behind some of its words.
    STATEMENT_PARSERS: ClassVar = {
        **_chosen(PostgresParser.STATEMENT_PARSERS, TokenType.UPDATE, TokenType.DELETE),
        TokenType.INSERT: insert,
        TokenType.MERGE: merge,
        **dict.fromkeys((TokenType.PIVOT, TokenType.UNPIVOT), _pivot),
    }


DIALECT = RayDialect()
_SMALL_NULLS = RayDialect()
_SMALL_NULLS.NULL_ORDERING = "nulls_are_small"


def _parser(dialect: RayDialect) -> PostgresParser:
    """Return a parser.

    A compiled class makes no instances of a class that is derived from it. One of its own may
    become such an instance, for both have the same slots: then its tables are found in `_Tables`.
    """
    parser = PostgresParser(dialect=dialect)
    parser.__class__ = _Tables
    return parser


class UnexpectedToken(Exception):  # noqa: N818
    """The token at which a text is no SQL, None for its end; the message is sqlglot's."""

    def __init__(self, message: str, token: Token | None) -> None:
        super().__init__(message)
        self.token = token


def split_tokens(text: str) -> list[Token]:
    """Return the tokens of a text; raises sqlglot's TokenError."""
    if _splitting.tokenizer is None:  # to make one takes as long as to split a short text
        _splitting.tokenizer = DIALECT.tokenizer()
    return _splitting.tokenizer.tokenize(text)


def parse_tokens(
    tokens: list[Token],
    text: str,
    into: type[exp.Expr] | None = None,
    *,
    nulls_are_small: bool = False,
) -> exp.Expr | None:
    """Return the tree of a statement, or of what `into` says; raises UnexpectedToken.

    exp.Condition is a scalar expression, exp.ColumnDef an entry of CREATE TABLE, exp.DataType a
    type.
    """
    if nulls_are_small:
        parser = _parser(_SMALL_NULLS)
    else:
        # One is enough for a thread: to read a statement never asks for another one to be read.
        parser = _splitting.parser = _splitting.parser or _parser(DIALECT)
    try:
        if into is None:
            return parser.parse(tokens, text)[0]
        return parser.parse_into(into, tokens, text)[0]
    except ParseError as error:
        fault = error.errors[0]
        place = fault["line"], fault["col"]
        found = next((each for each in tokens if (each.line, each.col) == place), None)
        is_end = not parser._curr and found is parser._prev
        raise UnexpectedToken(fault["description"], None if is_end else found) from None
    except TypeError:  # compiled, sqlglot does not build an operator that lacks an operand
        raise UnexpectedToken("", parser._curr or None) from None


def identifier_tokens() -> frozenset[TokenType]:
    """Return the kinds of tokens that may stand for a name."""
    return frozenset(PostgresParser.ID_VAR_TOKENS) | {TokenType.IDENTIFIER}
