"""The plan of a product: tiles, panels, blocks and units, and the layout of the workspace."""

from __future__ import annotations

from typing import Any

from agnesi.codegen.kernels.gemm.spec import GemmSpec
from agnesi.codegen.kernels.tile_search import whole_lines
from agnesi.codegen.kernels.tiling import OpenPanel, OpenRows, Panel, Paneled
from agnesi.core.ir.dims import Size
from agnesi.core.ir.extents import guess, most
from agnesi.core.support.record import record
from agnesi.core.target import LINE_BYTES

WHOLE_BLOCK = 1 << 60  # a block that no k is larger than


@record
class GemmPlan(Paneled):
    """A product divided into work units that any thread may take.

    Unit ``u`` is (batch member, row chunk, column group), the last fastest. ``scratch`` is the
    workspace of a thread in bytes, aligned to 64. With ``swapped`` the plan computes the transpose:
    ``spec`` is the transposed product, and lanes run along m.
    """

    spec: GemmSpec
    swapped: bool
    # "tile": vectors of B along n; "strip": the same, row by row of tiles; "dot": vectors along k;
    # "stream": lines of B; "skip": those where A is not zero
    form: str
    lanes: int
    panels: tuple[Panel, ...]
    row_chunks: int
    column_groups: int
    k_block: int
    pack_a: bool
    pack_b: bool
    spill: bool  # tiles go through scratch and one small loop to the epilogue: little code
    ahead: int = 0  # lines of B, or panels where vectors run along k, that tiles prefetch
    beside: bool = False  # whether tiles prefetch the next panel of B
    block_tiles: int = 1  # row tiles whose A stays near while all panels pass, in strips
    merged: int = 1  # row chunks in a row that one thread does as one
    calls: bool = False  # whether tiles prefetch the memory of their epilogue
    early: bool = False  # whether the tile of the previous panel does
    abreast: int = 1  # rows that are done at once where zeros are skipped
    pack_from: int = 0  # of a run-time number of rows, how many pay for packing B
    few: GemmPlan | None = None  # the plan for few rows, or for few columns if it is transposed

    @property
    def is_few(self) -> tuple[Size, int]:
        """The dynamic size that decides whether a plan for few rows or columns is used, and its
        maximum.
        """
        return self.spec.sizes[1], self.spec.m

    @property
    def units(self) -> Size:
        return self.spec.sizes[0] * self.chunks * self.groups

    @property
    def chunks(self) -> Size:
        """Row chunks as the code has them."""
        if not self.cuts_rows:
            return self.row_chunks
        count: Any = self.panels[0].rows.count
        return (count + (self.chunk_tiles - 1)) // self.chunk_tiles

    @property
    def rows_first(self) -> bool:
        """Whether a column group's chunks are next to each other, so that a large B is read once.
        """
        return self.form == "tile" and not self.pack_a and self.spec.m < self.spec.n

    @property
    def cuts_rows(self) -> bool:
        """Whether chunks have a fixed number of row tiles, and their number depends on the rows;
        also if there is a single one whose workspace is limited.
        """
        bounded = self.row_chunks > 1 or self.blocked or self.pack_a
        return bounded and isinstance(self.panels[0].rows, OpenRows)

    @property
    def groups(self) -> Size:
        """Column groups as the code has them."""
        if not self.cuts_columns:
            return self.column_groups
        return (self.panel_count + (self.group_panels - 1)) // self.group_panels

    @property
    def cuts_columns(self) -> bool:
        """Whether the numbers of column groups and panels are computed at run time."""
        bounded = self.column_groups > 1 or self.blocked
        return bounded and isinstance(self.panels[0], OpenPanel)

    @property
    def chunk_tiles(self) -> int:
        """Row tiles of a chunk, where it is the same for all sizes."""
        rows = self.panels[0].rows
        return -(-rows.tiles // self.row_chunks)

    @property
    def depth(self) -> int:
        """Lines of B that a streaming unit adds in one pass over its sums."""
        return {1: 12, 2: 6}.get(self.spec.m, 4)

    @property
    def prepares(self) -> bool:
        """Whether something is packed once for each batch member, or row chunk."""
        packs = self.pack_a or self.pack_b if self.form == "dot" else self.pack_a
        return packs and self.form in ("dot", "skip")

    @property
    def transposes_sums(self) -> bool:
        """Whether a panel of sums is transposed before it goes to the epilogue."""
        return self.form == "skip" and self.spec.c_strides[1] != 1

    @property
    def panel_count(self) -> Any:
        first = self.panels[0]
        if isinstance(first, OpenPanel):
            return (first.total + (first.full - 1)) // first.full
        return super().panel_count

    @property
    def blocked(self) -> bool:
        """Whether k is cut, so that partial sums live in scratch."""
        longest = most(self.spec.sizes[3])
        return self.k_block < (WHOLE_BLOCK if longest is None else longest)

    @property
    def chunk_rows(self) -> int:
        """Rows of the largest row chunk, or of those that are done as one."""
        whole, parts = self.merged, self.row_chunks
        return max(-(-p.rows.tiles * whole // parts) * p.rows.largest for p in self.panels)

    @property
    def group_panels(self) -> int:
        """Panels of the largest column group."""
        return -(-guess(self.panel_count) // self.column_groups)

    @property
    def panel_elements(self) -> int:
        """Elements of scratch that hold the partial sums of one panel."""
        return whole_lines(self.chunk_rows * self.width * self.spec.itemsize) // self.spec.itemsize

    @property
    def k_pitch(self) -> int:
        """Elements from one packed line along k to the next: whole vectors, no shared sets."""
        vectors = -(-(self.spec.k if self.form == "skip" else self.k_block) // self.lanes)
        if vectors * self.lanes * self.spec.itemsize % 1024 == 0:
            vectors += max(1, LINE_BYTES // (self.lanes * self.spec.itemsize))
        return vectors * self.lanes

    def chains(self, panel: Panel, rows: int) -> int:
        """Independent sums per accumulator, so that latency does not bind a small tile."""
        return max(1, min(4, 8 // (rows * len(panel.pieces)))) if self.spec.k >= 16 else 1

    @property
    def tile_pitch(self) -> int:
        """Elements of a packed row tile: a vector too much may be written."""
        largest = max(p.rows.largest for p in self.panels)
        size = (largest * self.k_block + self.lanes) * self.spec.itemsize
        return whole_lines(size) // self.spec.itemsize

    @property
    def panel_pitch(self) -> int:
        """Elements from one packed panel to the next."""
        return self.k_block * self.width

    @property
    def a_bytes(self) -> int:
        if not self.pack_a:
            return 0
        if self.form == "strip":
            return whole_lines(self.block_tiles * self.tile_pitch * self.spec.itemsize)
        if self.form in ("dot", "skip"):
            rows = self.spec.m if self.form == "dot" else self.chunk_rows
            return whole_lines(rows * self.k_pitch * self.spec.itemsize)
        return whole_lines(self.chunk_rows * self.k_pitch * self.spec.itemsize)

    @property
    def b_bytes(self) -> int:
        if not self.pack_b:
            return 0
        if self.form == "dot":
            return whole_lines(self.spec.n * self.k_pitch * self.spec.itemsize)
        if self.form == "strip":
            return whole_lines(self.group_panels * self.panel_pitch * self.spec.itemsize)
        return whole_lines(self.k_block * self.width * self.spec.itemsize)

    @property
    def c_bytes(self) -> int:
        if self.form == "skip":
            lines = self.width + (self.lanes if self.transposes_sums else 0)
            return whole_lines((self.chunk_rows + self.lanes) * lines * self.spec.itemsize)
        if self.form == "stream":
            return whole_lines(self.spec.m * self.panel_count * self.lanes * self.spec.itemsize)
        if self.blocked:
            partial = self.panel_elements * self.group_panels * self.spec.itemsize
            return 2 * self.tile_bytes + partial  # sums to finish, zeros to start from
        return self.tile_bytes if self.spill else 0

    @property
    def tile_bytes(self) -> int:
        """Bytes of the sums of the largest tile."""
        largest = max(p.rows.largest * p.width for p in self.panels)
        return whole_lines(max(largest, self.lanes) * self.spec.itemsize)

    @property
    def scratch(self) -> int:
        own = self.a_bytes + self.b_bytes + self.c_bytes
        return max(own, self.few.scratch) if self.few else own
