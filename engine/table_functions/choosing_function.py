"""ChoosingFunction: a table function that chooses rows of its table, the simplest kind of search.

class Newest(ChoosingFunction):
name = "newest"
arguments = (Argument("time", COLUMN, is_required=True), Argument("n", whole(1, 100), 1))

def choose(self, arguments, columns):
return np.argsort(columns["time"].to_numpy())[::-1][: arguments["n"]], {}
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.engine.operators.relation import Relation, concatenate, joined
from raydb.engine.table_functions.search.paired_rows import PairedRows
from raydb.interrupts import check_interrupt
from raydb.planner.expressions.casts.cast import literal_value
from raydb.planner.expressions.nodes import Literal
from raydb.planner.expressions.show import show
from raydb.planner.plan.function_arguments import COLUMN
from raydb.planner.plan.nodes import Search
from raydb.planner.plan.table_function import ONE_ROW, SearchFunction

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.operators.run import Sources
    from raydb.planner.expressions.nodes import Column
    from raydb.planner.plan.nodes import SearchRows
    from raydb.planner.plan.table_function import FunctionCall


class ChoosingFunction(SearchFunction):
    """A function that gives some rows of its table, with more columns or without.

    schema: those columns. A row of the tables before the call with a NULL among the arguments has
    no rows.
    """

    gives_rows = True
    schema = pa.schema([])
    usage = "a table, a file or a query in parentheses; what follows is named"

    @abstractmethod
    def choose(
        self, arguments: Mapping[str, Any], columns: Mapping[str, pa.Array]
    ) -> tuple[NDArray[np.int64], Mapping[str, pa.Array]]:
        """Return the places of rows, from 0 on, and the columns that each of them gets.

        columns: those that arguments name, of the rows that there are.
        """

    def bind(self, call: FunctionCall) -> Search:
        assert call.rows is not None
        for name, expression in call.varying.items():
            self.argument(name).check_type(expression, self.name)
        known = [each.name for each in self.arguments if each.kind is not COLUMN]
        values = ((name, call.value(name)) for name in known if name not in call.varying)
        found = tuple(call.new_column(field.name, field.type) for field in self.schema)
        texts = tuple((name, show(each)) for name, each in call.constants.items())
        options = tuple(call.columns), tuple(values), texts
        given, read = tuple(call.varying.items()), tuple(call.columns.values())
        return Search(self, ONE_ROW, call.rows, given, read, options, found)

    def sees_order(self, plan: Search) -> bool:
        return True

    def summary(self, plan: SearchRows) -> str:
        names, _, texts = plan.options
        given = (*zip(names, plan.read, strict=True), *plan.given)
        shown = (*((name, show(each)) for name, each in given), *texts)
        return f"{self.name} by {', '.join(f'{name} => {value}' for name, value in shown)}"

    def run(self, plan: SearchRows, columns: Sequence[Column], sources: Sources) -> Relation:
        ours, theirs = (
            [each for each in side if each in columns]
            for side in (plan.left.columns, plan.right.columns)
        )
        asking = list(dict.fromkeys((*ours, *(column for column, _ in plan.pairs))))
        queries, given = sources.rows_with(plan.left, asking, [e for _, e in plan.given])
        place = () if plan.place is None else (plan.place,)
        needed = list(dict.fromkeys((*theirs, *(column for _, column in plan.pairs), *place)))
        rows, read = sources.rows_with(plan.right, needed, plan.read)
        paired = PairedRows(plan, queries, rows)
        parts = [Relation({column: pa.array([], column.type) for column in columns}, 0)]
        for row in range(queries.row_count):
            check_interrupt()
            arguments = self._arguments(plan, [literal_value(values[row]) for values in given])
            if arguments is None:
                continue
            numbers = paired.numbers(row)
            seen = [joined(values).take(pa.array(numbers)) for values in read]
            chosen, more = self.choose(arguments, dict(zip(plan.options[0], seen, strict=True)))
            every = {
                **queries.take(pa.array(np.full(len(chosen), row))).columns,
                **rows.take(pa.array(numbers[chosen])).columns,
                **{column: more[column.name] for column in plan.found},
            }
            part = Relation({column: every[column] for column in columns}, len(chosen))
            parts.append(part)
        return concatenate(parts, columns)

    def _arguments(self, plan: SearchRows, given: Sequence[Any]) -> dict[str, Any] | None:
        """Return the arguments of a row that asks, None where one of its own is NULL."""
        arguments = dict(plan.options[1])
        for (name, expression), value in zip(plan.given, given, strict=True):
            if value is None:
                return None
            literal = Literal(value, expression.type)
            shown = self.shown(literal)
            arguments[name] = self.argument(name).value_of(literal, self.name, shown)
        return arguments
