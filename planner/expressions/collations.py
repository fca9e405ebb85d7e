"""Collations: by what texts are compared, grouped and put in order.

    COLLATE NOCASE      without regard to case         COLLATE NFC       composed characters
    COLLATE NOACCENT    without regard to accents      COLLATE BINARY    letter by letter

A collation is a property of an expression, known while a query is bound: COLLATE gives it, columns
have it, and functions of texts hand it on; texts of none have that of SET default_collation. What
compares texts compares their keys instead:

    name COLLATE NOACCENT.NOCASE = 'Ångström'   ->   lower(strip_accents(name)) = ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import ProgrammingError, did_you_mean
from raydb.planner.expressions.nodes import Call, Column, Expression, Literal, Subquery
from raydb.planner.expressions.types import TEXT
from raydb.running import default_collation

if TYPE_CHECKING:
    from collections.abc import Sequence

BINARY = "binary"
# The function that a part of a collation compares by.
_KEYS = {"nfc": "nfc_normalize", "noaccent": "strip_accents", "nocase": "lower"}
_BINARY_NAMES = (BINARY, "c", "posix")


def known_collation(name: str) -> str:
    """Return the parts of a collation in the order in which their functions are applied.

    Raises ProgrammingError for an unknown one, and for one that says a part twice.

    >>> known_collation("NOCASE.NoAccent")
    'noaccent.nocase'
    """
    parts = name.lower().split(".")
    if len(parts) == 1 and parts[0] in _BINARY_NAMES:
        return BINARY
    for part in parts:
        if part == BINARY:
            raise ProgrammingError(f"the collation '{part}' stands alone")
        if part not in _KEYS:
            near = did_you_mean(part, (*_KEYS, BINARY))
            raise ProgrammingError(f"collation '{part}' does not exist{near}")
    if len(set(parts)) < len(parts):
        raise ProgrammingError(f"the collation '{name}' says a part twice")
    return ".".join(part for part in _KEYS if part in parts)


def collate(operand: Expression, collation: str) -> Expression:
    """Return a text with another collation, a known one. Raises ProgrammingError for no text."""
    if operand.type != TEXT:
        raise ProgrammingError("COLLATE needs a text")
    return Call("collate", (operand, Literal(collation, TEXT)), TEXT)


def collation_of(expression: Expression) -> str:
    """Return the collation of a text, '' for none.

    Raises ProgrammingError for a function of texts that have several.
    """
    if type(expression) is Literal or (type(expression) is Column and not expression.collation):
        return ""  # as most are
    if expression.type != TEXT:
        return ""
    match expression:
        case Column(collation=collation):
            return collation
        case Call(function="collate", arguments=(_, Literal(value=collation))):
            return str(collation)
        case Call(arguments=arguments):
            return common_collation(arguments)
        case Subquery(kind="scalar", plan=plan):
            return collation_of(plan.columns[0])
        case _:
            return ""


def common_collation(operands: Sequence[Expression]) -> str:
    """Return the collation of texts; raises ProgrammingError where they have several."""
    found = dict.fromkeys([name for each in operands if (name := collation_of(each))])
    if not found:
        return ""
    if len(found) > 1:
        names = " and ".join(found)
        raise ProgrammingError(f"texts of the collations {names} do not go together")
    return next(iter(found))


def collation_of_elements(values: Expression) -> str:
    """Return the collation of the texts in a list that is written out, '' for any other."""
    match values:
        case Call(function="list_value", arguments=elements):
            return common_collation(elements)
        case _:
            return ""


def compared_by(operands: Sequence[Expression]) -> str:
    """Return the collation by which texts beside each other are compared, '' for letter by letter.

    That of SET default_collation is for what is text alone.
    """
    found = common_collation(operands)
    if not found and (default := default_collation()):
        if not any(each.type == TEXT for each in operands):
            return ""
        others = [each for each in operands if each.type != TEXT]
        found = default if all(pa.types.is_null(each.type) for each in others) else ""
    return "" if found == BINARY else found


def collated_key(expression: Expression, collation: str | None = None) -> Expression:
    """Return what a text is compared by; an expression of no collation is returned unchanged."""
    if collation is None:
        collation = compared_by((expression,))
    if not collation or expression.type != TEXT:
        return expression
    for part in collation.split("."):
        expression = Call(_KEYS[part], (expression,), TEXT)
    return expression


def collated_keys(
    operands: Sequence[Expression], collation: str | None = None
) -> tuple[Expression, ...]:
    """Return what texts beside each other are compared by.

    collation: the one that was theirs before they had a type in common, None for what they have.
    """
    if collation is None:
        collation = compared_by(operands)
    return tuple(collated_key(_bare(operand), collation) for operand in operands)


def _bare(expression: Expression) -> Expression:
    """Return a text without the COLLATE around it."""
    match expression:
        case Call(function="collate", arguments=(operand, _)):
            return operand
        case _:
            return expression
