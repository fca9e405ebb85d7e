"""CREATE BVH: its columns as attributes of the fact table, reached by declared foreign keys.

bind_bvh    a statement as a definition         bvh_text    a definition as a statement
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import TokenType, exp

from raydb.errors import NotSupportedError, ProgrammingError, did_you_mean
from raydb.names import find_object, is_same, known_object
from raydb.planner.catalog import BvhDefinition
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import Attribute, Column, Expression, attributes_of, rewrite
from raydb.planner.expressions.show import show
from raydb.planner.expressions.types import (
    is_interval,
    is_moment,
    is_number,
    is_zoned,
)
from raydb.planner.plan.enum_codes import coded
from raydb.planner.stars.star import canonical
from raydb.running import knowing_types
from raydb.sql.bind.expression.expression import Context, bind_expression
from raydb.sql.parse.nodes import refuse_deep_nesting, require_only
from raydb.sql.parse.reader import name_in, parse_scalar, tokenize
from raydb.sql.parse.written import text_of
from raydb.storage.fields import typed_schema
from raydb.storage.type_names import sql_type_name
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raydb.planner.catalog import CatalogInfo
    from raydb.sql.ast import CreateBvh
    from raydb.storage.tables.table import ForeignKey


@dataclass(frozen=True, slots=True)
class _Reached:
    """A column that the fact table reaches, and the table that it lies in."""

    table: str
    attribute: Attribute

    @property
    def depth(self) -> int:
        return len(self.attribute.path)

    @property
    def foreign_key(self) -> str | None:
        """The fact table's own column that leads here, if it is a single one."""
        path = self.attribute.path
        return path[0].columns[0] if path and len(path[0].columns) == 1 else None


def bind_bvh(create: CreateBvh, catalog: CatalogInfo) -> BvhDefinition:
    """Return the definition of a BVH with every column resolved to an attribute.

    A bare name is a column of the fact table, else of the one table that has it and that foreign
    keys lead to. `table.column` and `foreign_key_column.column` tell several apart. Raises
    ProgrammingError for a name that is unknown, ambiguous or listed twice, and for a measure that
    is no number or date.
    """
    if find_object(create.table, catalog.views, "view") is not None:
        raise ProgrammingError(f"'{create.table}' is a view; a BVH needs a table")
    table = known_object(create.table, catalog.tables, "table")
    reached = tuple(_reach(table, (), (table,), catalog))
    # A database that is opened has its types, and no statement that knows them.
    with refuse_deep_nesting(), knowing_types(catalog.types):
        return coded(
            BvhDefinition(
                create.name,
                table,
                _attributes("SCAN", create.scan, table, reached),
                _attributes("GROUP BY", create.group_by, table, reached),
                _measures(create.aggregate, table, reached),
                create.text,
                create.sieve,
            )
        )


def bvh_text(definition: BvhDefinition, catalog: CatalogInfo) -> str:
    """Return the statement of a definition whose attributes and measures all have a text."""
    names = BvhNames(definition.table, catalog)
    parts = (
        ("SCAN", map(names.attribute_text, definition.scan)),
        ("GROUP BY", map(names.attribute_text, definition.group_by)),
        ("AGGREGATE", map(names.measure_text, definition.aggregate)),
    )
    listed = ((part, ", ".join(map(str, texts))) for part, texts in parts)
    written = ", ".join(f"{part} ({texts})" for part, texts in listed if texts)
    options = " WITH (sieve = true)" if definition.sieve else ""
    table = _name_text(definition.table)
    return f"CREATE BVH {_name_text(definition.name)} ON {table} ({written}){options};"


