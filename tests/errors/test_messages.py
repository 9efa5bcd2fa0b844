"""Golden texts of errors: the operation, its operands, the reason, and this file's line.

Each case is written once and run three ways: on values, on symbolic variables, and under jit.
"""

import gc

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.core.support.errors import RankError

LSTM = ag.nn.LSTM(4, 2)
AxisError = np.exceptions.AxisError


def eager(dtype, *shape):
    return ag.zeros(shape, dtype=dtype)


def symbolic(dtype, *shape):
    return T.tensor(dtype, shape)


CASES = [
    (lambda m: m("float32", 3, 4) + m("float32", 5, 4), ag.ShapeError,
     "add(float32[3, 4], float32[5, 4]): sizes 3 and 5 differ on axis -2 and neither is 1: "
     "shapes (3, 4) and (5, 4) do not broadcast"),
    (lambda m: m("float32", 3, 4) @ m("float32", 5, 6), ag.ShapeError,
     "matmul(float32[3, 4], float32[5, 6]): inner sizes differ: 4 (last axis of (3, 4)) and "
     "5 (axis -2 of (5, 6))"),
    (lambda m: m("float32", 3) @ m("float32", 4), ag.ShapeError,
     "matmul(float32[3], float32[4]): inner sizes differ: 3 (of (3,)) and 4 (of (4,))"),
    (lambda m: m("float32", 3) @ m("float32"), ag.ShapeError,
     "matmul(float32[3], float32[]): a scalar has no matrix product; multiply with *"),
    (lambda m: m("float32", 2, 3, 4) @ m("float32", 5, 4, 3), ag.ShapeError,
     "matmul(float32[2, 3, 4], float32[5, 4, 3]): in front of the matrices, sizes 2 and 5 differ "
     "on axis -1 and neither is 1: shapes (2,) and (5,) do not broadcast"),
    (lambda m: ag.dot(m("float32", 3, 4), m("float32", 3)), ag.ShapeError,
     "dot(float32[3, 4], float32[3]): inner sizes differ: 4 (last axis of (3, 4)) and 3 "
     "(of (3,))"),
    (lambda m: ag.tensordot(m("float32", 3, 4), m("float32", 3, 5), axes=1), ag.ShapeError,
     "tensordot(float32[3, 4], float32[3, 5]): sizes 4 (axis 1 of (3, 4)) and 3 (axis 0 of "
     "(3, 5)) differ"),
    (lambda m: m("float32", 3, 4).sum(axis=2), AxisError,
     "sum(float32[3, 4]): axis 2 is out of range for 2 dimensions"),
    (lambda m: m("float32", 3, 4).sum(axis=(0, -2)), ValueError,
     "sum(float32[3, 4]): axis (0, -2) names an axis twice"),
    (lambda m: m("float32", 3, 4).mean(axis=1.5), TypeError,
     "mean(float32[3, 4]): axis must be an integer, not 1.5"),
    (lambda m: m("float32", 0, 4).max(axis=0), ag.ShapeError,
     "max(float32[0, 4]): axis 0 of shape (0, 4) has no elements, so there is no max; give "
     "it at least one element"),
    (lambda m: m("float32", 0).argmax(), ag.ShapeError,
     "argmax(float32[0]): axis 0 of shape (0,) has no elements; give it at least one"),
    (lambda m: m("float32", 3, 4).reshape(5, 2), ag.ShapeError,
     "reshape(float32[3, 4], 5, 2): 12 elements of shape (3, 4) do not fit the shape (5, 2) "
     "of 10"),
    (lambda m: m("float32", 3, 4).reshape(-1, 5), ag.ShapeError,
     "reshape(float32[3, 4], -1, 5): 12 elements of shape (3, 4) cannot be shared out over "
     "(-1, 5)"),
    (lambda m: m("float32", 3, 4).reshape(-1, -1), ag.ShapeError,
     "reshape(float32[3, 4], -1, -1): only one size may be -1, not several of (-1, -1)"),
    (lambda m: m("float32", 3, 4).permute(0, 0), ValueError,
     "permute(float32[3, 4], 0, 0): axes (0, 0) must name each of 2 axes once"),
    (lambda m: m("float32", 3, 4).permute(0, 1, 2), AxisError,
     "permute(float32[3, 4], 0, 1, 2): axis 2 is out of range for 2 dimensions"),
    (lambda m: m("float32", 3, 4).squeeze(0), ag.ShapeError,
     "squeeze(float32[3, 4], 0): axis 0 has size 3; only axes of size 1 can go (dim= leaves "
     "others, as in PyTorch)"),
    (lambda m: m("float32", 3, 4).unsqueeze(5), AxisError,
     "unsqueeze(float32[3, 4], 5): axis 5 is out of range for 3 dimensions"),
    (lambda m: m("float32", 3, 4).expand(2, 4), ag.ShapeError,
     "expand(float32[3, 4], 2, 4): sizes 3 and 2 differ on axis -2 and neither is 1: shapes "
     "(3, 4) and (2, 4) do not broadcast"),
    (lambda m: ag.broadcast_to(m("float32", 3), (4, )), ag.ShapeError,
     "broadcast_to(float32[3], (4,)): sizes 3 and 4 differ on axis -1 and neither is 1: "
     "shapes (3,) and (4,) do not broadcast"),
    (lambda m: ag.concat([m("float32", 3, 4), m("float32", 3, 5)]), ag.ShapeError,
     "concat([float32[3, 4], float32[3, 5]]): sizes 4 and 5 differ on axis 1; only axis 0, "
     "along which operands are joined, may differ"),
    (lambda m: ag.concat([m("float32", 3, 4), m("float32", 3)]), RankError,
     "concat([float32[3, 4], float32[3]]): operands have 2 and 1 dimensions"),
    (lambda m: ag.stack([m("float32", 3), m("float32", 4)]), ag.ShapeError,
     "stack([float32[3], float32[4]]): shapes (3,) and (4,) differ; stack takes equal ones"),
    (lambda m: ag.split(m("float32", 7), 3), ValueError,
     "split(float32[7], 3): axis 0 of size 7 does not divide into 3 equal parts; "
     "array_split makes unequal ones, and split(x, size, dim=0) PyTorch's of a size"),
    (lambda m: m("float32", 3, 4)[3], IndexError,
     "getitem(float32[3, 4], 3): index 3 is out of range for axis 0 of size 3"),
    (lambda m: m("float32", 3, 4)[0, -5], IndexError,
     "getitem(float32[3, 4], (0, -5)): index -5 is out of range for axis 1 of size 4"),
    (lambda m: m("float32", 3, 4)[0, 0, 0], IndexError,
     "getitem(float32[3, 4], (0, 0, 0)): 3 indices for 2 dimensions"),
    (lambda m: m("float32", 3, 4)[1.5], IndexError,
     "getitem(float32[3, 4], 1.5): 1.5 is not an index: use integers, slices, None, ..., "
     "tensors of integers or bools"),
    (lambda m: m("float32", 3, 4)["a"], IndexError,
     "getitem(float32[3, 4], 'a'): 'a' is not an index: use integers, slices, None, ..., "
     "tensors of integers or bools"),
    (lambda m: m("float32", 3)[m("float32", 2)], IndexError,
     "getitem(float32[3], float32[2]): indices must be integers or bools, not float32[2]: "
     "convert them with .astype('int64')"),
    (lambda m: m("float32", 3)[ag.tensor([True, False])], IndexError,
     "getitem(float32[3], bool[2]): the mask has shape (2,), the axes it stands for (3,)"),
    (lambda m: m("float32", 3, 4).__setitem__(0, m("float32", 3)), ag.ShapeError,
     "setitem(float32[3, 4], 0, float32[3]): the value has shape (3,), the indexed region "
     "(4,)"),
    (lambda m: ag.take(m("float32", 3), m("float32", 2)), ag.DTypeError,
     "take(float32[3], float32[2]): indices must be integers, not float32[2]: convert "
     "them with .astype('int64')"),
    (lambda m: m("float32", 3) & m("float32", 3), ag.DTypeError,
     "bitwise_and(float32[3], float32[3]): bitwise_and takes bool, int8, int16, int32, "
     "int64, uint8, uint16, uint32, uint64, not float32[3] and float32[3]; conditions need "
     "parentheses: (a > 0) & (b > 0)"),
    (lambda m: ~m("float32", 3), ag.DTypeError,
     "bitwise_invert(float32[3]): bitwise_invert takes bool, int8, int16, int32, int64, "
     "uint8, uint16, uint32, uint64, not float32[3]; of a condition it is ~(x > 0), of a "
     "number -x or 1 - x"),
    (lambda m: m("int64", 3) << 1.5, ag.DTypeError,
     "bitwise_left_shift(int64[3], 1.5): bitwise_left_shift takes int8, int16, int32, "
     "int64, uint8, uint16, uint32, uint64, not int64[3] and 1.5; x.astype('int64') has bits, "
     "x * 2.0**n shifts floats"),
    (lambda m: ag.add([None], m("float32", 3)), ag.DTypeError,
     "add([None], float32[3]): cannot make a tensor from [None]: its elements have dtype "
     "object; tensors hold bool, integer, float and complex numbers"),
    (lambda m: ag.exp("a"), ag.DTypeError,
     "exp('a'): cannot make a tensor from 'a': its elements have dtype <U1; tensors hold "
     "bool, integer, float and complex numbers"),
    (lambda m: ag.floor(m("complex64", 3)), ag.DTypeError,
     "floor(complex64[3]): floor takes float16, float32, float64, not complex64[3]"),
    (lambda m: m("complex64", 3) < m("complex64", 3), ag.DTypeError,
     "less(complex64[3], complex64[3]): less takes bool, int8, int16, int32, int64, "
     "uint8, uint16, uint32, uint64, float16, float32, float64, not complex64[3] and complex64[3]"),
    (lambda m: m("int64", 3).__iadd__(1.5), ag.DTypeError,
     "+=(int64[3], 1.5): the result is float32[3], which does not fit into int64[3] in "
     "place; write x = x ... instead, or convert the tensor with .astype('float32') first"),
    (lambda m: m("float32", 3).__iadd__(m("float32", 2, 3)), ag.ShapeError,
     "+=(float32[3], float32[2, 3]): the value has shape (2, 3), the target changed in "
     "place has (3,)"),
    (lambda m: m("float32", 3).copy_(m("float32", 4)), ag.ShapeError,
     "copy_(float32[3], float32[4]): sizes 4 and 3 differ on axis -1 and neither is 1: "
     "shapes (4,) and (3,) do not broadcast"),
    (lambda m: m("float32", 3).astype("float20"), ag.DTypeError,
     "astype(float32[3], 'float20'): unsupported dtype 'float20'; choose one of bool, int8, "
     "int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64, "
     "complex64, complex128, bfloat16"),
    (lambda m: ag.where(m("bool", 3), m("float32", 4), m("float32", 3)), ag.ShapeError,
     "where(bool[3], float32[4], float32[3]): sizes 3 and 4 differ on axis -1 and neither "
     "is 1: shapes (3,) and (4,) and (3,) do not broadcast"),
    (lambda m: ag.cumsum(m("float32", 3, 4), axis=2), AxisError,
     "cumsum(float32[3, 4]): axis 2 is out of range for 2 dimensions"),
    (lambda m: ag.sort(m("float32", 3, 4), axis=2), AxisError,
     "sort(float32[3, 4]): axis 2 is out of range for 2 dimensions"),
    (lambda m: ag.topk(m("float32", 3), 5), ag.ShapeError,
     "topk(float32[3], 5): k = 5 of 3 elements on axis 0; give k of at most 3"),
    (lambda m: ag.softmax(m("float32", 3), axis=1), AxisError,
     "softmax(float32[3]): axis 1 is out of range for 1 dimensions"),
    (lambda m: ag.cross_entropy(m("float32", 3, 4), m("int64", 2)), ag.ShapeError,
     "cross_entropy(float32[3, 4], int64[2]): labels need one entry per row of classes: "
     "shape (3,), not (2,)"),
    (lambda m: ag.cross_entropy(m("float32", 3, 4), m("int64", 3), weight=np.ones(3)),
     ag.ShapeError, "cross_entropy(float32[3, 4], int64[3], weight=float64[3]): weight must have 4 "
     "elements, not be float32[3]"),
    (lambda m: LSTM(m("int64", 3, 2, 4)), ag.DTypeError,
     "LSTM: the input must be floats, not int64[3, 2, 4]; convert it with .astype('float32'), "
     "labels with nn.Embedding"),
    (lambda m: ag.cross_entropy(m("float32", 3, 4, 5), m("int64", 3, 4)), ag.ShapeError,
     "cross_entropy(float32[3, 4, 5], int64[3, 4]): labels need one entry per row of classes: "
     "shape (3, 5), not (3, 4); write axis=-1 for classes in the last axis"),
    (lambda m: ag.cross_entropy(m("float32", 3, 4), m("float64", 3)), ag.DTypeError,
     "cross_entropy(float32[3, 4], float64[3]): labels must be integers, not float64[3]: convert "
     "them with .astype('int64'); probabilities have the shape of the logits"),
    (lambda m: m("float32", 3).to("cuda:0"), ValueError,
     "there is one device, 'cpu', and not 'cuda:0'"),
    (lambda m: m("int64", 3) ** -1, ValueError,
     "power(int64[3], -1): whole numbers have no negative powers: convert one to a float"),
    (lambda m: ag.exp(2**70), ag.DTypeError,
     "exp(1180591620717411303424): the integer 1180591620717411303424 does not fit into int64 or "
     "uint64; write it as a float"),
    (lambda m: ag.logspace(0, 2, 3, False), TypeError,
     "logspace(0, 2, 3, False): by position, the fourth argument is NumPy's endpoint or PyTorch's "
     "base; write endpoint= or base="),
    (lambda m: ag.meshgrid([m("float32", 2), m("float32", 2)]), TypeError,
     "meshgrid([float32[2], float32[2]]): tensors of one shape in a list are one operand in NumPy "
     "and several in PyTorch; write meshgrid(*tensors, indexing='xy') or indexing='ij'"),
    (lambda m: ag.tensor([3, 300], dtype="uint8"), ag.DTypeError,
     "tensor([3, 300]): the integer 300 does not fit into uint8"),
    (lambda m: ag.asarray(((0,), (-1,)), dtype="uint16"), ag.DTypeError,
     "asarray(((0,), (-1,))): the integer -1 does not fit into uint16"),
    (lambda m: ag.full((2,), 300, dtype="uint8"), ag.DTypeError,
     "full((2,), 300): the integer 300 does not fit into uint8"),
    (lambda m: ag.tril(m("float32")), ag.ShapeError,
     "tril(float32[]): a matrix has at least 2 dimensions, this has shape ()"),
    (lambda m: ag.flip(m("float32", 3), axis=1), AxisError,
     "flip(float32[3]): axis 1 is out of range for 1 dimensions"),
    (lambda m: ag.roll(m("float32", 3), 1, axis=1), AxisError,
     "roll(float32[3], 1): axis 1 is out of range for 1 dimensions"),
    (lambda m: ag.pad(m("float32", 3), [(1, 1), (1, 1)]), ValueError,
     "pad(float32[3], [(1, 1), (1, 1)]): pad_width must be n, (before, after), or such a "
     "pair for each of 1 dimensions, not [(1, 1), (1, 1)]"),
    (lambda m: ag.pad(m("float32", 3), (True, 6)), ValueError,
     "pad(float32[3], (True, 6)): pad_width must hold integers that are not negative, not True"),
    (lambda m: ag.repeat(m("float32", 3), -1), ValueError,
     "repeat(float32[3], -1): repeats must not be negative: -1"),
    (lambda m: ag.gather(m("float32", 3, 4), 0, m("int64", 2)), ValueError,
     "gather(float32[3, 4], 0, int64[2]): the index has 1 dimensions, the operand 2: "
     "int64[2] along an axis of float32[3, 4]; expand_dims gives it more"),
    (lambda m: m("int8", 3) + 300, ag.DTypeError,
     "add(int8[3], 300): the Python integer 300 does not fit into int8"),
    (lambda m: ag.trace(m("float32", 3)), ag.ShapeError,
     "trace(float32[3]): a matrix has at least 2 dimensions, this has shape (3,)"),
    (lambda m: ag.norm(m("float32", 3), axis=1), AxisError,
     "norm(float32[3]): axis 1 is out of range for 1 dimensions"),
    (lambda m: ag.add(m("float32", 3), m("float32", 3), out=m("float32", 4)), ag.ShapeError,
     "add(float32[3], float32[3]): the result has shape (3,), but out has (4,); give an out of the "
     "result's shape, such as ag.empty((3,))"),
    (lambda m: ag.add(m("float32", 3), m("float32", 3), out=np.zeros(3)), TypeError,
     "add(float32[3], float32[3]): out must be a Tensor, not ndarray"),
    (lambda m: m("float32", 3, 4).swapaxes(0, 2), AxisError,
     "swapaxes(float32[3, 4], 0, 2): axis 2 is out of range for 2 dimensions"),
    (lambda m: m("float32", 3, 4).moveaxis(0, 2), AxisError,
     "moveaxis(float32[3, 4], 0, 2): axis 2 is out of range for 2 dimensions"),
    (lambda m: m("float32", 3, 4).sum(weights=0), TypeError,
     "sum(float32[3, 4]): sum() got an unexpected keyword argument 'weights'; it takes x, axis, "
     "dtype, keepdims, initial, where, out"),
    (lambda m: ag.zeros((3, -1)), ValueError,
     "zeros((3, -1)): sizes must not be negative: (3, -1)"),
    (lambda m: ag.tensor([1, 2], requires_grad=True), ag.DTypeError,
     "tensor([1, 2]): only float and complex tensors can require grad, not int64"),
    (lambda m: ag.zeros(3, device="cuda"), ValueError,
     "zeros(3): there is one device, 'cpu', and not 'cuda'"),
    (lambda m: ag.meshgrid(m("float32", 3), m("float32", 2, 2)), ag.ShapeError,
     "meshgrid(float32[3], float32[2, 2]): meshgrid takes vectors, not shapes [(3,), (2, 2)]"),
    (lambda m: ag.asarray(m("float32", 3), dtype="int8", copy=False), ValueError,
     "asarray(float32[3]): copy=False, but float32[3] must be copied to become int8"),
    (lambda m: ag.diff(m("float32", 3), -1), ValueError,
     "diff(float32[3], -1): n must not be negative: -1"),
]


