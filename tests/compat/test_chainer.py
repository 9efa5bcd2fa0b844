"""Programs in Chainer's words: what its manual shows, and what its classes promise."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest

import agnesi as ag
import agnesi.compat.chainer as chainer
import agnesi.compat.chainer.functions as F
import agnesi.compat.chainer.links as L
from agnesi.compat.chainer import (
    Function,
    FunctionSet,
    Variable,
    computational_graph,
    cuda,
    gradient_check,
    optimizers,
    serializers,
)

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _seeded():
    """Draws do not depend on what ran before: two maxima may be too near for differences."""
    np.random.seed(0)
    RNG.bit_generator.state = np.random.default_rng(0).bit_generator.state


def array(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


# -- the manual's listings ----------------------------------------------------------------------
def test_forward_and_backward():
    x = Variable(np.array([5], dtype=np.float32))
    y = x**2 - 2 * x + 1
    assert y.data == 16
    y.backward()
    assert x.grad == 8

    z = 2 * x
    y = x**2 - z + 1
    y.backward(retain_grad=True)
    assert z.grad == -1
    y = x**2 - z + 1
    y.backward()
    assert z.grad is None

    x = Variable(np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32))
    y = x**2 - 2 * x + 1
    with pytest.raises(ValueError, match=r"set y\.grad"):
        y.backward()
    y.grad = np.ones((2, 3), dtype=np.float32)
    y.backward()
    assert np.array_equal(x.grad, [[0, 2, 4], [6, 8, 10]])


def test_parameterized_functions_add_to_their_gradients():
    f = F.Linear(3, 2)
    assert f.W.shape == (2, 3) and np.array_equal(f.b, [0, 0])
    x = Variable(np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32))
    y = f(x)
    assert np.allclose(y.data, x.data @ f.W.T)
    f.gW.fill(0)
    f.gb.fill(0)
    gradient = f.gW
    for times in (1, 2):
        y.grad = np.ones((2, 2), dtype=np.float32)
        y.backward()
        assert np.array_equal(f.gW, times * np.array([[5, 7, 9], [5, 7, 9]]))
        assert np.array_equal(f.gb, [2 * times, 2 * times])
    assert f.gW is gradient


def test_a_set_of_functions_learns_digits():
    t_all = np.arange(400, dtype=np.int32) % 10
    x_all = (np.eye(10)[t_all] @ RNG.random((10, 16)) + 0.05 * array(400, 16)).astype(np.float32)
    model = FunctionSet(l1=F.Linear(16, 20), l2=F.Linear(20, 20))
    model.l3 = F.Linear(20, 10)
    optimizer = optimizers.MomentumSGD(lr=0.2)
    optimizer.setup(model.collect_parameters())

    def forward(x_data, y_data):
        x = Variable(x_data)
        t = Variable(y_data)
        h1 = F.relu(model.l1(x))
        h2 = F.relu(model.l2(h1))
        y = model.l3(h2)
        return F.softmax_cross_entropy(y, t), F.accuracy(y, t)

    batchsize = 50
    for _epoch in range(12):
        indexes = np.random.permutation(400)
        for i in range(0, 400, batchsize):
            optimizer.zero_grads()
            loss, accuracy = forward(x_all[indexes[i:i + batchsize]],
                                     t_all[indexes[i:i + batchsize]])
            loss.backward()
            optimizer.update()
    loss, accuracy = forward(x_all, t_all)
    assert accuracy.data > 0.9 and accuracy.data.dtype == np.float32
    assert [p.shape for p in model.parameters] == [g.shape for g in model.gradients]


def recurrent():
    model = FunctionSet(embed=F.EmbedID(20, 10), x_to_h=F.Linear(10, 5), h_to_h=F.Linear(5, 5),
                        h_to_y=F.Linear(5, 20))

    def forward_one_step(h, cur_word, next_word, volatile=False):
        word = Variable(cur_word, volatile=volatile)
        t = Variable(next_word, volatile=volatile)
        x = F.tanh(model.embed(word))
        h = F.tanh(model.x_to_h(x) + model.h_to_h(h))
        y = model.h_to_y(h)
        return h, F.softmax_cross_entropy(y, t)

    return model, forward_one_step


def test_recurrent_nets_of_any_length_and_volatile_ones():
    model, forward_one_step = recurrent()
    optimizer = optimizers.SGD()
    optimizer.setup(model.collect_parameters())

    def forward(x_list, volatile=False):
        h = Variable(np.zeros((1, 5), dtype=np.float32), volatile=volatile)
        loss = 0
        for cur_word, next_word in itertools.pairwise(x_list):
            h, new_loss = forward_one_step(h, cur_word, next_word, volatile=volatile)
            loss += new_loss
        return loss

    for length in (2, 7, 30):
        x_list = [np.array([k % 20], np.int32) for k in range(length)]
        optimizer.zero_grads()
        loss = forward(x_list)
        loss.backward()
        optimizer.update()
        assert np.isfinite(loss.data) and abs(model.x_to_h.gW).max() > 0
        assert forward(x_list, volatile=True).creator is None


def test_truncated_backprop_by_unchaining():
    model, forward_one_step = recurrent()
    optimizer = optimizers.SGD(lr=0.0)
    optimizer.setup(model.collect_parameters())
    x_list = [np.array([k * k % 20], np.int32) for k in range(8)]
    pairs = list(itertools.pairwise(x_list))
    h = Variable(np.zeros((1, 5), dtype=np.float32))
    loss = 0
    for count, (cur_word, next_word) in enumerate(pairs, 1):
        h, new_loss = forward_one_step(h, cur_word, next_word)
        loss += new_loss
        if count % 4 == 0 or count == len(pairs):
            optimizer.zero_grads()
            loss.backward()
            loss.unchain_backward()
            optimizer.update()
            loss = 0
    truncated = [g.copy() for g in model.gradients]
    h = Variable(np.zeros((1, 5), dtype=np.float32))
    for cur_word, next_word in pairs[:4]:
        h, _ = forward_one_step(h, cur_word, next_word)
    h, loss = Variable(h.data), 0
    for cur_word, next_word in pairs[4:]:
        h, new_loss = forward_one_step(h, cur_word, next_word)
        loss += new_loss
    optimizer.zero_grads()
    loss.backward()
    for a, b in zip(truncated, model.gradients, strict=True):
        assert np.allclose(a, b, atol=1e-6)


def test_a_fixed_extractor_and_a_predictor():
    x = Variable(array(2, 3), volatile=True)
    feat = F.tanh(x)
    feat.volatile = False
    y = F.sum(feat * feat)
    y.backward()
    assert feat.grad is not None and x.grad is None
    with pytest.raises(ValueError, match="cannot be mixed"):
        x + Variable(array(2, 3))


def test_devices_are_the_processor():
    x_cpu = np.ones((5, 4, 3), dtype=np.float32)
    cuda.init()
    assert np.array_equal(cuda.to_gpu(x_cpu), cuda.ones((5, 4, 3)))
    assert cuda.to_cpu(x_cpu) is x_cpu
    cuda.use_device(1)
    with cuda.using_device(2):
        with cuda.using_device(3):
            assert cuda.get_device() == 3
        assert cuda.get_device() == 2
    assert cuda.get_device() == 1
    cuda.use_device(0)
    x1 = cuda.copy(cuda.ones((4, 3)), out_device=1)
    with cuda.using_device(x1):
        assert (x1 + 1).dtype == np.float32


def test_two_devices_compute_one_model():
    def half(n):
        return FunctionSet(l1=F.Linear(8, n), l2=F.Linear(n, n), l3=F.Linear(n, 6),
                           l4=F.Linear(6, 10))

    model = FunctionSet(gpu0=half(5).to_gpu(0), gpu1=half(7).to_gpu(1))
    x_data, y_data = array(4, 8), np.arange(4, dtype=np.int32)
    x_0 = Variable(cuda.to_gpu(x_data, 0))
    x_1 = Variable(cuda.to_gpu(x_data, 1))
    t = Variable(cuda.to_gpu(y_data, 0))
    h_0 = F.relu(model.gpu0.l3(F.relu(model.gpu0.l2(F.relu(model.gpu0.l1(x_0))))))
    h_1 = F.relu(model.gpu1.l3(F.relu(model.gpu1.l2(F.relu(model.gpu1.l1(x_1))))))
    h_0 += F.copy(h_1, 0)
    h_1 = F.copy(h_0, 1)
    y = F.relu(model.gpu0.l4(h_0)) + F.copy(F.relu(model.gpu1.l4(h_1)), 0)
    for g in model.gradients:
        g.fill(0)
    F.softmax_cross_entropy(y, t).backward()
    assert len(model.parameters) == 16
    assert all(np.isfinite(g).all() for g in model.gradients)


def test_data_parallel_training_equals_whole_batches():
    model = FunctionSet(l1=F.Linear(6, 5), l2=F.Linear(5, 3))
    whole = copy.deepcopy(model)
    model_0 = copy.deepcopy(model).to_gpu(0)
    model_1 = model.to_gpu(1)
    optimizer, reference = optimizers.SGD(lr=0.1), optimizers.SGD(lr=0.2)
    optimizer.setup(model_0.collect_parameters())
    reference.setup(whole.collect_parameters())

    def forward(x_data, y_data, model):
        return F.softmax_cross_entropy(model.l2(F.tanh(model.l1(Variable(x_data)))),
                                       Variable(y_data))

    x, y = array(8, 6), (np.arange(8) % 3).astype(np.int32)
    for _ in range(3):
        optimizer.zero_grads()
        reference.zero_grads()
        for g in model_1.gradients:
            g.fill(0)
        forward(x[:4], y[:4], model_0).backward()
        forward(x[4:], y[4:], model_1).backward()
        optimizer.acumulate_grads(model_1.gradients)
        optimizer.update()
        pointers = [p.ctypes.data for p in model_1.parameters]
        model_1.copy_parameters_from(model_0.parameters)
        assert pointers == [p.ctypes.data for p in model_1.parameters]
        forward(x, y, whole).backward()
        reference.update()
    for a, b in zip(model_0.parameters, whole.parameters, strict=True):
        assert np.allclose(a, b, atol=1e-5)


class MulAdd(Function):
    def forward_cpu(self, inputs):
        x, y, z = inputs
        w = cuda.empty_like(x)
        cuda.elementwise("float* w, const float* x, const float* y, const float* z",
                         "w[i] = x[i] * y[i] + z[i]", "muladd_fwd")(w, x, y, z)
        return w,

    def backward_cpu(self, inputs, grad_outputs):
        x, y, _ = inputs
        gw = grad_outputs[0]
        gx, gy = cuda.empty_like(x), cuda.empty_like(y)
        cuda.elementwise("""
            float* gx, float* gy,
            const float* x, const float* y, const float* gw
        """, """
            gx[i] = y[i] * gw[i];
            gy[i] = x[i] * gw[i];
        """, "muladd_bwd")(gx, gy, x, y, gw)
        return gx, gy, gw


class EltwiseParamProduct(Function):
    parameter_names = "w",
    gradient_names = "gw",

    def __init__(self, shape):
        self.w = np.random.randn(*shape).astype(np.float32)
        self.gw = np.empty_like(self.w)

    def forward(self, inputs):
        return self.w * inputs[0],

    def backward(self, inputs, grad_outputs):
        self.gw += grad_outputs[0] * inputs[0]
        return grad_outputs[0] * self.w,


def test_functions_of_ones_own():
    x, y, z = (Variable(array(3, 2)) for _ in range(3))
    multiply = MulAdd()
    w = multiply(x, y, multiply(x, y, z))
    assert np.allclose(w.data, 2 * x.data * y.data + z.data)
    w.grad = array(3, 2)
    w.backward()
    assert np.allclose(x.grad, 2 * y.data * w.grad) and np.allclose(z.grad, w.grad)
    assert w.creator is not multiply and w.creator.inputs[0] is x

    product = EltwiseParamProduct((3, 2))
    product.gw.fill(0)
    v = product(x)
    v.grad = np.ones((3, 2), np.float32)
    v.backward()
    gw, = gradient_check.numerical_grad(
        lambda: (product.w * x.data,), (product.w,), (v.grad,))
    gradient_check.assert_allclose(product.gw, gw, atol=1e-2, rtol=1e-2)
    p = F.Parameter(np.ones((3, 2), dtype=np.float32))
    assert (p() * x).creator.inputs[0].data is p.W

    class Bare(Function):
        def forward(self, inputs):
            return inputs[0]

    with pytest.raises(TypeError, match="end the line with a comma"):
        Bare()(x)


def test_gradient_check_by_the_creator():
    x = Variable(np.array([[-1.5, 2.0], [0.3, -0.2], [1.0, 3.0]], np.float32))
    y = F.relu(x)
    y.grad = array(3, 2)
    y.backward()
    func = y.creator
    gx, = gradient_check.numerical_grad(lambda: func.forward((x.data,)), (x.data,), (y.grad,))
    gradient_check.assert_allclose(gx, x.grad, atol=1e-3, rtol=1e-3)


# -- promises ------------------------------------------------------------------------------------
def test_variables():
    x = Variable(array(2, 3))
    assert len(x) == 6 and x.creator is None and not x.volatile
    assert (x.T.data.shape, x.reshape(3, 2).data.shape, x[0].data.shape) == ((3, 2), (3, 2), (3,))
    y = F.identity(x)
    assert y.creator.inputs == (x,)
    z = y + y + x
    z.grad = np.ones((2, 3), np.float32)
    z.backward()
    assert np.array_equal(x.grad, np.full((2, 3), 3, np.float32))
    with pytest.raises(TypeError, match="grad is float64"):
        x.grad = np.ones((2, 3))
    with pytest.raises(ValueError, match="grad is float32"):
        x.grad = np.ones(2, np.float32)
    with pytest.raises(TypeError, match=r"numpy\.ndarray"):
        Variable([1.0])
    assert np.array_equal(pickle.loads(pickle.dumps(x)).data, x.data)
    graph = computational_graph.build_computational_graph((z,)).dump()
    assert graph.startswith("digraph") and '"Identity"' in graph


@pytest.mark.share(4)
@pytest.mark.parametrize(("name", "xs", "options"), [
    ("relu", [(2, 3)], {}), ("leaky_relu", [(2, 3)], {}), ("sigmoid", [(2, 3)], {}),
    ("tanh", [(2, 3)], {}), ("softmax", [(2, 3)], {}), ("log_softmax", [(2, 3)], {}),
    ("elu", [(2, 3)], {}), ("softplus", [(2, 3)], {"beta": 2.0}), ("exp", [(2, 3)], {}),
    ("clipped_relu", [(2, 3)], {"z": 0.5}), ("maxout", [(2, 6)], {"pool_size": 3}),
    ("lstm", [(2, 3), (2, 12)], {}), ("slstm", [(2, 2), (2, 2), (2, 8), (2, 8)], {}),
    ("average_pooling_2d", [(1, 2, 5, 5)], {"ksize": 2}),
    ("max_pooling_2d", [(1, 2, 5, 5)], {"ksize": 2, "pad": 1}),
    ("spatial_pyramid_pooling_2d", [(1, 2, 5, 6)], {"pyramid_height": 2}),
    ("local_response_normalization", [(2, 7, 2, 2)], {"alpha": 0.1}),
    ("mean_squared_error", [(2, 3), (2, 3)], {}), ("cross_covariance", [(4, 2), (4, 3)], {}),
    ("huber_loss", [(2, 3), (2, 3)], {"delta": 0.5}),
    ("matmul", [(2, 3), (2, 4)], {"transa": True}),
    ("batch_matmul", [(2, 3), (2, 3)], {"transa": True}),
    ("bilinear", [(2, 3), (2, 2), (3, 2, 4)], {}),
    ("gaussian_kl_divergence", [(2, 3), (2, 3)], {}), ("gaussian_nll", [(2, 3)] * 3, {}),
    ("batch_normalization", [(4, 3), (3,), (3,)], {}), ("prelu", [(2, 3, 2), (3,)], {}),
    ("convolution_2d", [(1, 2, 5, 5), (3, 2, 3, 3), (3,)], {"stride": 2, "pad": 1}),
    ("deconvolution_2d", [(1, 2, 3, 3), (2, 3, 3, 3), (3,)], {"stride": 2, "outsize": (8, 8)}),
    ("linear", [(2, 3, 2), (4, 6), (4,)], {}), ("swapaxes", [(2, 3)], {"axis1": 0, "axis2": 1}),
    ("unpooling_2d", [(1, 2, 2, 2)], {"ksize": 2}), ("logsumexp", [(2, 3)], {"axis": 1}),
])
def test_gradients_of_functions(name, xs, options):
    inputs = [Variable(array(*shape)) for shape in xs]
    ys = getattr(F, name)(*inputs, **options)
    ys = ys if isinstance(ys, tuple) else (ys,)
    weights = [array(*y.data.shape) for y in ys]
    for y, w in zip(ys, weights, strict=True):
        y.grad = w.reshape(y.data.shape)
    total = F.identity(*ys)
    total = total if isinstance(total, tuple) else (total,)
    for t, w in zip(total, weights, strict=True):
        t.grad = w
    total[0].backward()
    data = [x.data.astype(np.float64) for x in inputs]

    def values():
        found = getattr(F, name)(*map(Variable, data), **options)
        return tuple(y.data for y in (found if isinstance(found, tuple) else (found,)))

    numerical = gradient_check.numerical_grad(values, data, weights, eps=1e-4)
    for x, g in zip(inputs, numerical, strict=True):
        gradient_check.assert_allclose(x.grad, g, atol=2e-3, rtol=2e-3)


def test_only_one_of_two_results_is_used():
    c, x = Variable(array(2, 3)), Variable(array(2, 12))
    _, h = F.lstm(c, x)
    F.sum(h).backward()
    used = x.grad.copy()
    x.cleargrad()
    c2, h2 = F.lstm(c, x)
    (F.sum(h2) + 0 * F.sum(c2)).backward()
    assert np.allclose(used, x.grad, atol=1e-6)


def test_losses_with_labels():
    y, t = Variable(array(4, 3)), Variable(np.array([0, 2, -1, 1], np.int32))
    loss = F.softmax_cross_entropy(y, t)
    logs = y.data - np.log(np.exp(y.data).sum(1, keepdims=True))
    assert np.isclose(loss.data, -(logs[0, 0] + logs[1, 2] + logs[3, 1]) / 3)
    loss.backward()
    assert not y.grad[2].any() and t.grad is None
    assert F.accuracy(y, Variable(y.data.argmax(1).astype(np.int32))).data == 1
    signs = Variable(np.array([[1, 0, -1]], np.int32))
    scores = Variable(np.array([[2.0, -1.0, 9.0]], np.float32))
    expected = (np.log1p(np.exp(-2.0)) + np.log1p(np.exp(-1.0))) / 2
    assert np.isclose(F.sigmoid_cross_entropy(scores, signs).data, expected)
    assert F.binary_accuracy(scores, signs).data == 1
    xs = [Variable(array(2, 4)) for _ in range(5)]
    ctc = F.connectionist_temporal_classification(xs, np.array([[1, 2], [3, 3]], np.int32), 0)
    ctc.backward()
    assert ctc.data > 0 and xs[0].grad.shape == (2, 4)


def test_hierarchical_softmax_is_a_distribution():
    tree = F.create_huffman_tree({0: 8, 1: 5, 2: 6, 3: 1})
    model = L.BinaryHierarchicalSoftmax(3, tree)
    x = Variable(array(1, 3))
    chances = [np.exp(-model(x, Variable(np.array([k], np.int32))).data) for k in range(4)]
    assert np.isclose(sum(chances), 1, atol=1e-5)
    with pytest.raises(ValueError, match="not 2"):
        L.BinaryHierarchicalSoftmax(3, ((1, 2), (3,)))
    with pytest.raises(ValueError, match="no leaf"):
        model(x, Variable(np.array([7], np.int32)))
    sampler = chainer.utils.WalkerAlias([1.0, 0.0, 3.0])
    drawn = np.bincount(sampler.sample((4000,)), minlength=3) / 4000
    assert np.allclose(drawn, [0.25, 0, 0.75], atol=0.03)


def test_links_of_layers():
    x = Variable(array(2, 3, 8, 8))
    assert L.Inception(3, 2, 2, 4, 2, 3, 1)(x).data.shape == (2, 10, 8, 8)
    assert L.InceptionBN(3, 2, 2, 4, 2, 3, "avg", 1)(x).data.shape == (2, 10, 8, 8)
    assert L.InceptionBN(3, 0, 2, 4, 2, 3, "max", stride=2)(x).data.shape == (2, 10, 4, 4)
    assert L.MLPConvolution2D(3, (4, 5), 3)(x).data.shape == (2, 5, 6, 6)
    assert L.Deconvolution2D(3, 2, 4, stride=2, pad=1)(x).data.shape == (2, 2, 16, 16)
    v = Variable(array(2, 4))
    assert L.Maxout(4, 3, 2)(v).data.shape == (2, 3)
    assert L.StatefulGRU(4, 3)(v).data.shape == (2, 3)
    assert L.Bilinear(4, 4, 2)(v, v).data.shape == (2, 2)
    lstm = L.LSTM(4, 3)
    first, second = lstm(v), lstm(v)
    c, h = lstm.c, lstm.h
    lstm.reset_state()
    assert np.array_equal(lstm(v).data, first.data) and not np.array_equal(first.data, second.data)
    assert h is second and c.data.shape == (2, 3)


def test_batch_normalization_has_three_modes():
    bn = L.BatchNormalization(3, decay=0.5, eps=1e-5)
    batches = [array(6, 3) * 2 + 1 for _ in range(3)]
    y = bn(Variable(batches[0]))
    assert np.allclose(y.data.mean(0), 0, atol=1e-5) and np.allclose(y.data.std(0), 1, atol=1e-3)
    assert np.allclose(bn.avg_mean, 0.5 * batches[0].mean(0), atol=1e-6)
    bn.start_finetuning()
    for b in batches:
        bn(Variable(b), finetune=True)
    assert np.allclose(bn.avg_mean, np.mean([b.mean(0) for b in batches], 0), atol=1e-5)
    fixed = bn(Variable(batches[0]), test=True)
    expected = (batches[0] - bn.avg_mean) / np.sqrt(bn.avg_var + 1e-5)
    assert np.allclose(fixed.data, expected, atol=1e-5)


@pytest.mark.share(2)
@pytest.mark.parametrize("name", ["SGD", "MomentumSGD", "NesterovAG", "AdaGrad", "AdaDelta", "Adam",
                                  "RMSprop", "RMSpropGraves", "SMORMS3"])
def test_optimizers_learn_and_resume(name, tmp_path):
    def net():
        return chainer.Chain(l1=L.Linear(2, 4), l2=L.Linear(4, 1))

    x = Variable(array(16, 2))
    t = Variable(np.asarray(x.data[:, :1] * x.data[:, 1:], np.float32))
    model = net()

    def loss(model):
        return F.mean_squared_error(model.l2(F.tanh(model.l1(x))), t)

    optimizer = getattr(optimizers, name)()
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer.WeightDecay(1e-4))
    optimizer.add_hook(chainer.optimizer.GradientClipping(10.0))
    before = loss(model).data
    for _ in range(20):
        optimizer.update(loss, model)
    assert loss(model).data < before and optimizer.t == 20
    serializers.save_npz(tmp_path / "model", model)
    serializers.save_npz(tmp_path / "optimizer", optimizer)
    other, resumed = net(), getattr(optimizers, name)()
    resumed.setup(other)
    resumed.add_hook(chainer.optimizer.WeightDecay(1e-4))
    resumed.add_hook(chainer.optimizer.GradientClipping(10.0))
    serializers.load_npz(tmp_path / "model", other)
    serializers.load_npz(tmp_path / "optimizer", resumed)
    for o, m in ((optimizer, model), (resumed, other)):
        o.update(loss, m)
    assert resumed.t == 21
    for a, b in zip(model.params(), other.params(), strict=True):
        assert np.array_equal(a.data, b.data)


def test_gradient_tools_and_state_by_reference():
    w, g = np.ones(4, np.float32), np.full(4, 3, np.float32)
    optimizer = optimizers.SGD(lr=1.0)
    optimizer.setup(((w,), (g,)))
    assert optimizer.compute_grads_norm() == 6
    optimizer.clip_grads(3.0)
    assert np.array_equal(g, np.full(4, 1.5))
    optimizer.clip_grads(5.0)
    assert np.array_equal(g, np.full(4, 1.5))
    optimizer.weight_decay(0.5)
    assert np.array_equal(g, np.full(4, 2.0))

    class Counting(chainer.Optimizer):
        def init_state(self, param, grad):
            return np.zeros(())

        def update_one(self, param, grad, state):
            state += self.t
            param -= state

    optimizer = Counting()
    optimizer.setup(((w,), (g,)))
    optimizer.update()
    optimizer.update()
    assert w[0] == 1 - 1 - 3 and optimizer.t == 2


def test_chains():
    model = chainer.Chain(a=L.Linear(2, 3), b=chainer.ChainList(L.Linear(3, 2), L.Linear(2, 2)))
    paths = [path for path, _ in model.namedparams()]
    assert paths == ["/a/W", "/a/b", "/b/0/W", "/b/0/b", "/b/1/W", "/b/1/b"]
    assert [path for path, _ in model.namedlinks()] == ["/", "/a", "/b", "/b/0", "/b/1"]
    other = copy.deepcopy(model)
    other.copyparams(model)
    model.zerograds()
    other.zerograds()
    F.sum(other.b[0](other.a(Variable(array(2, 2))))).backward()
    model.addgrads(other)
    assert np.array_equal(model.a.W.grad, other.a.W.grad)
    shared = model.copy()
    assert shared.a.W.data is model.a.W.data and shared.a is not model.a
    classifier = L.Classifier(L.Linear(2, 3))
    classifier(Variable(array(2, 2)), Variable(np.array([0, 1], np.int32)))
    assert classifier.loss.data.shape == () and 0 <= classifier.accuracy.data <= 1


def test_kernels_in_c():
    x = array(5)
    out = np.zeros_like(x)
    cuda.elementwise("float* y, const float* x, float a",
                     "float t = a * x[i]; y[i] += t > 0 ? sqrtf(t) : 0.5f * t", "k")(out, x, 2.0)
    t = 2 * x
    assert np.allclose(out, np.where(t > 0, np.sqrt(np.maximum(t, 0)), 0.5 * t), atol=1e-6)
    largest = cuda.reduce("const float* x", "fabsf(x[i])", "a > b ? a : b", "0", "largest")
    assert largest(x) == abs(x).max()
    with pytest.raises(SyntaxError, match="no assignment"):
        cuda.elementwise("float* x", "return", "bad")


def test_functions_take_arrays_of_bfloat16():
    x = ag.tensor([1.0, -1.0], dtype="bfloat16")
    assert F.relu(x).data.dtype == F.relu(np.asarray(x)).data.dtype == x.dtype


def test_functions_are_imported_from_modules_of_their_kind():
    from agnesi.compat.chainer.functions.activation import relu
    from agnesi.compat.chainer.functions.loss.vae import gaussian_kl_divergence

    assert gaussian_kl_divergence is F.gaussian_kl_divergence and relu is F.relu


def test_pooling_as_functions_with_options():
    from agnesi.compat.chainer.functions.pooling_2d import AveragePooling2D, MaxPooling2D

    x = Variable(np.arange(25, dtype=np.float32).reshape(1, 1, 5, 5))
    layers = FunctionSet(pool=MaxPooling2D(3, stride=2, pad=1))
    pooled = layers.pool(x)
    np.testing.assert_array_equal(pooled.data, F.max_pooling_2d(x, 3, 2, 1).data)
    mean = AveragePooling2D(2)(x)
    np.testing.assert_array_equal(mean.data, F.average_pooling_2d(x, 2).data)
    pooled.grad = np.ones_like(pooled.data)
    pooled.backward()
    assert x.grad.sum() == pooled.data.size and layers.parameters == ()
