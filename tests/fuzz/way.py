"""What a way to run a program is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Way:
    """Two expressions and what they need.

    ``gradients``: a float input, and floats among the results.  ``writes``: whether programs may
    change values.  ``bits``: whether results are the same to the bit.  ``kinds`` of programs.
    ``real``: numbers are taken for real ones; what is not finite may be anything.
    """

    name: str
    expected: str
    found: str
    prelude: str = ""
    weight: float = 1
    gradients: bool = False
    writes: bool = True
    bits: bool = False
    real: bool = False
    kinds: tuple[str, ...] = ("whole", "smooth", "wild")
