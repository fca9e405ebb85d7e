"""detect_changes(rows, time => ...), detect_states(...) and state_profile(...): states of series.

    FROM detect_changes((SELECT ts, x FROM sensor), time => 'ts')
    FROM detect_states((SELECT device, ts, x FROM sensor), time => 'ts', partition_by => 'device')
    FROM devices d, LATERAL detect_states((SELECT ts, x FROM sensor s WHERE s.device = d.id), ...)

Every column of the rows beside the time and the name of the series is a channel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.engine.table_functions.states.question import (
    SERIES_ARGUMENTS,
    STATE_ARGUMENTS,
    check_channel,
    check_time,
    make_question,
    resample_step,
)
from raydb.errors import DataError, ProgrammingError
from raydb.planner.expressions.nodes import Literal
from raydb.planner.expressions.show import show
from raydb.planner.plan.function_arguments import COLUMN
from raydb.planner.plan.nodes import Search
from raydb.planner.plan.table_function import ONE_ROW, SearchFunction
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.engine.operators.relation import Relation
    from raydb.engine.operators.run import Sources
    from raydb.engine.table_functions.states.question import Question
    from raydb.planner.expressions.nodes import Column
    from raydb.planner.plan.function_arguments import Argument
    from raydb.planner.plan.nodes import SearchRows
    from raydb.planner.plan.table_function import FunctionCall

# About how many segments a series has, where a plan wants to know.
_SEGMENTS = 4.0


@dataclass(frozen=True, slots=True)
class Options:
    """What a call says beside its columns.

    values: the arguments that are the same for all rows, by name. step: that of resample, in units
    of the times. has_partition: whether the second column that is read names the series. texts: the
    arguments as they were written, by name.
    """

    values: tuple[tuple[str, Any], ...]
    step: float | None
    has_partition: bool
    texts: tuple[tuple[str, str], ...]


class StatesFunction(SearchFunction):
    """detect_changes(), detect_states() or state_profile()."""

    explain_name = "StateRows"
    star_reason = "it aggregates over states"
    usage = "a table, a file or a query in parentheses; what follows is named, such as time => 'ts'"

    def __init__(self, name: str, *more: Argument) -> None:
        self.name = name
        self.arguments = (*SERIES_ARGUMENTS, *more)

    def bind(self, call: FunctionCall) -> Search:
        assert call.rows is not None
        for name, expression in call.varying.items():
            self.argument(name).check_type(expression, self.name)
        time, partition = call.columns["time"], call.columns.get("partition_by")
        named = [time] if partition is None else [time, partition]
        check_time(self.name, time)
        channels = [column for column in call.rows.columns if column not in named]
        if not channels or time == partition:
            raise ProgrammingError(
                f"{self.name}() needs a column of numbers beside time and partition_by"
            )
        for channel in channels:
            check_channel(self.name, channel)
        made = _columns(self.name, time)
        if partition is not None:
            if partition.name.lower() in dict(made):
                raise ProgrammingError(
                    f"partition_by of {self.name}(): a column cannot be called '{partition.name}', "
                    "which is another column of the result"
                )
            made = [(partition.name, partition.type), *made]
        step = None
        if "resample" in call.constants:
            step = resample_step(self.name, call.constants["resample"], time)
        known = [each.name for each in self.arguments if each.kind is not COLUMN]
        known = [name for name in known if name != "resample" and name not in call.varying]
        values = tuple((name, call.value(name)) for name in known)
        if not call.varying:
            make_question(dict(values), step, self.name)
        texts = tuple((name, show(each)) for name, each in call.constants.items())
        options = Options(values, step, partition is not None, texts)
        found = tuple(call.new_column(name, kind) for name, kind in made)
        given, read = tuple(call.varying.items()), (*named, *channels)
        return Search(self, ONE_ROW, call.rows, given, read, options, found)

    def question(self, plan: SearchRows, given: Sequence[Any]) -> Question | None:
        """Return what a row asks by its own arguments, None where one of them is NULL.

        Raises DataError for a value that an argument cannot have.
        """
        options: Options = plan.options
        values = dict(options.values)
        try:
            for (name, expression), value in zip(plan.given, given, strict=True):
                argument = self.argument(name)
                if value is None and not argument.null:
                    return None
                literal = Literal(value, expression.type)
                values[name] = argument.value_of(literal, self.name, self.shown(literal))
            return make_question(values, options.step, self.name)
        except ProgrammingError as error:
            raise DataError(error.sentence) from error

    def rows_per_row(self, plan: Search) -> float:
        return _SEGMENTS

    def run(self, plan: SearchRows, columns: Sequence[Column], sources: Sources) -> Relation:
        from raydb.engine.table_functions.states.state_rows import state_rows  # noqa: PLC0415  (few)

        return state_rows(self, plan, columns, sources)

    def summary(self, plan: SearchRows) -> str:
        options: Options = plan.options
        first = 2 if options.has_partition else 1
        channels = ", ".join(show(each) for each in plan.read[first:])
        by = f" by {show(plan.read[1])}" if options.has_partition else ""
        return f"{self.name} of {channels} over {show(plan.read[0])}{by}"

    def details(self, plan: SearchRows) -> dict[str, Any]:
        options: Options = plan.options
        shown = dict(options.texts) | {name: show(each) for name, each in plan.given}
        classified = {} if self.name == "detect_changes" else {"classifier": "'rocket'"}
        return {"window": "'auto'", "gaps": "'error'", **classified, **shown}


def _columns(function: str, time: Column) -> list[tuple[str, pa.DataType]]:
    """Return the columns that a function makes, beside the one of partition_by."""
    number, share = pa.int64(), pa.float64()
    match function:
        case "detect_changes":
            return [
                ("change", number),
                ("start_time", time.type),
                ("start_row", number),
                ("score", share),
            ]
        case "detect_states":
            return [
                ("segment", number),
                ("state", number),
                ("start_time", time.type),
                ("end_time", time.type),
                ("start_row", number),
                ("row_count", number),
                ("score", share),
            ]
        case "state_profile":
            return [
                ("step", number),
                ("states", number),
                ("f1", share),
                ("cgain", share),
                ("label", number),
                ("segments", pa.list_(number)),
                ("predicted_label", number),
                ("windows", number),
                ("share", share),
                ("merged_next", pa.bool_()),
            ]
    raise AssertionError(function)


STATES_FUNCTIONS = (
    StatesFunction("detect_changes"),
    StatesFunction("detect_states", *STATE_ARGUMENTS),
    StatesFunction("state_profile", *STATE_ARGUMENTS),
)
