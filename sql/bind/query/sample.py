"""TABLESAMPLE and USING SAMPLE: some of the rows of a source, by chance.

    10%, BERNOULLI (10), SYSTEM (10)    each row with that probability
    10 ROWS, RESERVOIR (10 ROWS)        so many rows, all of them if there are fewer

With REPEATABLE (seed) the chance is that of the seed and of the row's place in the source.
"""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.registry import SCALARS
from raydb.planner.expressions.types import BIGINT, DOUBLE
from raydb.planner.expressions.typing_rules import compare
from raydb.planner.plan.nodes import Filter, Limit, Plan, Project, Sort
from raydb.planner.plan.nodes.project import only_columns
from raydb.planner.plan.nodes.sort import SortKey
from raydb.sql.bind.binding import Binding, new_column
from raydb.sql.bind.query.output import numbered_rows
from raydb.sql.parse.nodes import require_only

# Methods whose size is a percentage without saying so.
_BY_ROW = ("BERNOULLI", "SYSTEM")


def with_sample(plan: Plan, sample: exp.Expr | None, binding: Binding) -> Plan:
    """Return the sample of a plan's rows that a node asks for, which is all of them for None."""
    if sample is None:
        return plan
    require_only(sample, "method", "percent", "size", "seed")
    method = sample.args.get("method")
    name = "" if method is None else method.name.upper()
    if name not in ("", *_BY_ROW, "RESERVOIR"):
        raise NotSupportedError(f"a sample by {name} is not supported")
    size, percent = sample.args.get("size"), sample.args.get("percent")
    if percent is None and name in _BY_ROW:
        size, percent = None, size
    seed = sample.args.get("seed") or None
    columns = plan.columns
    plan, chance = _with_chances(plan, None if seed is None else int(_number(seed)), binding)
    if percent is not None:
        share = _number(percent) / 100
        if share > 1:
            raise ProgrammingError(f"a sample has 0 to 100 percent of the rows, not {share * 100}")
        plan = Filter(plan, compare("less", chance, Literal(float(share), DOUBLE)))
        return only_columns(plan, columns)
    count = _number(size)
    if count != int(count):
        raise ProgrammingError(f"a sample has a whole number of rows, not {count}")
    key = new_column(binding, "chance", DOUBLE)
    plan = Project(plan, (*((each, each) for each in columns), (key, chance)))
    return only_columns(Limit(Sort(plan, (SortKey(key),)), int(count)), columns)


def _number(node: exp.Expr | None) -> Decimal:
    if not isinstance(node, exp.Literal) or node.is_string:
        raise ProgrammingError("a sample needs a number of rows or a percentage, such as 10%")
    return Decimal(node.name)


def _with_chances(plan: Plan, seed: int | None, binding: Binding) -> tuple[Plan, Expression]:
    """Return rows and a number from 0 up to 1 of each."""
    if seed is None:
        return plan, SCALARS["random"].call("random", ())
    number, plan = numbered_rows(plan, (), (), binding)
    return plan, Call("seeded_random", (number, Literal(seed, BIGINT)), pa.float64())