def name_of(case):
    return case[2].partition("(")[0] if isinstance(case, tuple) else None


def message(call):
    with pytest.raises(Exception) as caught:
        call()
    return type(caught.value), str(caught.value)


@pytest.mark.share(2)
@pytest.mark.parametrize("way", ["eager", "symbolic", "jit"])
@pytest.mark.parametrize(("call", "error", "text"), CASES, ids=map(name_of, CASES))
def test_operations(call, error, text, way):
    run = {
        "eager": lambda: call(eager),
        "symbolic": lambda: call(symbolic),
        "jit": ag.jit(lambda: call(eager)),
    }[way]
    line = call.__code__.co_firstlineno
    with ag.config(symbolic_float="float32"):  # as the others' numbers
        if way == "symbolic" and text.startswith("+="):
            assert run().ndim  # a new expression, which may be of another type
            return
        assert message(run) == (error, f"{text}\n  at {__file__}:{line}")


def leaf(*shape, dtype="float32"):
    return ag.zeros(shape, dtype=dtype, requires_grad=True)


def in_place_on_a_leaf():
    w = leaf(2)
    w += 1


def in_place_of_a_needed_value():
    w = leaf(2)
    y = w * 2
    z = y * y
    with ag.no_grad():
        y.zero_()
    z.sum().backward()


