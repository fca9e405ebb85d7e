"""The search for a set of BVHs: few enough, small enough, and fast for the stars of a workload.

Every star begins with a BVH of its own. Then two of them become one, or one is left out, whichever
adds least to the time of all stars, until the set is within its limits; at last attributes and
stars move as long as that helps. Every step is decided by numbers and then by the order of the
stars, so that the same workload always gets the same BVHs.

A SCAN whose attributes span too many cells gives up the level that costs least: city moves to
GROUP BY, where predicates still filter rows, and nation takes its place in Z.
"""

from __future__ import annotations

import itertools
from math import inf, log
from typing import TYPE_CHECKING, TypeAlias

from raydb.planner.advisor.bvh_model import Answer, BvhModel, Candidate
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

# Fewer rows a cell than this make the offsets outweigh what they save, unless all of them are only
# 2 MiB.
ROWS_A_CELL = 32
FEW_CELLS = 2**18

# Beyond this many cells their numbers come near 63 bits, and no job is planned on them.
_MAX_CELLS = 2**60

# Of more pairs only those most alike are tried: all of them for 16 queries, few of those for 100.
_MAX_PAIRS = 120
_FEW_PAIRS = 8

# Coarser levels that are tried in place of an attribute, the finest.
_COARSER = 3

# Codes of dictionaries that are looked at, each for some 20 ns, until the search takes what it has:
# it then leaves BVHs out, and merges and changes no more.
_MOST_WORK = 2**28

# Rounds of small changes; few workloads need more than two.
_ROUNDS = 4

# Nanoseconds: a star that reads no row at all must not count more than all others.
_MIN_TIME = 0.01

# A smaller gain is the noise of floating point.
_MIN_GAIN = 1e-9


@dataclass(frozen=True, slots=True)
class Member:
    """A BVH of a set, and the stars (by number) that it is made for."""

    table: str
    candidate: Candidate
    stars: tuple[int, ...]


# The BVHs that leave a set, and those that take their place.
Change: TypeAlias = tuple[tuple[Member, ...], tuple[Member, ...]]


