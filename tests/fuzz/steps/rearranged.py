"""Steps that pad, roll, tile, split and join in the ways that are used less often."""

from __future__ import annotations

from tests.fuzz.pool import Line, Pool, Value


def padded(p: Pool, x: Value) -> Line | None:
    """Borders that repeat, mirror or wrap values, or are a number."""
    if not x.ndim or not x.size or x.ndim > 3:
        return None
    widths = [(p.below(3), p.below(3)) for _ in range(x.ndim)]
    if p.chance(0.3) and x.kind != "b":
        return Line(f"ag.pad({x}, {widths}, constant_values={p.below(3)})")
    mode = p.one(["edge", "reflect", "wrap", "symmetric"])
    return Line(f"ag.pad({x}, {widths}, mode={mode!r})")


def rolled(p: Pool, x: Value) -> Line | None:
    """Rolled along several axes, or as one row."""
    if x.ndim < 2 or p.chance(0.3):
        return Line(f"ag.roll({x}, {p.below(9) - 4})")
    return Line(f"ag.roll({x}, ({p.below(7) - 3}, {p.below(7) - 3}), (0, {p.below(x.ndim)}))")


def turned(p: Pool, x: Value) -> Line | None:
    """Axes moved, flipped or turned."""
    if x.ndim < 2:
        return Line(f"ag.flip({x})", view=True) if x.ndim else None
    a, b = (int(n) for n in p.rng.permutation(x.ndim)[:2])
    return Line(p.one([f"ag.flip({x})", f"ag.flip({x}, ({a}, {b}))",
                       f"ag.rot90({x}, {p.below(5) - 1}, ({a}, {b}))",
                       f"ag.moveaxis({x}, {a}, {b})", f"ag.swapaxes({x}, {a}, {b})"]), view=True)


def joined(p: Pool, x: Value) -> Line | None:
    """Parts of one value, or several, in another order; empty parts among them."""
    if not x.ndim:
        return None
    axis, n = p.below(x.ndim), x.shape[0]
    k, y = p.below(n + 1), p.alike(x)
    forms = [f"ag.concat([{x}[{k}:], {x}[:{k}]])", f"ag.concat([{x}, {y}[:0], {x}])",
             f"ag.concat([{x}[:{k}], {y}, {x}[{k}:][::-1]])", f"ag.hstack([{x}, {y}])",
             f"ag.vstack([{y}, {x}])", f"ag.append({x}, {y}, axis={axis})",
             f"ag.concat([{x}, {y}], axis=None)", f"ag.stack([{x}, {y}, {x}], axis=-1)"]
    if x.ndim < 3:
        forms += [f"ag.column_stack([{x}, {y}])", f"ag.dstack([{x}, {y}])"]
    return Line(p.one(forms))


def divided(p: Pool, x: Value) -> Line | None:
    """Parts of unequal size."""
    if not x.ndim:
        return None
    axis = p.below(x.ndim)
    n = x.shape[axis]
    if p.chance(0.5):
        return Line(f"ag.array_split({x}, 3, axis={axis})", view=True, outs=3)
    a, b = sorted((p.below(n + 1), p.below(n + 2)))
    return Line(f"ag.split({x}, [{a}, {b}], axis={axis})", view=True, outs=3)


def repeated(p: Pool, x: Value) -> Line | None:
    """Each element as often as a table says; the whole along new axes."""
    if not x.ndim:
        return Line(f"ag.repeat({x}, {p.below(4)})")
    axis = p.below(x.ndim)
    counts = p.rng.integers(0, 3, x.shape[axis]).tolist()
    times = tuple(p.below(3) for _ in range(x.ndim + p.below(2)))
    return Line(p.one([f"ag.repeat({x}, np.array({counts}, 'int64'), {axis})",
                       f"ag.repeat({x}, {p.below(3)})", f"ag.tile({x}, {times})"]))


def edited(p: Pool, x: Value) -> Line | None:
    """Without a line, or with another one."""
    if not x.ndim:
        return None
    axis = p.below(x.ndim)
    n = x.shape[axis]
    new = "True" if x.kind == "b" else str(p.below(3))
    forms = [f"ag.insert({x}, {p.below(n + 1)}, {new}, axis={axis})"]
    if n:
        forms += [f"ag.delete({x}, {p.below(n)}, axis={axis})",
                  f"ag.delete({x}, slice({p.below(n)}, None, 2), axis={axis})"]
    return Line(p.one(forms))


def chosen(p: Pool, x: Value) -> Line | None:
    """One of several values for each element, the first that fits."""
    if x.kind in "bc" or p.smooth:
        return None
    y, z = p.alike(x), p.alike(x)
    return Line(p.one([f"ag.select([{x} > {y}, {y} > 1], [{x}, {z}], 2)",
                       f"ag.choose(({x} > {y}).astype('int64'), [{x}, {z}])",
                       f"ag.where({x} > {y}, ag.where({z} > 0, {x}, {y}), {z})"]))


def steps_apart(p: Pool, x: Value) -> Line | None:
    """Elements beside each other, over and over, with negative steps."""
    if not x.ndim or x.kind == "b":
        return None
    return Line(p.one([
        f"{x}[..., ::-1] + {x}", f"{x} * {x}[::-1]", f"{x}[1:] - {x}[:-1]", f"{x}[::-2]",
        f"{x}[1:][::-1] * {x}[:-1]", f"{x}[..., ::2].sum(-1) - {x}[..., 1::2].sum(-1)",
        f"{x}[:, None] - {x}[None]" if x.ndim == 1 else f"{x}[:, :1] - {x}[:1]"]))


MAKERS = (padded, rolled, turned, joined, divided, repeated, edited, chosen, steps_apart,
          steps_apart)
