"""Types by the names that CREATE TYPE has given them.

A text is parsed before it is known which types there are: the name stands for its type until the
statement runs.
"""

from __future__ import annotations

import pyarrow as pa


class NamedType(pa.ExtensionType):  # type: ignore[misc]
    """What stands for a type by its name."""

    def __init__(self, name: str) -> None:
        self.type_name = name
        super().__init__(pa.null(), "raydb.named")

    def __arrow_ext_serialize__(self) -> bytes:
        return self.type_name.encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, _: pa.DataType, serialized: bytes) -> NamedType:
        return cls(serialized.decode())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedType) and self.type_name == other.type_name

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __str__(self) -> str:
        return self.type_name

    def __hash__(self) -> int:
        return hash(self.type_name)
