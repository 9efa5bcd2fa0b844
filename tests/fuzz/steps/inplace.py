"""Steps that write with methods and ``out=``: the value first, which they change."""

from __future__ import annotations

from tests.fuzz.pool import Line, Pool, Value

#: Of any numbers, which stay whole; ``y`` is of the value's type, ``a`` an axis, ``n`` its size.
WHOLE = (
    "{x}.neg_()", "{x}.abs_()", "{x}.zero_()", "{x}.sub_({y})", "{x}.clamp_(0, 3)",
    "{x}.square_()", "{x}.relu_()", "{x}.sign_()", "{x}.fill_(2)", "{x}.clip_(1, 2)",
    "{x}.masked_fill_({y} > 0, 1)", "{x}.eq_({y})", "{x}.copy_({y} * 2)", "{x}.floor_divide_(2)",
    "{x}.remainder_(3)", "ag.add({x}, {y}, out={x})", "ag.multiply({x}, {x}, out={x})",
    "ag.maximum({x}, {y}, out={x})", "{x}.add_({y}, alpha=2)", "{x}.mul_({x})",
)
AXES = (
    "{x}.index_fill_({a}, ag.arange(1), 2)", "{x}.index_add_({a}, ag.arange({n}) // 2, {y})",
    "{x}.index_copy_({a}, ag.arange({n}), {y})", "{x}.cumsum_({a})", "{x}.tril_()", "{x}.triu_(1)",
    "{x}.scatter_({a}, ag.argsort({y}, {a}, stable=True), {y})", "{x}.fill_diagonal_(2)",
    "{x}.scatter_add_({a}, ag.argsort({y}, {a}, stable=True) // 2, {y})",
    "{x}.index_put_((ag.arange({m}),), {x}[-1])", "{x}.masked_scatter_({y} > 0, {y}.reshape(-1))",
    "{x}.mT.mul_(2)", "{x}[0].neg_()", "{x}.T[..., 0].add_(1)", "{x}.diagonal().zero_()",
    "{x}[::-1].copy_({y})", "{x}.reshape(-1)[1:].sub_(1)", "{x}[..., 1:].copy_({x}[..., :-1])",
    "ag.cumsum({x}, {a}, out={x})", "{x}.unsqueeze(0).add_({y})", "{x}.narrow({a}, 0, 1).fill_(3)",
    "{x}.select({a}, 0).mul_(2)", "{x}.transpose(0, -1).add_({y}.transpose(0, -1))",
)
SMOOTH = (
    "{x}.tanh_()", "{x}.sin_()", "{x}.sigmoid_()", "{x}.mul_(0.5)", "{x}.lerp_({y}, 0.3)",
    "{x}.addcmul_({y}, {y}, value=0.1)", "{x}.div_(2)", "{x}.neg_()", "{x}.sub_({y}, alpha=0.5)",
    "{x}.addcdiv_({y}, 1 + {y} * {y})", "{x}.copy_({y} * {x})", "{x}.cos_()", "{x}.erf_()",
    "ag.tanh({x}, out={x})", "{x}.square_().add_(1).sqrt_()", "{x}.exp_().reciprocal_().tanh_()",
    "{x}.hypot_(1 + {y} * {y})", "ag.multiply({x}, {y}, out={x})",
)


def method(p: Pool, x: Value) -> Line | None:
    """A value changed by a method of it, or of what looks into it."""
    if x.spread or x.number or x.kind in "bc" or (p.smooth and not x.name.startswith("v")):
        return None
    axes = x.ndim and x.size and p.chance(0.5)
    forms = AXES if axes else SMOOTH if p.smooth else WHOLE
    axis = p.axis(x) if x.ndim else 0
    text = p.one(forms).format(x=x, y=p.alike(x), a=axis, n=x.shape[axis] if x.ndim else 1,
                               m=x.shape[0] if x.ndim else 1)
    return Line(text, forms is not SMOOTH, statement=True)


MAKERS = (method,)
