"""``x.data`` is a tensor, as in PyTorch, that also has the names of its NumPy array."""

import numpy as np
import pytest

import agnesi as ag


def test_it_has_the_names_of_its_array():
    x = ag.tensor([1.0, 2.0, 3.0], requires_grad=True)
    assert x.data.flags.c_contiguous and x.data.ctypes.data == x.array.ctypes.data
    assert x.data.tobytes() == x.array.tobytes() and x.data.strides == (4,)
    assert not hasattr(x, "flags") and not hasattr(x.data, "no_such_name")
    x.data.fill(2.0)
    x.data.add_(1.0)
    assert x.tolist() == [3.0] * 3 and not x.data.requires_grad


def test_what_is_assigned_is_the_arrays():
    x = ag.tensor([1.0, 2.0, 3.0])
    double = ag.jit(lambda: x * 2)
    assert double().tolist() == [2, 4, 6]
    x.data.dtype = "int32"
    assert x.dtype == np.int32 and double().dtype == np.int32
    x.data.shape = (3, 1)
    assert x.shape == (3, 1) and double().shape == (3, 1)
    x.data.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        x.add_(1)


def test_a_common_slip_is_passed_over_as_in_pytorch():
    x = ag.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="requires_grad is meant"):
        x.require_grad = False
    assert x.requires_grad and "require_grad" not in dir(x) and not hasattr(x, "require_grad")
