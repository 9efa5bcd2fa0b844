"""Mistakes in programs of other libraries are told in their words, at the user's line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agnesi.compat import chainer, theano
from agnesi.compat import torch7 as torch
from agnesi.compat.autograd import grad
from agnesi.compat.autograd import numpy as anp
from agnesi.compat.autograd.misc import flatten
from agnesi.compat.chainer import functions as F
from agnesi.compat.theano import tensor as T
from agnesi.compat.torch7 import image, nn, optim
from agnesi.core.support.errors import GradientError, MissingRuleError, ShapeError
from tests.errors.lambdas import check


class Replacing(theano.gof.Op):
    """It forgets that outputs are lists of one place."""

    def make_node(self, *inputs: Any) -> Any:
        return theano.gof.Apply(self, list(inputs), [inputs[0].type()])

    def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
        outputs[0] = inputs[0]


@theano.compile.as_op([T.dvector], [T.dvector])
def same(x: Any) -> Any:
    return x


def begun() -> Any:
    """An optimizer before the first gradient."""
    optimizer = chainer.optimizers.SGD(lr=0.1)
    optimizer.setup(chainer.links.Linear(3, 2))
    return optimizer


x, w = T.dvector("x"), theano.shared(np.ones(3), name="w")
ones = torch.ones
CASES: list[Any] = [
    (lambda: F.maxout(np.ones((4, 6), "f"), 4), ShapeError, "maxout: pool_size must divide the 6 "
     "units on axis 1 of float32[4, 6], which 4 does not"),
    (lambda: F.split_axis(np.ones((4, 6), "f"), [2, "a"], 1), TypeError, "split_axis: parts are "
     "told by their number, or the integers where they begin, not [2, 'a']"),
    (lambda: chainer.Variable(np.ones(2), volatile=3), TypeError, "Variable: volatile must be a "
     "bool, 'on', 'off' or 'auto', not 3"),
    (lambda: torch.Tensor(3).storage()["a"], TypeError, "storage['a']: its 3 elements have "
     "numbers, from 1"),
    (lambda: T.nnet.conv2d(T.tensor4(), T.tensor4(), filter_shape="a"), ValueError, "conv2d: "
     "filter_shape must be 4 sizes, None where one is not known, not 'a'"),
    (lambda: T.batched_dot(T.matrix(), 3), TypeError, "batched_dot takes tensors with an entry for "
     "each product along the first axis, not TensorType(float64, matrix) and TensorType(int8, "
     "scalar)"),
    (lambda: optim.sgd(lambda x: (0.0, ones(3)), ones(3), {"learningrate": 0.1}), TypeError,
     "sgd: there is no option 'learningrate'; did you mean 'learningRate'?"),
    (lambda: optim.lbfgs(lambda x: (0.0, ones(3)), ones(3), {"max_iter": 5}), TypeError,
     "lbfgs: there is no option 'max_iter'; did you mean 'maxIter'?"),
    (lambda: optim.de(lambda x: 0.0, ones(3), [5]), TypeError, "de: options are a dict like "
     "{'learningRate': 0.1}, not [5]"),
    (lambda: torch.linspace(0, 1, 2.5), TypeError, "linspace(0, 1, 2.5): 'float' object cannot be "
     "interpreted as an integer; it is called as linspace(a, b, n=100)"),
    (lambda: nn.BCECriterion().forward(ones(3), ones(4)), ShapeError, "BCECriterion.forward("
     "DoubleTensor of 3, DoubleTensor of 4): they must have as many elements"),
    (lambda: nn.MSECriterion().forward(ones(3)), TypeError, "MSECriterion.forward(DoubleTensor of "
     "3): the target is missing; it is called as forward(input, target)"),
    (lambda: nn.Linear(3, 2).backward(ones(4, 3), ones(4, 5)), ShapeError,
     "Linear.backward(DoubleTensor of 4x3): gradOutput must be as the output, 4x2, not 4x5"),
    (lambda: nn.Sequential().add(nn.Tanh()).add(nn.Linear(6, 1)).forward(ones(4, 5)), ShapeError,
     "module 2 of Sequential: Linear.forward(DoubleTensor of 4x5): features differ: 5 (axis -1 of "
     "x (4, 5)) and 6 (axis 1 of weight (1, 6))"),
    (lambda: nn.LookupTable(10, 3).forward(torch.Tensor([0])), IndexError, "LookupTable.forward("
     "DoubleTensor of 1): 0 is out of range for dimension 1, whose numbers run from 1 to 10"),
    (lambda: nn.ParallelTable().add(nn.Tanh()).forward(ones(3)), TypeError, "ParallelTable.forward("
     "DoubleTensor of 3): ParallelTable takes a table, a list of tensors"),
    (lambda: nn.MarginRankingCriterion().forward(ones(3), ones(3)), TypeError,
     "MarginRankingCriterion.forward(DoubleTensor of 3, DoubleTensor of 3): the input must be a "
     "table, a list of two tensors"),
    (lambda: nn.Linear(3, 2).forward([ones(3)]), TypeError, "Linear.forward([DoubleTensor of 3]): "
     "the input must be a tensor, not a table"),
    (lambda: nn.Sequential().add(nn.Tanh()).get(2), IndexError,
     "Sequential.get: there are 1 modules, counted from 1, and no 2"),
    (lambda: ones(3).__setitem__(1, "a"), ValueError,
     "x[...] = value: could not convert string to float: 'a'"),
    (lambda: chainer.functions.embed_id(np.ones(1), np.ones((3, 2))), TypeError,
     "embed_id takes integers, not float64[1]"),
    (lambda: chainer.links.BatchNormalization(3)(np.ones((2, 4))), ShapeError,
     "BatchNormalization: batch_normalization: float64[2, 4] needs gamma and beta of its sizes "
     "behind the batch's, not float32[3]"),
    (lambda: nn.Narrow(1, 3, 4).forward(ones(2, 4)), IndexError, "Narrow.forward(DoubleTensor of "
     "2x4): 3 to 6 is out of range for dimension 1, whose numbers run from 1 to 2"),
    (lambda: nn.ClassNLLCriterion(ones(5)).forward(ones(2, 3), ones(2)), ShapeError,
     "ClassNLLCriterion.forward(DoubleTensor of 2x3, DoubleTensor of 2): there are 3 classes and 5 "
     "weights"),
    (lambda: nn.MultiMarginCriterion().forward(ones(1, 3), torch.Tensor([0])), IndexError,
     "MultiMarginCriterion.forward(DoubleTensor of 1x3, DoubleTensor of 1): labels count from 1 to "
     "3, the number of classes, not 0 to 0"),
    (lambda: torch.range(5, 1), ValueError, "range(5, 1): a step of 1 leads not from 5 to 1; it is "
     "called as range(a, b, step=1)"),
    (lambda: setattr(chainer.links.Linear(3, 2), "W", np.ones(3)), TypeError, "Linear.W is a "
     "parameter, and cannot become float64[3]: write link.W.data = array"),
    (lambda: setattr(theano.config, "floatX", "float31"), ValueError, "theano.config.floatX must "
     "be one of ('float16', 'float32', 'float64'), not 'float31'"),
    (lambda: nn.Dropout(1.5), ValueError, "Dropout: p must be in [0, 1), not 1.5"),
    (lambda: T.dmatrix().dimshuffle(0), ValueError, "dimshuffle(0,): axis 1 of TensorType(float64, "
     "matrix) is left out, whose size need not be 1"),
    (lambda: theano.grad((x ** 2).sum(), w), theano.gradient.DisconnectedInputError, "grad: the "
     "cost does not depend on w, TensorType(float64, vector); disconnected_inputs='ignore' gives "
     "zeros"),
    (lambda: theano.function([x], x * w, givens={w: np.ones((2, 2))}), TypeError, "function: "
     "givens replace w, TensorType(float64, vector), by TensorType(float64, matrix): both must "
     "have the same dtype and number of axes"),
    (lambda: setattr(chainer.Variable(np.ones(3)), "array", [1.0]), TypeError,
     "Variable.data must be a numpy.ndarray, not [1.0]: np.array(..., dtype=np.float32)"),
    (lambda: grad(lambda x: float(x) ** 2)(3.0), GradientError, "float() would lose the gradient "
     "of float64[]: leave it out, or take autograd.tracer.getval(x) if none is to flow through it"),
    (lambda: grad(lambda x: anp.sum(x) * int(x[0]))(np.ones(3)), GradientError, "int() would lose "
     "the gradient of float64[]: leave it out, or take autograd.tracer.getval(x) if none is to "
     "flow through it"),
    (lambda: ones(3, 4) * ones(3, 4), ValueError, "x * y of DoubleTensor of 3x4 and DoubleTensor "
     "of 3x4: the sizes do not fit together; * is the matrix product, x.cmul(y) the one of "
     "elements"),
    (lambda: ones(3, 4) + ones(4), ValueError, "x + y of DoubleTensor of 3x4 and DoubleTensor of "
     "4: they must have as many elements: nothing is repeated"),
    (lambda: ones(3, 4).index(1, torch.LongTensor([0])), IndexError,
     "index: 0 is out of range for dimension 1, whose numbers run from 1 to 3"),
    (lambda: ones(3, 4).indexFill(2, torch.LongTensor([0]), 1), IndexError,
     "Tensor.indexFill: 0 is out of range for dimension 2, whose numbers run from 1 to 4"),
    (lambda: ones(3, 4).sum(0), IndexError,
     "Tensor.sum: dimension 0 is out of range: there are 2, counted from 1"),
    (lambda: nn.Mean(0).forward(ones(3)), IndexError, "Mean.forward(DoubleTensor of 3): dimension "
     "0 is out of range: there are 1, counted from 1"),
    (lambda: ones(3, 4).sub(1, 2, 3, 5), IndexError, "Tensor.sub: 3 to 5 is out of range for "
     "dimension 2, whose numbers run from 1 to 4"),
    (lambda: torch.bernoulli(1.5), ValueError, "bernoulli(1.5): p must be in [0, 1], not 1.5"),
    (lambda: torch.Tensor(2).bernoulli(torch.Tensor([0.5, 1.5])), ValueError,
     "bernoulli(DoubleTensor of 2, DoubleTensor of 2): p must be in [0, 1], not 1.5"),
    (lambda: optim.sgd(lambda x: (0.0, ones(3)), ones(3), {"learningRate": "0.1"}), TypeError,
     "sgd: learningRate must be a number, not '0.1'"),
    (lambda: nn.Padding(1, "a"), TypeError, "Padding: pad must be a number, not 'a'"),
    (lambda: F.mean_squared_error(np.ones((4, 2)), np.ones((4, 1))), ShapeError, "mean_squared_"
     "error: x0 and x1 must have the same shape, not float64[4, 2] and float64[4, 1]"),
    (lambda: F.split_axis(np.ones((2, 3)), [1, 5], 1), ShapeError, "split_axis: parts begin at [1, "
     "5], which do not rise within axis 1 of size 3"),
    (lambda: F.relu(np.tanh), TypeError, "relu: a function of variables takes variables and "
     "arrays of numbers, not <ufunc 'tanh'>; call it and pass the result"),
    (lambda: chainer.serializers.save_npz(3, "m.npz"), TypeError, "save_npz takes a file's name "
     "and then a link or an optimizer, not 3 and 'm.npz'"),
    (lambda: grad(anp.sum, "x"), AssertionError, "grad: argnum must be an int, or a tuple of them, "
     "not 'x'"),
    (lambda: anp.einsum("ij,jk->ik", np.ones((2, 3)), np.ones((4, 5))), ValueError,
     "einsum('ij,jk->ik', float64[2, 3], float64[4, 5]): operands could not be broadcast together "
     "with remapped shapes [original->remapped]: (2,3)->(2,newaxis,3) (4,5)->(5,4) "),
    (lambda: flatten([np.ones(3)])[1](np.ones(7)), ShapeError,
     "unflatten takes a vector of 3 numbers, not float64[7]"),
    (lambda: theano.function([x], x, updates=[w, w + 1]), TypeError, "function: updates are a "
     "mapping, or a list of pairs as in [(old, new)], not [float64[w.shape[0]], "
     "float64[w.shape[0]]]"),
    (lambda: theano.function([x], x)([[1, 2], [3]]), ValueError, "x is TensorType(float64, vector) "
     "and takes no [[1, 2], [3]]: its rows differ in length"),
    (lambda: range(x.shape[0]), TypeError, "x.shape[0] is TensorType(int64, scalar), an expression "
     "without a value: x.eval({...}) or theano.function computes one, theano.scan repeats as often "
     "as one says"),
    (lambda: T.stack([T.dmatrix("a"), x]), ShapeError, "stack([float64[a.shape[0], a.shape[1]], "
     "float64[x.shape[0]]], 0): operands have 3 and 2 dimensions"),
    (lambda: T.nnet.conv2d(T.dtensor4(), T.dtensor4(), border_mode="same"), ValueError, "conv2d: "
     "border_mode must be 'valid', 'full', 'half', a number or 2 of them, not 'same'; 'half' gives "
     "the same size with odd filters"),
    (lambda: T.inc_subtensor(x[0], x), ShapeError, "inc_subtensor: the part, TensorType(float64, "
     "scalar), has fewer axes than the value, TensorType(float64, vector)"),
    (lambda: theano.function([theano.Param(x, default="a")], x)(), TypeError,
     "input x of function takes numbers, not 'a'"),
    (lambda: theano.function([x], x, trust_inputs=True), TypeError, "function() got an unexpected "
     "keyword argument 'trust_inputs'; did you mean `trust_input`?"),
    (lambda: F.softmax_cross_entropy(np.ones((2, 3)), np.ones(2, int), class_weight=3), TypeError,
     "softmax_cross_entropy() got an unexpected keyword argument 'class_weight'; it takes x, t, "
     "use_cudnn, normalize, ignore_label, cache_score"),
    (lambda: ones(3, 4).cuda(0).topk(9), ValueError, "topk(FloatTensor of 3x4, 9): k must be a "
     "number from 1 to 4, the size of the dimension, not 9"),
    (lambda: nn.Sequential().insert(nn.Tanh(), 5), IndexError,
     "Sequential.insert: there are 0 modules, counted from 1, and no place 5"),
    (lambda: nn.HingeEmbeddingCriterion().forward(ones(1), torch.Tensor([0])), ValueError,
     "HingeEmbeddingCriterion.forward(DoubleTensor of 1, DoubleTensor of 1): labels are 1 and -1"),
    (lambda: nn.Dropout().forward("a"), TypeError,
     "Dropout.forward('a'): the input must be a tensor, or a table of them"),
    (lambda: ones(3).clamp(1), TypeError, "clamp(DoubleTensor of 3, 1): arguments are missing; it "
     "is: ``clamp`` of tensors; into a tensor that comes first, if there is one"),
    (lambda: image.crop(ones(3, 8, 8), 1, 1, 20, 20), IndexError, "crop: the rectangle from (1, 1) "
     "to (20, 20) is no part of an image of width 8 and height 8"),
    (lambda: T.join(x, x, 0), TypeError,
     "join takes the axis first, a number, and then tensors, not x"),
    (lambda: theano.function([w], w), TypeError, "function: w is a shared variable, which is no "
     "input: its value is there in each call; set_value changes it, givens={shared: variable} "
     "replaces it"),
    (lambda: theano.function([x], theano.scan(lambda a: a, x)), TypeError, "function: outputs are "
     "what scan returned, a pair of outputs and updates: write outputs, updates = theano.scan(...)"
     ", and give updates=updates, too"),
    (lambda: theano.grad(same(x).sum(), x), MissingRuleError, "same has no derivative: write "
     "same.grad(self, inputs, output_gradients), which returns a gradient for each input"),
    (lambda: F.hinge(np.ones((2, 3)), np.zeros(2, int), "l2"), ValueError,
     "hinge: norm must be 'L1' or 'L2', not 'l2'"),
    (lambda: chainer.FunctionSet(l1=3), TypeError, "FunctionSet: l1 must be a function with "
     "parameters, as functions.Linear(3, 2) is, not 3"),
    (lambda: chainer.optimizers.SGD().setup(chainer.Chain), TypeError, "SGD.setup takes a link, as "
     "in setup(model), not the class Chain: make one of it"),
    (lambda: ones(3, 4).eq(ones(5)), ValueError, "eq(DoubleTensor of 3x4, DoubleTensor of 5): "
     "they must have as many elements: nothing is repeated"),
    (lambda: ones(3).add(1, 2, 3), TypeError,
     "add(DoubleTensor of 3, 1, 2, 3): too many arguments"),
    (lambda: ones(3).copy(3), TypeError, "copy(DoubleTensor of 3, 3): it takes a tensor where 3 "
     "is; it is: take the elements of another one, in its own type"),
    (lambda: nn.Clamp(1, 0), ValueError,
     "Clamp: min_val must not be above max_val, but is 1 and 0"),
    (lambda: nn.BatchNormalization(3).forward(ones(3)), ShapeError, "BatchNormalization.forward("
     "DoubleTensor of 3): the input must be a batch with 3 features or planes as its second "
     "dimension"),
    (lambda: optim.ConfusionMatrix(3).add(4, 1), IndexError, "ConfusionMatrix.add: prediction must "
     "be a number from 1 to 3, or 3 scores, not 4"),
    (lambda: chainer.links.Linear(3, 2).copyparams(chainer.links.Linear(4, 2)), ShapeError,
     "Linear.copyparams: /W is float32[2, 3], and float32[2, 4] in the other link"),
    (lambda: x.eval({"b": 3}), TypeError, "eval takes values by variables, as in y.eval({x: value})"
     ", not by 'b'"),
    (lambda: torch.cat([ones(2, 3), ones(3, 2)], 1), ValueError, "cat([DoubleTensor of 2x3, "
     "DoubleTensor of 3x2], 1): sizes must be equal in all dimensions but the one along which "
     "tensors are joined"),
    (lambda: torch.linspace("a", 1), TypeError, "linspace('a', 1): 'a' is neither a number nor a "
     "tensor; it is called as linspace(a, b, n=100)"),
    (lambda: ones(3) + None, TypeError,
     "x + y of DoubleTensor of 3 and None: None is neither a number nor a tensor"),
    (lambda: torch.multinomial(ones(3), 5), ValueError, "multinomial(DoubleTensor of 3, 5): "
     "without replacement there are no 5 of 3; ask for fewer, or give True as the third argument"),
    (lambda: chainer.Link(W="a"), TypeError, "Link: shape cannot be 'a': 'str' object "
     "cannot be interpreted as an integer"),
    (lambda: chainer.links.Linear(3, 2)(), TypeError, "Linear.__call__() missing 1 required "
     "positional argument: 'x'; it is called as Linear.__call__(x)"),
    (lambda: chainer.links.Linear(3, 2, initialW=np.ones((3, 2))), ShapeError,
     "Linear: initialW must have the shape of W, (2, 3), not (3, 2)"),
    (lambda: chainer.links.Linear(3, 2).addgrads(chainer.links.Linear(3, 2, nobias=True)),
     ShapeError, "Linear.addgrads: /b is float32[2], and missing in the other link"),
    (lambda: theano.function([x], x)([None]), TypeError,
     "input x of function takes numbers, not [None]"),
    (lambda: theano.scan(lambda a: a, sequences={"input": x, "tap": [-1]}), TypeError,
     "scan: sequences are told by dict(input=x, taps=[-1]); 'tap' is none of these keys"),
    (lambda: T.shared_randomstreams.RandomStreams(1).uniform((3,), low="a"), TypeError,
     "RandomStreams.uniform: low must be a tensor or a number, not 'a'"),
    (lambda: grad(anp.sum, argnums=1), TypeError,
     "grad() got an unexpected keyword argument 'argnums'; did you mean `argnum`?"),
    (lambda: grad(anp.tanh)(1.0, 2.0, 3.0), TypeError,
     "tanh(float64[], 2.0, 3.0): takes from 1 to 2 positional arguments but 3 were given"),
    (lambda: grad(lambda x: x)(1.0, 2.0), TypeError,
     "grad: <lambda>() takes 1 positional argument but 2 were given"),
    (lambda: grad(anp.sum)({"a": "b"}), TypeError, "Can't differentiate w.r.t. type dict: {'a': "
     "'b'} has no floats; give floats, arrays of floats, or nests of them"),
    (lambda: torch.mm(ones(3, 4)), TypeError, "mm(DoubleTensor of 3x4): too few arguments, or too "
     "many; it is: ``mm`` of tensors; into a tensor that comes first, if there is one"),
    (lambda: ones(3).viewAs(None), TypeError, "viewAs(DoubleTensor of 3, None): it takes a tensor "
     "where None is; it is: the elements in the sizes of another one, on the same memory"),
    (lambda: torch.max("a"), TypeError, "max('a'): it takes a tensor where 'a' is; it is: the max "
     "of all elements, or along an axis; into a tensor that comes first, if there is one"),
    (lambda: ones(3).resize(2, -1), ValueError,
     "resize(DoubleTensor of 3, 2, -1): sizes must not be negative: (2, -1)"),
    (lambda: ones(3).set("a"), TypeError,
     "set(DoubleTensor of 3, 'a'): it takes a tensor or a storage, not 'a'"),
    (lambda: T.grad((T.ivector("i") * 2.5).sum(), T.ivector("i")), GradientError,
     "grad: i is TensorType(int32, vector), and integers have no gradient: declare it of floats, "
     "or compute with x = cast(variable, 'float64') and take the gradient to x"),
    (lambda: T.grad(x.sum(), 3), TypeError,
     "grad: wrt is a variable, or a list of them, not 3: pass the variable that the cost was "
     "computed from"),
    (lambda: T.nnet.categorical_crossentropy(T.matrix(), T.fvector()), TypeError,
     "categorical_crossentropy: class numbers are integers, and these are TensorType(float32, "
     "vector): write cast(y, 'int64'); distributions have as many axes as the coding ones"),
    (lambda: T.grad(x.sum(), x, disconnected_inputs="no"), ValueError,
     "grad: disconnected_inputs must be 'raise', 'warn' or 'ignore', not 'no'"),
    (lambda: anp.exp(None), TypeError,
     "exp(None): None is neither a number nor an array of numbers"),
    (lambda: ones(2, 3).mm(ones(2, 3)), ValueError, "mm(DoubleTensor of 2x3, DoubleTensor of 2x3): "
     "3, dimension 2 of the first, and 2, dimension 1 of the second, must be equal"),
    (lambda: ones(2, 3).view(4, 2), ValueError,
     "view(DoubleTensor of 2x3, 4, 2): its 6 elements do not fill the sizes 4x2"),
    (lambda: torch.cat(3), TypeError, "cat(3): it takes a tensor where 3 is; it is: tensors behind "
     "each other along an axis, the last one by default"),
    (lambda: nn.CAddTable().forward([ones(2, 3), ones(3)]), ShapeError, "CAddTable.forward(["
     "DoubleTensor of 2x3, DoubleTensor of 3]): the entries must have as many elements: nothing is "
     "repeated"),
    (lambda: nn.ClassNLLCriterion().forward(ones(2, 3), torch.Tensor([1.5, 2])), ValueError,
     "ClassNLLCriterion.forward(DoubleTensor of 2x3, DoubleTensor of 2): labels must be whole "
     "numbers, not 1.5"),
    (lambda: nn.Linear(3, 2).forward(), TypeError,
     "Linear.forward(None): the input must be a tensor, or a table of them"),
    (lambda: nn.MultiCriterion().add(3), TypeError,
     "MultiCriterion.add: criterion must be a loss, as MSECriterion() is, not 3"),
    (lambda: nn.SpatialConvolution(3, 4, 0, 3), ValueError, "SpatialConvolution: kW, kH, dW and dH "
     "must be at least 1, not 0, 3, 1 and 1"),
    (lambda: optim.sgd(lambda x: (0.0, ones(3)), nn.Linear(3, 2)), TypeError, "sgd: x must be a "
     "tensor of parameters, as module.getParameters() gives, not nn.Linear"),
    (lambda: optim.ConfusionMatrix([]), TypeError, "ConfusionMatrix: classes must be their number, "
     "or a list of their names, not []"),
    (lambda: torch.tensor([1]), TypeError, "agnesi.compat.torch7.tensor is a module, which is not "
     "called; call agnesi.compat.torch7.Tensor"),
    (lambda: theano.ifelse(x, x, x), TypeError, "agnesi.compat.theano.ifelse is a module, which is "
     "not called; call agnesi.compat.theano.ifelse.ifelse"),
    (lambda: x.eval(np.ones(3)), TypeError, "eval takes a dict of values by variables, as in "
     "y.eval({x: value}), not float64[3]"),
    (lambda: T.addbroadcast(x, 7), ValueError,
     "addbroadcast: axis 7 is out of range for 1 dimensions"),
    (lambda: chainer.links.Convolution2D(3, 8, ksize=0), ValueError,
     "Convolution2D: ksize must be at least 1, not 0"),
    (lambda: chainer.Chain(chainer.links.Linear(3, 2)), TypeError, "Chain() takes 0 positional "
     "argument but 1 were given; it is called as Chain(**links)"),
    (lambda: F.softmax_cross_entropy(np.ones((4, 3)), np.ones((4, 3))), TypeError,
     "softmax_cross_entropy: labels are integers, one for each row of the scores float64[4, 3], "
     "not float64[4, 3]: np.argmax(t, axis=1) gives them of probabilities, t.astype('i') of whole "
     "numbers"),
    (lambda: F.batch_matmul(np.ones((2, 3)), np.ones((3, 2))), ShapeError, "batch_matmul: a and b "
     "must have as many matrices or vectors on axis 0, not shapes (2, 3) and (3, 2)"),
    (lambda: float(chainer.Variable(np.ones(3))), TypeError,
     "<variable (3,), float64> is no number: float(x.data) is the one in its array"),
    (lambda: begun().update(), GradientError, "SGD.update: no parameter has a gradient: write "
     "model.zerograds() and loss.backward() before it, or update(lossfun, x, t)"),
    (lambda: setattr(begun(), "lr", "a"), TypeError, "SGD: lr must be a number, not 'a'"),
    (lambda: chainer.cuda.to_gpu("a"), TypeError, "to_gpu takes an array of numbers, not 'a'; "
     "links and variables have a method of the name"),
    (lambda: F.select_item(np.ones((2, 3)), np.ones(5, int)), ShapeError, "select_item: there must "
     "be a place for each row of float64[2, 3], a matrix, not int64[5]"),
    (lambda: nn.BCECriterion().forward(torch.Tensor([1.5]), ones(1)), ValueError, "BCECriterion."
     "forward(DoubleTensor of 1, DoubleTensor of 1): the input must be probabilities, from 0 to 1, "
     "as nn.Sigmoid gives them"),
    (lambda: nn.LookupTable(10, 3).forward(torch.Tensor([1.5])), IndexError, "LookupTable.forward("
     "DoubleTensor of 1): 1.5 is no whole number: numbers of dimension 1 run from 1 to 10"),
    (lambda: torch.bmm(ones(3, 4), ones(4, 3)), ValueError, "bmm(DoubleTensor of 3x4, DoubleTensor "
     "of 4x3): it is of batches of matrices (3 dimensions), not of 2 and 2 dimensions"),
    (lambda: nn.SpatialMaxPooling(2, 2).forward(ones(3, 4)), ValueError, "SpatialMaxPooling.forward"
     "(DoubleTensor of 3x4): the input must have 3 dimensions, or 4 of a batch, not 2"),
    (lambda: nn.Concat(1).forward(ones(3)), IndexError, "Concat.forward(DoubleTensor of 3): it has "
     "no modules: add(module) gives it one"),
    (lambda: torch.randperm(-1), ValueError,
     "randperm(-1): n must be at least 1, not -1; it is called as randperm(n)"),
    (lambda: setattr(theano.config, "device", "gup"), ValueError, "theano.config.device must be "
     "'cpu', or 'cuda' or 'gpu', perhaps with a number, which are the processor here, not 'gup'"),
    (lambda: setattr(theano.config, "exception_verbosity", "hi"), ValueError, "theano.config."
     "exception_verbosity must be one of ['high', 'low'], not 'hi'"),
    (lambda: T.concatenate("ab"), TypeError,
     "concatenate takes a list of tensors, not 'ab': concatenate([x, y], axis=0)"),
    (lambda: T.fill_diagonal(x, 1.0), TypeError, "fill_diagonal takes a tensor of at least two "
     "axes and a scalar, not TensorType(float64, vector) and TensorType(float32, scalar)"),
    (lambda: anp.concatenate(np.ones(3), np.ones(3)), TypeError, "concatenate(float64[3], float64[3"
     "]): only integer scalar arrays can be converted to a scalar index; arrays to join are one "
     "list or tuple: concatenate((a, b), axis)"),
    (lambda: chainer.links.EmbedID(0, 2), ValueError, "EmbedID: in_size must be at least 1, not 0"),
    (lambda: torch.symeig(ones(3, 4)), ValueError,
     "symeig(DoubleTensor of 3x4): the matrix must be square, not 3x4"),
    (lambda: torch.chunk(ones(3, 4), 0), ValueError, "chunk(DoubleTensor of 3x4, 0): the number of "
     "stretches must be at least 1, not 0"),
    (lambda: ones(3, 4).permute(1, 1), ValueError, "permute(DoubleTensor of 3x4, 1, 1): each of "
     "the 2 dimensions must be named once, not (1, 1)"),
    (lambda: ones(3).storage()[0], IndexError, "storage[0]: its 3 elements count from 1"),
    (lambda: optim.cg(lambda x: (0.0, x), [1, 2]), TypeError, "cg: x must be a tensor, not [1, 2]"),
    (lambda: theano.function([x], x, givens={"x": 1}), TypeError, "function: givens are values by "
     "variables, as in givens={x: value}, not by 'x'"),
    (lambda: theano.function([x], "a"), TypeError,
     "function: outputs are variables, a list or a dict of them, not 'a'"),
    (lambda: theano.gradient.verify_grad(3, [np.ones(3)]), TypeError,
     "verify_grad: fun must be a function of variables, not 3"),
    (lambda: grad(lambda x: [x])(1.0), TypeError, "Grad only applies to real scalar-output "
     "functions. Try jacobian, elementwise_grad or holomorphic_grad. This one returned "
     "[float64[]]"),
]


@pytest.mark.parametrize(("wrong", "kind", "text"), CASES, ids=range(len(CASES)))
def test_texts(wrong: Any, kind: Any, text: str) -> None:
    check(wrong, kind, text)


def test_modules_tell_what_was_meant() -> None:
    with pytest.raises(AttributeError, match="did you mean `adagrad`"):
        optim.adagard  # noqa: B018
    for module in (optim, nn, torch, chainer.links, theano.tensor, theano):
        assert not [n for n in dir(module) if n[:1] == "_" and n[:2] != "__"] and "np" not in dir(
            module)


def test_words_behind_known_names_of_options_are_a_programs_own() -> None:
    optim.sgd(lambda x: (0.0, ones(3)), ones(3), {"learningRate": 0.1, "learningRateMin": 0.01})


def test_links_with_a_state_take_arrays_and_refuse_another_batch() -> None:
    for link in (chainer.links.LSTM(3, 4), chainer.links.StatefulGRU(3, 4)):
        link(np.ones((2, 3), "f"))
        check(lambda link=link: link(np.ones((5, 3), "f")), ShapeError,
              f"{type(link).__name__} remembers the state of 2 samples, and x is float32[5, 3]: "
              "call link.reset_state() before a new sequence")


def test_torch7_compares_tensors_by_methods_as_by_functions() -> None:
    a, b = torch.Tensor([1, 2]), torch.Tensor([1, 3])
    assert a.eq(b).totable() == torch.eq(a, b).totable() == a.lt(2).totable() == [1, 0]
    assert a.totable() == [1, 2] and torch.eq(torch.ByteTensor(2), a, b).totable() == [1, 0]


def test_torch7_compares_targets_of_other_shapes_element_by_element() -> None:
    assert nn.MSECriterion().forward(torch.range(1, 4).view(4, 1), torch.range(1, 4)) == 0.0


def test_outputs_of_operations_that_were_not_filled_are_told() -> None:
    with pytest.raises(TypeError, match=r"Replacing.perform: outputs\[0\] is a list of one place"):
        theano.function([x], Replacing()(x))(np.ones(3))


def test_functions_of_numpy_take_variables() -> None:
    given = np.array([0.5, 1.5, 2.5])
    for found in (np.exp(x), given + x, np.float64(2) * x, given > x):
        assert isinstance(found, theano.Variable)
    assert np.allclose(np.exp(x).eval({x: given}), np.exp(given))
    assert np.allclose((given - x).eval({x: given}), 0)


def test_links_that_are_mere_attributes_are_told_and_forward_is_called() -> None:
    class Net(chainer.Chain):
        def forward(self, x: Any) -> Any:
            return x + 1

    net = Net()
    with pytest.warns(UserWarning, match="Net.l = .* is no link of the chain, and its parameters"):
        net.l = chainer.links.Linear(3, 2)
    assert net(1) == 2


def test_instances_of_functions_are_told() -> None:
    import agnesi as ag

    class Same(ag.autograd.Function):
        pass

    with pytest.raises(TypeError, match="Same is not called itself: write Same"):
        Same(ag.ones(3))
