"""The sandbox sees what cases do wrong."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest
from sandbox import run_cases

import raydb

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from Linux's /proc")


# 0 and 8 do nothing: the first case of a worker has more time.
SEEDS = (0, 1, 2, 3, 8, 4, 8, 5, 6, 8, 7)


def misbehave(seed: int, folder: Path) -> None:
    assert not list(folder.iterdir())
    (folder / "left").touch()
    match seed:
        case 1:
            raise raydb.DataError("refused")
        case 2:
            raise KeyError("unclean")
        case 3:
            os.kill(os.getpid(), signal.SIGSEGV)
        case 4:
            time.sleep(600)
        case 5:
            np.ones(200_000_000, bool)
        case 6:
            os._exit(3)
        case 7:
            sys.exit()


@pytest.mark.long
def test_the_sandbox_finds_what_goes_wrong() -> None:
    report = run_cases("test_sandbox:misbehave", SEEDS, memory_mb=170, seconds=1)
    assert [(each.seed, each.what) for each in report.failures] == [
        (2, "KeyError: 'unclean'"),
        (3, "signal SIGSEGV"),
        (4, "no end after 1 s"),
        (5, report.failures[3].what),
        (6, "exit status 3"),
        (7, "SystemExit: "),
    ]
    assert report.failures[3].what.endswith("MB of memory")
    assert "in misbehave" in report.failures[1].detail
    assert report.answered == 4
    assert report.refused == {"DataError": 1}