GRADIENTS = [
    (lambda: ag.ones(3).backward(), ag.GradientError,
     "float32[3] does not depend on anything that requires grad; make the parameters with "
     "requires_grad=True and compute outside of no_grad()"),
    (lambda: ag.ones(2) + ag.nn.ReLU, ag.DTypeError,
     "add(float32[2], <class ReLU>): cannot make a tensor from <class ReLU>: its elements have "
     "dtype object; tensors hold bool, integer, float and complex numbers; it is to be called, for "
     "what it returns"),
    (lambda: (leaf(3) * 2).backward(), ag.GradientError,
     "backward: the gradient of float32[3], which is not a scalar, needs a cotangent of that "
     "shape: reduce it first (y.sum()), or pass one (y.backward(grad))"),
    (lambda: (leaf(3) * 2).backward(ag.ones(2)), ag.GradientError,
     "backward: the cotangent is float32[2], but the result is float32[3]; give one number for "
     "each of its elements"),
    (lambda: ag.grad(leaf(3).sum(), leaf(2)), ag.GradientError,
     "grad: float32[] does not depend on float32[2]. Pass disconnected='zero' (or 'none') if that "
     "is meant"),
    (lambda: ag.grad(leaf(3).sum(), ag.ones(2)), ag.GradientError,
     "grad: float32[2] does not require grad; make it with requires_grad=True. Pass "
     "disconnected='zero' (or 'none') if that is meant"),
    (lambda: ag.grad(lambda x: x)(ag.ones(2)), ag.GradientError,
     "grad: <lambda> must return a scalar, not float32[2]: reduce it, as with .sum() or .mean(); "
     "ag.jacobian has the derivatives of all elements"),
    (lambda: ag.grad(lambda x: x)(ag.tensor([1, 2])), TypeError,
     "grad: cannot differentiate with respect to int64[2]: only float and complex tensors have "
     "gradients; choose the arguments with argnums, or convert it"),
    (lambda: ag.ones(3, dtype="int64").requires_grad_(), TypeError,
     "requires_grad_(int64[3]): only float and complex tensors can require grad, not int64[3]; "
     "convert it first"),
    (lambda: (leaf(3) * 2).requires_grad_(False), ag.GradientError,
     "float32[3] was computed; use .detach() to cut its history"),
    (lambda: ag.ones(3).retain_grad(), ag.GradientError,
     "retain_grad: float32[3] does not require grad, so it will not have one; "
     "requires_grad=True makes it a parameter"),
    (lambda: setattr(leaf(3), "grad", ag.ones(4)), ValueError,
     "grad has float32[4], but the tensor has float32[3]; both must agree"),
    (lambda: setattr(leaf(3), "grad", np.ones(3)), TypeError,
     "grad must be a Tensor or None, not ndarray"),
]


