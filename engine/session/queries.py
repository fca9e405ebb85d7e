"""Queries of a session: from text to rows.

    text -> parse (sql) -> bind (sql) -> plan (planner) -> run (engine over storage and kernels)

A text that ran before on the same tables and settings starts at its physical plan, and one that
differs from such a text in constants or parameters at its bound plan.
"""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb import sql
from raydb.engine.context import cluster_settings
from raydb.engine.fused import prepared_query, row_fast_path
from raydb.engine.fused.post_aggregate import prepare_post_aggregate
from raydb.engine.fused.prepared_query import FilledQuery
from raydb.engine.plans import plan_keys
from raydb.engine.plans.plan_cache import PlanCache
from raydb.engine.plans.prepared_plan import PreparedPlan
from raydb.engine.plans.template_cache import MAX_PREPARED
from raydb.engine.session import plan_runner
from raydb.engine.session.plan_runner import Stream
from raydb.engine.session.result import Result
from raydb.engine.session.settings import PLAN_CACHE, TIME_ZONE, check_file
from raydb.engine.session.statement_sources import open_sources
from raydb.engine.statements import names, write
from raydb.errors import ProgrammingError
from raydb.kernels.stored.deferred import Deferred
from raydb.planner import choose_plan, plan_query
from raydb.planner.expressions.casts import cast as casting
from raydb.planner.plan.common_tables import contents
from raydb.planner.plan.nodes import Aggregate, Plan, SearchRows
from raydb.planner.stars.fused_scan import FusedScanAggregate
from raydb.sql import ast
from raydb.sql.parse.query import describe_table
from raydb.storage.enums import has_enums
from raydb.storage.formats import copy
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from raydb.engine.cluster.cluster import Cluster
    from raydb.engine.context.statement_context import StatementContext
    from raydb.engine.fused.row_fast_path import RowFastPath, Source
    from raydb.engine.session.changes import Changes
    from raydb.engine.table_functions.vector.prepared_search import OpenSearch
    from raydb.planner import PlannerOptions
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Column
    from raydb.planner.plan.nodes import PhysicalPlan
    from raydb.storage.tables.table import Table


# What a question to workers takes, in nanoseconds, with the text that each of them binds.
CALL_COST = 3e6


@dataclass(frozen=True, slots=True)
class Caching:
    """What the plan of a text is kept by, its template, and a search for any vector.

    None for what is not kept.
    """

    key: Hashable | None = None
    shape: sql.Shape | None = None
    question: plan_keys.VectorQuestion | None = None


