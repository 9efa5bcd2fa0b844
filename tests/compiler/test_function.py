"""``ag.function``: rows T21 to T26 of the papers."""

from __future__ import annotations

import copy
import pickle
from time import process_time
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.core.op import Op


class Fails(Op):
    """Raises when it runs."""

    name = "fails"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fails)

    def __hash__(self) -> int:
        return hash("fails")

    def infer(self, x: Any) -> Any:
        return x.shape, x.dtype

    def perform(self, x: Any) -> Any:
        raise ValueError("it was run")


def vectors() -> tuple[Any, Any]:
    return T.vector("a"), T.vector("b")


# -- outputs (T21) ----------------------------------------------------------------------------
def test_none_one_or_many_outputs():
    a, b = vectors()
    x, y = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    assert ag.function([a, b])(x, y) is None
    np.testing.assert_array_equal(ag.function([a, b], a + b)(x, y), [4, 7])
    (only,) = ag.function([a, b], [a + b])(x, y)
    np.testing.assert_array_equal(only, [4, 7])
    _, product = ag.function([a, b], (a + b, a * b))(x, y)
    np.testing.assert_array_equal(product, [3, 10])
    named = ag.function([a, b], {"sum": a + b, "difference": a - b})
    for _ in range(2):
        found = named(x, y)
        assert list(found) == ["sum", "difference"] and found["difference"].tolist() == [-2, -3]


def test_results_are_plain_arrays_with_memory_of_their_own():
    a, _ = vectors()
    f = ag.function([a], [a, a * 2, a[1:]])
    x = np.arange(3.0)
    first, second = f(x), f(x)
    for r, s in zip(first, second, strict=True):
        assert type(r) is np.ndarray and not np.shares_memory(r, x) and not np.shares_memory(r, s)
        r += 100
    assert x.tolist() == [0, 1, 2] and second[0].tolist() == [0, 1, 2]


def test_shared_work_is_done_once():
    x, w = T.matrix("x"), ag.shared(np.ones((4, 3)))
    y = T.dot(x, w)
    f = ag.function([x], [T.exp(y), T.dot(x, w) * 2, y.sum()])
    f(np.ones((2, 4)))
    assert sum(n.op is not None and n.op.name == "matmul" for n in f.graph.nodes) == 1


# -- calls --------------------------------------------------------------------------------------
def test_calls_by_name():
    a, b = vectors()
    f = ag.function([a, b], a - b, name="difference")
    x, y = np.ones(2), np.zeros(2)
    for found in (f(x, y), f(x, b=y), f(b=y, a=x)):
        assert found.tolist() == [1, 1]
    with pytest.raises(TypeError, match=r"difference has no free input 'c'; inputs: a, b"):
        f(x, c=y)
    with pytest.raises(TypeError, match=r"difference has no free input 'a'"):
        f(x, a=y)
    with pytest.raises(TypeError, match=r"difference needs a value for b"):
        f(a=x)
    with pytest.raises(TypeError, match=r"difference takes 2 arguments \(a, b\), but 1"):
        f(x)


def test_one_function_for_any_size_and_layout():
    x = T.matrix("x")
    f = ag.function([x], (x * 2).sum(0))
    values = np.arange(12.0).reshape(3, 4)
    for given in (values, values[:1], values.T, values[::-1, ::-2], np.asfortranarray(values),
                  np.ones((7, 1)), np.ones((0, 3)), values.tolist(), ag.tensor(values)):
        np.testing.assert_array_equal(f(given), (np.asarray(given) * 2).sum(0))


def test_wrong_types_name_the_input():
    x, n = T.matrix("x"), T.lvector("n")
    f = ag.function([x, n], x.sum() + n.sum(), name="total")
    ones, count = np.ones((2, 2)), np.arange(2)
    for kind in (ag.ShapeError, TypeError):
        with pytest.raises(kind, match=r"input x of total is 2-dim.*; float64\[2\] does not fit"):
            f(np.ones(2), count)
    with pytest.raises(ag.DTypeError, match=r"input n of total is declared int64; float64 values"):
        f(ones, np.ones(2))
    with pytest.raises(TypeError, match=r"input x of total is declared float64; complex128"):
        f(ones * 1j, count)
    assert f(ones.astype("float32"), count.astype("uint8")) == 5  # both widen without loss