class Search:
    """What the sets of BVHs have in common: the models by fact table, the needs, the limits.

    needs: for each star the table and what a BVH for it alone would hold. memory: bytes.
    """

    def __init__(
        self,
        models: Mapping[str, BvhModel],
        needs: Sequence[tuple[str, Candidate]],
        memory: float,
        max_bvhs: int,
    ) -> None:
        self._models = models
        self._needs = needs
        self._memory = memory
        self._max_bvhs = max_bvhs
        self._reduced: dict[Member, Member] = {}
        self._merged: dict[tuple[Member, Member], Member] = {}

    def run(self) -> list[Member]:
        """Return the best set that is found, in the order of the stars."""
        if not self._needs:
            return []
        members = self._settled(self._shrink(self._one_for_each()))
        for _ in range(_ROUNDS):
            better = self._shrink(self._settled(self._improve(members)))
            if better == members:
                break
            members = better
        members = self._settled(self._united(members))
        return sorted(members, key=lambda member: member.stars)

    @property
    def is_spent(self) -> bool:
        """Whether the search is to come to its end."""
        return sum(model.work for model in self._models.values()) > _MOST_WORK

    # -- what a set costs

    def _times(self, members: Sequence[Member]) -> list[float]:
        """Return the time of each star on the BVH that is made for it; others are scans."""
        times = [self._models[table].scan_cost(star) for star, (table, _) in enumerate(self._needs)]
        for member in members:
            for star in member.stars:
                times[star] = min(times[star], self._time(star, member))
        return times

    def _cost(self, members: Sequence[Member]) -> float:
        """Return what a set of BVHs costs."""
        return _cost_of(self._times(members))

    def _time(self, star: int, member: Member) -> float:
        """Return the time of a star on a BVH, or as a scan where that is less."""
        model = self._models[member.table]
        answer = model.answer(member.candidate, star)
        return model.scan_cost(star) if answer is None else answer.cost

    def _settled(self, members: Sequence[Member]) -> list[Member]:
        """Return the BVHs that stars run on, each with its stars."""
        stars: dict[Member, list[int]] = {member: [] for member in members}
        for star, (table, _) in enumerate(self._needs):
            model = self._models[table]
            best: tuple[Member, Answer] | None = None
            for member in members:
                if member.table != table:
                    continue
                answer = model.answer(member.candidate, star)
                if answer and (best is None or answer.rank < best[1].rank):
                    best = member, answer
            if best is not None and best[1].cost < model.scan_cost(star):
                stars[best[0]].append(star)
        return [replace(each, stars=tuple(found)) for each, found in stars.items() if found]

    def _size(self, members: Iterable[Member]) -> int:
        return sum(self._models[each.table].size_bytes(each.candidate) for each in members)

    def _fits(self, members: Sequence[Member]) -> bool:
        return len(members) <= self._max_bvhs and self._size(members) <= self._memory

    def _is_better(self, one: Sequence[Member], other: Sequence[Member]) -> bool:
        """Whether a set is faster, or smaller and no slower."""
        gain = self._cost(other) - self._cost(one)
        if abs(gain) > _MIN_GAIN:
            return gain > 0
        return self._size(one) < self._size(other)

    # -- fewer and smaller

    def _one_for_each(self) -> list[Member]:
        """Return a BVH for each star; stars that need the same cells and measures share one."""
        stars: dict[tuple[str, tuple[int, ...], tuple[int, ...]], list[int]] = {}
        for star, (table, need) in enumerate(self._needs):
            if need.scan:
                stars.setdefault((table, need.scan, need.aggregate), []).append(star)
        found = []
        for (table, scan, measures), numbers in stars.items():
            model = self._models[table]
            keys = (key for star in numbers for key in self._needs[star][1].group_by)
            candidate = Candidate(scan, model.in_order(keys), measures)
            found.append(self._reduce(Member(table, candidate, tuple(numbers))))
        return found

    def _shrink(self, members: list[Member]) -> list[Member]:
        """Make a set fit the limits, and smaller still where no star pays for it."""
        while True:
            size, times = self._size(members), self._times(members)
            cost = _cost_of(times)
            options = [
                (self._changed(members, change), self._cost_changed(times, change) - cost)
                for change in self._fewer(members)
            ]
            if len(members) > self._max_bvhs:
                ranked = [((added, self._size(option)), option) for option, added in options]
            elif size > self._memory:
                options += [
                    (self._changed(members, change), self._cost_changed(times, change) - cost)
                    for change in self._less(members)
                ]
                # To free more bytes than are too many is worth nothing.
                ranked = [
                    ((added / (size - max(less, self._memory)), less), option)
                    for option, added in options
                    if (less := self._size(option)) < size
                ]
            else:
                ranked = [
                    ((added, less), option)
                    for option, added in options
                    if added <= _MIN_GAIN and (less := self._size(option)) < size
                ]
            if not ranked:
                return members
            members = min(ranked, key=lambda each: each[0])[1]
            if len(members) <= 2 * self._max_bvhs:
                # While there are many, each star has one that is made for it.
                members = self._settled(members)

    def _changed(self, members: list[Member], change: Change) -> list[Member]:
        dropped, added = change
        return [*(each for each in members if each not in dropped), *added]

    def _cost_changed(self, times: Sequence[float], change: Change) -> float:
        """Return what a set costs after a change, of the times before it."""
        dropped, added = change
        after = list(times)
        for member in dropped:
            for star in member.stars:
                after[star] = self._models[member.table].scan_cost(star)
        for member in added:
            for star in member.stars:
                after[star] = min(after[star], self._time(star, member))
        return _cost_of(after)

    def _fewer(self, members: list[Member]) -> Iterator[Change]:
        """Yield what makes one BVH less: two become one, or one is left out."""
        pairs = [
            (one, other)
            for one, other in itertools.combinations(members, 2)
            if one.table == other.table
        ]
        pairs.sort(key=lambda pair: -_likeness(*pair))
        most = _MAX_PAIRS if len(pairs) <= _MAX_PAIRS else _FEW_PAIRS
        for one, other in pairs[:most]:
            if self.is_spent and (one, other) not in self._merged:
                continue
            yield (one, other), (self._merge(one, other),)
        for one in members:
            yield (one,), ()

    def _less(self, members: list[Member]) -> Iterator[Change]:
        """Yield the changes by which one BVH holds less."""
        for member in members:
            for candidate in _without_one(member.candidate):
                yield (member,), (replace(member, candidate=candidate),)

    def _merge(self, one: Member, other: Member) -> Member:
        """Return one BVH for the stars of two, with all that either of them has."""
        known = (one, other)
        if known not in self._merged:
            stars = tuple(sorted({*one.stars, *other.stars}))
            self._merged[known] = self._reduce(Member(one.table, self._union(one, other), stars))
        return self._merged[known]

    def _union(self, one: Member, other: Member) -> Candidate:
        model, a, b = self._models[one.table], one.candidate, other.candidate
        scan = model.in_order(a.scan + b.scan)
        keys = model.in_order(key for key in a.group_by + b.group_by if key not in scan)
        return Candidate(scan, keys, tuple(dict.fromkeys(a.aggregate + b.aggregate)))

    def _united(self, members: Sequence[Member]) -> list[Member]:
        """Return the set with one BVH in place of those that differ in GROUP BY alone."""
        found: dict[tuple[str, frozenset[int], frozenset[int]], Member] = {}
        for member in members:
            candidate = member.candidate
            same = member.table, frozenset(candidate.scan), frozenset(candidate.aggregate)
            found[same] = self._merge(found[same], member) if same in found else member
        united = list(found.values())
        return united if self._fits(united) else list(members)

    # -- small changes

    def _improve(self, members: list[Member]) -> list[Member]:
        """Apply each change of a BVH, and each move of a star, that makes the set better."""
        for number in range(len(members)):
            for change in self._changes(members[number]):
                if self.is_spent:
                    return members
                members = self._better(_replaced(members, number, change), members)
        for star, (table, need) in enumerate(self._needs):
            if self.is_spent:
                return members
            alone = Member(table, need, (star,))
            members = self._better([*members, self._reduce(alone)], members)
            for number, member in enumerate(members):
                if member.table == table and star not in member.stars:
                    members = self._better(self._moved(members, alone, number), members)
        return members

    def _better(self, option: list[Member], members: list[Member]) -> list[Member]:
        return option if self._fits(option) and self._is_better(option, members) else members

    def _changes(self, member: Member) -> Iterator[Member]:
        """Yield a BVH with an attribute or a measure more, or less, or elsewhere."""
        model, candidate = self._models[member.table], member.candidate
        needed = self._needed(member)
        for attribute in model.in_order(needed.scan + candidate.group_by):
            if attribute not in candidate.scan:
                scan = model.in_order((*candidate.scan, attribute))
                keys = tuple(key for key in candidate.group_by if key != attribute)
                wider = replace(candidate, scan=scan, group_by=keys)
                yield self._reduce(replace(member, candidate=wider))
        for attribute in needed.group_by:
            if attribute not in candidate.scan + candidate.group_by:
                keys = model.in_order((*candidate.group_by, attribute))
                yield replace(member, candidate=replace(candidate, group_by=keys))
        for measure in needed.aggregate:
            if measure not in candidate.aggregate:
                measures = (*candidate.aggregate, measure)
                yield replace(member, candidate=replace(candidate, aggregate=measures))
        for attribute in candidate.scan:
            scan = tuple(other for other in candidate.scan if other != attribute)
            keys = model.in_order((*candidate.group_by, attribute))
            yield replace(member, candidate=replace(candidate, scan=scan, group_by=keys))
        for narrower in _without_one(candidate):
            yield replace(member, candidate=narrower)

    def _moved(self, members: list[Member], alone: Member, target: int) -> list[Member]:
        """Return the set with a star moved to another BVH, and with it what it needs alone."""
        moved = []
        for number, member in enumerate(members):
            rest = replace(member, stars=tuple(s for s in member.stars if s not in alone.stars))
            if number == target:
                moved.append(self._merge(member, alone))
            elif rest == member:
                moved.append(member)
            elif rest.stars:
                moved.append(self._reduce(replace(rest, candidate=self._needed(rest))))
        return moved

    def _needed(self, member: Member) -> Candidate:
        """Return what the stars of a BVH need, whatever the number of cells."""
        first, *rest = (Member(*self._needs[star], (star,)) for star in member.stars)
        for each in rest:
            first = replace(first, candidate=self._union(first, each))
        return first.candidate

    # -- cells

    def _reduce(self, member: Member) -> Member:
        """Take levels out of SCAN until the cells are few enough for the rows."""
        if member not in self._reduced:
            model = self._models[member.table]
            most = max(model.profile.row_count // ROWS_A_CELL, FEW_CELLS)
            reduced = member
            while model.cell_count(reduced.candidate) > most:
                if self.is_spent:
                    reduced = replace(reduced, candidate=self._without_finest(reduced))
                    continue
                options = (
                    replace(reduced, candidate=candidate) for candidate in self._coarsened(reduced)
                )
                reduced = min(options, key=lambda each: (self._cost_alone(each), self._cells(each)))
            self._reduced[member] = reduced
        return self._reduced[member]

    def _without_finest(self, member: Member) -> Candidate:
        """Return what is left when the attribute of most values moves from SCAN to GROUP BY."""
        model, candidate = self._models[member.table], member.candidate
        finest = max(candidate.scan, key=model.cardinality)
        scan = tuple(other for other in candidate.scan if other != finest)
        return replace(candidate, scan=scan, group_by=model.in_order((*candidate.group_by, finest)))

    def _cost_alone(self, member: Member) -> float:
        if self._cells(member) > _MAX_CELLS:
            return inf
        return _cost_of([self._time(star, member) for star in member.stars])

    def _cells(self, member: Member) -> int:
        return self._models[member.table].cell_count(member.candidate)

    def _coarsened(self, member: Member) -> Iterator[Candidate]:
        """Yield what is left when one attribute leaves SCAN, or makes room for a coarser level.

        It moves to GROUP BY where a star needs it; all of them have fewer cells.
        """
        model, candidate = self._models[member.table], member.candidate
        needed = self._needed(member)
        cell_count = model.cell_count(candidate)
        for attribute in candidate.scan:
            rest = tuple(other for other in candidate.scan if other != attribute)
            keys = candidate.group_by
            if attribute in needed.scan + needed.group_by:
                keys = model.in_order((*keys, attribute))
            levels = [other for other in model.coarser(attribute) if other not in rest][:_COARSER]
            for scan in (rest, *(model.in_order((*rest, level)) for level in levels)):
                others = tuple(key for key in keys if key not in scan)
                option = replace(candidate, scan=scan, group_by=others)
                if model.cell_count(option) < cell_count:
                    yield option


def _cost_of(times: Sequence[float]) -> float:
    """Return the logarithm of the total time, plus that of the stars' geometric mean.

    A per cent less of the total is worth as much as a per cent less of every star. The total alone
    would leave short queries to chance, the mean alone the long ones.
    """
    times = [max(time, _MIN_TIME) for time in times]
    return log(sum(times)) + sum(map(log, times)) / len(times)


def _likeness(one: Member, other: Member) -> float:
    """Return which share of what either of two BVHs holds is in both."""
    ours, theirs = one.candidate, other.candidate
    attributes = {*ours.scan, *ours.group_by}, {*theirs.scan, *theirs.group_by}
    measures = set(ours.aggregate), set(theirs.aggregate)
    both = len(attributes[0] & attributes[1]) + len(measures[0] & measures[1])
    return both / (len(attributes[0] | attributes[1]) + len(measures[0] | measures[1]))


def _replaced(members: list[Member], number: int, member: Member) -> list[Member]:
    return [*members[:number], member, *members[number + 1 :]]


def _without_one(candidate: Candidate) -> Iterator[Candidate]:
    """Yield the candidates that lack one attribute or measure, but not all."""
    scan, keys, measures = candidate.scan, candidate.group_by, candidate.aggregate
    if len(scan) + len(keys) + len(measures) == 1:
        return
    for attribute in scan:
        yield replace(candidate, scan=tuple(other for other in scan if other != attribute))
    for attribute in keys:
        yield replace(candidate, group_by=tuple(other for other in keys if other != attribute))
    for measure in measures:
        yield replace(candidate, aggregate=tuple(other for other in measures if other != measure))
