"""Functions that choose one of their arguments."""

from __future__ import annotations

import pyarrow as pa

from raydb.planner.expression import Call, Expression, Literal
from raydb.sql.functions.signature import Signature
from raydb.sql.typing_rules import choose, compare, unify


def _coalesce(_: str, *arguments: Expression) -> Expression:
    unified = unify(arguments, "combine")
    return unified[0] if len(unified) == 1 else Call("coalesce", unified, unified[0].type)


def _nullif(_: str, left: Expression, right: Expression) -> Expression:
    return choose((compare("equal", left, right),), (Literal(None, pa.null()), left))


CONDITIONAL = {
    "coalesce": Signature(_coalesce, 1, None),
    "nullif": Signature(_nullif, 2, 2),
}
