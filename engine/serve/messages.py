"""Protobuf messages as their fields by number: what Flight SQL needs of the format.

    name, fields = unpack(descriptor.command)       "CommandStatementQuery", {1: [b"SELECT 1"]}
    Message(fields).text(1)                         "SELECT 1"
    pack("DoPutUpdateResult", {1: 42})              the bytes of google.protobuf.Any

The numbers are those of FlightSql.proto and Flight.proto of Apache Arrow.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, TypeAlias

from raydb.errors import ProgrammingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Value: TypeAlias = bool | int | float | str | bytes

PREFIX = "type.googleapis.com/arrow.flight.protocol.sql."

# How a field is written; groups, 3 and 4, are in no message of today.
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5


class Message:
    """A message that was read. Raises ProgrammingError for bytes that are none."""

    def __init__(self, data: bytes) -> None:
        self._fields: dict[int, list[int | bytes]] = {}
        for number, value in _fields(data):
            self._fields.setdefault(number, []).append(value)

    def has(self, number: int) -> bool:
        """Tell whether a field was written."""
        return number in self._fields

    def data(self, number: int) -> bytes:
        """Return the bytes of a field, none where it was not written."""
        return self._bytes(self._fields.get(number, [b""])[-1])

    def text(self, number: int) -> str:
        """Return a text, "" where it was not written."""
        return _decoded(self.data(number))

    def optional_text(self, number: int) -> str | None:
        """Return a text, None where it was not written."""
        return self.text(number) if self.has(number) else None

    def texts(self, number: int) -> list[str]:
        """Return a repeated text."""
        return [_decoded(self._bytes(value)) for value in self._fields.get(number, [])]

    def number(self, number: int) -> int:
        """Return an integer, 0 where it was not written."""
        return self.numbers(number)[-1] if self.has(number) else 0

    def numbers(self, number: int) -> list[int]:
        """Return a repeated integer, which may be packed."""
        found: list[int] = []
        for value in self._fields.get(number, []):
            found += [value] if isinstance(value, int) else _packed(value)
        return [_signed(value) for value in found]

    def double(self, number: int) -> float:
        """Return a double."""
        data = self.data(number)
        return float(struct.unpack("<d", data)[0]) if len(data) == 8 else 0.0

    def message(self, number: int) -> Message:
        """Return an inner message."""
        return Message(self.data(number))

    def messages(self, number: int) -> list[Message]:
        """Return a repeated inner message, such as the entries of a map."""
        return [Message(self._bytes(value)) for value in self._fields.get(number, [])]

    def _bytes(self, value: int | bytes) -> bytes:
        if isinstance(value, int):
            raise ProgrammingError("the message cannot be read: a field has another type")
        return value


def unpack(data: bytes) -> tuple[str, Message]:
    """Return the name of a message of Flight SQL in a google.protobuf.Any, and the message.

    Raises ProgrammingError for another one.
    """
    packed = Message(data)
    name = packed.text(1)
    if not name.startswith(PREFIX):
        raise ProgrammingError("the command is not one of Flight SQL")
    return name.removeprefix(PREFIX), packed.message(2)


def write(fields: Mapping[int, Value | Sequence[bytes]]) -> bytes:
    """Return the bytes of a message; a sequence is a repeated field."""
    parts: list[bytes] = []
    for number, value in fields.items():
        several = value if isinstance(value, list | tuple) else (value,)
        parts += [_written(number, each) for each in several]
    return b"".join(parts)


def pack(name: str, fields: Mapping[int, Value | Sequence[bytes]]) -> bytes:
    """Return the bytes of a google.protobuf.Any with a message of Flight SQL in it."""
    return write({1: PREFIX + name, 2: write(fields)})


def _written(number: int, value: Value) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3 | _VARINT) + _varint(value % 2**64)
    if isinstance(value, float):
        return _varint(number << 3 | _EIGHT_BYTES) + struct.pack("<d", value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | _BYTES) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and the value of each field."""
    place = 0
    while place < len(data):
        key, place = _read_varint(data, place)
        kind = key & 7
        if kind == _VARINT:
            value: int | bytes
            value, place = _read_varint(data, place)
        else:
            if kind == _BYTES:
                size, place = _read_varint(data, place)
            elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
                size = 8 if kind == _EIGHT_BYTES else 4
            else:
                raise ProgrammingError(f"the message cannot be read: field type {kind} is unknown")
            value, place = data[place : place + size], place + size
        if place > len(data):
            raise ProgrammingError("the message cannot be read: it ends within a field")
        yield key >> 3, value


def _read_varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    for at in range(place, min(place + 10, len(data))):
        value |= (data[at] & 0x7F) << shift
        if data[at] < 0x80:
            return value, at + 1
        shift += 7
    raise ProgrammingError("the message cannot be read: a number does not end")


def _packed(data: bytes) -> list[int]:
    found, place = [], 0
    while place < len(data):
        value, place = _read_varint(data, place)
        found.append(value)
    return found


def _signed(value: int) -> int:
    value %= 2**64
    return value - 2**64 if value >= 2**63 else value


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ProgrammingError("the message cannot be read: a text is not UTF-8") from None
