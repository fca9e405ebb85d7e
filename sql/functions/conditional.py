"""Functions that choose one of their arguments."""

from __future__ import annotations

import pyarrow as pa

from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.sql.functions.signature import Signature
from raydb.sql.typing_rules import as_boolean, choose, compare, unify


def _coalesce(_: str, *arguments: Expression) -> Expression:
    unified = unify(arguments, "combine")
    return unified[0] if len(unified) == 1 else Call("coalesce", unified, unified[0].type)


def _nullif(_: str, left: Expression, right: Expression) -> Expression:
    return choose((compare("equal", left, right),), (Literal(None, pa.null()), left))


def _if(name: str, condition: Expression, yes: Expression, no: Expression) -> Expression:
    return choose((as_boolean(condition, f"{name}()"),), (yes, no))


def _greatest_or_least(name: str, *arguments: Expression) -> Expression:
    unified = unify(arguments, "compare")
    return Call(name, unified, unified[0].type)


CONDITIONAL = {
    "coalesce": Signature(_coalesce, 1, None),
    "greatest": Signature(_greatest_or_least, 1, None),
    "if": Signature(_if, 3, 3),
    "ifnull": Signature(_coalesce, 2, 2),
    "iif": Signature(_if, 3, 3),
    "least": Signature(_greatest_or_least, 1, None),
    "nullif": Signature(_nullif, 2, 2),
    "nvl": Signature(_coalesce, 2, 2),
}
