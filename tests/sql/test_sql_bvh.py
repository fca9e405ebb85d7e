"""CREATE BVH: names to attributes of the fact table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from raydb import sql
from raydb.errors import ProgrammingError
from raydb.planner.expressions.nodes import Attribute, Call, attributes_of
from raydb.sql import ast

if TYPE_CHECKING:
    from raydb.planner.catalog import BvhDefinition, CatalogInfo


def bind_bvh(body: str, catalog: CatalogInfo, table: str = "fact") -> BvhDefinition:
    (statement,) = sql.parse(f"CREATE BVH b ON {table} ({body})")
    assert isinstance(statement, ast.CreateBvh)
    return sql.bind_bvh(statement, catalog)


def path(attribute: Attribute) -> str:
    """Write an attribute as the foreign keys that lead to it: ck>c_nation.n_name."""
    keys = ">".join(key.columns[0] for key in attribute.path)
    return f"{keys}.{attribute.name}"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("price", ".price"),
        ("fact.price", ".price"),
        ("name", ".name"),
        ("c_name", "ck.c_name"),
        ("customer.c_name", "ck.c_name"),
        ("ck.c_name", "ck.c_name"),
        ("ck.n_name", "ck>c_nation.n_name"),
        ("sk.n_name", "sk>s_nation.n_name"),
        ("s_parent", "sk.s_parent"),  # a table that refers to itself is not entered again
        ("shipped.d_year", "shipped.d_year"),
        (
            "day.d_year",
            "day.d_year",
        ),  # the foreign key; the table 'day' is reached twice
        ("C_NAME", "ck.c_name"),
    ],
)
def test_attributes(star_catalog: CatalogInfo, name: str, expected: str) -> None:
    definition = bind_bvh(f"SCAN ({name}), GROUP BY ({name})", star_catalog)
    assert [path(attribute) for attribute in definition.scan] == [expected]
    assert definition.scan == definition.group_by
    assert definition.aggregate == ()


@pytest.mark.parametrize("option", ["", " WITH (sieve = true)", ' with ("sieve" = OFF)'])
def test_options_read_back(star_catalog: CatalogInfo, option: str) -> None:
    (statement,) = sql.parse(f"CREATE BVH b ON fact (SCAN (c_name), AGGREGATE (price)){option}")
    assert isinstance(statement, ast.CreateBvh)
    definition = sql.bind_bvh(statement, star_catalog)
    assert definition.sieve == ("true" in option)
    text = sql.bvh_text(definition, star_catalog)
    assert text.endswith(" WITH (sieve = true);") == definition.sieve
    (again,) = sql.parse(text)
    assert isinstance(again, ast.CreateBvh)
    assert sql.bind_bvh(again, star_catalog).sieve == definition.sieve


def test_measures(star_catalog: CatalogInfo) -> None:
    definition = bind_bvh(
        "AGGREGATE (price * disc, price, shipped.d_date, ck.n_size)", star_catalog
    )
    product, price, date, size = definition.aggregate
    assert isinstance(product, Call)
    assert {path(each) for each in attributes_of(product)} == {".price", ".disc"}
    assert price == Attribute((), "price", pa.int32())
    assert date.type == pa.date32()
    assert path(size) == "ck>c_nation.n_size"


def test_a_measure_is_bound_as_a_query_binds_it(ssb_catalog: CatalogInfo) -> None:
    body = "SCAN (lo_orderdate.d_year), AGGREGATE (lo_extendedprice * lo_discount)"
    (measure,) = bind_bvh(body, ssb_catalog, "lineorder").aggregate
    (select,) = sql.parse("SELECT sum(lo_extendedprice * lo_discount) FROM lineorder")
    plan = sql.bind_select(select, ssb_catalog)
    ((_, call),) = plan.source.aggregates
    assert call.arguments[0].function == measure.function
    assert call.arguments[0].type == measure.type


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("SCAN (d_year)", "column 'd_year' is ambiguous: write 'day.d_year' or 'shipped.d_year'"),
        ("SCAN (n_name)", "column 'n_name' is ambiguous: write 'ck.n_name' or 'sk.n_name'"),
        ("SCAN (nation.n_name)", "column 'n_name' is ambiguous: write 'ck.n_name' or 'sk.n_name'"),
        (
            "SCAN (pric)",
            "column 'pric' does not exist in 'fact' or the tables that its foreign keys reach;"
            " did you mean 'price'?",
        ),
        (
            "SCAN (shipped.d_yea)",
            "column 'd_yea' does not exist in 'shipped'; did you mean 'd_year'?",
        ),
        (
            "SCAN (custome.c_name)",
            "'fact' reaches no table 'custome' by its foreign keys; did you mean 'customer'?",
        ),
        ("SCAN (price, fact.price)", "column 'price' is listed twice in SCAN"),
        ("GROUP BY (c_name, c_name)", "column 'c_name' is listed twice in GROUP BY"),
        ("SCAN (price + 1)", "SCAN of a BVH takes names of columns only"),
        ("AGGREGATE (name)", "AGGREGATE of a BVH needs numbers or dates, not 'name' (VARCHAR)"),
        ("AGGREGATE (sum(price))", "AGGREGATE of a BVH cannot contain the aggregate sum"),
        ("AGGREGATE (1 + 1)", "AGGREGATE of a BVH needs columns, not a constant"),
        ("AGGREGATE (price, price)", "'price' (INTEGER) is listed twice in AGGREGATE"),
        ("AGGREGATE (price + name)", "cannot add 'name' (VARCHAR) to 'price' (INTEGER)"),
        ("AGGREGATE (?)", "a parameter is not allowed in AGGREGATE of a BVH"),
    ],
)
def test_wrong_bvhs(star_catalog: CatalogInfo, body: str, message: str) -> None:
    with pytest.raises(ProgrammingError) as caught:
        bind_bvh(body, star_catalog)
    assert caught.value.sentence == message


def test_the_table_of_a_bvh(star_catalog: CatalogInfo, catalog: CatalogInfo) -> None:
    with pytest.raises(ProgrammingError, match="table 'fcat' does not exist; did you mean 'fact'"):
        bind_bvh("SCAN (price)", star_catalog, "fcat")
    with pytest.raises(ProgrammingError, match="'sums' is a view; a BVH needs a table"):
        bind_bvh("SCAN (a)", catalog, "sums")
