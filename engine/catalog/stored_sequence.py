"""Sequences as JSON values, in the manifest and in records of the log, and back."""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING

from raydb.errors import ProgrammingError
from raydb.storage.tables.sequence import LEAST, MOST, Identity, Sequence, SequenceOptions
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.kernels.stored.described import Described
    from raydb.storage.tables.table import Table


@dataclass(frozen=True, slots=True)
class Moved:
    """Sequences that went on since they were saved, where they stand now."""

    sequences: tuple[tuple[Sequence, int], ...]
    positions: tuple[Mapping[str, object], ...]

    @staticmethod
    def of(sequences: Mapping[str, Sequence]) -> Moved:
        """Return those of a snapshot."""
        moved, positions = [], []
        for name, sequence in sequences.items():
            if sequence.is_moved:
                following, stamp = sequence.position.read()
                moved.append((sequence, stamp))
                positions.append({"sequence": name, "next": following, "stamp": stamp})
        return Moved(tuple(moved), tuple(positions))

    def note_saved(self) -> None:
        """Know that they are durable as they stood."""
        for sequence, stamp in self.sequences:
            sequence.position.saved = max(sequence.position.saved, stamp)


def replay_position(described: Described, snapshot: Snapshot) -> None:
    """Let a sequence go to where a record of the log says."""
    name = described["sequence"]
    sequence = snapshot.sequences.get(name.text())
    if sequence is None:
        raise name.fault("the name of a sequence")
    sequence.position.move(_next(described), described["stamp"].integer())


def describe_sequences(sequences: Mapping[str, Sequence]) -> list[dict[str, object]]:
    """Return sequences as JSON values."""
    described = []
    for name, sequence in sequences.items():
        following, stamp = sequence.position.read()
        options = astuple(sequence.options)
        described.append({"name": name, "options": options, "next": following, "stamp": stamp})
    return described


def load_sequences(state: Described, tables: Mapping[str, Table]) -> dict[str, Sequence]:
    """Return the sequences of a state, none of one before there were any."""
    found = state.find("sequences")
    sequences: dict[str, Sequence] = {}
    for described in () if found is None else found.items():
        name = described["name"].text()
        if name in sequences:
            raise described["name"].fault("a name of its own")
        sequence = Sequence(name, _options(described["options"]))
        sequence.position.move(_next(described), described["stamp"].integer())
        sequences[name] = sequence
    for table in tables.values():
        for identity in table.definition.identities:
            if identity.sequence not in sequences:
                raise state.fault(f"a state with the sequence '{identity.sequence}'")
    return sequences


def load_identity(described: Described) -> Identity:
    """Return the identity of a column."""
    column, always, options, sequence = described.items(4)
    return Identity(column.text(), always.flag(), _options(options), sequence.text())


def _next(described: Described) -> int:
    # Behind the last value, which may be the greatest that there is.
    return described["next"].integer(2 * LEAST, 2 * MOST)


def _options(described: Described) -> SequenceOptions:
    *numbers, cycles = described.items(5)
    start, increment, low, high = (each.integer(LEAST, MOST) for each in numbers)
    try:
        return SequenceOptions.of("", start, increment, low, high, cycles=cycles.flag())
    except ProgrammingError as error:
        raise described.fault(f"options of a sequence ({error})") from error