class Queries:
    """Answers queries over the tables of a database, and keeps what makes them faster again."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self.cache = PlanCache()
        # Of the statement that runs, '' where it is one of several.
        self.text = ""
        self.cluster: Cluster | None = None

    # -- texts that come again ------------------------------------------------------------------

    def repeat(self, text: str, context: StatementContext) -> Result | Caching:
        """Return the rows of a text that is known; of another one what to keep its plan by."""
        if self.cache.expect(context.all_databases, _meaning(context)):
            context.cache.forget_gone()
        if not context.settings[PLAN_CACHE]:
            return Caching()
        key = plan_keys.plan_key(text, context.parameters, self._options(context))
        prepared = self.cache.plan(key)
        if prepared is not None:
            return self._run_again(prepared, key, context)
        if self.cluster is not None:
            return Caching(key)  # Workers bind texts as they are.
        shape = sql.shape_of(text)
        question = None
        if key is None and context.parameters:
            question = plan_keys.vector_question(text, context.parameters, context.settings.planner)
        elif shape is not None and not context.parameters and "[" in text:
            question = plan_keys.text_question(shape, context.settings.planner)
        if question and (search := self.cache.search(question.key)):
            found = search.asked(question.vector, context)
            if found is not None:
                return Result.of_lazy(found, search.names, search.types)
        caching = Caching(key, shape, question)
        filled = self.cache.templates.filled(caching.shape, context.parameters)
        if filled is None:
            return caching
        return self._run_new(self._plan_filled(filled, context), caching, context)

    def familiarity(self, text: str, context: StatementContext) -> str:
        """Say how well a text without parameters is known; see `PlanCache.familiarity`."""
        self.cache.expect(context.all_databases, _meaning(context))
        return self.cache.familiarity(plan_keys.plan_key(text, (), self._options(context)), text)

    def parse(self, text: str, context: StatementContext) -> Sequence[ast.Statement]:
        """Return the statements of a text; one that takes parameters is likely to come again."""
        if not context.parameters:
            return sql.parse(text)
        known = self.cache.statement(text)
        if known is not None:
            return (known,)
        statements = sql.parse(text)
        if len(statements) > 1:
            raise ProgrammingError(
                f"parameters go with one statement, and the text has {len(statements)}"
            )
        (statement,) = statements
        kept_elsewhere = ast.Select | ast.CreateSecret
        if context.settings[PLAN_CACHE] and not isinstance(statement, kept_elsewhere):
            self.cache.keep_statement(text, statement)
        return statements

    def ask(self, select: ast.Select, caching: Caching, context: StatementContext) -> Result:
        """Run the query of a text that is not known, and keep its plan and its template."""
        shape = caching.shape
        if shape is None or not (context.parameters or self.cache.templates.knows(shape)):
            # Most texts without parameters never come again with other constants.
            return self._run_new(self._prepare(select, context), caching, context)
        files, catalog = self._describe(select, context)
        template = sql.bind_template(select, catalog, context.parameters, shape)
        filled = template.fill(shape.constants, context.parameters)
        assert filled is not None, "a template fits the query that it was made of"
        prepared: PreparedPlan | FilledQuery
        if files or template.reads_clock:
            prepared = self._plan(filled.bound(), files, context, reads_clock=template.reads_clock)
        else:
            prepared = self._plan_filled(filled, context)
            self._expect_newest(context)
            self.cache.templates.keep_template(shape, template)
        return self._run_new(prepared, caching, context)

    def _run_new(
        self, prepared: PreparedPlan | FilledQuery, caching: Caching, context: StatementContext
    ) -> Result:
        """Run a plan for the first time, and keep it with what its jobs have made."""
        if isinstance(prepared, FilledQuery):
            if not self.cache.was_there(caching.key):
                return plan_runner.run_filled(prepared, context)
            prepared = prepared.plan()
        if prepared.row_fast_path is None:
            fast_path = _fast_path(prepared, row_fast_path.part_sources)
            if fast_path is not None:
                prepared = replace(prepared, row_fast_path=fast_path)
        result = plan_runner.repeat(prepared, context)
        if caching.key is not None:
            # Planning may have gone on with a snapshot whose BVHs leave deleted rows out.
            self._expect_newest(context)
            self.cache.keep_plan(caching.key, prepared)
        question, search = caching.question, prepared.search
        if question and search and search.search.origin == question.origin:
            self._expect_newest(context)
            self.cache.keep_search(question.key, search.search)
        return result

    def _run_again(
        self, prepared: PreparedPlan, key: Hashable, context: StatementContext
    ) -> Result:
        """Run a plan that is kept; from the second time on, its groups' texts are kept with it."""
        if not prepared.has_repeated:
            fast_path = prepared.row_fast_path
            if fast_path is not None:
                assert prepared.post_aggregate is not None
                job = prepared.post_aggregate.job
                assert isinstance(job, FusedScanAggregate)
                fast_path = fast_path.of_all_groups(job)
            else:
                fast_path = _fast_path(prepared, row_fast_path.key_sources)
            prepared = replace(prepared, row_fast_path=fast_path, has_repeated=True)
            self.cache.keep_plan(key, prepared)
        return plan_runner.repeat(prepared, context)

    # -- queries --------------------------------------------------------------------------------

    def run(self, select: ast.Select, context: StatementContext) -> Result:
        """Return the rows of a query."""
        return plan_runner.run(self._prepare(select, context), context)

    def run_bound(
        self, logical: Plan, tables: Mapping[str, Table], context: StatementContext
    ) -> Result:
        """Return the rows of a bound query, which may scan some tables beside the database's."""
        return plan_runner.run(self._plan(logical, tables, context), context)

    def run_bound_in_blocks(
        self, logical: Plan, tables: Mapping[str, Table], context: StatementContext
    ) -> Iterator[pa.Table]:
        """Yield the rows of a bound query, some at a time; see `run_bound`."""
        return plan_runner.run_in_blocks(self._plan(logical, tables, context), context)

    def stream(self, select: ast.Select, context: StatementContext, *, runs: bool = True) -> Stream:
        """Return the rows of a query to come; none of one that does not run."""
        prepared = self._prepare(select, context)
        if not runs:
            return Stream(prepared.names, prepared.types, iter(()), context.warnings)
        return plan_runner.stream(prepared, context)

    def explain(
        self, statement: ast.Explain, explained: ast.Statement, context: StatementContext
    ) -> Result:
        """Describe a plan. Of a statement that writes rows, what gives them; nothing is written."""
        change = None
        if isinstance(explained, ast.Select):
            plan = self._prepare(explained, context)
        else:
            assert isinstance(explained, ast.Dml), explained
            table = names.table_called(explained.table, context.snapshot)
            explained = replace(explained, table=table)
            logical, files, catalog = write.bind_write(explained, context)
            change = sql.describe_change(explained, catalog)
            plan = self._plan(logical, files, context)
        distributed = self._distributed(plan, context, writes=change is not None)
        lines = plan_runner.explain(plan, context, statement, change, distributed)
        return Result(pa.table({"c0": pa.array(lines, pa.string())}), ("explain",), len(lines))

    def describe(
        self,
        statement: ast.Describe | ast.ShowOption | ast.ShowTables | ast.Analyze,
        context: StatementContext,
    ) -> Result:
        """Return the columns of a query, the tables of the database, or nothing of a table."""
        if isinstance(statement, ast.ShowOption):  # of no setting: SHOW table
            catalog = context.all_databases.describe()
            if catalog.relations.find(statement.name, catalog.relations.places(())) is None:
                context.settings.text(statement.name)  # raises
            statement = describe_table(statement.name)
        if isinstance(statement, ast.Analyze):
            if statement.table is not None:
                self.describe(statement.table, context)
            return Result(None, (), -1)
        if isinstance(statement, ast.ShowTables):
            return self.run_bound(
                sql.bind_show_tables(statement, context.all_databases.describe()), {}, context
            )
        files, catalog = self._describe(statement.select, context)
        logical = sql.bind_describe(statement, catalog, context.parameters)
        return self.run_bound(logical, files, context)

    def copy_to(self, statement: ast.CopyTo, context: StatementContext) -> Result:
        """Write the rows of a query to a file."""
        check_file(statement.path, context.settings, may_be_object=True)
        result = self.run(statement.select, context)
        assert result.rows is not None
        rows = result.rows.rename_columns(list(result.names))
        cast = partial(casting.cast_values, zone=context.settings[TIME_ZONE])
        with context.keeping_rows():
            copy.write_rows(statement.path, rows, statement.options, cast)
        return Result(None, (), rows.num_rows)

    # -- plans ----------------------------------------------------------------------------------

    def _prepare(self, select: ast.Select, context: StatementContext) -> PreparedPlan:
        """Bind and plan a query."""
        files, catalog = self._describe(select, context)
        bound = sql.bind_at_once(select, catalog, context.parameters)
        options = None if files else self._options(context)
        return self._plan(
            bound.plan, files, context, reads_clock=bound.reads_clock, options=options
        )

    def _options(self, context: StatementContext) -> PlannerOptions:
        """Return what the plan of the statement's text depends on."""
        options, cluster = context.settings.planner, self.cluster
        if cluster is None or cluster.obstacle(context) is not None:
            return options
        rows = context.settings[cluster_settings.SEGMENT_ROWS]
        return replace(options, segment_rows=rows, call_cost=CALL_COST)

    def _describe(
        self, select: ast.Select, context: StatementContext
    ) -> tuple[Mapping[str, Table], CatalogInfo]:
        """Return the files that a query reads, and the catalog with them in it."""
        files = open_sources(select, context)
        return files, self.cache.catalog(context.all_databases.with_changes(files))

    def _plan(
        self,
        logical: Plan,
        files: Mapping[str, Table],
        context: StatementContext,
        *,
        reads_clock: bool = False,
        options: PlannerOptions | None = None,
    ) -> PreparedPlan:
        """Plan a bound query; where an aggregate may use BVHs, they know every row.

        reads_clock: whether binding has read it. options: by default those of the settings.
        """
        found = contents(logical)
        if Aggregate in found.kinds:
            self._changes.use_bvhs(found.tables, context)
        catalog = self.cache.catalog(self._changes.newest(context).with_changes(files))
        plan = plan_query(logical, catalog, options or context.settings.planner, found)
        reads_clock = reads_clock or "now" in found.kinds
        return _prepared(plan, logical.columns, files, reads_clock=reads_clock)

    def _distributed(
        self, prepared: PreparedPlan, context: StatementContext, *, writes: bool
    ) -> str:
        """Say what workers do of a plan and why not all, '' without a cluster."""
        if self.cluster is None:
            return ""
        from raydb.planner.segments.distribute import at_coordinator  # noqa: PLC0415  (few have one)

        whole = "it writes rows" if writes else self.cluster.obstacle(context)
        whole = whole or ("files or objects are read" if prepared.files else None)
        catalog = self.cache.catalog(self._changes.newest(context).with_changes(prepared.files))
        options = self._options(context)
        count, reasons = (0, [whole]) if whole else at_coordinator(prepared.plan, catalog, options)
        said = [f"workers answer {count} of {count + len(reasons)} parts"] if count else []
        return "; ".join([*said, *(f"at the coordinator: {reason}" for reason in reasons)])

    def _plan_filled(
        self, filled: sql.Filled, context: StatementContext
    ) -> PreparedPlan | FilledQuery:
        """Plan a query of a known shape, from as far on as its constants allow."""
        template, options = filled.template, context.settings.planner
        # Not `functools.cache`, which takes as long as to fill the template.
        catalog = Deferred(partial(self._ready_catalog, template, context)).get
        filling = filled.optimized(catalog)
        reads_clock = "now" in template.contents.kinds
        if filling is None:
            plan = plan_query(filled.bound(), catalog(), options, template.contents)
            return _prepared(plan, template.columns, reads_clock=reads_clock)
        templates = self.cache.templates
        kept = templates.preparing(filling, options)
        first = kept.first
        if first is not None:
            search = _prepare_search(filled, *first, context)
            tables, cache = context.all_databases.tables, context.cache
            made = search or prepared_query.prepare_query(*first, catalog(), tables, cache)
            templates.keep_query(kept, made or kept.query)
        query = kept.query  # which another thread may forget
        known = None if query is None else query.plan(filling)
        if known is not None:
            return known
        plan = choose_plan(filling.plan(), catalog(), options)
        prepared = _prepared(plan, template.columns, reads_clock=reads_clock)
        if kept.count < MAX_PREPARED:
            templates.keep_first(kept, filling, prepared)
        return prepared

    def _expect_newest(self, context: StatementContext) -> None:
        self.cache.expect(self._changes.newest(context), _meaning(context))

    def _ready_catalog(self, template: sql.Template, context: StatementContext) -> CatalogInfo:
        """Return the catalog; where an aggregate may use BVHs, they know every row."""
        if Aggregate in template.contents.kinds:
            self._changes.use_bvhs(template.contents.tables, context)
        return self.cache.catalog(self._changes.newest(context))