def test_sizes_that_disagree_are_reported_where_they_were_combined():
    a, b = vectors()
    c = a * b; line = 0  # noqa: E702
    here = test_sizes_that_disagree_are_reported_where_they_were_combined.__code__
    line = here.co_firstlineno + 2
    f = ag.function([a, b], c)
    assert f([1.0], [2.0]).tolist() == [2]
    with pytest.raises(ag.ShapeError) as caught:
        f([1.0, 2.0], [1.0, 2.0, 3.0])
    text = str(caught.value)
    assert "multiply" in text and "(2,)" in text and "(3,)" in text and f"{__file__}:{line}" in text


# -- cuts (T22), pruning (T23), replacements (T24) ------------------------------------------------
def test_any_tensor_can_be_an_input():
    x = T.vector("x")
    h = T.tanh(x) * 2
    y = (h**2).sum()
    encode, decode = ag.function([x], h), ag.function([h], y)
    given = np.array([0.5, -1.0])
    np.testing.assert_allclose(decode(encode(given)), ag.function([x], y)(given))
    assert ag.function([x, h], y)(given, np.zeros(2)) == 0


def test_missing_inputs_are_named():
    a, b = vectors()
    with pytest.raises(ag.MissingInputError, match="b"):
        ag.function([a], a + b)
    half = a + b
    assert ag.function([half], half * 2)(np.ones(2)).tolist() == [2, 2]


def test_the_graph_of_the_user_is_left_alone():
    x = T.vector("x")
    y = T.log(T.exp(x) + 0) * 1
    before = str(ag.inspect.listing(y)) if hasattr(ag.inspect, "listing") else repr(y)
    ag.function([x], y)(np.ones(2))
    after = str(ag.inspect.listing(y)) if hasattr(ag.inspect, "listing") else repr(y)
    assert before == after


def test_what_is_not_needed_does_not_run():
    from agnesi.core.dispatch import apply

    x = T.vector("x")
    bad = apply(Fails(), x)
    f = ag.function([x], x * 2 + 0 * x)
    assert f(np.ones(2)).tolist() == [2, 2]
    with pytest.raises(ValueError, match="it was run"):
        ag.function([x], bad)(np.ones(2))
    assert ag.function([x, bad], bad + x)(np.ones(2), np.ones(2)).tolist() == [2, 2]


def test_givens_replace_before_compiling():
    x, z = T.vector("x"), T.vector("z")
    y = x**2
    assert ag.function([z], y, givens={x: z + 1})(np.array([1.0, 2.0])).tolist() == [4, 9]
    data, i = ag.shared(np.arange(10.0)), T.lscalar("i")
    batch = ag.function([i], y, givens=[(x, T.take(data, T.arange(3) + i, 0))])
    assert batch(2).tolist() == [4, 9, 16]


# -- shared variables (T25) ---------------------------------------------------------------------
def test_functions_see_one_state():
    s, x = ag.shared(np.zeros(2), name="s"), T.vector("x")
    add = ag.function([x], updates={s: s + x})
    read = ag.function([], s * 1)
    add(np.ones(2)), add([1.0, 2.0])
    assert read().tolist() == [2, 3] and s.get_value().tolist() == [2, 3]
    s.get_value()[:] = 7
    assert s.get_value().tolist() == [2, 3]
    s.get_value(borrow=True)[:] = 7
    assert read().tolist() == [7, 7]


def test_set_value_with_a_new_shape():
    s = ag.shared(np.zeros((2, 3)), name="s")
    f = ag.function([], s.sum(0) + 1, updates={s: s + 1})
    assert f().tolist() == [1, 1, 1]
    s.set_value(np.ones((4, 2)))
    assert f().tolist() == [5, 5] and s.get_value().shape == (4, 2)
    s.set_value(np.zeros((2, 3)))
    assert f().tolist() == [1, 1, 1] and s.get_value().tolist() == [[1] * 3] * 2


def test_set_value_keeps_the_type():
    s = ag.shared(np.zeros((2, 3)), name="s")
    with pytest.raises(ag.ShapeError, match=r"the shared variable s has 2 axes"):
        s.set_value(np.zeros(3))
    with pytest.raises(TypeError, match=r"the shared variable s holds float64; .* complex128"):
        s.set_value(np.zeros((2, 3), complex))
    s.set_value(np.ones((2, 3), "float32"))
    assert s.get_value().dtype == np.float64


