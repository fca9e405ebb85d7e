"""The types of Polars' columns that Arrow does not tell: ENUMs, within lists and STRUCTs too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.types as pt

from raydb.storage.enums import EnumType, has_enums

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    import pyarrow as pa


def with_enums(frame: pl.DataFrame, kinds: Sequence[pa.DataType], library: Any) -> pl.DataFrame:
    """Return a frame whose columns of some types have Enums; Arrow makes Categoricals of these.

    library: the module polars, which is imported where it is wanted.
    """
    named = zip(frame.columns, frame.dtypes, kinds, strict=True)
    return frame.with_columns(
        library.col(name).cast(_enum_type(dtype, kind, library))
        for name, dtype, kind in named
        if has_enums(kind)
    )


def _enum_type(dtype: Any, kind: pa.DataType, library: Any) -> Any:
    """Return Polars' type of values that Arrow has given the type `dtype`."""
    if isinstance(kind, EnumType):
        return library.Enum(kind.labels)
    if pt.is_list(kind):
        return library.List(_enum_type(dtype.inner, kind.value_type, library))
    if pt.is_fixed_size_list(kind):
        return library.Array(_enum_type(dtype.inner, kind.value_type, library), kind.list_size)
    if pt.is_struct(kind):
        parts = zip(dtype.fields, kind, strict=True)
        return library.Struct(
            {part.name: _enum_type(part.dtype, each.type, library) for part, each in parts}
        )
    return dtype
