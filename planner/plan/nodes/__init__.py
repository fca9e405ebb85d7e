"""The nodes of a plan: what is asked, in relational algebra, and how it is done.

A plan is a tree of frozen nodes, one file an operator. Binding and rules make plans of all nodes
but those that name a choice; `planner.lower` puts one of these in the place of each join,
aggregate and search, and what is left runs as it stands. A column number is defined by exactly
one node of a plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from raydb.planner.plan.nodes.aggregate import Aggregate, GroupingSets
from raydb.planner.plan.nodes.common_table import (
    CommonTable,
    KeyedRecursive,
    Recursive,
    WorkingTable,
)
from raydb.planner.plan.nodes.filter import Filter, filter_rows
from raydb.planner.plan.nodes.join import (
    Apply,
    AsofJoin,
    HashJoin,
    InnerJoin,
    OuterJoin,
    SemiJoin,
    SentKeys,
)
from raydb.planner.plan.nodes.key_filter import KeyFilter
from raydb.planner.plan.nodes.node import Node
from raydb.planner.plan.nodes.project import Project, only_columns
from raydb.planner.plan.nodes.scan import IndexLookup, Scan
from raydb.planner.plan.nodes.search import Search, SearchRows
from raydb.planner.plan.nodes.sort import Limit, Sort, SortKey, TopRows
from raydb.planner.plan.nodes.star import Given, NoStar, Star
from raydb.planner.plan.nodes.union import Union
from raydb.planner.plan.nodes.unnest import Unnest
from raydb.planner.plan.nodes.values import Constants, Series, Values
from raydb.planner.plan.nodes.window import Window

if TYPE_CHECKING:
    from raydb.planner.segments.nodes import SegmentRows, SegmentScan
    from raydb.planner.stars.deferred import DeferredScan
    from raydb.planner.stars.delta import DeltaScan
    from raydb.planner.stars.fused_scan import FusedScanAggregate
    from raydb.planner.stars.table_scan import FusedTableScan

# Nodes that lowering replaces, those that it puts in their place, and those that it keeps.
LogicalNode: TypeAlias = "InnerJoin | OuterJoin | SemiJoin | Apply | Search"
ChosenNode: TypeAlias = (
    "HashJoin | KeyFilter | FusedScanAggregate | FusedTableScan | DeltaScan | DeferredScan"
    " | SegmentScan | SegmentRows | SearchRows | TopRows"
)
SharedNode: TypeAlias = (
    "Scan | Values | Constants | Series | CommonTable | WorkingTable | Aggregate | AsofJoin"
    " | Filter | Project | Unnest | Window | Union | Recursive | KeyedRecursive | Sort | Limit"
)
Plan: TypeAlias = "LogicalNode | ChosenNode | SharedNode"

# A plan without logical nodes.
PhysicalPlan: TypeAlias = Plan

__all__ = [
    "Aggregate",
    "Apply",
    "AsofJoin",
    "CommonTable",
    "Constants",
    "Filter",
    "Given",
    "GroupingSets",
    "HashJoin",
    "IndexLookup",
    "InnerJoin",
    "KeyFilter",
    "KeyedRecursive",
    "Limit",
    "NoStar",
    "Node",
    "OuterJoin",
    "PhysicalPlan",
    "Plan",
    "Project",
    "Recursive",
    "Scan",
    "Search",
    "SearchRows",
    "SemiJoin",
    "SentKeys",
    "Series",
    "Sort",
    "SortKey",
    "Star",
    "TopRows",
    "Union",
    "Unnest",
    "Values",
    "Window",
    "WorkingTable",
    "filter_rows",
    "only_columns",
]
