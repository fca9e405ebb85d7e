"""Dictionaries at the table tier: columns that have nearly the same entries share one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.storage.flat.encodings.dictionary import ColumnDictionary, pack_dictionary
from raydb.storage.flat.layout import Kind, Tier
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHARING_JACCARD = 0.8


@dataclass(frozen=True, slots=True)
class SharedEntries:
    """A dictionary of the table tier: packed entries of one kind and size."""

    kind: Kind
    value_size: int
    count: int
    packed: bytes


def share_dictionaries(
    dictionaries: Sequence[ColumnDictionary | None],
) -> tuple[list[ColumnDictionary | None], list[SharedEntries]]:
    """Move the entries of columns that have nearly the same ones to the table tier."""
    sets = [_entry_set(dictionary) for dictionary in dictionaries]
    groups = _similar_groups(dictionaries, sets)
    result = list(dictionaries)
    tables: list[SharedEntries] = []
    for members in groups:
        union = list(dict.fromkeys(entry for member in members for entry in sets[member]))
        place = {entry: position for position, entry in enumerate(union)}
        for member in members:
            dictionary = dictionaries[member]
            assert dictionary is not None
            positions = dictionary.positions.copy()
            positions[dictionary.shared] = [place[entry] for entry in sets[member]]
            result[member] = replace(
                dictionary,
                tier=Tier.TABLE,
                positions=positions,
                shared_count=len(union),
                shared_dictionary=len(tables),
            )
        first = dictionaries[members[0]]
        assert first is not None
        entries = pa.array(union, first.entries.type)
        tables.append(
            SharedEntries(
                first.kind, _value_size(first), len(union), pack_dictionary(first.kind, entries)
            )
        )
    return result, tables


def _entry_set(dictionary: ColumnDictionary | None) -> dict[Any, None]:
    """Return the promoted entries in their order, as the keys of a dict."""
    if dictionary is None or not len(dictionary.shared):
        return {}
    return dict.fromkeys(dictionary.entries.take(pa.array(dictionary.shared)).to_pylist())


def _value_size(dictionary: ColumnDictionary) -> int:
    if dictionary.kind is Kind.BYTES:
        return 0
    return int(dictionary.entries.type.bit_width) // 8


def _similar_groups(
    dictionaries: Sequence[ColumnDictionary | None], sets: Sequence[dict[Any, None]]
) -> list[list[int]]:
    """Return the groups of two or more columns whose entries are alike, by their first member.

    A set is compared with the groups that hold half of eight of its entries, found by entry, since
    comparing every pair of 1,000 columns would take seconds.
    """
    groups: list[list[int]] = []
    holders: dict[tuple[Any, ...], list[int]] = {}
    for column, entries in enumerate(sets):
        dictionary = dictionaries[column]
        if dictionary is None or not entries:
            continue
        family = (dictionary.kind, str(dictionary.entries.type))
        keys = list(entries)
        hits: dict[int, int] = {}
        sample = keys[:: max(1, len(keys) // 8)]
        for entry in sample:
            for group in holders.get((*family, entry), ()):
                hits[group] = hits.get(group, 0) + 1
        for group, count in hits.items():
            if 2 * count >= len(sample) and _jaccard(entries, sets[groups[group][0]]):
                groups[group].append(column)
                break
        else:
            for entry in keys:
                holders.setdefault((*family, entry), []).append(len(groups))
            groups.append([column])
    return [group for group in groups if len(group) > 1]


def _jaccard(one: dict[Any, None], other: dict[Any, None]) -> bool:
    both = len(one.keys() & other.keys())
    return both >= _SHARING_JACCARD * (len(one) + len(other) - both)
