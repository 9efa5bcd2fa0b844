"""What planning makes, and what memory is laid out for."""

from __future__ import annotations

from agnesi.core.kernels import Buffer, Kernel


class Program:
    """Kernels in order, with the buffers of a graph's leaves and results."""

    def __init__(self) -> None:
        self.kernels: list[Kernel] = []
        self.leaves: dict[int, Buffer] = {}
        self.outputs: list[Buffer] = []
        self.buffers: list[Buffer] = []
