"""Names that users of PyTorch, JAX, NumPy and Theano know, and what stands for them here.

They are told by the AttributeError; there is one way to write a thing.  The tables are texts in the
files beside this one, read when the first name is asked for.  A hint names code between backquotes,
which a test looks up; a line with the call of the other library is run beside it.
"""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Iterable, Iterator
from typing import Any

_HERE = "nothing: there is one device, the CPU"

#: Keywords of functions, layers and optimizers.
KEYWORDS = {
    "ceil_mode": "`cover_all`", "ignore_border": "`cover_all`, which is its opposite",
    "padding_mode": "`ag.pad(x, widths, mode)` before a convolution without padding",
    "sparse": "nothing: gradients of lookups touch the rows in use",
    "include_last_offset": "`offsets[:-1]`",
    "unbiased": "`correction=1`, or 0", "descending": "`ag.flip(ag.sort(x), -1)`",
    "device": _HERE, "inplace": "`x.copy_(y)` with the result y",
    "amsgrad": "a subclass of `optim.Optimizer`", "proj_size": "a layer `ag.nn.Linear` behind it",
    "maximize": "the cost's negative", "params": "`parameters`, first and without a name",
    "static_argnums": "nothing: what is no tensor and no float is static",
    "unroll": "nothing: the compiler sees to it", "jit": "`ag.jit` around it", "size": "`shape`",
    **dict.fromkeys(("static_argnames", "static_broadcasted_argnums"),
                    "nothing: what is no tensor and no float is static"),
    **dict.fromkeys(("donate_argnums", "donate_argnames", "donate"),
                    "nothing: memory that nobody reads again is used again"),
    **dict.fromkeys(("keep_unused", "backend", "inline", "abstracted_axes", "fullgraph", "dynamic",
                     "in_shardings", "out_shardings", "compiler_options", "options", "fused",
                     "foreach", "capturable", "differentiable", "axis_name", "spmd_axis_name",
                     "allow_int", "holomorphic", "reduce_axes", "only_inputs", "is_grads_batched",
                     "allow_input_downcast", "on_unused_input", "profile", "rebuild_strict"),
                    "nothing: the compiler sees to it"),
    "mode": "`optimizer`, `include` and `exclude`", "allow_unused": "`disconnected='none'`",
    "in_dims": "`in_axes`", "out_dims": "`out_axes`", "chunk_size": "`ag.map` of batches",
    "disconnected_inputs": "`disconnected`", "return_disconnected": "`disconnected`",
    **dict.fromkeys(("in_dim", "in_size", "n_in", "input_dim", "num_inputs"),
                    "`in_features`"),
    **dict.fromkeys(("out_dim", "out_size", "n_out", "output_dim", "units", "features",
                     "num_outputs", "num_output"), "`out_features`"),
    **dict.fromkeys(("filters", "num_filters", "n_filters"), "`out_channels`"),
    **dict.fromkeys(("ksize", "filter_size", "filter_shape", "kernel"), "`kernel_size`"),
    **dict.fromkeys(("strides", "subsample"), "`stride`"),
    **dict.fromkeys(("dilation_rate", "kernel_dilation", "dilate"), "`dilation`"),
    **dict.fromkeys(("use_bias", "nobias", "with_bias"), "`bias`, which is True or False"),
    **dict.fromkeys(("rate", "dropout_rate", "ratio"), "`p`"), "epsilon": "`eps`",
    **dict.fromkeys(("learning_rate", "eta", "stepsize"), "`lr`"),
    **dict.fromkeys(("b1", "b2", "beta1", "beta2", "beta_1", "beta_2"), "`betas`, two numbers"),
    **dict.fromkeys(("decay", "l2"), "`weight_decay`"),
    "activation": "a layer behind it, such as `ag.nn.ReLU()`", "dampening": "a subclass of "
    "`optim.Optimizer`", "last_epoch": "`scheduler.epoch`",
    **dict.fromkeys(("fn", "sequences", "outputs_info", "n_steps", "go_backwards"),
                    "`ag.symbolic.scan`, which has Theano's words"),
    **dict.fromkeys(("cond_fun", "body_fun", "init_val", "true_fun", "false_fun"),
                    "operands in their order, without names"),
}


#: Which texts tell of an owner's names: files and their names, the first ones first.
_TEXTS = {
    "module 'agnesi'": "torch.TORCH jax.JAX jax.JNP numpy.NUMPY theano.THEANO jax.LAX "
                       "theano.TENSOR",
    "module 'agnesi.nn'": "layers.NN", "module 'agnesi.nn.functional'": "layers.FUNCTIONAL",
    "module 'agnesi.optim'": "layers.OPTIM",
    "module 'agnesi.optim.lr_scheduler'": "layers.SCHEDULES",
    "module 'agnesi.random'": "numpy.RANDOM",
    "module 'agnesi.symbolic'": "theano.TENSOR theano.THEANO",
    "Tensor": "tensors.TENSOR", "Module": "layers.MODULE", "Optimizer": "layers.OPTIMIZER",
}
#: Which forms of names tell something where no text does.
_FORMS = {
    "module 'agnesi'": ("torch", "jax"), "module 'agnesi.symbolic'": ("theano",),
    "module 'agnesi.nn.functional'": ("layers",),
}


def lines(text: str) -> Iterator[tuple[str, str]]:
    """The names of a text and what is told of them."""
    for line in text.strip().replace("\n    ", " ").splitlines():
        call, bar, code = line.partition(" | ")
        if bar:
            yield call.partition("(")[0], f"`{code}` for `{call}`"
            continue
        names, _, told = line.partition(" : ")
        for name in names.split():
            yield name, told.replace("{0}", name.rstrip("_"))


def _file(name: str) -> Any:
    from importlib import import_module

    return import_module(f"{__name__}.{name}")


@functools.cache
def table(owner: str) -> dict[str, str]:
    """What is told of the names that an owner has not."""
    found: dict[str, str] = {}
    for place in _TEXTS[owner].split():
        file, _, name = place.partition(".")
        for key, told in lines(getattr(_file(file), name)):
            found.setdefault(key, told)
    return found


#: What is told of a method where the function's line tells it.
_AS_FUNCTION = "as the function"
_UNKNOWN = " got an unexpected keyword argument "


def with_keyword(reason: Any, known: Iterable[str] = ()) -> Any:
    """Why a call is refused, with what stands here for a keyword that is not ``known``."""
    name = reason.partition(_UNKNOWN)[2].strip("'") if isinstance(reason, str) else ""
    if not name:
        return reason
    near = "" if name in KEYWORDS else nearest(name, known)
    if near:
        return f"{reason}; did you mean `{near}`?"
    told = KEYWORDS.get(name if name in KEYWORDS else nearest(name, KEYWORDS), "")
    parameter = told[1:].partition("`")[0] if told.startswith("`") else ""
    if parameter.isidentifier() and known and parameter not in known:
        return reason  # it has no such parameter either
    return f"{reason}; use {told}" if told else reason


def nearest(name: str, known: Iterable[str]) -> str:
    """The name that is spelt most like another one, or none."""
    import difflib  # late: few need it

    return next(iter(difflib.get_close_matches(name, known, 1, 0.75)), "")


def hint(owner: str, name: str) -> str:
    """What to use for a name, as the end of a message; nothing where that is not known."""
    found = table(owner).get(name)
    if found == _AS_FUNCTION:
        found = table("module 'agnesi'")[name]
    found = found or next(
        (told for file in _FORMS.get(owner, ()) for form, told in _file(file).FORMS
         if fnmatch.fnmatchcase(name, form)), "")
    return f"; use {found}" if found else ""
