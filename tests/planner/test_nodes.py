"""Every node of a plan answers what is asked of all of them."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import raydb
from raydb import sql
from raydb.engine.operators.run import RUNNERS
from raydb.planner import PlannerOptions, plan_query
from raydb.planner.optimizer import optimize
from raydb.planner.plan.common_tables import nodes_in
from raydb.planner.plan.nodes import LogicalNode, Node, Project
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb import Connection
    from raydb.planner.plan.nodes import Plan

TABLES = """
CREATE TABLE city (id INTEGER PRIMARY KEY, country VARCHAR, place FLOAT[2]);
CREATE TABLE sale (city_id INTEGER REFERENCES city (id), day INTEGER, price DECIMAL(9, 2));
INSERT INTO city SELECT i, 'c' || i % 9, [i, i] FROM range(300) r(i);
INSERT INTO sale SELECT i % 300, i % 365, i FROM range(5000) r(i);
CREATE TABLE day AS SELECT i % 9 AS k, i AS n FROM range(100000) r(i);
CREATE BVH sales ON sale (SCAN (day), GROUP BY (country), AGGREGATE (price));
"""

# Together they have every node.
QUERIES = [
    "SELECT country, sum(price) FROM sale JOIN city ON city_id = id WHERE day < 9 GROUP BY country",
    "SELECT day, count(*) FROM sale GROUP BY day ORDER BY day LIMIT 3",
    "SELECT count(DISTINCT country), GROUPING(id) FROM city GROUP BY ROLLUP (id)",
    "SELECT c.id, rank() OVER (ORDER BY c.id) FROM city c LEFT JOIN sale ON city_id = c.id + day",
    "SELECT id FROM city WHERE id IN (SELECT day FROM sale) OR EXISTS (SELECT 1 FROM sale)",
    "SELECT id, l.day FROM city, LATERAL (SELECT day FROM sale WHERE city_id = id LIMIT 1) l",
    "SELECT x FROM (VALUES (1), (2)) v (x) UNION ALL SELECT i FROM range(4) r (i)",
    "SELECT function_name FROM duckdb_functions()",
    "SELECT u FROM (SELECT [1, 2] AS l), UNNEST(l) t (u)",
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n",
    "WITH RECURSIVE n (i, j) USING KEY (i) AS (SELECT 1, 1 UNION SELECT i, j + 1 FROM n "
    "WHERE j < 3) SELECT i, j FROM n",
    "WITH t AS MATERIALIZED (SELECT id FROM city) SELECT a.id FROM t a JOIN t b ON a.id = b.id",
    "SELECT id FROM vector_search(city, place, [1, 2], k => 3)",
    "SELECT * FROM motif_count(sale, src => 'city_id', dst => 'day', time => 'day', "
    "motif => 'a->b, b->c', delta => 5)",
    "SELECT k, sum(n) FROM day GROUP BY k",
    "SELECT k FROM day WHERE k < 5 ORDER BY n LIMIT 3",
    "SELECT d.k FROM day d ASOF JOIN day e ON d.n = e.n AND d.k >= e.k",
    "SELECT d.k FROM day d JOIN day e ON d.n = e.n WHERE e.k = 3",
    "SELECT country, sum(price) FROM sale JOIN city ON city_id = id "
    "WHERE day < (SELECT max(k) FROM day) GROUP BY country",
]


@pytest.fixture(scope="module")
def connection() -> Connection:
    connection = raydb.connect()
    connection.execute(TABLES)
    return connection


def plans(connection: Connection) -> Iterator[Plan]:
    """Yield the queries' plans as they are bound, optimized and run."""
    catalog = connection._session.database.snapshot.describe()
    # The rows that come after the BVH was built are a job of their own.
    connection.execute("BEGIN; INSERT INTO sale VALUES (1, 2, 3)")
    newer = connection._session.database.snapshot.describe()
    for text in QUERIES:
        (select,) = sql.parse(text)
        for known in (catalog, newer):
            bound = sql.bind_select(select, known)
            yield from (bound, optimize(bound, known))
            for fused_path in (True, False):
                options = PlannerOptions(fused_path=fused_path)
                yield plan_query(sql.bind_select(select, known), known, options)
            options = PlannerOptions(segment_rows=1000)
            yield plan_query(sql.bind_select(select, known), known, options)
    connection.execute("ROLLBACK")


def below(plan: Plan) -> list[Plan]:
    """Return the nodes of a plan that runs."""
    return [plan, *(node for child in plan.children for node in below(child))]


@pytest.fixture(scope="module")
def nodes(connection: Connection) -> list[Plan]:
    """Return nodes of every class, from plans of every kind."""
    found: list[Plan] = []
    for plan in plans(connection):
        found += nodes_in(plan)
        found += below(plan)
    return found


