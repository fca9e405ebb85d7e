"""Hostile files of text and Parquet are answered or refused, and do no harm.

RAYDB_FORGED=50000 reads so many of them, RAYDB_FORGED_SEED=7 begins with another one.
"""

from __future__ import annotations

import os
import sys

import pytest
from read_forged_text import MOST_MB
from sandbox import run_cases

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from Linux's /proc")

CASES = int(os.environ.get("RAYDB_FORGED", "40"))
FIRST = int(os.environ.get("RAYDB_FORGED_SEED", "0"))


@pytest.mark.long
def test_forged_files_do_no_harm() -> None:
    seeds = range(FIRST, FIRST + CASES)
    report = run_cases("read_forged_text:read_forged_text", seeds, memory_mb=MOST_MB)
    assert not report.failures, "\n".join(map(str, report.failures[:20]))
    assert report.cases == CASES
    assert report.refused
