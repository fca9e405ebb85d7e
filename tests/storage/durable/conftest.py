"""The simulated disk is a module beside the tests, and pytest's importlib mode adds no folder."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shop.raydb"
