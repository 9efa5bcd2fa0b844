"""Data parallel training gives what one process with the whole batch gives."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import distributed as dist
from agnesi.distributed.halves import add_halves, to_halves
from tests.distributed import training

UNEVEN = [6, 5, 1, 6]  # of one example, a process gets none


def check(found, wanted, atol=1e-6):
    """Losses and weights agree with the serial ones, and are the same bits in all processes."""
    (losses, state), (others, other) = found
    assert losses == others
    for name, value in wanted[1].items():
        np.testing.assert_array_equal(state[name], other[name], err_msg=name)
        np.testing.assert_allclose(state[name], value, atol=atol, rtol=1e-6, err_msg=name)
    np.testing.assert_allclose(losses, wanted[0], rtol=1e-5 if atol <= 1e-5 else 1e-2)


@pytest.mark.parametrize("name, compiled", [("sgd", True), ("adam", False)])
def test_weights_are_those_of_one_process(workers, name, compiled):
    found = workers.run(training.train, "mlp", name, UNEVEN, compiled)
    check(found, training.train("mlp", name, UNEVEN, compiled))


@pytest.mark.share(3)
@pytest.mark.parametrize("kind, compiled", [("norm", True), ("conv", False), ("conv", True)])
def test_statistics_of_the_whole_batch(workers, kind, compiled):
    sizes = [6, 5, 6]
    serial = training.train(kind, "sgd", sizes, compiled)
    found = workers.run(_shared, kind, sizes, compiled)
    check(found, serial, atol=3e-6)
    apart = workers.run(training.train, kind, "sgd", sizes, compiled)
    assert abs(apart[0][0][-1] - serial[0][-1]) > 1e-4  # without it something else comes out


def _shared(kind, sizes, compiled):
    return training.train(kind, "sgd", sizes, compiled, share_batch_norm=True)


def _options(options, compiled):
    sizes = [6, 5, 1, 6, 5, 1] if "accumulate" in options else [6, 5, 6, 5]
    return training.train("mlp", "sgd", sizes, compiled, **options)


@pytest.mark.parametrize("options, atol", [
    ({"accumulate": 3, "bucket_bytes": 150}, 1e-6), ({"clip": True}, 1e-6),
    ({"compress": True}, 3e-3),
])
def test_options(workers, options, atol):
    compiled = "accumulate" in options
    found = workers.run(_options, options, compiled)
    check(found, _options(options, compiled), atol)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1e-35, 1e-9, 1.0, 1e6, 1e35])
def test_compressed_rows_of_any_size_keep_eleven_bits(size, dtype):
    rows = size * np.random.default_rng(0).standard_normal((2, 50))
    rows = rows.astype(dtype)
    rows[1] *= 1e-3  # each process has a scale of its own
    both = ag.jit(lambda x: add_halves(ag.stack([to_halves(r) for r in x]), x.dtype))
    found = both(ag.tensor(rows))
    np.testing.assert_allclose(found.numpy(), rows.sum(0), atol=2.0 ** -11 * abs(rows[0]).max())
    assert found.dtype == dtype


@pytest.mark.parametrize("value", [0.0, np.inf, -np.inf, np.nan])
def test_compressed_rows_keep_what_is_no_number(value):
    row = to_halves(ag.tensor([1.0, value, 3e4]))
    found = add_halves(row[None], np.dtype("float64"))
    np.testing.assert_array_equal(found.numpy(), [1, value, 3e4])


@pytest.mark.parametrize("compiled", [False, True])
def test_a_decorated_step_is_that_of_all(workers, compiled):
    serial = training.train("mlp", "sgd", UNEVEN, compiled)
    check(workers.run(training.decorated, compiled), serial)
    check([training.decorated(compiled)] * 2, serial)


def test_shards_of_their_own(workers):
    _, serial = training.train("mlp", "sgd", [7], False)
    for state in workers.run(training.shards):
        for name, value in serial.items():
            np.testing.assert_allclose(state[name], value, atol=1e-6, err_msg=name)


def test_another_model_is_refused_in_all(workers):
    for texts in workers.run(training.other_model):
        assert len(texts) == 4 and all("do not agree" in text for text in texts)
        assert "weight float32[1, 3]" in texts[0] and "weight float32[1, 4]" in texts[0]
        for text, what in zip(texts[1:], ("data_parallel", "same_state", "Central"), strict=True):
            assert f"rank 0: {what}" in text and f"rank 1: {what}" in text
            assert "of 4 tensors, 12 elements" in text and "of 6 tensors, 18 elements" in text
    with pytest.raises(ValueError, match="none of the model's parameters"):
        dist.data_parallel(ag.nn.Linear(2, 1), ag.optim.SGD(ag.nn.Linear(2, 1).parameters(), lr=1))
    with pytest.raises(TypeError, match="each of the ranks must be an integer, not 0"):
        dist.new_group([0.5])
    with pytest.raises(TypeError, match=r"data_parallel: .* must be"):
        dist.data_parallel(3, 4)


@pytest.mark.parametrize("dtype", ["float16", "complex64"])
@pytest.mark.parametrize("compiled", [False, True])
def test_halves_and_complex_numbers_train(workers, dtype, compiled):
    alone = training.narrow(dtype, compiled)
    for g, w in workers.run(training.narrow, dtype, compiled):
        assert g.dtype == w.dtype == dtype
        np.testing.assert_allclose(w, alone[1], rtol=1e-3)
        np.testing.assert_allclose(g, 2 * alone[0], rtol=1e-3)  # both processes' losses
