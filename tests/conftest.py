"""What the whole test suite shares: the option that rewrites golden answers, and the fuzz seed."""

from __future__ import annotations

import gc
import os
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from raydb.planner import optimizer
from raydb.planner.plan.verify import verify_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from store_server import StoreServer

# Time zones that no test sets are the same everywhere.
os.environ["TZ"] = "UTC"

# What tests share are modules beside them, and pytest's importlib mode adds no folder.
SHARING = (
    ".",
    "bench",
    "engine/cluster",
    "engine/shell",
    "engine/ui",
    "fuzz",
    "kernels",
    "kernels/motif",
    "logic",
    "reliability",
    "storage/flat",
    "storage/objects",
    "storage/tables",
)
sys.path += [str(Path(__file__).parent / folder) for folder in SHARING]

# No test is timed: machines are busy, and what is compiled is compiled at its first call.
settings.register_profile("raydb", deadline=None)
settings.load_profile("raydb")


@pytest.fixture(autouse=True, scope="session")
def _verified_rules() -> Iterator[None]:
    """Check every plan after every rule."""
    optimizer.watchers.append(verify_rule)
    yield
    optimizer.watchers.remove(verify_rule)


@pytest.fixture(scope="session")
def store_server() -> Iterator[StoreServer]:
    """Return an object store on this machine."""
    from store_server import StoreServer

    server = StoreServer()
    yield server
    server.close()


@pytest.fixture
def bucket(store_server: StoreServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of an empty bucket of it, whose credentials are in the environment."""
    for name, value in store_server.environment.items():
        monkeypatch.setenv(name, value)
    name = f"test-{uuid.uuid4().hex}"
    store_server.make_bucket(name)
    store_server.log.clear()
    return name


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--golden-update",
        action="store_true",
        help="rewrite the answers in tests/golden/*.sql with what RayDB answers, for review",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Rewrite answers in one process: tests that run at once would write the same pages."""
    if config.getoption("--golden-update"):
        config.option.numprocesses = 0


def pytest_collection_finish() -> None:
    """Leave what is there for all tests out of collections of garbage."""
    gc.collect()
    gc.freeze()


def pytest_report_header() -> str:
    from stars import CASES, SEED

    return f"fuzz: RAYDB_FUZZ_SEED={SEED} RAYDB_FUZZ_CASES={CASES}"