class BvhNames:
    """How CREATE BVH writes what a fact table reaches, which is looked up once."""

    def __init__(self, fact: str, catalog: CatalogInfo) -> None:
        self._fact = fact
        self._by_attribute: dict[Expression, _Reached] = {}
        self._by_name: dict[str, list[_Reached]] = {}
        for each in _reach(fact, (), (fact,), catalog):
            self._by_attribute.setdefault(coded(each.attribute), each)
            self._by_name.setdefault(each.attribute.name.casefold(), []).append(each)

    def attribute_text(self, attribute: Attribute) -> str | None:
        """Return how an attribute is named; None for one that cannot be told from others."""
        own = self._by_attribute.get(attribute)
        if own is None:
            return None
        for qualifier in (None, own.foreign_key, own.table):
            try:
                found = _resolve(attribute.name, qualifier, self._fact, self._named(attribute))
            except ProgrammingError:
                continue
            if coded(found) == attribute:
                names = (attribute.name,) if qualifier is None else (qualifier, attribute.name)
                return ".".join(map(_name_text, names))
        return None

    def measure_text(self, measure: Expression) -> str | None:
        """Return how a measure is written; None for one that would not read back the same."""
        texts: dict[Expression, Expression] = {}
        attributes = attributes_of(measure)
        for attribute in attributes:
            text = self.attribute_text(attribute)
            if text is None:
                return None
            texts[attribute] = Column(0, text, attribute.type)
        written = show(rewrite(measure, lambda part: texts.get(part, part)))
        reached = [each for attribute in attributes for each in self._named(attribute)]
        try:
            (tokens,) = tokenize(written)
            (found,) = _measures([parse_scalar(written, tokens)], self._fact, reached)
        except (ProgrammingError, NotSupportedError):
            return None
        return written if canonical(coded(found)) == measure else None

    def _named(self, attribute: Attribute) -> list[_Reached]:
        """Return what is reached by the name of an attribute."""
        return self._by_name[attribute.name.casefold()]


def _name_text(name: str) -> str:
    """Write a name so that it reads back as it is, in quotes where it has to be."""
    tokens = [token for part in tokenize(name) for token in part] if name.isidentifier() else []
    if len(tokens) == 1 and tokens[0].token_type is TokenType.VAR:
        return name
    return text_of(exp.to_identifier(name, quoted=True))


def _reach(
    table: str, path: tuple[ForeignKey, ...], visited: tuple[str, ...], catalog: CatalogInfo
) -> Iterator[_Reached]:
    """Yield the columns of a table and of those behind its foreign keys, no table twice a path."""
    definition = catalog.tables[table].definition
    for field in typed_schema(definition.schema):
        yield _Reached(table, Attribute(path, field.name, field.type))
    for key in definition.foreign_keys:
        if key.table not in visited and key.table in catalog.tables:
            yield from _reach(key.table, (*path, key), (*visited, key.table), catalog)


def _attributes(
    part: str, nodes: Sequence[exp.Expr], fact: str, reached: Sequence[_Reached]
) -> tuple[Attribute, ...]:
    found: list[Attribute] = []
    for node in nodes:
        if not isinstance(node, exp.Column):
            raise ProgrammingError(f"{part} of a BVH takes names of columns only")
        require_only(node, "this", "table")
        table = node.args.get("table")
        qualifier = None if table is None else name_in(table)
        attribute = _resolve(name_in(node.this), qualifier, fact, reached)
        if attribute in found:
            raise ProgrammingError(f"column '{attribute.name}' is listed twice in {part}")
        if pa.types.is_nested(attribute.type) or is_interval(attribute.type):
            kind = sql_type_name(attribute.type)
            raise NotSupportedError(f"column '{attribute.name}' is {kind}, which no BVH takes")
        found.append(attribute)
    return tuple(found)