@pytest.mark.parametrize(("call", "error", "text"), GRADIENTS)
def test_gradients(call, error, text):
    line = call.__code__.co_firstlineno
    assert message(call) == (error, f"{text}\n  at {__file__}:{line}")


MODULES = [
    (lambda: ag.nn.Linear(4, 8).load_state_dict(ag.nn.Linear(4, 7).state_dict()), ValueError,
     "load_state_dict: weight has shape (8, 4), the state has (7, 4): give the state of a model of "
     "the same sizes"),
    (lambda: ag.nn.Conv2d(3, 4, 3, groups=2), ValueError,
     "Conv2d: 3 and 4 channels must be multiples of groups=2"),
    (lambda: ag.nn.Dropout(1.5), ValueError, "Dropout: p must be in [0, 1], not 1.5"),
    (lambda: ag.nn.GroupNorm(3, 4), ValueError,
     "GroupNorm: 4 channels do not fall into 3 equal groups"),
    (lambda: ag.nn.Linear(2, 2).to("cuda"), ValueError,
     "Linear.to: there is one device, 'cpu', and not 'cuda'"),
    (lambda: ag.optim.SGD(ag.nn.Linear(2, 2).parameters(), lr=-0.1), ValueError,
     "SGD: lr must be at least 0, not -0.1"),
]


