"""Thrift's compact protocol, in which the footer and the heads of pages of a Parquet file are written."""

from typing import Any

_DEEPEST = 20  # nested structures and lists; the format has 7


class ThriftReader:
    """Reads Thrift's compact protocol into dictionaries by field number, lists, numbers and bytes."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def structure(self, depth: int) -> dict[int, Any]:
        """Read a structure up to its end."""
        fields: dict[int, Any] = {}
        number = 0
        while True:
            head = self._byte()
            if head == 0:
                return fields
            number = number + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth)

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (4, 5, 6):
            return self._signed()
        if kind == 8:
            return self._take(self._unsigned())
        if depth == _DEEPEST:
            raise ValueError("its footer is nested too deeply")
        if kind == 12:
            return self.structure(depth + 1)
        if kind in (9, 10):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._unsigned()
            if count > len(self.data) - self.at:
                raise ValueError("its footer ends early")
            return [self._value(head & 15, depth + 1) for _ in range(count)]
        if kind in (1, 2, 3):  # in lists, a truth value is a byte
            return self._byte()
        if kind == 7:
            return self._take(8)
        raise ValueError(f"its footer has a field of the unknown type {kind}")

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _take(self, count: int) -> bytes:
        taken = self.data[self.at : self.at + count]
        if len(taken) < count:
            raise ValueError("its footer ends early")
        self.at += count
        return taken

    def _unsigned(self) -> int:
        byte = self._byte()
        if byte < 128:
            return byte
        value, shift = byte & 127, 7
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("its footer has a number of more than 64 bits")

    def _signed(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)
