"""Functions by name: what they take, what they return, and the calls that stand for them."""

from raydb.sql.functions.aggregates import bind_aggregate, is_aggregate
from raydb.sql.functions.scalar import bind_scalar
from raydb.sql.functions.text import substring, trim
from raydb.sql.functions.time import date_part

__all__ = ["bind_aggregate", "bind_scalar", "date_part", "is_aggregate", "substring", "trim"]