# -- updates (T26) ------------------------------------------------------------------------------
def test_updates_read_old_values():
    a, b = ag.shared(np.zeros(3)), ag.shared(np.ones(3))
    swap = ag.function([], updates={a: b, b: a})
    for turn in range(3):
        swap()
        assert a.get_value().tolist() == [1 - turn % 2] * 3
        assert b.get_value().tolist() == [turn % 2] * 3


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_coupled_updates(size):
    a, b = ag.shared(np.arange(size) * 1.0), ag.shared(np.ones(size))
    f = ag.function([], [a + b, a[::-1] * 1], updates={a: a + b, b: a - b[::-1]})
    x, y = np.arange(size) * 1.0, np.ones(size)
    for _ in range(3):
        total, back = f()
        np.testing.assert_array_equal(total, x + y)
        np.testing.assert_array_equal(back, x[::-1])
        x, y = x + y, x - y[::-1]
        np.testing.assert_array_equal(a.get_value(), x)
        np.testing.assert_array_equal(b.get_value(), y)


def test_outputs_see_values_from_before_the_updates():
    w, x = ag.shared(np.ones(3)), T.vector("x")
    f = ag.function([x], [w, (w * x).sum()], updates=[(w, w - 0.5 * x)])
    old, total = f(np.ones(3))
    assert old.tolist() == [1, 1, 1] and total == 3 and w.get_value().tolist() == [0.5] * 3
    assert f(np.ones(3))[0].tolist() == [0.5] * 3


def test_updates_of_fitting_elements_need_no_memory():
    w, g = ag.shared(np.ones(1000)), T.vector("g")
    f = ag.function([g], updates={w: w - 0.1 * g})
    f(np.ones(1000))
    assert f.plan().arena_bytes == 0 and len(f.plan().layout.kernels) == 1


def test_an_argument_that_is_the_state_itself():
    w, x = ag.shared(np.arange(4.0)), T.vector("x")
    f = ag.function([x], x * 10, updates={w: w + x[::-1]})
    for _ in range(3):
        before = w.get_value()
        out = f(w.get_value(borrow=True))
        np.testing.assert_array_equal(out, before * 10)
        np.testing.assert_array_equal(w.get_value(), before + before[::-1])


def test_wrong_updates_are_refused():
    a, b = vectors()
    s = ag.shared(np.zeros(3), name="s")
    with pytest.raises(TypeError, match="only shared variables and tensors with a value hold"):
        ag.function([a, b], updates={a: b})
    with pytest.raises(ag.ShapeError, match="the number of axes must agree"):
        ag.function([a], updates={s: a.sum()})
    with pytest.raises(ag.DTypeError, match=r"convert it with \.astype"):
        ag.function([], updates={ag.shared(np.zeros(3, "int64")): s})


# -- mutable inputs -----------------------------------------------------------------------------
def test_defaults_are_what_they_were_after_every_call():
    v = T.vector("v")
    w = ag.shared(np.zeros(2))
    for value in (np.zeros(2), w):
        f = ag.function([ag.In(v, value=value, mutable=True)], v + 1)
        assert f().tolist() == f().tolist() == [1, 1]
    assert w.get_value().tolist() == [0, 0]


def test_inputs_are_left_alone_unless_declared_mutable():
    a, b = vectors()
    x, y = np.ones(4), np.full(4, 2.0)
    ag.function([a, b], (a + 1) * b)(x, y)
    assert x.tolist() == [1] * 4
    f = ag.function([ag.In(a, mutable=True), b], (a + 1) * b)
    found = f(x, y)
    assert found.tolist() == [4] * 4 and y.tolist() == [2] * 4
    same = np.arange(4.0)
    np.testing.assert_array_equal(f(same, same), (np.arange(4.0) + 1) * np.arange(4.0))
    fixed = np.ones(4)
    fixed.flags.writeable = False
    assert f(fixed, y).tolist() == [4] * 4 and fixed.tolist() == [1] * 4


# -- eager tensors ------------------------------------------------------------------------------
def test_a_recorded_run_is_a_graph():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    f = ag.function([x], y)
    assert f(np.array([3.0, 4.0], "float32")) == 25


