"""BVHs in files: what is written, and what must be so of what is read.

A BVH that is outdated serves no query and is built anew, so that little is asked of it: its tables
may since have other columns, and fewer rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb import sql
from raydb.engine.catalog.stored_bvh import StoredBvh, columns_read
from raydb.errors import Error
from raydb.kernels.bvh.arrays import from_arrays, to_arrays
from raydb.planner.catalog import BvhInfo
from raydb.planner.stars.star import canonical_definition
from raydb.sql import ast

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.kernels.bvh.bvh import Bvh
    from raydb.kernels.stored.described import Described
    from raydb.kernels.stored.stored_arrays import StoredArrays
    from raydb.planner.catalog import BvhDefinition, CatalogInfo
    from raydb.planner.expressions.nodes import Attribute

# Row numbers are uint32.
_ANY_ROW = 2**32

# A version that no table has.
_NEVER = -1


def bvh_content(info: BvhInfo) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return what a BVH's file holds. Raises OperationalError where its own file is damaged."""
    index = info.index.with_checked_rows()
    index.row_numbers()
    arrays, properties = to_arrays(index)
    # The attribute of each level, by its position in the definition.
    levels = [info.levels[attribute] for attribute in _attributes(info.definition)]
    return arrays, {"bvh": properties, "levels": levels}


def describe_bvh(bvh: StoredBvh, live: NDArray[np.bool_] | None, file: str) -> dict[str, Any]:
    """Return a BVH as JSON values; live: which rows of its fact table are visible."""
    return {
        "text": bvh.definition.text,
        "versions": dict(bvh.versions),
        "row_count": bvh.row_count,
        # Whether it is known to have no dead places: else they are looked for at first use.
        "is_whole": bvh.live is live and not bvh.dead_count,
        "file": file,
        "obstacle": bvh.info.obstacle,
    }


def load_bvh(
    snapshot: Snapshot,
    catalog: CatalogInfo,
    described: Described,
    arrays: StoredArrays,
    properties: Described,
) -> StoredBvh:
    """Return a BVH as the manifest and its file say. Raises OperationalError naming either."""
    definition = _definition(catalog, described["text"])
    fact, names = snapshot.tables[definition.table], columns_read(definition).keys()
    versions = {
        name: each.integer(_NEVER) for name, each in described["versions"].entries().items()
    }
    if versions.keys() != names:
        raise described["versions"].fault(f"versions of {', '.join(sorted(names))}")
    reason = described["obstacle"].or_none()
    obstacle = None if reason is None else reason.text()
    is_right = all(snapshot.tables[name].version == versions[name] for name in names)
    if not is_right:
        versions = dict.fromkeys(names, _NEVER)
    is_usable = is_right and obstacle is None
    row_count = described["row_count"].integer(0, fact.row_count if is_usable else _ANY_ROW)
    index = from_arrays(arrays, properties["bvh"], row_count if is_usable else _ANY_ROW)
    levels = _levels(definition, index, properties["levels"])
    if is_usable:
        _check_types(definition, index, levels, described["text"])
    live = fact.live if described["is_whole"].flag() else None
    return StoredBvh(BvhInfo(definition, index, levels, obstacle), versions, row_count, live)


def _levels(
    definition: BvhDefinition, index: Bvh, described: Described
) -> dict[Attribute, tuple[int, int]]:
    """Return where each attribute is encoded."""
    attributes = _attributes(definition)
    levels = {}
    for attribute, place in zip(attributes, described.items(len(attributes)), strict=True):
        number, level = place.items(2)
        found = number.integer(0, len(index.hierarchies) - 1)
        levels[attribute] = found, level.integer(0, len(index.hierarchies[found].levels) - 1)
    return levels


def _check_types(
    definition: BvhDefinition,
    index: Bvh,
    levels: Mapping[Attribute, tuple[int, int]],
    described: Described,
) -> None:
    """Raise where a BVH's values are not of the types that its definition gives them."""
    for attribute, (number, level) in levels.items():
        found = index.hierarchies[number].levels[level].type
        if found != attribute.type:
            raise described.fault(f"a statement whose {attribute.name} is {found}")
    kinds = [pa.types.is_floating(expression.type) for expression in definition.aggregate]
    if [measure.is_float for measure in index.measures] != kinds:
        raise described.fault("a statement with the measures of the file")


def _definition(catalog: CatalogInfo, described: Described) -> BvhDefinition:
    text = described.text()
    try:
        (statement,) = sql.parse(text)
        if isinstance(statement, ast.CreateBvh):
            return canonical_definition(sql.bind_bvh(statement, catalog))
    except (Error, ValueError) as error:
        raise described.fault(f"a CREATE BVH statement ({error})") from error
    raise described.fault("a CREATE BVH statement")


def _attributes(definition: BvhDefinition) -> list[Attribute]:
    return list(dict.fromkeys(definition.scan + definition.group_by))
