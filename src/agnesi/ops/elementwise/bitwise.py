"""Operations on the bits of integers (and, or, xor, not of bools)."""

from __future__ import annotations

import numpy as np

from agnesi.ops.base.elementwise import Elementwise, binary, unary

BITWISE_AND = Elementwise("bitwise_and", np.bitwise_and, (None, None), kinds="biu")
BITWISE_OR = Elementwise("bitwise_or", np.bitwise_or, (None, None), kinds="biu")
BITWISE_XOR = Elementwise("bitwise_xor", np.bitwise_xor, (None, None), kinds="biu")
BITWISE_INVERT = Elementwise("bitwise_invert", np.bitwise_not, (None,), kinds="biu")
BITWISE_LEFT_SHIFT = Elementwise("bitwise_left_shift", np.left_shift, (None, None), kinds="iu")
BITWISE_RIGHT_SHIFT = Elementwise("bitwise_right_shift", np.right_shift, (None, None), kinds="iu")

bitwise_and = binary(BITWISE_AND, "Bits that are set in both operands.", "[6, 5], 3", "[2, 1]")
bitwise_or = binary(BITWISE_OR, "Bits that are set in one operand or both.", "[6, 5], 3", "[7, 7]")
bitwise_xor = binary(
    BITWISE_XOR, "Bits that are set in one operand but not in both.", "[6, 5], 3", "[5, 6]"
)
bitwise_invert = unary(
    BITWISE_INVERT, "All bits the other way round; of bools, the negation.", "[0, 5]", "[-1, -6]"
)
bitwise_left_shift = binary(
    BITWISE_LEFT_SHIFT, "Bits moved to the left: times a power of two.", "[1, 3], 2", "[ 4, 12]"
)
bitwise_right_shift = binary(
    BITWISE_RIGHT_SHIFT, "Bits moved to the right: divided by a power of two, rounded down.",
    "[16, -3], 1", "[ 8, -2]",
)


def _mulhi(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """High half of the double-width product of unsigned integers of 32 or 64 bits."""
    if a.dtype.itemsize < 8:
        bits = 8 * a.dtype.itemsize
        return (a.astype(np.uint64) * b >> np.uint64(bits)).astype(a.dtype)
    low, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    a0, a1, b0, b1 = a & low, a >> shift, b & low, b >> shift
    middle = a1 * b0 + (a0 * b0 >> shift)
    middle2 = a0 * b1 + (middle & low)
    return a1 * b1 + (middle >> shift) + (middle2 >> shift)


MULHI = Elementwise("mulhi", _mulhi, (None, None), kinds="u")
mulhi = binary(MULHI)
