"""Which of PyTorch's public names for networks there are here, and why the others are left out.

``make names`` prints the shares and writes ``docs/torch-names.md``, which ``make peers`` compares
with PyTorch and ``make test`` with agnesi.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from benchmarks import peers

DOCUMENT = Path(__file__).parents[1] / "docs" / "torch-names.md"

PLACES = (
    "nn", "nn.functional", "nn.init", "nn.utils", "nn.utils.rnn", "nn.utils.parametrize",
    "nn.utils.parametrizations", "nn.utils.prune", "optim", "optim.lr_scheduler", "optim.swa_utils",
)

#: What does not count, by reason.
ASIDE = {
    "sizes that the first call tells: layers are made with all sizes": "Lazy\\w+ Uninitialized\\w+",
    "quantised numbers": "scaled_\\w+ grouped_mm ScalingType SwizzleType",
    "a helper of PyTorch's own code": """
        factory_kwargs has_torch_function\\w* handle_torch_function boolean_dispatch
        assert_int_or_pair BroadcastingList\\d
    """,
}

#: Why names are left out.
LEFT_OUT = {
    "nn.LinearCrossEntropyOptions": "how a loss is cut into chunks, which the compiler decides",
    "nn.functional.multi_head_attention_forward": "`nn.MultiheadAttention` holds its many operands",
    "nn.utils.convert_conv2d_weight_memory_format": "tensors have no memory formats; compiled code "
                                                    "chooses its own",
    "nn.utils.convert_conv3d_weight_memory_format": "tensors have no memory formats; compiled code "
                                                    "chooses its own",
    "nn.utils.skip_init": "initial values are drawn when a layer is made",
    "optim.swap_in_optimizer_params_and_state": "`optimizer.load_state_dict(state)`",
}

HEAD = """# PyTorch's names for networks

`make names` writes this page; `make peers` compares it with PyTorch, `make test` with agnesi.
Not counted are {aside}.

| namespace | there | of | share |
|---|---|---|---|
{shares}

| PyTorch's | here | why it is left out |
|---|---|---|
"""


class Row(NamedTuple):
    """A name of PyTorch's, and what it is here."""

    place: str
    name: str
    here: bool
    reason: str


def public(module: ModuleType) -> Iterator[str]:
    """Classes and functions that a module of PyTorch's offers."""
    for name in getattr(module, "__all__", None) or dir(module):
        value: Any = getattr(module, name, None)
        home = str(getattr(value, "__module__", "") or "torch")
        if name.startswith("_") or isinstance(value, ModuleType) or not callable(value):
            continue
        if home.startswith("torch") and (home, name) != ("torch", "Tensor"):
            yield name


def is_aside(name: str) -> bool:
    """Whether a name does not count."""
    return any(re.fullmatch(pattern, name) for text in ASIDE.values() for pattern in text.split())


def rows() -> list[Row]:
    """All names that count."""
    theirs, ours = peers.torch(), peers.agnesi()
    found = []
    for place in PLACES:
        here = import_module(f"{ours.__name__}.{place}")
        for name in sorted(set(public(import_module(f"{theirs.__name__}.{place}")))):
            if not is_aside(name):
                found.append(Row(place, name, name in dir(here),
                                 LEFT_OUT.get(f"{place}.{name}", "")))
    return found


def shares(table: list[Row]) -> list[tuple[str, int, int]]:
    """For each namespace how many names are there, and of how many; then for all."""
    counts = []
    for place in (*PLACES, ""):
        part = [row for row in table if place in ("", row.place)]
        counts.append((place or "all", sum(row.here for row in part), len(part)))
    return counts


def text(table: list[Row]) -> str:
    """The page of the docs."""
    lines = [f"| {place} | {there} | {count} | {there / count:.1%} |"
             for place, there, count in shares(table)]
    page = HEAD.format(aside="; ".join(ASIDE), shares="\n".join(lines))
    for row in table:
        name = f"{row.place}.{row.name}"
        page += f"| `{name}` | {f'`{name}`' if row.here else ''} | {row.reason} |\n"
    return page


def main() -> int:
    table = rows()
    DOCUMENT.write_text(text(table), encoding="utf-8")
    for place, there, count in shares(table):
        print(f"{place:26} {there:4} of {count:4}  {there / count:6.1%}")
    for row in table:
        if not row.here:
            print(f"  {row.place}.{row.name}: {row.reason or 'missing without a reason'}")
    return 0 if all(row.here or row.reason for row in table) else 1


if __name__ == "__main__":
    sys.exit(main())
