"""What tests of memory share: the temporary files that statements open."""

from __future__ import annotations

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
