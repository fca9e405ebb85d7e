"""What a Python program hears of the compilation of loops."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from raydb.engine.context import progress
from raydb.running import Running

if TYPE_CHECKING:
    import pytest


def test_the_logger_hears_of_compilation_once(caplog: pytest.LogCaptureFixture) -> None:
    steps: list[str] = []
    progress._log_once.cache_clear()
    with Running(listener=lambda step, _: steps.append(step)):
        with caplog.at_level(logging.INFO, logger="raydb"):
            progress._tell_of_loop("first")
            progress._tell_of_loop("second")
        with caplog.at_level(logging.DEBUG, logger="raydb"):
            progress._tell_of_loop("third")
    assert [record.getMessage() for record in caplog.records] == [
        "compiling loops, once on this machine: it takes 10 to 25 seconds",
        "compiling third",
    ]
    assert steps == [f"compile, once on a machine: {name}" for name in ("first", "second", "third")]