def _meaning(context: StatementContext) -> Hashable:
    """Return what tells how the session reads a text; None where no other one reads it so."""
    options = context.settings.planner
    return None if context.running.variables else (options.null_order, options.collation)


def _prepare_search(
    filled: sql.Filled, filling: sql.Filling, prepared: PreparedPlan, context: StatementContext
) -> OpenSearch | None:
    """Prepare a query that is one search; None for any other."""
    plan = prepared.plan
    while len(plan.sources) == 1:
        (plan,) = plan.sources
    if not isinstance(plan, SearchRows):
        return None
    # Few queries search vectors.
    from raydb.engine.table_functions.vector.prepared_search import prepare_search  # noqa: PLC0415

    return prepare_search(filled, filling, prepared, context.all_databases.tables)


def _fast_path(
    prepared: PreparedPlan, keys: Callable[[FusedScanAggregate], dict[Column, Source]]
) -> RowFastPath | None:
    """Return how rows come straight from the plan's job; those of enums are not what they show."""
    if prepared.post_aggregate is None or any(map(has_enums, prepared.types)):
        return None
    return row_fast_path.prepare_row_fast_path(prepared.plan, keys)


def _prepared(
    plan: PhysicalPlan,
    columns: Sequence[Column],
    files: Mapping[str, Table] = MappingProxyType({}),
    *,
    reads_clock: bool,
) -> PreparedPlan:
    return PreparedPlan(
        plan,
        tuple([column.name for column in columns]),
        tuple([column.type for column in columns]),
        prepare_post_aggregate(plan),
        files=files,
        reads_clock=reads_clock,
    )
