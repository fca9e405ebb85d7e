"""USING KEY of WITH RECURSIVE: which columns are keys, and what becomes of the others.

USING KEY (k, max(a), count(b) AS c)  ->  Aggregate(keys: k; max(a), last(b), count(b))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError, did_you_mean
from raydb.names import fold
from raydb.planner.expressions.aggregates import bind_aggregate, is_aggregate
from raydb.planner.expressions.nodes import AggregateCall, Column
from raydb.planner.expressions.typing_rules import cast
from raydb.planner.plan.nodes import Aggregate, Plan, Project, WorkingTable
from raydb.sql.bind.binding import context_of, new_column
from raydb.sql.bind.expression.aggregate_call import function_name
from raydb.sql.bind.expression.expression import AggregateList, bind_expression
from raydb.sql.bind.scope import table_scope
from raydb.sql.parse.nodes import require_only

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.planner.expressions.nodes import Expression
    from raydb.sql.bind.binding import Binding

_Columns = tuple[tuple[str, pa.DataType], ...]

# By an aggregate: that of its results for some rows and for later ones which is its result for all.
_OF_RESULTS = {
    "count": "sum",
    **{
        name: name
        for name in (
            *("sum", "min", "max", "first", "last", "any_value", "product"),
            *("bool_and", "bool_or", "bit_and", "bit_or", "bit_xor"),
        )
    },
}


class KeyedQuery:
    """The rows of a recursive query with USING KEY.

    name: that of the query. given: its columns, as its base and its step give them. written: what
    USING KEY has. `columns` are those of the rows of keys, and `keys` the places of keys in them.
    Raises ProgrammingError for what USING KEY cannot have.
    """

    def __init__(
        self, name: str, given: _Columns, written: Sequence[exp.Expr], binding: Binding
    ) -> None:
        self._name = name
        self._given = given
        self._binding = binding
        self._places = {fold(column): place for place, (column, _) in enumerate(given)}
        calls: dict[int, exp.Expr] = {}
        keys: dict[int, None] = {}
        for node in written:
            if isinstance(node, exp.Column):
                keys[self._place_of(node)] = None
            else:
                place, call = self._call(node)
                if place in calls:
                    raise ProgrammingError(
                        f"USING KEY has two aggregates for the column '{given[place][0]}';"
                        " give one of them an alias, the name of another column"
                    )
                calls[place] = call
        if not keys:
            raise ProgrammingError(f"USING KEY of '{name}' has no key; it needs a column")
        if (both := next((place for place in calls if place in keys), None)) is not None:
            raise ProgrammingError(
                f"the column '{given[both][0]}' is a key in USING KEY and an aggregate as well"
            )
        self.keys = tuple(keys)
        self._calls = calls
        inputs, plan = self._over_inputs()
        self._inputs, self._kept = inputs, plan
        self.columns = tuple(
            (column, each.type) for (column, _), each in zip(given, plan.columns, strict=True)
        )

    def kept(self) -> tuple[int, tuple[Plan, ...]]:
        """Return the number of a working table and the plans over it, see KeyedRecursive."""
        return self._inputs, self._kept_plans()

    def of(self, plan: Plan) -> Plan:
        """Return one row for each key of a plan's rows."""
        made, _ = self._made(plan)
        return made

    def _place_of(self, node: exp.Column) -> int:
        require_only(node, "this", "table")
        table = node.args.get("table")
        if table is not None and fold(table.name) != fold(self._name):
            raise ProgrammingError(f"USING KEY of '{self._name}' cannot name '{table.name}'")
        return self._place_named(node.name)

    def _place_named(self, name: str) -> int:
        place = self._places.get(fold(name))
        if place is None:
            near = did_you_mean(name, [column for column, _ in self._given])
            raise ProgrammingError(f"'{self._name}' has no column '{name}' for USING KEY{near}")
        return place

    def _call(self, node: exp.Expr) -> tuple[int, exp.Expr]:
        """Return the place of the column that an aggregate is for, and its call."""
        call = node.this if isinstance(node, exp.Alias) else node
        if isinstance(call, exp.Filter):
            raise NotSupportedError("FILTER of an aggregate in USING KEY is not supported")
        if not isinstance(call, exp.Anonymous) or not is_aggregate(function_name(call)):
            raise ProgrammingError(
                "USING KEY takes columns and calls of aggregates, which alone can have an alias,"
                f" not '{node.sql('postgres', normalize_functions=False)}'"
            )
        arguments = call.expressions
        if any(isinstance(each, exp.Distinct | exp.Order) for each in arguments):
            raise NotSupportedError(
                "DISTINCT and ORDER BY of an aggregate in USING KEY are not supported"
            )
        if isinstance(node, exp.Alias):
            return self._place_named(node.alias), call
        if arguments and isinstance(arguments[0], exp.Column):
            return self._place_of(arguments[0]), call
        raise ProgrammingError(
            f"{function_name(call)}() in USING KEY needs an alias, which names its column"
        )

    def _over_inputs(self) -> tuple[int, Plan]:
        number = next(self._binding.numbers)
        made, self._aggregates = self._made(self._working(number, self._given))
        return number, made

    def _working(self, number: int, columns: _Columns) -> WorkingTable:
        own = tuple(new_column(self._binding, column, kind) for column, kind in columns)
        return WorkingTable(number, own)

    def _made(self, plan: Plan) -> tuple[Plan, dict[int, AggregateCall | None]]:
        """Return one row a key, and the aggregate of each column; None for one made of several."""
        binding = self._binding
        scope = table_scope(self._name, plan.columns, tuple(name for name, _ in self._given))
        aggregates = AggregateList(binding.numbers)
        context = context_of(binding, scope, "USING KEY", aggregates)
        values: dict[int, Expression] = {}
        for place, column in enumerate(plan.columns):
            if place in self._calls:
                values[place] = bind_expression(self._calls[place], context)
            elif place not in self.keys:
                values[place] = aggregates.column_of(bind_aggregate("last", [column], False))
        by_column = {column: call for call, column in aggregates.calls.items()}
        calls = {
            place: by_column.get(value) if isinstance(value, Column) else None
            for place, value in values.items()
        }
        return self._grouped(plan, aggregates, values), calls

    def _grouped(
        self, plan: Plan, aggregates: AggregateList, values: dict[int, Expression]
    ) -> Plan:
        """Return the groups of a plan by the keys, and a value of each for each other column."""
        columns = plan.columns
        keys = tuple((columns[place], columns[place]) for place in self.keys)
        calls = tuple((column, call) for call, column in aggregates.calls.items())
        items = []
        for place, (name, _) in enumerate(self._given):
            value = values.get(place, columns[place])
            items.append((new_column(self._binding, name, value.type), value))
        return Project(Aggregate(plan, keys, calls), tuple(items))

    def _kept_plans(self) -> tuple[Plan, ...]:
        """Return the plan of the rows that come, and that of an older row and a newer if any."""
        binding = self._binding
        older = self._working(self._inputs, self.columns)
        aggregates = AggregateList(binding.numbers)
        values: dict[int, Expression] = {}
        for place, call in self._aggregates.items():
            column = older.columns[place]
            function = None if call is None else _OF_RESULTS.get(call.function)
            if function is None:
                return (self._kept,)
            merged = aggregates.column_of(bind_aggregate(function, [column], False))
            values[place] = cast(merged, column.type)
        return self._kept, self._grouped(older, aggregates, values)
