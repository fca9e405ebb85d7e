"""A reader of FlatBuffers tables in bytes that nobody vouches for.

The flatbuffers package for Python has no verifier, and its accessors follow whatever offsets they
find. A RootTable checks the root offset, the vtable and, on access, the bounds of each field, so
that nothing outside of the buffer is ever read:

    buffer   u32 root --> table: i32 back to the vtable, then the fields
    vtable   u16 its size, u16 the table's size, u16 place of each field (0: absent)
    vector   u32 from its field --> u32 count, items
"""

from __future__ import annotations

import struct

from raydb.storage.flat.metadata.damage import damaged

_ROOT = struct.Struct("<I")
_BACK = struct.Struct("<i")
_SIZES = struct.Struct("<HH")


class RootTable:
    """The root table of a FlatBuffer: `view`, which lies at `offset` of the file `path`.

    Raises OperationalError, here and in the methods, for an offset or count that leaves `view`.
    """

    __slots__ = ("_fields", "_offset", "_path", "_position", "_table_size", "view")

    def __init__(self, path: str, offset: int, view: memoryview) -> None:
        self.view, self._path, self._offset = view, path, offset
        size = len(view)
        if size < 12:
            raise damaged(path, offset, "a FlatBuffer of 12 bytes or more", f"{size} bytes")
        (position,) = _ROOT.unpack_from(view, 0)
        self._read_table(position)

    def _read_table(self, position: int) -> None:
        view, path, offset, size = self.view, self._path, self._offset, len(self.view)
        if not 4 <= position <= size - 4:
            raise damaged(path, offset, f"a table at 4 to {size - 4}", position)
        (back,) = _BACK.unpack_from(view, position)
        vtable = position - back
        if not 0 <= vtable <= size - 4:
            raise damaged(path, offset + position, f"a vtable at 0 to {size - 4}", vtable)
        vtable_size, table_size = _SIZES.unpack_from(view, vtable)
        if vtable_size < 4 or vtable_size % 2 or vtable + vtable_size > size:
            raise damaged(path, offset + vtable, "an even vtable size in bounds", vtable_size)
        if table_size < 4 or position + table_size > size:
            raise damaged(path, offset + vtable + 2, "a table size in bounds", table_size)
        self._position, self._table_size = position, table_size
        self._fields = struct.unpack_from(f"<{vtable_size // 2 - 2}H", view, vtable + 4)

    def inline(self, slot: int, size: int) -> int | None:
        """Return the position of a scalar or a struct of `size` bytes; None if it is absent."""
        place: int = self._fields[slot] if slot < len(self._fields) else 0
        if not place:
            return None
        if not 4 <= place <= self._table_size - size:
            where = self._offset + self._position
            raise damaged(self._path, where, f"a place for field {slot} in its table", place)
        position: int = self._position + place
        return position

    def required(self, slot: int, size: int) -> int:
        """Return the position of a scalar or a struct; raise OperationalError if it is absent."""
        position = self.inline(slot, size)
        if position is None:
            raise damaged(self._path, self._offset + self._position, f"field {slot}", "none")
        return position

    def table(self, slot: int) -> RootTable:
        """Return the table that a field refers to; raise OperationalError if it is absent."""
        place = self.required(slot, 4)
        (relative,) = _ROOT.unpack_from(self.view, place)
        table = object.__new__(RootTable)
        table.view, table._path, table._offset = self.view, self._path, self._offset
        table._read_table(place + relative)
        return table

    def vector(self, slot: int, item_size: int) -> tuple[int, int]:
        """Return the position and the count of a vector's items; (0, 0) if it is absent."""
        place = self.inline(slot, 4)
        if place is None:
            return 0, 0
        (relative,) = _ROOT.unpack_from(self.view, place)
        start = place + relative
        room = len(self.view) - start - 4
        if relative < 4 or room < 0:
            raise damaged(self._path, self._offset + place, "a vector in its buffer", relative)
        (count,) = _ROOT.unpack_from(self.view, start)
        if count * item_size > room:
            expected = f"at most {room // item_size} items of {item_size} bytes"
            raise damaged(self._path, self._offset + start, expected, count)
        return start + 4, count

    def bytes_of(self, slot: int, item_size: int) -> memoryview:
        """Return the bytes of a vector's items."""
        start, count = self.vector(slot, item_size)
        return self.view[start : start + count * item_size]
