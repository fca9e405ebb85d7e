"""The profile of the projects in dbt's own tests of adapters: a database directory for each class.

`pip install '.[dbt]' dbt-tests-adapter pytest pytest-xdist` installs what they need; without it
the tests of this folder are left out.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

if importlib.util.find_spec("dbt") and importlib.util.find_spec("dbt.tests"):
    from dbt.tests.fixtures.project import *  # noqa: F403
else:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="class")
def dbt_profile_target(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("database") / "test.raydb"
    return {"type": "raydb", "path": str(path), "threads": 4}


@pytest.fixture(scope="class")
def logs_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = str(tmp_path_factory.mktemp("logs"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DBT_LOG_PATH", folder)
        yield folder
