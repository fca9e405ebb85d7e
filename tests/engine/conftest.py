"""What tests of memory share: the temporary files that statements open, and what Arrow takes."""

from __future__ import annotations

import pyarrow as pa
import pytest

from raydb.engine.context.memory import Memory


@pytest.fixture
def spilled(monkeypatch):
    """Return a list that gets each temporary file of the test."""
    opened = []
    new_file = Memory.new_file

    def counting(self, schema):
        opened.append(new_file(self, schema))
        return opened[-1]

    monkeypatch.setattr(Memory, "new_file", counting)
    return opened


# An array gives its memory back to the pool that it came from, which has to be there: rows that a
# connection keeps outlive the test, and the process would crash.
_POOLS = []


@pytest.fixture
def pool():
    """Count what Arrow takes during the test."""
    before = pa.default_memory_pool()
    counting = pa.proxy_memory_pool(before)
    _POOLS.append(counting)
    pa.set_memory_pool(counting)
    yield counting
    pa.set_memory_pool(before)
