"""CREATE SECRET: options with values that no error shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import TokenType

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.sql import ast

if TYPE_CHECKING:
    from sqlglot import exp

    from raydb.sql.parse.reader import TokenReader

_VALUES = (TokenType.STRING, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.BYTE_STRING)


def accept_secret(reader: TokenReader) -> bool:
    """Read the word SECRET, with one before it that says how long it lasts, if it comes next."""
    if reader.accept("PERSISTENT", "SECRET"):
        raise NotSupportedError("a secret lives as long as its connection and is never stored")
    return any(
        reader.accept(*words)
        for words in (("SECRET",), ("TEMPORARY", "SECRET"), ("TEMP", "SECRET"))
    )


def read_secret(reader: TokenReader, replace: bool) -> ast.CreateSecret:
    """Read what follows CREATE SECRET. Raises ProgrammingError, in which no value is."""
    try:
        return _secret(reader, replace)
    except ProgrammingError as error:
        values = [each.text for each in reader.all_tokens() if each.token_type in _VALUES]
        if any(value and value in str(error) for value in values):
            # The text goes to logs and screens.
            raise ProgrammingError(
                "syntax error in CREATE SECRET: an option is a name and a value, and a comma stands"
                " between two of them"
            ) from None
        raise error from None


def _secret(reader: TokenReader, replace: bool) -> ast.CreateSecret:
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    if replace and if_not_exists:
        raise ProgrammingError("CREATE OR REPLACE SECRET takes no IF NOT EXISTS")
    name = None if reader.at_any("(") else str(reader.name("the name of a secret"))
    options: dict[str, exp.Expr] = {}

    def read_option() -> None:
        option = reader.word("the name of an option")
        if option in options:
            raise ProgrammingError(f"the secret has the option '{option}' twice")
        options[option] = reader.text_or_scalar()

    reader.listed(read_option)
    reader.finish()
    return ast.CreateSecret(name, tuple(options.items()), if_not_exists, replace)
