"""What was taken in silence, or told in words of the inside, and is surely not what was meant."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi import distributed, metrics, nn, optim, symbolic, training
from agnesi import distributions as D
from agnesi.compat import chainer
from agnesi.optim import lr_scheduler
from tests.errors.lambdas import check

X, V = ag.arange(12.0).reshape(3, 4), ag.ones(3)
SPARSE = ag.sparse.csr(ag.eye(3))
RANGE = ("the input must be probabilities, from 0 to 1: apply sigmoid first, or take "
         "binary_cross_entropy_with_logits")
WORDS = "reduction must be 'mean', 'sum' or 'none', not 'avg'"


def steered() -> optim.Optimizer:
    return optim.SGD([ag.ones(2, requires_grad=True)], 0.1)


def trainer(**options: object) -> training.Trainer:
    model = nn.Linear(4, 2)
    return training.Trainer(model, optim.SGD(model.parameters(), 0.1), nn.MSELoss(), **options)


def leaf() -> ag.Tensor:
    return ag.ones(3, requires_grad=True)


CASES = [
    (lambda: ag.mm(X, V), ag.ShapeError, "mm(float32[3, 4], float32[3]): both must be matrices, "
     "not float32[3]; x @ y takes vectors and stacks, and broadcasts"),
    (lambda: ag.ones(2, 1, 1).bmm(ag.ones(1, 1, 1)), ag.ShapeError, "bmm(float32[2, 1, 1], "
     "float32[1, 1, 1]): batches or inner sizes differ: float32[2, 1, 1] and float32[1, 1, 1]; "
     "x @ y broadcasts batches"),
    (lambda: ag.ones(2, 1, 1).t(), ag.ShapeError, "t() takes at most two axes, not float32[2, 1, 1]"
     "; use x.swapaxes(0, 1), or .mT for stacks of matrices"),
    (lambda: V.unsqueeze(), TypeError, "unsqueeze(float32[3]): unsqueeze() missing 1 required "
     "positional argument: 'axis'; it is called as unsqueeze(x, axis)"),
    (lambda: ag.zeros(3).fill_(V), ag.ShapeError, "fill_(float32[3], float32[3]): fill_ takes a "
     "number; copy_ takes tensors, and broadcasts them"),
    (lambda: ag.select(V, 0, [0, 1]), TypeError, "select(float32[3], 0, [0, 1]): "
     "index must be one integer, not int64[2]: index_select takes several"),
    (lambda: ag.masked_select(V, V), ag.DTypeError, "masked_select(float32[3], float32[3]): the "
     "mask must be bool, not float32[3]; compare it (mask != 0)"),
    (lambda: nn.BCELoss()(X, X), ValueError,
     f"BCELoss(float32[3, 4], float32[3, 4]): {RANGE}"),
    (lambda: nn.MSELoss("avg"), ValueError, f"MSELoss: {WORDS}"),
    (lambda: nn.BCELoss(reduction="avg"), ValueError, f"BCELoss: {WORDS}"),
    (lambda: nn.KLDivLoss(reduction="batch_mean"), ValueError, "KLDivLoss: reduction must be "
     "'mean', 'batchmean', 'sum' or 'none', not 'batch_mean'"),
    (lambda: nn.CrossEntropyLoss(label_smoothing=2.0), ValueError,
     "CrossEntropyLoss: label_smoothing must be in [0, 1], not 2.0"),
    (lambda: nn.functional.gumbel_softmax(X, tau=0), ValueError,
     "gumbel_softmax(float32[3, 4]): tau, the temperature, must be above 0, not 0"),
    (lambda: ag.random.choice(3, p=[0.5, 0.1, 0.1]), ValueError,
     "choice(3): the probabilities p sum to 0.7, not to 1; for weights divide them by their sum, "
     "p / p.sum()"),
    (lambda: ag.set_grad_enabled("no"), TypeError,
     "set_grad_enabled: mode must be True or False, not 'no'"),
    (lambda: distributed.init("nccl"), TypeError, "init: rank must be an integer (there is no "
     "backend to choose: who launched the processes says whether they share memory or use MPI, "
     "and tensors lie in the CPU's memory, where NCCL has nothing to do: write init()) or None, "
     "not 'nccl'"),
    (lambda: distributed.Mesh((1,)), TypeError,
     "Mesh() missing 1 required positional argument: 'names'; it is called as "
     "Mesh(shape, names, group)"),
    (lambda: distributed.all_reduce(X, op="average"), ValueError, "all_reduce(float32[3, 4]): op "
     "must be one of 'sum', 'mean', 'max', 'min', 'prod', not 'average'"),
    (lambda: trainer().fit([], epochs=1), ValueError,
     "Trainer.fit: there is no batch in epoch 1: the data are empty, or a generator that was read "
     "to its end; give a list or a DataLoader"),
    (lambda: ag.sparse.coo([[0, 5], [1, 1]], [1.0, 2.0], (3, 3)), ag.ShapeError,
     "coo([[0, 5], [1, 1]], [1.0, 2.0], (3, 3)): entries, rows and columns must be vectors, not "
     "int64[2, 2], float32[] and float32[]; the order is (data, (rows, columns)), unlike "
     "torch.sparse_coo_tensor's, which ag.sparse_coo_tensor has"),
    (lambda: ag.exp(SPARSE), ag.DTypeError, "exp(float32[3, 3]): float32[3, 3] is a sparse matrix, "
     "and dense tensors are taken here: todense() makes one, ag.sparse has functions of sparse "
     "ones"),
    (lambda: lr_scheduler.MultiStepLR(steered(), 3), TypeError,
     "MultiStepLR: milestones must be a list or tuple, not 3"),
    (lambda: lr_scheduler.LambdaLR(steered(), 0.5), TypeError, "LambdaLR: lr_lambda must be a "
     "function of the epoch, such as lambda epoch: 0.95**epoch, not 0.5"),
    (lambda: nn.utils.clip_grad_norm_([leaf()], "a"), TypeError,
     "clip_grad_norm_([float32[3]], 'a'): max_norm must be a number, not 'a'"),
    (lambda: leaf().add_(1), ag.GradientError, "float32[3] requires grad and was not computed: it "
     "cannot be changed in place while operations are recorded; wrap the change in `with "
     "ag.no_grad():`"),
    (lambda: nn.Transformer(10, 3), ValueError,
     "Transformer: MultiheadAttention: embed_dim=10 cannot be divided into num_heads=3"),
    (lambda: nn.functional.one_hot(ag.arange(3), 2), ValueError,
     "one_hot(int64[3], 2): labels go from 0 to 2; num_classes=2 is for those from 0 to 1"),
    (lambda: nn.functional.cross_entropy(ag.ones((4, 1)), ag.ones((4, 2))), ag.ShapeError,
     "cross_entropy(float32[4, 1], float32[4, 2]): probabilities have the shape of the logits, or "
     "one that broadcasts to it"),
    (lambda: D.kl_divergence(D.Normal(V, 1.0), D.Normal(ag.ones(4), 1.0)), ag.ShapeError,
     "kl_divergence: the batch (3,) of Normal and the batch (4,) of Normal do not broadcast"),
    (lambda: chainer.functions.dropout(V.numpy(), 1.5), ValueError,
     "dropout: ratio must be in [0, 1), not 1.5"),
    (lambda: chainer.functions.accuracy(X.numpy(), np.ones(5, int)), ag.ShapeError, "accuracy: "
     "labels int64[5] do not fit scores float32[3, 4]: one label for each sample"),
    (lambda: chainer.Chain().add_link("a", 3), TypeError,
     "Chain.add_link: a chain holds links, as links.Linear(3, 2) is, not 3"),
    (lambda: chainer.serializers.load_npz("no.npz", chainer.Chain()), FileNotFoundError,
     "[Errno 2] load_npz: 'no.npz' cannot be read: No such file or directory"),
    (lambda: ag.jvp(lambda x: x, (V,), (ag.ones(2),)), ag.GradientError,
     "jvp: the tangent is float32[2], but the value is float32[3]; their shapes must agree"),
]


@pytest.mark.parametrize(("wrong", "kind", "text"), CASES, ids=range(len(CASES)))
def test_texts(wrong, kind, text):
    check(wrong, kind, text)


@pytest.mark.parametrize("options", [{"metrics": ["accuracy"]}, {"metrics": {"a": ag.metrics.Mean}},
                                     {"callbacks": training.Progress()}, {"callbacks": ["early"]}])
def test_parts_of_a_trainer(options):
    with pytest.raises((TypeError, ValueError),
                       match=r"Trainer: (metrics|callbacks) must be .*such as"):
        trainer(**options)


def test_a_generator_ends_with_the_first_epoch():
    batches = ((X, ag.ones((3, 2))) for _ in range(2))
    with pytest.raises(ValueError, match=r"no batch in epoch 2: .*a generator that was read"):
        trainer().fit(batches, epochs=2)


@pytest.mark.parametrize("form", [
    lambda f: f(X), lambda f: ag.jit(f)(X), lambda f: ag.jit(ag.vmap(f))(X),
    lambda f: ag.jit(ag.grad(f))(X), lambda f: ag.function([x := symbolic.fmatrix()], f(x))(X)])
def test_probabilities_are_checked_in_every_form(form):
    with pytest.raises(ValueError, match="the input must be probabilities, from 0 to 1"):
        form(lambda p: nn.functional.binary_cross_entropy(p, ag.zeros_like(p)))


@pytest.mark.parametrize("form", [lambda f: f, ag.jit])
def test_floats_count_nothing(form):
    with pytest.raises(TypeError, match=r"only integer tensors can be an index or count, not fl"):
        form(lambda x: [x[i] for i in range(x.sum())])(V)


def test_a_broadcast_that_fails_is_not_warned_of(recwarn):
    with pytest.raises(ag.ShapeError):
        nn.functional.mse_loss(ag.ones((1, 2)), ag.ones((1, 3)))
    assert not recwarn


def test_a_metric_of_no_batch_warns_once_a_line(recwarn):
    accuracy, mean = metrics.Accuracy(), metrics.Mean()
    with pytest.warns(UserWarning, match=r"Accuracy.compute\(\) before any batch") as caught:
        assert np.isnan(accuracy.compute())
    assert caught[0].filename == __file__
    mean.update(float("nan"))
    assert np.isnan(mean.compute()) and not recwarn


@pytest.mark.parametrize("name", ["dropout", "argmax", "argmin"])
def test_functions_of_chainer_take_plain_arrays(name):
    found = getattr(chainer.functions, name)(np.ones((2, 3), np.float32))
    assert found.data.shape == {"dropout": (2, 3)}.get(name, ())
