"""Sort keys: elements as signed integers of the same order.

The key of a float is its magnitude with its sign, so both zeros are one; all NaN have the key
behind infinity.  In descending order keys are inverted.
"""

from __future__ import annotations

from agnesi.codegen.llvm.builder import Builder, Value, const, scalar, vector, width
from agnesi.core.support.record import record

#: Infinity and a NaN as integers, by dtype.
_FLOATS = {
    "float16": (0x7C00, 0x7E00),
    "bfloat16": (0x7F80, 0x7FC0),
    "float32": (0x7F800000, 0x7FC00000),
    "float64": (0x7FF0000000000000, 0x7FF8000000000000),
}
_INTEGERS = {"bool": 8, **{f"{s}int{n}": n for s in ("", "u") for n in (8, 16, 32, 64)}}


@record
class Keys:
    """The keys of a dtype: elements of ``bits`` bits, keys of 32 or 64."""

    dtype: str

    @property
    def floating(self) -> bool:
        return self.dtype in _FLOATS

    @property
    def bits(self) -> int:
        if self.floating:
            return 16 if self.dtype.endswith("16") else int(self.dtype[5:])
        return _INTEGERS[self.dtype]

    @property
    def memory(self) -> str:
        """IR type of an element, as an integer."""
        return f"i{self.bits}"

    @property
    def type(self) -> str:
        """IR type of a key."""
        return "i64" if self.bits == 64 else "i32"

    @property
    def most(self) -> int:
        """The greatest key."""
        return (1 << (int(self.type[1:]) - 1)) - 1

    def _wide(self, b: Builder, raw: Value) -> Value:
        """Return the bits of an element as an integer of a key's width."""
        type_ = vector(self.type, width(raw.type))
        if raw.type == type_:
            return raw
        return b.cast("zext" if self.dtype[0] == "u" else "sext", raw, type_)

    def key(self, b: Builder, raw: Value, order_mask: Value) -> Value:
        """The key of an element; ``order_mask`` has all bits set in descending order, else none."""
        x = self._wide(b, raw)
        if self.floating:
            sign, size = self._signed(b, x)
            infinity, _ = _FLOATS[self.dtype]
            is_nan = b.icmp("ugt", size, const(x.type, infinity))
            signed = b.sub(b.op("xor", size, sign), sign)
            x = b.select(is_nan, const(x.type, infinity + 1), signed)
        elif self._flips_sign_bit:
            x = b.op("xor", x, const(x.type, -1 << (self.bits - 1)))
        return b.op("xor", x, order_mask)

    @property
    def _flips_sign_bit(self) -> bool:
        """Whether elements are unsigned and fill the key."""
        return self.dtype in ("uint32", "uint64")

    def _signed(self, b: Builder, x: Value) -> tuple[Value, Value]:
        """Return a mask with all bits set where a float is negative, and the bits of its magnitude.
        """
        sign = b.op("ashr", x, const(x.type, self.bits - 1))
        return sign, b.op("and", x, const(x.type, (1 << (self.bits - 1)) - 1))

    def element(self, b: Builder, key: Value, order_mask: Value) -> Value:
        """The element of a key."""
        x = b.op("xor", key, order_mask)
        if self.floating:
            infinity, nan = _FLOATS[self.dtype]
            sign = b.op("ashr", x, const(x.type, int(self.type[1:]) - 1))
            size = b.sub(b.op("xor", x, sign), sign)
            signed = b.op("or", size, b.op("shl", sign, const(x.type, self.bits - 1)))
            is_nan = b.icmp("sgt", x, const(x.type, infinity))
            x = b.select(is_nan, const(x.type, nan), signed)
        elif self._flips_sign_bit:
            x = b.op("xor", x, const(x.type, -1 << (self.bits - 1)))
        type_ = vector(self.memory, width(key.type))
        return x if x.type == type_ else b.cast("trunc", x, type_)

    def is_negative_zero(self, b: Builder, raw: Value) -> Value:
        """Return whether elements are negative zeros, which their keys do not distinguish."""
        return b.icmp("eq", raw, const(raw.type, -1 << (self.bits - 1)))

    def is_zero(self, b: Builder, raw: Value) -> Value:
        """Return whether elements are zeros of either sign."""
        return b.icmp("eq", b.add(raw, raw), const(raw.type, 0))


def extended(b: Builder, value: Value, type_: str) -> Value:
    """A signed integer, or a vector of them, with more bits."""
    return value if scalar(value.type) == type_ else b.cast("sext", value,
                                                             vector(type_, width(value.type)))
