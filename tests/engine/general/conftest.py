"""The tables of nodes are a module beside the tests, and pytest's importlib mode adds no folder."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))


@pytest.fixture
def db():
    from node_database import SEED, Database, random_table

    return Database(
        t=random_table(SEED, 200),
        u=random_table(SEED + 1, 90),
        empty=random_table(SEED, 0),
        one=random_table(SEED + 2, 1),
    )