def test_tensors_with_values_can_be_updated():
    w, x = ag.zeros(2, dtype="float64"), T.vector("x")
    f = ag.function([x], updates={w: w + x})
    f([1.0, 2.0]), f([1.0, 2.0])
    assert w.tolist() == [2, 4]


def test_sizes_of_shared_variables_whose_values_nobody_needs():
    """The gradient of a sum of products to one factor is the other one, in the factor's shape."""
    w, x = ag.shared(np.arange(3.0), name="w"), T.vector("x")
    f = ag.function([x], T.grad((x * w).sum(), w))
    assert f([2.0, 3.0, 4.0]).tolist() == [2, 3, 4]
    assert f([2.0]).tolist() == [2, 2, 2]
    w.set_value(np.zeros(5))
    restored = pickle.loads(pickle.dumps(f))
    for g in (f, restored, copy.deepcopy(f), f.copy()):
        assert g([2.0]).tolist() == [2] * 5
        assert g(np.arange(5.0)).tolist() == [0, 1, 2, 3, 4]
        with pytest.raises(ag.ShapeError, match=r"sizes (5 and 4|4 and 5) differ"):
            g(np.ones(4))
    m = ag.shared(np.zeros((2, 3)))
    assert ag.function([], T.grad(m.sum() * 2, m))().tolist() == [[2] * 3] * 2
    v = T.vector("v")
    by_products = ag.function([v], T.grad((m @ v).sum(), m))
    assert by_products([1.0, 2.0, 3.0]).tolist() == [[1, 2, 3]] * 2
    with ag.config(compile=False):
        assert f([2.0]).tolist() == [2] * 5
    for optimizer in ("None", "fast_compile"):
        g = ag.function([x], T.grad((x * w).sum(), w), optimizer=optimizer)
        assert g([2.0]).tolist() == [2] * 5


def test_updates_change_sizes_but_not_kinds():
    w, v, n = ag.shared(np.arange(5.0), name="w"), T.vector("v"), ag.shared(0)
    f = ag.function([v], {"twice": v * 2, "sum": w.sum()}, updates={w: v + 1, n: n + 1})
    total = 10.0
    for size in (5, 5, 4, 6, 0, 7, 7):
        found = f(np.full(size, size))
        assert found["twice"].tolist() == [2 * size] * size and found["sum"] == total
        assert w.get_value().tolist() == [size + 1] * size
        total = size * (size + 1)
    assert n.get_value() == 7
    grow = ag.function([], None, updates={w: ag.concat([w, w[-1:] + 1])})
    for _ in range(3):
        assert grow() is None
    assert w.get_value().tolist() == [8] * 7 + [9, 10, 11]
    with pytest.raises(ag.ShapeError, match="the number of axes must agree"):
        ag.function([v], None, updates={w: v.sum()})
    with pytest.raises(ag.DTypeError, match="convert it"):
        ag.function([v], None, updates={n: v.sum()})


def test_arguments_that_are_no_numbers_are_told():
    x = T.vector("x")
    f = ag.function([x], x * 2, name="twice")
    for wrong, told in (("a", "'a'"), (None, "None"), ([1, "b"], r"\[1, 'b'\]")):
        with pytest.raises(TypeError, match=f"input x of twice takes numbers, not {told}"):
            f(wrong)
    with pytest.raises(TypeError, match=r"twice takes 1 argument \(x\), but 2 came"):
        f(1, 2)
    with pytest.raises(TypeError, match=r"no free input 'x', for it was given by position"):
        f([1.0], x=[1.0])
    with pytest.raises(ag.ShapeError, match=r"input x of twice is 1-dimensional"):
        f(np.ones((2, 2)))
    with pytest.raises(ValueError, match="is among the inputs twice"):
        ag.function([x, x], x)