def classes() -> set[type[Node]]:
    """Return all classes of nodes."""
    found: set[type[Node]] = set()
    waiting: list[type[Node]] = [Node]
    for kind in waiting:
        waiting += kind.__subclasses__()
        # A dataclass with slots leaves the class behind that it was made of.
        if dataclasses.is_dataclass(kind) and "__slots__" in vars(kind):
            found.add(kind)
    return found


def test_the_queries_have_every_node(nodes: list[Plan]) -> None:
    assert {kind.__name__ for kind in classes()} == {type(node).__name__ for node in nodes}


def test_what_changes_nothing_returns_the_node_itself(nodes: list[Plan]) -> None:
    for node in nodes:
        assert node.map_sources(lambda source: source) is node
        assert node.map_expressions(lambda expression: expression) is node


def test_sources_are_those_that_are_mapped(nodes: list[Plan]) -> None:
    for node in nodes:
        seen: list[Any] = []
        node.map_sources(lambda source, seen=seen: seen.append(source) or source)
        assert list(map(id, seen)) == list(map(id, node.sources)), node


def test_expressions_are_those_that_are_mapped(nodes: list[Plan]) -> None:
    for node in nodes:
        seen: list[Any] = []
        node.map_expressions(lambda part, seen=seen: seen.append(part) or part)
        assert sorted(map(id, seen)) == sorted(map(id, node.expressions)), node


def test_columns_come_from_sources_or_begin_here(nodes: list[Plan]) -> None:
    for node in nodes:
        given = {column for source in node.sources for column in source.columns}
        assert set(node.columns) - given <= set(node.defined), node
        assert set(node.defined) <= set(node.columns), node
        assert len(set(node.columns)) == len(node.columns), node


def test_pruning_keeps_what_is_needed(nodes: list[Plan]) -> None:
    for node in nodes:
        for needed in (node.columns, node.columns[:1], ()):
            kept = node.prune(frozenset(needed)).columns
            assert set(needed) <= set(kept) <= set(node.columns), node


def test_every_node_that_runs_has_a_runner_and_a_title() -> None:
    asked = {kind.strip() for kind in LogicalNode.split("|")}
    for kind in classes():
        assert (kind in RUNNERS) == (kind.__name__ not in asked), kind
        assert hasattr(kind, "explain_name") == (kind in RUNNERS), kind


def test_an_operator_of_another_file_is_a_node(connection: Connection) -> None:
    """What a stranger adds: a file with the node, which rules, checks and EXPLAIN then know."""

    @dataclass(frozen=True, slots=True)
    class Sample(Node):
        explain_name = "SampleRows"
        source_fields = ("source",)

        source: Any
        share: float

        @property
        def summary(self) -> str:
            return f"{self.share:.0%}"

        def estimate(self, statistics: Any) -> float:
            return float(statistics.row_count(self.source)) * self.share

    catalog = connection._session.database.snapshot.describe()
    (select,) = sql.parse("SELECT id, country FROM city WHERE id < 9 AND id + 0 > 2 + 2")
    bound = sql.bind_select(select, catalog)
    optimized: Any = optimize(Sample(bound, 0.25), catalog)  # type: ignore[arg-type]
    assert isinstance(optimized, Sample)
    assert optimized.columns == bound.columns
    assert optimized.summary == "25%"
    pruned = optimized.prune(frozenset(bound.columns[:1]))
    assert [column.name for column in pruned.columns] == ["id"]
    assert isinstance(pruned.source, Project)
    assert pa.types.is_int32(pruned.columns[0].type)


def matches_over_all_nodes(path: Path) -> list[str]:
    """Return where a match of more than half of the nodes says nothing of a missing one."""
    names = {kind.__name__ for kind in classes()}
    found = []
    for match in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(match, ast.Match):
            patterns = [part for case in match.cases for part in ast.walk(case.pattern)]
            named = {
                part.cls.id
                for part in patterns
                if isinstance(part, ast.MatchClass) and isinstance(part.cls, ast.Name)
            }
            ends = ast.dump(match.cases[-1])
            ends_loudly = "assert_never" in ends or "AssertionError" in ends
            if len(named & names) > len(names) / 2 and not ends_loudly:
                found.append(f"{path}:{match.lineno}")
    return found


@pytest.mark.long
def test_no_match_lists_all_nodes_without_an_end() -> None:
    root = Path(__file__).parents[2]
    files = [path for name in ("engine", "planner", "sql") for path in (root / name).rglob("*.py")]
    assert [place for path in files for place in matches_over_all_nodes(path)] == []
