"""Golden texts of errors of vmap, custom derivatives and C functions; this file's line."""

import pytest

import agnesi as ag

STATE = ag.zeros(())


def untold(x):
    return x


def pair(x):
    return x, 1


def steps(x):
    yield x


async def later(x):
    return x


CASES = [
    (lambda: ag.jit(3.0), TypeError, "jit: function must be a function or None, not 3.0"),
    (lambda: ag.jit(steps), TypeError, "steps is a generator or coroutine, whose call computes "
     "nothing yet: compile the function that computes one step"),
    (lambda: ag.jit(later), TypeError, "later is a generator or coroutine, whose call computes "
     "nothing yet: compile the function that computes one step"),
    (lambda: ag.vmap(ag.add)(ag.zeros(2), ag.zeros(3)), ag.ShapeError,
     "vmap: other has 3 examples on axis 0, others have 2"),
    (lambda: ag.vmap(ag.sin, 1)(ag.zeros(2)), ag.ShapeError,
     "vmap: input is float32[2] and has no axis 1 for examples; give None in in_axes for "
     "what is the same for all"),
    (lambda: ag.vmap(ag.sin, None)(ag.zeros(2)), ValueError,
     "vmap: no argument has an axis of examples; give axis_size"),
    (lambda: ag.vmap(lambda d: d["a"], out_axes=None)({"a": ag.zeros(2)}), ValueError,
     "vmap: the result differs between examples; it needs an axis in out_axes"),
    (lambda: ag.vmap(lambda x: STATE.copy_(x))(ag.zeros(2)), TypeError,
     "vmap: what is written into float32[] differs between examples, but the tensor does not; make "
     "it from an argument (x * 0), or return the value"),
    (lambda: ag.vmap(ag.sin, {"x": 0})(ag.zeros(2)), ValueError,
     "vmap: in_axes is {'x': 0}, which is no axis and no nest of axes like arguments"),
    (lambda: ag.custom_vjp(untold)(1.0), TypeError,
     "untold has no derivative rule yet: define it with f.defvjp(forward, backward)"),
    (lambda: ag.custom_jvp(untold)(1.0), TypeError,
     "untold has no derivative rule yet: define it with f.defjvp(rule)"),
    (lambda: ag.jacobian(untold, mode="both"), ValueError,
     "mode must be 'auto', 'forward' or 'reverse', not 'both'"),
    (lambda: ag.jit(pair).c_function(1.0), TypeError,
     "pair must return tensors to be a C function"),
    (lambda: ag.jit(untold).c_function(ag.zeros(2), form="values"), TypeError,
     "form='values' is for functions of scalars to one float, not of float32[2], float32[2]"),
]


@pytest.mark.parametrize(("call", "kind", "text"), CASES)
def test_text(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    told = str(caught.value)
    assert text in told
    assert f"test_transforms.py:{call.__code__.co_firstlineno}" in told
