"""A small data set on disk, made once for all tests of the benchmark."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from raydb.ssb.generate import DataSet, prepare
from raydb.ssb.progress import Progress

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def progress() -> Progress:
    return Progress(Console(file=io.StringIO()))


@pytest.fixture(scope="session")
def ssb_folder(tmp_path_factory: pytest.TempPathFactory, progress: Progress) -> Path:
    """A folder with the benchmark's Parquet files at scale factor 0.1."""
    folder = tmp_path_factory.mktemp("ssb") / "data"
    prepare(folder, DataSet(0.1), progress)
    return folder
