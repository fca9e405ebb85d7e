"""dbt's own tests of adapters: each class of dbt-tests-adapter, but for those named here.

Classes that compare types or messages are told what RayDB calls them.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dbt.tests.adapter
import pytest
from dbt.tests.adapter.basic import expected_catalog, test_docs_generate
from dbt.tests.adapter.basic import test_get_catalog_for_single_relation as test_single
from dbt.tests.adapter.constraints import test_constraints
from dbt.tests.adapter.dbt_show import test_dbt_show
from dbt.tests.adapter.hooks import test_model_hooks, test_run_hooks
from dbt.tests.adapter.incremental import test_incremental_microbatch
from dbt.tests.adapter.sample_mode import fixtures as sample_fixtures
from dbt.tests.adapter.sample_mode import test_sample_mode
from dbt.tests.adapter.simple_copy import test_copy_uppercase
from dbt.tests.adapter.simple_seed import fixtures, test_seed, test_seed_type_override
from dbt.tests.adapter.unit_testing import test_types
from dbt.tests.adapter.utils import (
    fixture_date_spine,
    fixture_get_intervals_between,
    test_date_spine,
    test_get_intervals_between,
    test_timestamps,
)
from dbt_common.contracts.metadata import CatalogTable, ColumnMetadata, TableMetadata

if TYPE_CHECKING:
    from collections.abc import Iterator

SUITE = Path(next(iter(dbt.tests.adapter.__path__)))

# What RayDB does not have.
LEFT_OUT_FOLDERS = {
    "functions": "user-defined functions are macros, which dbt does not call so",
    "grants": "there are no users",
    "persist_docs": "there are no comments",
    "python_model": "a model is a query",
}
LEFT_OUT = {
    "BaseClonePossible": "a table is not copied by its name; TestPostgresCloneNotPossible runs",
    "BaseCloneSameSourceAndTarget": "the same",
    "BaseCurrentTimestampNaive": "now() has a time zone; BaseCurrentTimestampAware runs",
    "BaseEscapeSingleQuotesBackslash": "a quote is doubled; TestEscapeSingleQuotes runs",
    "BaseTestEmptySeedFlag": "dbt-core 1.11 has no `dbt seed --empty`",
    "TestEphemeralMulti": "compares the text of CREATE VIEW with that for PostgreSQL",
    "TestEphemeralNested": "the same",
}
LEFT_OUT_TESTS = {
    # There are no materialized views.
    "TestSimpleCopyBase": {"test_simple_copy_with_materialized_views"},
}


def classes_of_dbt() -> Iterator[type]:
    """Yield the classes that hold tests and are no base of others."""
    for file in sorted(SUITE.rglob("test_*.py")):
        parts = file.relative_to(SUITE).with_suffix("").parts
        if parts[0] in LEFT_OUT_FOLDERS:
            continue
        module = importlib.import_module(".".join(("dbt.tests.adapter", *parts)))
        for each in list(vars(module).values()):
            is_own = isinstance(each, type) and each.__module__ == module.__name__
            if (
                is_own
                and not each.__subclasses__()
                and any(n.startswith("test") for n in dir(each))
            ):
                yield each


# What dbt's classes are told of RayDB.


class TestDocsGenerate(test_docs_generate.TestDocsGenerate):
    @pytest.fixture(scope="class")
    def profile_user(self) -> None:
        return None

    @pytest.fixture(scope="class")
    def expected_catalog(self, project: Any) -> dict[str, Any]:
        return expected_catalog.base_expected_catalog(
            project,
            role=None,
            id_type="INTEGER",
            text_type="VARCHAR",
            time_type="TIMESTAMP",
            view_type="VIEW",
            table_type="BASE TABLE",
            model_stats=expected_catalog.no_stats(),
        )


class TestDocsGenReferences(test_docs_generate.TestDocsGenReferences):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project: Any) -> dict[str, Any]:
        return expected_catalog.expected_references_catalog(
            project,
            role=None,
            id_type="INTEGER",
            text_type="VARCHAR",
            time_type="TIMESTAMP",
            bigint_type="BIGINT",
            view_type="VIEW",
            table_type="BASE TABLE",
            model_stats=expected_catalog.no_stats(),
        )


class TestGetCatalogForSingleRelation(test_single.BaseGetCatalogForSingleRelation):
    @pytest.fixture(scope="class")
    def expected_catalog_my_seed(self, project: Any) -> CatalogTable:
        return self.expected(project, "my_seed", "BASE TABLE")

    @pytest.fixture(scope="class")
    def expected_catalog_my_view_model(self, project: Any) -> CatalogTable:
        return self.expected(project, "my_view_model", "VIEW")

    def expected(self, project: Any, name: str, kind: str) -> CatalogTable:
        types = {
            "id": "INTEGER",
            **dict.fromkeys(("first_name", "email", "ip_address"), "VARCHAR"),
            "updated_at": "TIMESTAMP",
        }
        columns = {
            column: ColumnMetadata(type=each, index=place, name=column)
            for place, (column, each) in enumerate(types.items(), 1)
        }
        about = TableMetadata(
            type=kind, database=project.database, schema=project.test_schema, name=name
        )
        return CatalogTable(metadata=about, columns=columns, stats={})


class DataTypes:
    @pytest.fixture
    def data_types(self, schema_int_type: str, int_type: str, string_type: str) -> list[list[str]]:
        return [
            ["1", schema_int_type, int_type],
            ["'1'", string_type, string_type],
            ["true", "bool", "BOOLEAN"],
            ["'2013-11-03 00:00:00-07'::timestamptz", "timestamptz", "TIMESTAMP WITH TIME ZONE"],
            ["'2013-11-03 00:00:00-07'::timestamp", "timestamp", "TIMESTAMP"],
            ["ARRAY['a','b','c']", "text[]", "VARCHAR[]"],
            ["ARRAY[1,2,3]", "int[]", "INTEGER[]"],
            ["'1'::numeric", "numeric", "DECIMAL"],
            ["""'{"bar": "baz", "balance": 7.77, "active": false}'::json""", "json", "VARCHAR"],
        ]

    @pytest.fixture
    def string_type(self) -> str:
        return "VARCHAR"

    @pytest.fixture
    def int_type(self) -> str:
        return "INTEGER"


class TestTableColumns(DataTypes, test_constraints.TestTableConstraintsColumnsEqual):
    pass


class TestViewColumns(DataTypes, test_constraints.TestViewConstraintsColumnsEqual):
    pass


class TestIncrementalColumns(DataTypes, test_constraints.TestIncrementalConstraintsColumnsEqual):
    pass


class NotNullMessage:
    @pytest.fixture(scope="class")
    def expected_error_messages(self) -> list[str]:
        return ["column 'id' is NOT NULL, but has no value"]


class TestTableRollback(NotNullMessage, test_constraints.TestTableConstraintsRollback):
    pass


class TestIncrementalRollback(NotNullMessage, test_constraints.TestIncrementalConstraintsRollback):
    pass


class Hooks:
    """What hooks write down of the target; it has no name, host or user."""

    @pytest.fixture(scope="class")
    def test_data_dir(self) -> Path:
        return SUITE / "hooks/data"

    def check_hooks(self, state: str, project: Any, host: str | None, count: int = 1) -> None:
        found = self.hooks_of(state, project, count)
        for each in found:
            written = {key: value for key, value in each.items() if key.startswith("target_")}
            assert written == {
                **dict.fromkeys(("target_dbname", "target_host", "target_user", "target_pass"), ""),
                "target_name": "default",
                "target_schema": project.test_schema,
                "target_threads": 4,
                "target_type": "raydb",
            }
            assert each["run_started_at"]
            assert each["invocation_id"]
            assert each["thread_id"].startswith(("Thread-", "MainThread"))

    def hooks_of(self, state: str, project: Any, count: int) -> list[dict[str, Any]]:
        return self.get_ctx_vars(state, count=count, project=project)


class VacuumHooks(Hooks):
    """VACUUM is of the whole database."""

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        asked = json.dumps(super().project_config_update.__wrapped__(self))
        return json.loads(asked.replace("vacuum {{ this.schema }}.on_model_hook", "vacuum"))


class TestModelHooks(VacuumHooks, test_model_hooks.TestPrePostModelHooks):
    pass


class TestModelHooksUnderscores(VacuumHooks, test_model_hooks.TestPrePostModelHooksUnderscores):
    pass


class TestHookRefs(Hooks, test_model_hooks.TestHookRefs):
    pass


class TestModelHooksInConfig(Hooks, test_model_hooks.TestPrePostModelHooksInConfig):
    pass


class TestHooksInConfigCount(VacuumHooks, test_model_hooks.TestPrePostModelHooksInConfigWithCount):
    pass


class TestModelHooksInConfigKwargs(Hooks, test_model_hooks.TestPrePostModelHooksInConfigKwargs):
    pass


class TestRunHooks(Hooks, test_run_hooks.TestPrePostRunHooks):
    def hooks_of(self, state: str, project: Any, count: int) -> list[dict[str, Any]]:
        return [self.get_ctx_vars(state, project)]


class TestDoubleLimit(test_dbt_show.TestShowDoesNotHandleDoubleLimit):
    DATABASE_ERROR_MESSAGE = "syntax error at line 6, column 3: unexpected 'limit'"


class TestUppercase(test_copy_uppercase.TestSimpleCopyUppercase):
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
        path = tmp_path_factory.mktemp("database") / "MixedCase"
        return {"type": "raydb", "path": str(path), "threads": 4}


class TestSeedWithBOM(test_seed.TestSimpleSeedWithBOM):
    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project: Any) -> None:
        project.test_dir = SUITE / "simple_seed"
        super().setUp.__wrapped__(self, project)


class TestSeedColumnOverride(test_seed_type_override.TestSimpleSeedColumnOverride):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        names = {"text": "VARCHAR", "timestamp without time zone": "TIMESTAMP"}
        text = fixtures.properties__schema_yml
        for name in ("text", "timestamp without time zone", "integer", "boolean", "date"):
            text = text.replace(f"type: {name}\n", f"type: {names.get(name, name.upper())}\n")
        return {"schema.yml": text}


class TestSpine(test_date_spine.TestDateSpine):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        sql = fixture_date_spine.models__test_date_spine_sql.replace("'postgres'", "'raydb'")
        return {
            "test_date_spine.yml": fixture_date_spine.models__test_date_spine_yml,
            "test_date_spine.sql": self.interpolate_macro_namespace(sql, "date_spine"),
        }


class TestIntervalsBetween(test_get_intervals_between.TestGetIntervalsBetween):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        own = fixture_get_intervals_between
        sql = own.models__test_get_intervals_between_sql
        sql = sql.replace("09/01/2023", "2023-09-01").replace("09/12/2023", "2023-09-12")
        return {
            "test_get_intervals_between.yml": own.models__test_get_intervals_between_yml,
            "test_get_intervals_between.sql": self.interpolate_macro_namespace(
                sql, "get_intervals_between"
            ),
        }


class TestTimestamps(test_timestamps.TestCurrentTimestamps):
    @pytest.fixture(scope="class")
    def expected_schema(self) -> dict[str, str]:
        return {
            "current_timestamp": "TIMESTAMP WITH TIME ZONE",
            "current_timestamp_in_utc_backcompat": "TIMESTAMP",
            "current_timestamp_backcompat": "TIMESTAMP",
        }


# RayDB writes the hours of a time zone with two digits.


class TestMicrobatch(test_incremental_microbatch.BaseMicrobatch):
    @pytest.fixture(scope="class")
    def input_model_sql(self) -> str:
        return test_incremental_microbatch._input_model_sql.replace("-0'", "-00'")

    @pytest.fixture(scope="class")
    def insert_two_rows_sql(self, project: Any) -> str:
        days = ", ".join(f"({day}, TIMESTAMP '2020-01-0{day} 00:00:00')" for day in (4, 5))
        return f"INSERT INTO {project.test_schema}.input_model (id, event_time) VALUES {days}"


class TestSampleMode(test_sample_mode.BaseSampleModeTest):
    @pytest.fixture(scope="class")
    def input_model_sql(self) -> str:
        return sample_fixtures.input_model_sql.replace("-0'", "-00'")


class TestUnitTypes(test_types.TestPostgresUnitTestingTypes):
    @pytest.fixture
    def data_types(self) -> list[list[str]]:
        times = [
            ["TIMESTAMP '2013-11-03 00:00:00-00'", "2013-11-03 00:00:00-00"],
            ["TIMESTAMPTZ '2013-11-03 00:00:00-00'", "2013-11-03 00:00:00-00"],
        ]
        json = """'{"bar": "baz", "balance": 7.77, "active": false}'"""
        return [
            *(["1", "1"], ["'1'", "1"], ["true", "true"], ["DATE '2020-01-02'", "2020-01-02"]),
            *(*times, ["'1'::numeric", "1"], [f"{json}::json", json]),
        ]


for every in list(classes_of_dbt()):
    if every.__name__ not in LEFT_OUT:
        folder = every.__module__.removeprefix("dbt.tests.adapter.").partition(".")[0]
        name = f"Test_{folder}_{every.__name__}"
        left_out = dict.fromkeys(LEFT_OUT_TESTS.get(every.__name__, ()))
        globals()[name] = type(name, (every,), {"__module__": __name__, **left_out})
del every, name, folder, left_out
