"""Names that users of PyTorch, JAX, NumPy and Theano know, and what stands for them here.

They are told by the AttributeError; there is one way to write a thing.  A hint names code between
backquotes, which a test looks up.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_BINARY = "`(ag.softplus(x) - x * y).mean()` for scores x"
_CLIP = ("`norm = ag.sqrt(sum((p.grad**2).sum() for p in parameters))`, then "
         "`p.grad = p.grad * ag.minimum(1.0, limit / norm)`, which compiles with the step")
_LOAD = "`pickle`, or `numpy.savez(file, **model.state_dict())`"
_FORMS = "`numpy.asarray(x)`, which NumPy prints and stores"
_HERE = "nothing: there is one device, the CPU"
_FLOAT = "`ag.config.default_float`"
_KEYS = "`ag.manual_seed(0)` or `ag.random.default_rng(0)`: generators are state, found by ag.jit"

AGNESI = {
    # PyTorch
    "Size": "`tuple`: shapes are tuples", "Generator": "`ag.random.default_rng`",
    "FloatTensor": "`ag.tensor(data, ag.float32)`", "DoubleTensor": "`ag.tensor(data, ag.float64)`",
    "LongTensor": "`ag.tensor(data, ag.int64)`", "BoolTensor": "`ag.tensor(data, ag.bool)`",
    "as_tensor": "`ag.asarray(data)`", "is_tensor": "`isinstance(x, ag.Tensor)`",
    "float": "`ag.float32`", "double": "`ag.float64`", "half": "`ag.float16`",
    "int": "`ag.int32`", "long": "`ag.int64`", "short": "`ag.int16`", "dtype": "`numpy.dtype`",
    "autograd": "`ag.grad`, `ag.vjp`, `ag.Function`", "compile": "`ag.jit` around the whole step",
    "cuda": _HERE, "device": _HERE, "device_put": _HERE, "devices": _HERE, "backends": _HERE,
    "inference_mode": "`ag.no_grad()`", "set_grad_enabled": "`ag.enable_grad()`, `ag.no_grad()`",
    "set_default_dtype": _FLOAT, "get_default_dtype": _FLOAT,
    "save": _LOAD, "load": _LOAD, "utils": _LOAD,
    "masked_select": "`x[mask]`",
    "one_hot": "`ag.eye(classes)[labels]`", "bucketize": "`ag.searchsorted`, `ag.digitize`",
    "mv": "`a @ x`", "baddbmm": "`c + a @ b`",
    "bernoulli": "`ag.random.bernoulli`", "multinomial": "`ag.random.categorical`",
    "normal": "`ag.random.normal`", "randperm": "`ag.random.permutation`",
    "rand_like": "`ag.rand(*x.shape)`", "randn_like": "`ag.randn(*x.shape)`",
    "numel": "`x.numel()`", "det": "`ag.linalg.det`", "svd": "`ag.linalg.svd`",
    "cholesky": "`ag.linalg.cholesky`", "inverse": "`ag.linalg.inv`",
    "pinverse": "`ag.linalg.pinv`",
    "logit": "`ag.special.logit`", "expit": "`ag.sigmoid`", "erfcx": "`ag.special.erfcx`",
    "mvlgamma": "`ag.special.multigammaln`",
    # JAX
    "numpy": "`ag` itself", "lax": "`ag.scan`, `ag.cond`, `ag.while_loop`, `ag.conv2d`",
    "tree_util": "`ag.tree`", "tree_map": "`ag.tree.map`", "debug": "`ag.print`, `ag.callback`",
    "remat": "`ag.checkpoint`", "pmap": "`ag.vmap`", "switch": "`ag.cond`, one in the other",
    "block_until_ready": "nothing: results are there when a call returns",
    "dynamic_slice": "`x[i: i + n]`", "dynamic_update_slice": "`x[i: i + n] = y`",
    "associative_scan": "`ag.scan`, `ag.cumsum`", "pure_callback": "`ag.callback`",
    # NumPy
    "ndarray": "`ag.Tensor`", "seterr": "`numpy.seterr`", "errstate": "`numpy.errstate`",
    "set_printoptions": "`numpy.set_printoptions`", "savez": _LOAD, "loadtxt": _LOAD,
    "array2string": _FORMS, "array_repr": _FORMS, "nditer": _FORMS, "ndenumerate": _FORMS,
    "lib": "`ag.sliding_window_view`", "s_": "`numpy.s_`",
    "index_exp": "`numpy.s_`", "ndindex": "`numpy.ndindex(*x.shape)`",
    "in1d": "`ag.isin`", "product": "`ag.prod`", "cumproduct": "`ag.cumprod`",
    "matrix": "`ag.tensor`; `@` multiplies matrices", "int_": "`ag.int64`",
    "float_": "`ag.float64`",
    # Theano
    "ifelse": "`ag.cond`, or `ag.symbolic.ifelse`", "foldl": "`ag.scan`", "foldr": "`ag.scan`",
    "printing": "`print(f.graph)`", "disconnected_grad": "`ag.stop_gradient`",
    "gof": "`ag.Op`, `ag.rewrite`", "Variable": "`ag.symbolic.Variable`",
}

NN = {
    "Parameter": "`ag.tensor(data, requires_grad=True)`", "ModuleList": "`[first, second]`, a list",
    "ModuleDict": "`{'name': module}`, a dict", "ParameterList": "a list of tensors",
    "utils": "for clip_grad_norm_: " + _CLIP + "; for packed sequences the lengths that a call of "
    "`nn.LSTM` takes, and `nn.functional.pad_sequence`",
    "UpsamplingNearest2d": "`nn.Upsample`", "UpsamplingBilinear2d": "`nn.Upsample`",
    "CrossMapLRN2d": "`nn.LocalResponseNorm`", "SyncBatchNorm": "`nn.BatchNorm2d`",
    "Hardtanh": "`ag.clip(x, -1, 1)`", "Hardsigmoid": "`ag.clip(x / 6 + 0.5, 0, 1)`",
    "Hardswish": "`x * ag.clip(x / 6 + 0.5, 0, 1)`", "Mish": "`x * ag.tanh(ag.softplus(x))`",
    "SELU": "`1.0507009873554805 * nn.functional.elu(x, 1.6732632423543772)`",
    "CELU": "`nn.functional.elu(x / a) * a`", "Tanhshrink": "`x - ag.tanh(x)`",
    "GLU": "`a, b = ag.chunk(x, 2, -1)`, then `a * ag.sigmoid(b)`",
    "ChannelShuffle": "`x.reshape(n, groups, -1, h, w).swapaxes(1, 2).reshape(n, -1, h, w)`",
    "LogSigmoid": "`ag.special.log_expit`", "Softmin": "`ag.softmax(-x)`",
    "Softsign": "`x / (1 + ag.abs(x))`",
    "BCEWithLogitsLoss": _BINARY, "BCELoss": _BINARY, "NLLLoss": "`nn.functional.nll_loss`",
    "L1Loss": "`ag.abs(x - y).mean()`", "HuberLoss": "`ag.special.huber(delta, x - y).mean()`",
    "SmoothL1Loss": "`ag.special.huber(1.0, x - y).mean()`",
    "KLDivLoss": "`ag.special.rel_entr(p, q).sum()`", "DataParallel": _HERE,
    "TransformerEncoder": "`[nn.TransformerEncoderLayer(d, heads) for _ in range(n)]`, a list",
}

FUNCTIONAL = {
    "binary_cross_entropy_with_logits": _BINARY, "binary_cross_entropy": _BINARY,
    "one_hot": AGNESI["one_hot"], "l1_loss": NN["L1Loss"], "smooth_l1_loss": NN["SmoothL1Loss"],
    "huber_loss": NN["HuberLoss"], "kl_div": NN["KLDivLoss"], "swish": "`nn.functional.silu`",
    "hardtanh": NN["Hardtanh"], "softsign": NN["Softsign"], "hardsigmoid": NN["Hardsigmoid"],
    "hardswish": NN["Hardswish"], "mish": NN["Mish"], "selu": NN["SELU"], "celu": NN["CELU"],
    "glu": NN["GLU"], "tanhshrink": NN["Tanhshrink"], "channel_shuffle": NN["ChannelShuffle"],
    "logsigmoid": NN["LogSigmoid"], "log_sigmoid": NN["LogSigmoid"], "softmin": NN["Softmin"],
    "prelu": "`nn.PReLU`", "upsample": "`nn.functional.interpolate`",
    "max_pool2d_with_indices": "`nn.functional.max_pool2d(x, kernel, return_indices=True)`",
    "conv_transpose1d": "`ag.conv_transpose`", "conv_transpose3d": "`ag.conv_transpose`",
    "normalize": "`x / ag.linalg.norm(x, axis=-1, keepdims=True)`",
    "cosine_similarity": "`nn.CosineSimilarity`", "conv_transpose2d": "`ag.conv_transpose`",
}

OPTIM = {
    "clip_grad_norm_": _CLIP, "RMSprop": "`optim.Adam`, or a subclass of `optim.Optimizer`",
    "Adagrad": "`optim.Adam`, or a subclass of `optim.Optimizer`",
    "LBFGS": "`ag.value_and_grad` with scipy.optimize.minimize",
}

RANDOM = {
    "PRNGKey": _KEYS, "key": _KEYS, "split": _KEYS, "fold_in": _KEYS, "seed": _KEYS,
    "RandomState": "`ag.random.default_rng`", "random": "`ag.random.uniform`",
    "random_sample": "`ag.random.uniform`", "randperm": "`ag.random.permutation`",
}

TENSOR = {
    "cuda": _HERE, "cpu": _HERE, "grad_fn": "`x.node`, or print it", "dim": "`x.ndim`",
    "ndimension": "`x.ndim`", "at": "`x[i] = v`",
    "set_value": "`x[...] = value`, or `ag.shared`", "get_value": "`x.numpy()`",
    "masked_select": "`x[mask]`", "register_hook": "`ag.custom_vjp` around the value",
    "retain_grad_": "`x.retain_grad()`", "block_until_ready": AGNESI["block_until_ready"],
    "flat": "`x.ravel()`", "flags": "`x.is_contiguous()`", "strides": "`x.numpy().strides`",
    "detach_": "`x.detach()`", "random_": "`ag.random.integers`", "normal_": "`nn.init.normal_(x)`",
    "uniform_": "`nn.init.uniform_(x)`", "hex": _FORMS, "tobytes": "`x.numpy().tobytes()`",
}

MODULE = {
    "add_module": "`self.name = module`",
    "register_parameter": "`self.name = ag.tensor(data, requires_grad=True)`", "cuda": _HERE,
    "register_forward_hook": "a subclass of `nn.Module` whose forward calls this one",
    "cpu": _HERE, "double": "`model.to(ag.float64)`", "requires_grad_":
    "`p.requires_grad_(False)` for each of model.parameters()",
    "named_children": "`model.children()`, `model.named_modules()`",
}

OPTIMIZER = {
    "param_groups": "`optimizer.lr = 0.1`; groups with other rates have an optimizer each",
    "add_param_group": "an optimizer for each group", "state": "`optimizer.slots`",
    "defaults": "`optimizer.lr` and its other attributes",
}

#: Keywords of functions, layers and optimizers.
KEYWORDS = {
    "dim": "`axis`", "dims": "`axis`, or `axes` of several operands", "keepdim": "`keepdims`",
    "other": "two operands without names",
    "ceil_mode": "`cover_all`", "ignore_border": "`cover_all`, which is its opposite",
    "padding_mode": "`ag.pad(x, widths, mode)` before a convolution without padding",
    "sparse": "nothing: gradients of lookups touch the rows in use",
    "include_last_offset": "`offsets[:-1]`",
    "unbiased": "`correction=1`, or 0", "descending": "`ag.flip(ag.sort(x), -1)`",
    "device": _HERE, "inplace": "nothing: compiled kernels write where values are no longer needed",
    "amsgrad": "a subclass of `optim.Optimizer`", "proj_size": "a layer `ag.nn.Linear` behind it",
    "maximize": "the cost's negative", "params": "`parameters`, first and without a name",
    "static_argnums": "nothing: what is no tensor and no float is static",
    "unroll": "nothing: the compiler sees to it", "jit": "`ag.jit` around it", "size": "`shape`",
    **dict.fromkeys(("fn", "sequences", "outputs_info", "n_steps", "go_backwards"),
                    "`ag.symbolic.scan`, which has Theano's words"),
    **dict.fromkeys(("cond_fun", "body_fun", "init_val", "true_fun", "false_fun"),
                    "operands in their order, without names"),
}


_TABLES = {
    "module 'agnesi'": AGNESI, "module 'agnesi.nn'": NN, "module 'agnesi.optim'": OPTIM,
    "module 'agnesi.nn.functional'": FUNCTIONAL, "module 'agnesi.random'": RANDOM,
    "Tensor": TENSOR, "Module": MODULE, "Optimizer": OPTIMIZER,
}


_UNKNOWN = " got an unexpected keyword argument "


def with_keyword(reason: Any, known: Iterable[str] = ()) -> Any:
    """Why a call is refused, with what stands here for a keyword that is not ``known``."""
    name = reason.partition(_UNKNOWN)[2].strip("'") if isinstance(reason, str) else ""
    if not name:
        return reason
    near = "" if name in KEYWORDS else nearest(name, known)
    if near:
        return f"{reason}; did you mean `{near}`?"
    word = name if name in KEYWORDS else nearest(name, KEYWORDS)
    return f"{reason}; use {KEYWORDS[word]}" if word else reason


def nearest(name: str, known: Iterable[str]) -> str:
    """The name that is spelt most like another one, or none."""
    import difflib  # late: few need it

    return next(iter(difflib.get_close_matches(name, known, 1, 0.75)), "")


def hint(owner: str, name: str) -> str:
    """What to use for a name, as the end of a message; nothing where that is not known."""
    found = _TABLES[owner].get(name)
    return f"; use {found}" if found else ""
