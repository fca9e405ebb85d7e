"""Functions by name: what they take, what they return, and the calls that stand for them."""

from raydb.sql.functions.aggregates import (
    ORDERED_AGGREGATES,
    bind_aggregate,
    bind_within_group,
    is_aggregate,
)
from raydb.sql.functions.lists import list_element, list_of, list_operand, list_slice
from raydb.sql.functions.numbers import bitwise, power, shift
from raydb.sql.functions.patterns import match
from raydb.sql.functions.scalar import bind_scalar
from raydb.sql.functions.text import overlay, position, substring, trim
from raydb.sql.functions.time import current_moment, date_part, interval_of_units

__all__ = [
    "ORDERED_AGGREGATES",
    "bind_aggregate",
    "bind_scalar",
    "bind_within_group",
    "bitwise",
    "current_moment",
    "date_part",
    "interval_of_units",
    "is_aggregate",
    "list_element",
    "list_of",
    "list_operand",
    "list_slice",
    "match",
    "overlay",
    "position",
    "power",
    "shift",
    "substring",
    "trim",
]
