"""Mistakes of users of other libraries: each is told with who was called, what is wrong, the line
and the way out."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import agnesi as ag
import agnesi.compat.theano as theano
import agnesi.compat.theano.tensor as T
from agnesi import data, nn, optim
from agnesi.__main__ import main
from agnesi.core.support.errors import BodySizeError, GradientError
from agnesi.nn import functional as F

V, M = ag.ones(3), ag.ones((2, 3))


def _model() -> Any:
    return nn.Linear(3, 2)


def _grouped(**options: Any) -> Any:
    return optim.SGD([{"params": _model().parameters(), **options}], lr=0.1)


class _Selfless(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = _model()

    def forward(x: Any) -> Any:  # noqa: N805
        return x


def _leaf() -> Any:
    return ag.ones(3, requires_grad=True)


def _hooked(hook: Any) -> Any:
    x = _leaf()
    x.register_hook(hook)
    return x


class _Kept(ag.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return ctx.x * g


class _Unsaved(_Kept):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, = ctx.saved_tensors
        return x * g


class _Doubled(ag.Function):
    def forward(self, x: Any) -> Any:
        return x * 2,


class _Twice(ag.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


def _static() -> Any:
    class Square(ag.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:  # type: ignore[override]
            return x


def _of_context() -> Any:
    class Square(ag.Function):
        def forward(ctx: Any, x: Any) -> Any:  # noqa: N805
            return x


def _short_rule() -> Any:
    @ag.custom_vjp
    def f(x: Any) -> Any:
        return x * 2
    f.defvjp(lambda x: (x * 2, None), lambda g: (g,))
    ag.grad(lambda x: f(x).sum())(V)


def _set_config() -> Any:
    ag.config.threads = "many"


def _free() -> Any:
    x = T.matrix("x")
    theano.function([x], T.dot(x, T.vector("v")))


#: What is done, and what the message says, as a form.
CASES: list[tuple[Any, str]] = [
    *[(lambda f=f: f(lambda x: None)(V), r"<lambda> must return tensors, not None, which a function"
       " without return gives") for f in (ag.jacobian, ag.jacfwd, ag.jacrev, ag.hessian)],
    (lambda: ag.vjp(lambda x: None, V), "vjp: <lambda> must return tensors, not None"),
    (lambda: ag.jvp(lambda x: None, (V,), (V,)), "jvp: <lambda> must return tensors, not None"),
    (lambda: (ag.symbolic.vector("v") + 1).eval(),
     r"eval: float64\[v.shape\[0\]\] depends on v, which has no value: write eval\({v: value}\)"),
    (lambda: ag.shared(ag.symbolic.vector("v")), "the value must be known, and .* is symbolic"),
    (lambda: ag.sort_complex(3.0), r"sort_complex\(3.0\): float32\[\] has no axis to sort"),
    (lambda: ag.fill_diagonal([[1.0]], 2.0), "x must be a tensor, which is changed in place, not"),
    (lambda: ag.where(None), r"where\(None\): cannot make a tensor from None"),
    (lambda: setattr(ag.config, "floatX", "float32"),
     "default_float is the dtype of tensors, symbolic_float that of"),
    (lambda: data.default_collate({"a": 1}), "a batch is made of a list of samples, not of {'a'"),
    (lambda: V.asnumpy(), r"use `x.numpy\(\)`"),
    (lambda: F.relu_(np.ones(2)), r"input must be a tensor, not a NumPy float64\[2\]; ag.asarray\("
     r"input\) is one"),
    # the name that the user wrote
    (lambda: ag.concatenate(V, V), r"^concatenate\(float32\[3\], float32\[3\]\): the tensors to"),
    (lambda: ag.concat(V, V), r"^concat\(float32\[3\], float32\[3\]\): the tensors to join"),
    (lambda: ag.cat([M, ag.ones((2, 4)), M]), r"^cat\(\[float32\[2, 3\], float32\[2, 4\]"),
    (lambda: ag.transpose(M, (0, 0)), r"^transpose\(float32\[2, 3\], \(0, 0\)\): axes"),
    (lambda: ag.arcsin("x"), r"^arcsin\('x'\): cannot make a tensor"),
    (lambda: ag.arcsin(V, axis=2), r"^arcsin\(\) got an unexpected keyword argument 'axis'"),
    (lambda: ag.linalg.inverse(M), r"^inverse\(float32\[2, 3\]\): the matrices must be square"),
    (lambda: ag.jit(lambda x: ag.concatenate(x, x))(V), r"^concatenate\(float32\[3\], float32"),
    # operands that are missing, or in another order
    (lambda: ag.add(V), r"^add\(float32\[3\]\): add\(\) needs its second operand, too"),
    (lambda: ag.arctan2(V), r"^arctan2\(float32\[3\]\): arctan2\(\) needs its second operand"),
    (lambda: ag.power(V), r"^power\(float32\[3\]\): power\(\) needs its second operand"),
    (lambda: ag.jit(lambda x: x.mul())(V), r"needs its second operand, too: it is called as"),
    (lambda: ag.ensure(V.sum() > 5, "big"), r"condition cannot be a text; .*ensure\(x, condition"),
    (lambda: ag.jit(lambda x: ag.ensure(x > 5, "big"))(V), r"condition cannot be a text"),
    (lambda: V[1:, 2], r"^getitem\(float32\[3\], \(1:, 2\)\): 2 indices for 1 dimensions"),
    (lambda: optim.SGD(_model().parameters(), 0.1).step(1, 2),
     r"^SGD.step\(\) takes from 0 to 1 positional arguments but 2 were given; .*SGD.step\(closure"),
    (lambda: ag.training.Trainer(_model()), r"missing 2 .*; it is called as Trainer\(model, opt"),
    # other libraries' forms
    (_static, r"^Square: forward\(ctx, x\) and backward\(ctx, g\) .* ag.autograd.Function"),
    (_of_context, r"^Square: forward\(ctx, x\) and backward\(ctx, g\) .* ag.autograd.Function"),
    (lambda: _Twice()(V), r"^_Twice is not called itself: write _Twice.apply\(x\)"),
    (_short_rule, r"^the backward rule of f: .*; it is called as backward\(residuals, cotangent\)"),
    (lambda: _Selfless()(V), r"_Selfless.forward is a method: .* forward\(self, \.\.\.\)"),
    (lambda: ag.op(lambda x: x, gradient=None), r"'gradient'; use `vjp`"),
    (lambda: ag.distributed.broadcast(V, src=0), r"'src'; use `root`"),
    (lambda: ag.metrics.Accuracy()(V), r"^Accuracy is not called: metric.update"),
    (lambda: optim.Adam(_model().parameters), r"the method Linear.parameters, which was not calle"),
    (lambda: _grouped(learning_rate=0.1), r"^SGD: a group of parameters got .*; use `lr`"),
    (lambda: ag.random.normal(key=3), r"'key'; use `generator`"),
    (lambda: nn.Dense(4), r"'Dense'; use `nn.Linear\(in_features, out_features\)`"),
    (lambda: _model().fit(V), r"'fit'; use `ag.training.Trainer\(model, optimizer, loss\)`"),
    (lambda: optim.SGD(_model().parameters(), 0.1).minimize(V), r"'minimize'; use `loss.backward"),
    # what an argument makes our code raise
    (lambda: data.ConcatDataset(range(3)),
     r"^ConcatDataset: the arguments do not fit .*no len\(\); .* as ConcatDataset\(datasets\)"),
    (lambda: ag.distributed.new_group("a"), "^new_group: ranks must be a list of numbers"),
    (lambda: optim.SGD(_model().parameters(), 0.1).update({}, {}), r"^SGD.update: p cannot be {}"),
    (lambda: list(data.DataLoader(range(4), batch_size=2, collate_fn=lambda: 1)),
     r"^DataLoader: .*; it is called as collate_fn\(samples\)"),
    (lambda: ag.function(["x"], V), r"^function: inputs must be symbolic variables, such as"),
    (lambda: ag.linalg.cho_solve(ag.eye(2), V), r"c_and_lower must be the pair that cho_factor gi"),
    (lambda: ag.linalg.lu_solve(ag.eye(3), V), r"lu_and_piv must be the pair that lu_factor gives"),
    (lambda: ag.ones(3, requires_grad=True).register_hook(3), r"hook must be a function, not 3"),
    (lambda: ag.corrcoef("a"), r"^corrcoef\('a'\): cannot make a tensor from 'a'"),
    # values and programs
    (lambda: ag.grad(lambda x: x > 0)(1.0), r"^grad: <lambda> must return a float or complex scal"),
    (lambda: ag.jit(ag.grad(lambda x: x.astype("int32").sum()))(V), r"must return a float or comp"),
    (lambda: nn.Embedding(10, 4, padding_idx=12), r"^Embedding: padding_idx=12 is none of 10 vect"),
    (lambda: nn.utils.clip_grad_value_(_model().parameters(), -1), r"clip_value must be at least"),
    (lambda: ag.distributions.MultivariateNormal(ag.zeros(3), ag.eye(2)), r"must have one size"),
    (lambda: V.size(1), r"^size\(1\) of shape \(3,\): axis 1 is out of range for 1 dimensions"),
    (lambda: V + None, r"cannot make a tensor from None; a function without return gives it"),
    (lambda: ag.op(lambda x: x, like=3)(V), r"has like=3, but 1 operands"),
    (lambda: ag.op(lambda x: x, infer=lambda x: x.shape)(V), r"infer of .* must return \(shape, "),
    (lambda: nn.utils.clip_grad_norm_(_model(), 1.0), r"such as model.parameters\(\), not Linear"),
    (lambda: ag.linalg.solve_triangular(ag.eye(2), ag.ones((3, 1))), r"rows differ: 2 .* and 3"),
    (lambda: ag.linalg.cho_solve((ag.eye(2), True), ag.ones((3, 1))), r"rows differ: 2 .* and 3"),
    (lambda: ag.tensor([1], dtype=ag.ones), r"unsupported dtype <function ones>; choose one of"),
    (lambda: ag.random.multinomial(5, [0.7, 0.6, 0.1]), r"sum of pvals without the last must be"),
    (lambda: ag.jit(lambda p: ag.random.multinomial(5, p))(ag.tensor([0.7, 0.6, 0.1])),
     r"^multinomial.*sum of pvals without the last must be at most 1"),
    (lambda: ag.symbolic.vector("x").eval({"x": np.ones(3)}), r"^eval: values are by variable"),
    (_free, r"^function: the outputs depend on v"),
    (_set_config, r"^config.threads must be a number of threads or 0, not 'many'"),
    (lambda: ag.config(optimiser="None"), r"^config has no setting 'optimiser'; did you mean"),
    (lambda: nn.LSTM(4, 3)(ag.ones((2, 4)), (V, V)),
     r"^LSTM: a first state must be \(1, 3\), not float32\[3\]"),
    (lambda: ag.distributions.Normal(V, ag.ones(2)),
     r"^Normal\(loc float32\[3\], scale float32\[2\]\): sizes 3 and 2 differ"),
    (lambda: nn.utils.rnn.pack_padded_sequence(ag.ones((3, 4)), [3, 2, 1]),
     r"^pack_padded_sequence: float32\[3, 4\] needs as many lengths as sequences \(4\), not"),
    # what was accepted, or told in Python's words
    (lambda: ag.linalg.solve_triangular(ag.eye(2), ag.ones((2, 1)), upper="yes"),
     r"^solve_triangular.*upper must be True or False, not 'yes'"),
    (lambda: ag.searchsorted(V, V, right="no"), r"^searchsorted.*right must be True or False, not"),
    (lambda: F.binary_cross_entropy_with_logits(ag.ones((4, 1)), ag.ones(4)),
     r"^binary_cross_entropy_with_logits.*the target must have the shape of the input, \(4, 1\)"),
    (lambda: ag.jit(lambda x: x + 1)("a"), r"^jit of <lambda>: can only .*; argument x is 'a'"),
    (lambda: ag.jit(lambda x: x)(np.array(["a"])), r"^jit: argument 0: cannot make a tensor from"),
    (lambda: ag.tril(M, diagonal=1.5), r"^tril\(float32\[2, 3\]\): diagonal must be an integer"),
    (lambda: ag.jit(lambda x: ag.flatten(x, start_dim="a"))(M), r"^flatten.*start_dim must be an"),
    (lambda: theano.shared(V.numpy(), borow=True), r"^shared\(\) got .* did you mean `borrow`\?"),
    (lambda: theano.function([T.vector()], [], mode=3), r"^function: mode must be a name such as"),
    (lambda: ag.Linear(3, 2), r"use `ag.nn.Linear`"),
    (lambda: nn.relu(V), r"use `nn.functional.relu`"),
    (lambda: optim.adam([V]), r"^agnesi.optim.adam is a module, .* call agnesi.optim.Adam"),
    (lambda: ag.jit(ag.grad(F.nll_loss))(M, np.array([0, 5])), r"^nll_loss.* a label is out of"),
    (lambda: _model().load_state_dict({f"m.{k}": v for k, v in _model().state_dict().items()}),
     r"give \{name.removeprefix\('m.'\): value for name, value in state.items\(\)\}"),
    (lambda: ag.vmap(lambda p: p["w"], in_axes=({"b": 0},))({"w": M}), r"^vmap: in_axes is \{'b'"),
    (lambda: ag.grad(lambda w: w.sum())(w=V), r"was given none by position"),
    (lambda: ag.grad(lambda w: w)(None), r"^grad: cannot differentiate with respect to argument 0"),
    (lambda: ag.custom_vjp(lambda x: x).defvjp(1, 2), r"defvjp: forward must be a function, not 1"),
    (lambda: _Kept.apply(_leaf()).sum().backward(), r"^ctx.x: forward kept nothing of that name"),
    (lambda: _Doubled()(V), r"^_Doubled.*a tuple of arrays, not one of tuples"),
    (lambda: (lambda x: x.sum().backward())(_hooked(lambda: None)), r"^a hook: .* called"),
    (lambda: nn.ReflectionPad2d(9)(ag.ones((1, 3, 8, 8))), r"takes widths of 7 at most on an axis"),
    (lambda: F.scaled_dot_product_attention(M, ag.ones((4, 2)), M), r"query and key: features on"),
    (lambda: data.from_frame({"a": [1, 2], "b": [1]}), r"^from_frame: columns differ in length"),
    (lambda: data.Subset([1, 2], ["0"]), r"^Subset: indices must be integers"),
    (lambda: ag.testing.check_grads(lambda x: x, (ag.arange(3),)), r"no derivative: \(int64\[3\],"),
    (lambda: ag.tensor({1, 2}), r"give a list, sorted\(x\)"),
    (lambda: ag.max(3, 5), r"the second argument is an axis; ag.maximum\(a, b\) compares values"),
    (lambda: ag.random.normal(generator=np.random.default_rng(0)), r"generator must be a Gener"),
    (lambda: ag.jit(lambda: ag.symbolic.dvector("v") * 2)(), r"^v, .*is a variable of a declared"),
    (lambda: ag.gather(M, 1, ag.zeros((5, 2), dtype=int)), r"index of shape \(5, 2\) is longer"),
    (lambda: ag.shared(np.zeros((2, 3))).set_value(np.zeros(3)), r"variable float64\[2, 3\] has 2"),
    (lambda: ag.function([], 1.0, updates=[(ag.shared(np.zeros((2, 3))), 1.0)]),
     r"the update of float64\[2, 3\] is"),
    (lambda: ag.jacobian(lambda x: x.tolist())(V), r"values without a record"),
    (lambda: _grouped().param_groups[0]["momentun"], r"no 'momentun'; did you mean `momentum`"),
    # values for what is called
    (lambda: setattr(_leaf(), "requires_grad_", False),
     r"^requires_grad_ of float32\[3\] is a method, .* as in x.requires_grad_\(False\)"),
    (lambda: setattr(V, "backward", None), r"^backward of float32\[3\] is a method, and cannot"),
    (lambda: setattr(_Selfless(), "zero_grad", True), r"^_Selfless.zero_grad is a method, and can"),
    (lambda: setattr(_Selfless(), "half", True), r"^_Selfless.half is a method, and cannot become"),
    (lambda: _Unsaved.apply(_leaf()).sum().backward(), r"^ctx.saved_tensors: forward saved none;"),
    (lambda: nn.summary(_model()), r"^summary\(Linear\): give the model's inputs themselves"),
    (lambda: nn.summary(_model(), (1, 3)), r"summary\(model, ag.zeros\(\(1, 3\)\)\), not their"),
    # axes that libraries take differently
    (lambda: ag.std(M, [0]), r"std divides by n - 1 in PyTorch and by n in NumPy; write correcti"),
    (lambda: M.var(axis=[0, 1]), r"var divides by n - 1 in PyTorch and by n in NumPy; write corr"),
    (lambda: ag.cross(M.T, M.T, 0), r"the third argument is NumPy's axis of the first operand al"),
    # misspelt names, other libraries' launchers, options of options
    (lambda: ag.optim.lr_scheduler.ExponentialDecay, r"use `optim.lr_scheduler.ExponentialLR`"),
    (lambda: V.float32(), r"use `x.astype\(ag.float32\)`"),
    (lambda: optim.Adamm, r"has no attribute 'Adamm'; did you mean `Adam`"),
    (lambda: nn.Liner, r"has no attribute 'Liner'; did you mean `Linear`"),
    (lambda: nn.CrossEntropy, r"did you mean `CrossEntropyLoss`"),
    (lambda: ag.jit(_model()).compile(), r"use a call with such arguments, which compiles"),
    (lambda: data.Datset, r"has no attribute 'Datset'; did you mean `Dataset`"),
    (lambda: ag.distributions.Noraml, r"did you mean `Normal`"),
    (lambda: ag.sparse.coo_matrix, r"use `ag.sparse.coo\(indices, values, shape\)`"),
    (lambda: ag.distributed.KVStore().init([3, 5], [V]), r"^KVStore.init: a key is one name or"),
    (lambda: ag.distributed.all_gather([V], V), r"axis must be .* not float32\[3\]; the order is"),
    (lambda: ag.einsum(M, M), r"the subscripts come first, as in einsum\('ij,jk->ik', a, b\)"),
    (lambda: ag.vmap(lambda x: x)("a"), r"^vmap: x must be a tensor with an axis of examples"),
    (lambda: ag.jvp(lambda x: x, (V,), ()), r"^jvp: the tangents are \(\), the primals \(float32"),
    (lambda: F.one_hot([0, 1], 1), r"labels go from 0 to 1; num_classes=1 is for those from"),
    (lambda: theano.scan(lambda a: T.zeros((T.cast(a, "int64"),)), T.vector()),
     r"^scan: a step's result is float64\[.*, whose size only the step knows"),
]


def test_what_is_silent_elsewhere_is_warned_of() -> None:
    with pytest.warns(UserWarning, match=r"l1_loss of float32\[4, 1\] and float32\[4\] broadcasts"):
        F.l1_loss(ag.ones((4, 1)), ag.ones(4))
    with pytest.warns(UserWarning, match="SGD.step changes nothing"):
        optim.SGD([_leaf()], 0.1).step()
    with pytest.warns(UserWarning, match=r"grad of float32\[3\], which was computed, is None"):
        assert (_leaf() * 2).grad is None
    with pytest.warns(RuntimeWarning, match="runs eagerly, for it returns a dict with tensors as"):
        assert next(iter(ag.jit(lambda x: {x: 1})(V))) is V


@pytest.mark.parametrize(("mistake", "told"), CASES)
def test_what_is_said(mistake: Any, told: str) -> None:
    with pytest.raises((TypeError, ValueError, LookupError, AttributeError)) as caught:
        mistake()
    text, _, place = str(caught.value).partition("\n  at ")
    assert re.search(told, text), text
    assert "test_mistakes.py:" in place or "has no attribute" in text


def test_groups_have_labels_of_their_own() -> None:
    assert _grouped(name="head", weights=3).param_groups[0]["name"] == "head"


def test_options_of_other_launchers_are_told(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main(["launch", "--nproc_per_node=2", "train.py"])
    assert "no option --nproc_per_node=2; write -n 2" in capsys.readouterr().err


def test_a_body_that_asks_for_a_size_raises_what_is_public() -> None:
    assert BodySizeError.__name__ == ag.TraceError.__name__


def test_assignments_of_recorded_values_to_arrays_say_what_to_write() -> None:
    def loss(x: Any) -> Any:
        found = np.zeros(3)
        found[0] = x[0]
        return ag.asarray(found).sum()

    with pytest.raises(GradientError, match=r"^an assignment to an element of an array would"):
        ag.grad(loss)(V)
