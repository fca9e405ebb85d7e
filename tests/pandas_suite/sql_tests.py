"""pandas' own tests of SQL, where those of PostgreSQL have an engine of RayDB."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import sqlalchemy
from pandas.tests.io.test_sql import *  # noqa: F403

if TYPE_CHECKING:
    from collections.abc import Iterator

from conftest import iris_path  # noqa: F401  (that of pandas reads a file that no wheel has)


@pytest.fixture(scope="module")
def _postgresql_psycopg2_engine(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[sqlalchemy.Engine]:
    path = tmp_path_factory.mktemp("pandas") / "pandas.raydb"
    engine = sqlalchemy.create_engine(f"raydb:///{path}", poolclass=sqlalchemy.NullPool)
    yield engine
    engine.dispose()