@pytest.mark.parametrize(("call", "error", "text"), MODULES)
def test_modules_and_optimizers(call, error, text):
    assert message(call) == (error, f"{text}\n  at {__file__}:{call.__code__.co_firstlineno}")


def test_changes_of_what_is_read_only():
    spread = ag.broadcast_to(ag.ones(2), (3, 2))
    error, text = message(lambda: spread.add_(1))
    line = test_changes_of_what_is_read_only.__code__.co_firstlineno + 2
    assert error is ValueError and text == (
        "add_(float32[3, 2], 1): float32[3, 2] lies in read-only memory, as results of "
        "broadcast_to and sliding_window_view do, and cannot be changed in place; "
        "change a copy"
        f"\n  at {__file__}:{line}"
    )


def test_changes_in_place():
    line = in_place_on_a_leaf.__code__.co_firstlineno + 2
    assert message(in_place_on_a_leaf) == (
        ag.GradientError,
        "float32[2] requires grad and was not computed: it cannot be changed in place while "
        "operations are recorded; wrap the change in `with ag.no_grad():`"
        f"\n  at {__file__}:{line}",
    )
    error, text = message(in_place_of_a_needed_value)
    line = in_place_of_a_needed_value.__code__.co_firstlineno
    assert error is ag.GradientError and text == (
        f"the gradient needs the value of float32[2] (made by multiply at {__file__}:{line + 2}), "
        "but it was changed in place afterwards; change a copy instead (x = x + 1 rather than "
        f"x += 1)\n  at {__file__}:{line + 6}"
    )


