"""Kernels that differ only in where they read and write are one function."""

import numpy as np

import agnesi as ag


def steps(function, *args):
    compiled = ag.jit(function)
    result = compiled(*args)
    names = [s.name for s in compiled.plan().steps]
    return result, names


def test_rows_one_after_another_share_a_kernel():
    x = ag.tensor(np.arange(40.0).reshape(8, 5))
    w = ag.tensor(np.random.default_rng(0).standard_normal((5, 5)))

    def unrolled(x):
        h = w[0]
        for t in range(8):
            h = ag.tanh(h @ w + x[t])
        return h

    result, names = steps(unrolled, x)
    expected = w.numpy()[0]
    for row in x.numpy():
        expected = np.tanh(expected @ w.numpy() + row)
    np.testing.assert_allclose(result.numpy(), expected)
    assert len(set(names)) < len(names)


def test_two_places_of_one_tensor_keep_their_distance():
    x = ag.tensor(np.arange(60.0))

    def f(x):
        parts = [ag.sin(x[i + 3 : i + 10]) * x[i : i + 7] for i in (5, 20, 41)]
        return ag.stack([p @ p for p in parts]), *parts

    result, _ = steps(f, x)
    for part, i in zip(result[1:], (5, 20, 41), strict=True):
        v = x.numpy()
        np.testing.assert_allclose(part.numpy(), np.sin(v[i + 3 : i + 10]) * v[i : i + 7])


def test_backwards_and_gathered():
    x = ag.tensor(np.arange(12.0))
    i = ag.tensor(np.array([[1, 2, 0], [3, 0, 1], [2, 2, 2]]))

    def f(x):
        return [x[::-1][t : t + 3] + x[i[t]] for t in range(3)]

    result, _ = steps(f, x)
    for t in range(3):
        v = x.numpy()
        np.testing.assert_array_equal(result[t].numpy(), v[::-1][t : t + 3] + v[i.numpy()[t]])


def test_updates_of_parts_in_place():
    state = ag.tensor(np.zeros((6, 4)))

    def f(x):
        for t in range(6):
            state[t] = state[t] * 2 + x[t]
        return state.sum()

    jitted = ag.jit(f)
    x = np.arange(24.0).reshape(6, 4)
    for _ in range(2):
        jitted(ag.tensor(x))
    np.testing.assert_array_equal(state.numpy(), 3 * x)
