"""A keyword that does not exist is refused by our error, whatever public thing is called."""

import inspect
import pickle

import pytest

import agnesi as ag
from agnesi import data, nn, optim, training
from agnesi import symbolic as T
from agnesi.core.keywords import strict
from agnesi.rewrite import Report, Rule, StageReport
from tests.docstrings.public import METHODS, PUBLIC, STATIC

#: What the library calls itself, or the user's own code is (calls of a module tell of its
#: ``forward``).
OURS = ("agnesi.Op.", "agnesi.Function.", "tree.Tree.", "agnesi.Dim",
        "agnesi.enable_grad", "agnesi.no_grad", "agnesi.inference_mode.")
#: Small methods such as ``x.dim()``, which a wrapper would make twice as slow: Python's own words.
SMALL = "agnesi.Tensor."
WORD = "zqfoo"


def required(function, method):
    """As many arguments as it must have, and whether it takes keywords by itself."""
    found = inspect.signature(function).parameters.values()
    places = [p for p in found if p.default is p.empty
              and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return max(len(places), int(method)), any(p.kind is p.VAR_KEYWORD for p in found)


def called():
    for name, value in PUBLIC.items():
        record = inspect.isclass(value) and issubclass(value, Rule | StageReport | Report)
        if not name.startswith(OURS) and not record:
            yield name, value, False
    for name, value in METHODS.items():
        if not name.startswith(OURS) and not name.endswith(".forward"):
            yield name, value, id(value) not in STATIC


def test_every_public_callable_refuses_a_keyword_that_is_not_there():
    refused, plain = 0, []
    for name, value, method in called():
        count, open_ended = required(value, method)
        if open_ended:
            continue
        with pytest.raises(Exception) as caught:
            value(*(None,) * count, **{WORD: 1})
        text = str(caught.value)
        if WORD in text:
            ours = type(caught.value) is TypeError and f"\n  at {__file__}" in text
            refused += ours
            plain += [] if ours else [(name, text)]
    others = [entry for entry in plain if not entry[0].startswith(SMALL)]
    assert dict(others) == {}, "@strict is missing, or strictly(__name__) where the module ends"
    assert refused > 2000 and len(plain) < 40


def test_functions_of_tensors_refuse_counts_that_do_not_fit_at_the_users_line():
    x, refused, plain = ag.ones(3), 0, {}
    for name, value, method in called():
        function = inspect.isfunction(value) and not method and not name.startswith(OURS)
        if not function or not name.startswith(("agnesi.", "special.")):
            continue
        for count, keywords in ((0, {}), (9, {}), (1, {"input": x}), (2, {"other": x})):
            try:
                value(*(x,) * count, **keywords)
            except TypeError as error:
                refused += 1
                if "argument" in str(error) and f"\n  at {__file__}" not in str(error):
                    plain[name, count] = str(error)
            except Exception:
                refused += 1
    assert plain == {}
    assert refused > 2000


@pytest.mark.parametrize(("call", "told"), [
    (lambda: data.DataLoader([1], batchsize=3),
     "DataLoader() got an unexpected keyword argument 'batchsize'; did you mean `batch_size`?"),
    (lambda: ag.exp(1.0, dtype="float64"), "exp() got an unexpected keyword argument 'dtype'; use "
     "`x.astype(dtype)` of the operand or the result"),
    (lambda: ag.add(1, 2, alphas=3), "did you mean `alpha`?"),
    (lambda: ag.where(True, 1, 2, axis=0), "where() got an unexpected keyword argument 'axis'; it "
     "takes out"),
    (lambda: optim.SGD([ag.ones(1, requires_grad=True)], 0.1).step(closures=len),
     "did you mean `closure`?"),
    (lambda: training.EarlyStopping(patient=3), "did you mean `patience`?"),
    (lambda: nn.init.zeros_(ag.ones(2), fill=1), "zeros_() got an unexpected keyword"),
    (lambda: T.vector(names="x"), "did you mean `name`?"),
    (lambda: ag.set_num_threads(), "set_num_threads() missing 1 required positional argument"),
    (lambda: ag.ones(2).cpu(axis=1), "cpu() got an unexpected keyword argument 'axis'; it takes "
     "memory_format"),
])
def test_what_is_told(call, told):
    with pytest.raises(TypeError) as caught:
        call()
    assert told in str(caught.value) and f"\n  at {__file__}" in str(caught.value)


def test_errors_from_inside_pass_as_they_are():
    def inner(x):
        return x.append(y=1)

    @strict
    def f(x, times=1):
        return inner(x, *[1] * (times - 1))

    for call in (lambda: f([]), lambda: f([], times=2)):
        with pytest.raises(TypeError) as caught:
            call()
        assert "\n  at " not in str(caught.value)
    with pytest.raises(TypeError, match="did you mean `times`"):
        f([], time=2)


def test_wrapped_functions_and_classes_are_pickled_by_their_names():
    for value in (data.random_split, data.default_collate, ag.where, optim.SGD, data.DataLoader,
                  ag.tree.flatten, ag.clear_cache, nn.utils.clip_grad_norm_):
        assert pickle.loads(pickle.dumps(value)) is value