@pytest.mark.parametrize(("call", "text"), [
    (lambda: ag.zeros((10**9, 10**6)), "zeros((1000000000, 1000000)): "),
    (lambda: ag.arange(10**15), "arange(1000000000000000): "),
    (lambda: ag.broadcast_to(ag.ones(1), 10**15) * 2, "multiply(float32[1000000000000000], "),
    (lambda: -ag.broadcast_to(ag.ones(1), 10**15), "negative(float32[1000000000000000]): "),
    (lambda: ag.tile(ag.ones(10**3), 10**12), "tile(float32[1000], 1000000000000): "),
    (lambda: ag.matmul(*[ag.broadcast_to(ag.ones(1), s) for s in ((10**8, 1), (1, 10**7))]),
     "matmul(float32[100000000, 1], float32[1, 10000000]): "),
])
def test_what_is_too_large(call, text):
    error, found = message(call)
    assert error is MemoryError
    assert found.startswith(text)
    assert found.endswith(f"\n  at {__file__}:{call.__code__.co_firstlineno}")


def twice_the_tangent(x):
    y = ag.tanh(x)
    return y * 2


def sum_of_products(x):
    y = ag.tanh(x)
    return (y @ x.T @ y).sum()


@pytest.mark.parametrize(("function", "needs", "line"), [
    (twice_the_tangent, "4 MB, its result float32[1000, 1000] of multiply(float32[1000, 1000], "
     "float32[])", 2),
    (sum_of_products, "12 MB, temporaries, the largest of them float32[1000, 1000] of "
     "tanh(float32[1000, 1000])", 1),
])
def test_memory_that_compiled_code_cannot_have(function, needs, line):
    x = ag.ones((1000, 1000)) * 1
    compiled = ag.jit(function)
    line += function.__code__.co_firstlineno
    ag.limit_memory(ag.memory_stats()["live"] + 3_000_000)
    try:
        found = [message(lambda: compiled(x)) for _ in range(2)]
    finally:
        ag.limit_memory(None)
    assert found == [(
        MemoryError,
        f"{function.__name__}: no memory is left for {needs}, and no other call is running that "
        f"would free some; see agnesi.limit_memory\n  at {__file__}:{line}",
    )] * 2
    assert np.isfinite(compiled(x)).all()