def _measures(
    nodes: Sequence[exp.Expr], fact: str, reached: Sequence[_Reached]
) -> tuple[Expression, ...]:
    def find(name: str, table: str | None) -> Expression:
        return _resolve(name, table, fact, reached)

    found: list[Expression] = []
    for node in nodes:
        measure = bind_expression(node, Context(find, {}, "AGGREGATE of a BVH"))
        if not attributes_of(measure):
            raise ProgrammingError("AGGREGATE of a BVH needs columns, not a constant")
        if not is_number(measure.type) and not is_moment(measure.type):
            raise ProgrammingError(
                f"AGGREGATE of a BVH needs numbers or dates, not {describe(measure)}"
            )
        if measure.type == pa.uint64():
            raise NotSupportedError(f"AGGREGATE of a BVH takes no UBIGINT: {describe(measure)}")
        if _may_depend_on_zone(measure):
            raise NotSupportedError(
                f"{show(measure)}: AGGREGATE of a BVH takes a TIMESTAMP WITH TIME ZONE as it is"
                " alone, for what is computed of it may differ from time zone to time zone"
            )
        if measure in found:
            raise ProgrammingError(f"{describe(measure)} is listed twice in AGGREGATE")
        found.append(measure)
    return tuple(found)


def _may_depend_on_zone(measure: Expression) -> bool:
    found = []

    def note(part: Expression) -> Expression:
        found.append(is_zoned(part.type))
        return part

    rewrite(measure, note)
    return any(found) and not isinstance(measure, Attribute)


def _resolve(name: str, qualifier: str | None, fact: str, reached: Sequence[_Reached]) -> Attribute:
    candidates = [each for each in reached if is_same(each.attribute.name, name)]
    if qualifier is None:
        own = [each for each in candidates if not each.attribute.path]
        chosen = own or candidates
    else:
        qualifier = _made_qualifier(qualifier, reached)
        candidates = [each for each in candidates if qualifier in (each.table, each.foreign_key)]
        chosen = _qualified(candidates, qualifier)
    if len(chosen) == 1:
        return chosen[0].attribute
    if chosen:
        raise ProgrammingError(
            f"column '{name}' is ambiguous: write {_alternatives(name, chosen, reached)}"
        )
    raise _unknown(name, qualifier, fact, reached)


def _made_qualifier(name: str, reached: Sequence[_Reached]) -> str:
    """Return the name of a table, or of the column that leads there, as it was made."""
    known = {each.table: each for each in reached}
    known |= {each.foreign_key: each for each in reached if each.foreign_key is not None}
    return find_object(name, known, "table") or name


def _qualified(candidates: Sequence[_Reached], qualifier: str) -> list[_Reached]:
    """Prefer the one table of that name, then the table that the foreign key itself points to."""
    by_table = [each for each in candidates if each.table == qualifier]
    by_key = [each for each in candidates if each.foreign_key == qualifier]
    if len(by_table) == 1 or not by_key:
        return by_table
    nearest = min(each.depth for each in by_key)
    return [each for each in by_key if each.depth == nearest]


def _alternatives(name: str, chosen: Sequence[_Reached], reached: Sequence[_Reached]) -> str:
    """Name a qualifier for each candidate: its table, or the foreign key where paths share it."""
    written: list[str] = []
    for each in chosen:
        paths = {other.attribute.path for other in reached if other.table == each.table}
        shared = len(paths) > 1 and each.foreign_key is not None
        written.append(f"'{each.foreign_key if shared else each.table}.{name}'")
    return " or ".join(sorted(set(written)))


def _unknown(
    name: str, qualifier: str | None, fact: str, reached: Sequence[_Reached]
) -> ProgrammingError:
    within, where = reached, f"'{fact}' or the tables that its foreign keys reach"
    if qualifier is not None:
        within = [each for each in reached if qualifier in (each.table, each.foreign_key)]
        where = f"'{qualifier}'"
    if not within and qualifier is not None:
        known = {each.table for each in reached} | {each.foreign_key or "" for each in reached}
        near = did_you_mean(qualifier, sorted(known))
        wrong = f"'{fact}' reaches no table '{qualifier}' by its foreign keys"
        return ProgrammingError(wrong + near)
    near = did_you_mean(name, [each.attribute.name for each in within])
    return ProgrammingError(f"column '{name}' does not exist in {where}{near}")
