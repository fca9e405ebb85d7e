"""The rest of a motif beside a tree instance: runs of edges that are counted unseen.

The groups of a motif that have edges outside the tree form runs, between groups that lie wholly in
the tree:

    chain   groups of one edge each, so that their edges come one after the other
    bag     one group of several edges, some of them perhaps in the tree, which come in any order

A run has edges of the tree before and after it; or it begins or ends the motif, and then delta
bounds it. The first and the last run may both be open: delta binds their outer edges to each other.
The numbers of ways are multiplied over the runs. TIMEST, section 4.3 (ListCount), with open ends.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from raydb.values import dataclass

if TYPE_CHECKING:
    from raydb.kernels.motif.shape import Motif
    from raydb.kernels.motif.trees import RootedTree


@dataclass(frozen=True)
class Run:
    """Motif edges outside the tree, in the order of time where they are a chain.

    before, after: the places of the tree edges between which they come; none for an open end.
    twins: for each edge of a bag, how many of the group's edges between the same vertices are in
    the tree or earlier in the bag.
    tree_twins: the place of the tree edge of the same group and vertices, -1 for none, for each.
    """

    edges: tuple[int, ...]
    is_chain: bool
    before: tuple[int, ...]
    after: tuple[int, ...]
    twins: tuple[int, ...]
    tree_twins: tuple[int, ...]


def completion_runs(motif: Motif, tree: RootedTree) -> list[Run] | None:
    """Return the runs of edges outside a tree, None where their ways are no product over runs.

    That is so where a bag comes next to a group that is not all in the tree, and where a bag of
    several edges and another open end are bound by delta.
    """
    runs: list[Run] = []
    last_group = motif.groups[-1]
    members = {
        group: [edge for edge, own in enumerate(motif.groups) if own == group]
        for group in range(last_group + 1)
    }
    outside = {
        group: [edge for edge in edges if edge not in tree.edges]
        for group, edges in members.items()
    }

    def places(group: int) -> tuple[int, ...]:
        return tuple(tree.edges.index(edge) for edge in members.get(group, []))

    open_groups = [group for group, edges in outside.items() if edges]
    for _, run in groupby(enumerate(open_groups), lambda pair: pair[1] - pair[0]):
        groups = [group for _, group in run]
        is_chain = all(len(members[group]) == 1 for group in groups)
        if not is_chain and len(groups) > 1:
            return None
        edges = tuple(edge for group in groups for edge in outside[group])
        earlier = [
            [other for other in members[groups[0]] if other in tree.edges or other < edge]
            if not is_chain
            else []
            for edge in edges
        ]
        twins = [
            [other for other in others if motif.edges[other] == motif.edges[edge]]
            for edge, others in zip(edges, earlier, strict=True)
        ]
        in_tree = [[edge for edge in found if edge in tree.edges] for found in twins]
        runs.append(
            Run(
                edges,
                is_chain,
                places(groups[0] - 1),
                places(groups[-1] + 1),
                tuple(len(found) for found in twins),
                tuple(tree.edges.index(found[0]) if found else -1 for found in in_tree),
            )
        )
    open_runs = [run for run in runs if not run.before or not run.after]
    open_ends = sum((not run.before) + (not run.after) for run in runs)
    is_simple = all(run.is_chain or (len(run.edges) == 1 and not run.twins[0]) for run in open_runs)
    if open_ends < 2 or (len(open_runs) == 2 and is_simple):
        return runs
    # One group is the whole motif: a single edge outside the tree is bound to all of the tree.
    return runs if len(open_runs) == 1 and len(open_runs[0].edges) == 1 else None