def test_memory_for_sizes_that_vary():
    compiled = ag.jit(twice_the_tangent)
    for n in (3, 4, 5):
        compiled(ag.ones((2, n)))
    x = ag.ones((2, 300_000))
    gc.collect()  # what earlier tests left must not go while memory is short
    ag.limit_memory(ag.memory_stats()["live"] + 100_000)
    try:
        error, text = message(lambda: compiled(x))
    finally:
        ag.limit_memory(None)
    assert error is MemoryError
    assert text.startswith("twice_the_tangent: no memory is left for 2.4 MB, its result float32[2")


class Methods:
    activation = ag.relu
    loss = staticmethod(ag.nn.functional.mse_loss)


@pytest.mark.parametrize("run", [lambda f, x: f(x), lambda f, x: ag.jit(f)(x)])
def test_functions_in_the_body_of_a_class_say_that_they_are_methods(run):
    x, o = ag.ones(2), Methods()
    assert o.loss(x, x) == 0
    with pytest.raises(ag.DTypeError, match=r"activation = staticmethod\(relu\)"):
        run(lambda x: o.activation(x), x)


def test_states_of_optimizers_say_where_a_name_is():
    w = ag.tensor([1.0], requires_grad=True)
    adam = ag.optim.Adam([w])
    (w * w).sum().backward()
    adam.step()
    with pytest.raises(KeyError, match=r"'exp_avg' is kept for each parameter: state\[p\]\['exp_"):
        adam.state["exp_avg"]
    with pytest.raises(KeyError, match=r"no 'momentum' .* which has .*'exp_avg'"):
        adam.state[w]["momentum"]
    with pytest.raises(KeyError, match="Adam does not have this parameter"):
        adam.state[ag.ones(1)]


def test_backward_runs_again_and_gradients_add_up():
    w = ag.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    loss.backward()
    loss.backward()
    assert w.grad.tolist() == [4, 8]