def foreign_arrays(folder):
    """Things that NumPy takes as an array of 2 rows and 3 columns, by name."""
    base = np.arange(6.0).reshape(2, 3)
    mapped = np.memmap(folder / "numbers", dtype=np.float64, shape=(2, 3), mode="w+")
    mapped[:] = base
    record = np.zeros((2, 3), dtype=[("a", "f8")]).view(np.recarray)
    record.a = base

    class Subclass(np.ndarray):
        pass

    class Array:
        def __array__(self, dtype=None, copy=None):
            return base

    class Interface:
        __array_interface__ = base.__array_interface__

    class Capsule:
        def __dlpack__(self, **keywords):
            return base.__dlpack__(**keywords)

        def __dlpack_device__(self):
            return base.__dlpack_device__()

    return {
        "memmap": mapped, "matrix": np.matrix(base), "subclass": base.view(Subclass),
        "field of a recarray": record.a, "read-only": np.frombuffer(base.tobytes()).reshape(2, 3),
        "big-endian": base.astype(">f8"), "Fortran order": np.asfortranarray(base),
        "unaligned": np.frombuffer(b"x" + base.tobytes(), np.uint8)[1:].view("f8").reshape(2, 3),
        "list": base.tolist(), "memoryview": memoryview(base), "__array__": Array(),
        "__array_interface__": Interface(), "DLPack": Capsule(),
    }


def test_array_likes_are_taken_as_numpy_takes_them(tmp_path):
    x = T.matrix("x")
    total = ag.function([x], (x * 2).sum(axis=0))
    for name, array in foreign_arrays(tmp_path).items():
        assert total(array).tolist() == [6.0, 10.0, 14.0], name


@pytest.mark.parametrize("array, reason", [
    (np.ma.array(np.ones((2, 3)), mask=np.eye(2, 3) > 0), "mask would be ignored"),
    (np.zeros((2, 3), dtype=[("a", "f8"), ("b", "f8")]), "declared float64"),
    (np.ones((2, 3), dtype=object), "takes numbers"),
    (np.char.array([["a"]]), "takes numbers"),
])
def test_other_arrays_are_refused_by_name(array, reason):
    x = T.matrix("x")
    with pytest.raises((TypeError, ag.DTypeError), match=f"input x of .*{reason}"):
        ag.function([x], x.sum())(array)


def test_two_new_values_for_one_variable_are_refused():
    s = ag.shared(np.zeros(2))
    for updates in ([(s, s + 1), (s, s + 2)], [(s, s + 1), (s, s + 1)]):
        with pytest.raises(ValueError, match=r"two new values; give one\n  at .*test_function"):
            ag.function([], s * 1, updates=updates)


def test_sizes_of_what_is_no_input_are_asked_for_or_told_by_what_is():
    w, v, x = T.dmatrix("w"), T.dvector("v"), T.dvector("x")
    f = ag.function([v, x], T.Lop(x @ w, w, v))
    np.testing.assert_array_equal(f(np.arange(2.0), np.ones(3)), [[0, 1]] * 3)
    for found in (w.shape[0] * v, ag.broadcast_to(v, w.shape), ag.zeros(w.shape) + v):
        with pytest.raises(ag.MissingInputError, match="depend on the shape of w"):
            ag.function([v], found)(np.ones(2))


def test_a_graph_of_numbers_as_sizes_is_specialised_as_it_is():
    x, v = T.dscalar("x"), T.dvector("v")
    settled, open_ = (ag.function([i], T.sin(i)).source for i in (x, v))
    assert settled.specialise({settled.inputs[0]: ()}) is settled
    found = open_.specialise({open_.inputs[0]: (3,)})
    assert found is not open_ and found.outputs[0].shape == (3,) and open_.sizes
    with pytest.raises(ag.ShapeError, match="has shape"):
        settled.specialise({settled.inputs[0]: (2,)})


def test_sizes_of_chains_are_not_looked_into_while_a_function_is_declared():
    a, b = T.vector("a"), T.vector("b")
    y = [a, b]
    for _ in range(40):
        y.append(ag.pad(y[-2][1:3], 1) + y[-1])
    begin = process_time()
    ag.function([a, b], y[-1])
    assert process_time() - begin < 2  # 15 when every size was taken apart


def test_jit_refuses_masks_and_takes_memory_that_may_change():
    """Also where code for such an array without a mask is there."""
    double = ag.jit(lambda x: ag.asarray(x) * 2)
    plain = np.ones(3)
    for _ in range(2):
        assert double(plain).tolist() == [2, 2, 2]
        with pytest.raises(ag.DTypeError, match="jit: tensors have no masks"):
            double(np.ma.array(plain, mask=[0, 1, 0]))
    view = memoryview(plain)
    for value in (1.0, 5.0):
        plain[0] = value
        assert double(view).tolist() == [2 * value, 2, 2]
