"""Functions that are loaded at first use, by the module that has them, under all names."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = {
    "agnesi.api.torch.draws": """
        bernoulli binomial multinomial poisson rand_like randint_like randn_like randperm
    """,
    "agnesi.api.torch.decompositions": "lu pca_lowrank qr svd svd_lowrank",
    "agnesi.api.torch.kinds": """
        BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor
        IntTensor LongTensor ShortTensor
    """,
    "agnesi.api.torch.numbers": """
        aminmax bucketize clamp_max clamp_min detach fill frac histc igamma igammac
        is_complex is_floating_point is_nonzero is_same_size is_signed is_tensor logcumsumexp logit
        msort mvlgamma numel renorm resolve_conj resolve_neg rsub scalar_tensor sgn std_mean
        var_mean
    """,
    "agnesi.api.torch.parts": """
        broadcast_tensors diag_embed diagonal_scatter index_copy index_fill masked_scatter
        masked_select narrow_copy repeat_interleave select_scatter slice_scatter split_with_sizes t
        take_along_dim unflatten unique_consecutive
    """,
    "agnesi.api.torch.products": """
        addbmm addmv addr adjoint baddbmm cartesian_prod chain_matmul cholesky_inverse
        cholesky_solve combinations cumulative_trapezoid logdet lu_solve mv
    """,
    "agnesi.api.torch.formats": """
        channels_last channels_last_3d contiguous_format preserve_format
    """,
    "agnesi.api.torch.settings": """
        get_default_dtype get_float32_matmul_precision inference_mode is_autocast_enabled
        set_default_dtype set_default_tensor_type set_float32_matmul_precision
        set_grad_enabled
    """,
    "agnesi.api.torch.signals": """
        bartlett_window blackman_window hamming_window hann_window istft kaiser_window stft
    """,
    "agnesi.core.devices": "device",
    "agnesi.amp": "autocast",
    "agnesi.api.mapping": "apply_along_axis apply_over_axes vectorize",
    "agnesi.ops.special.bessel": "i0",
    "agnesi.ops.numerics.calculus": "gradient interp trapezoid trapz unwrap",
    "agnesi.ops.arrays.grids": """
        fromfunction fromiter geomspace identity indices ix_ mgrid ogrid ravel_multi_index
        unravel_index
    """,
    "agnesi.ops.arrays.inquire": """
        array_equiv asanyarray asarray_chkfinite frombuffer issubdtype iterable may_share_memory
        ndim packbits promote_types shape shares_memory size unpackbits
    """,
    "agnesi.ops.reductions.nans": """
        nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum nanvar
    """,
    "agnesi.ops.elementwise.numeric": """
        bitwise_count deg2rad degrees divmod fix float_power frexp gcd heaviside iscomplex
        iscomplexobj isneginf isposinf isreal isrealobj isscalar lcm ldexp logaddexp2 modf rad2deg
        radians sinc spacing
    """,
    "agnesi.ops.arrays.lines": "c_ r_",
    "agnesi.ops.arrays.nonzeros": "argwhere flatnonzero nonzero",
    "agnesi.ops.sorting.partitions": "argpartition lexsort partition",
    "agnesi.ops.arrays.numpy_selection": """
        choose compress copyto extract piecewise place put put_along_axis putmask
    """,
    "agnesi.ops.numerics.polynomials": """
        poly polyadd polyder polydiv polyfit polyint polymul polysub polyval roots
    """,
    "agnesi.ops.numerics.scatter_reduce": "index_reduce scatter_reduce",
    "agnesi.ops.numerics.quantiles": """
        median nanmedian nanpercentile nanquantile percentile quantile
    """,
    "agnesi.ops.sorting.ranked": "cummax cummin kthvalue mode",
    "agnesi.ops.arrays.rearrange": """
        append array_split block column_stack delete dsplit ediff1d fliplr flipud hsplit insert
        resize rollaxis rot90 row_stack sliding_window_view sort_complex trim_zeros vsplit
    """,
    "agnesi.ops.numerics.sets": """
        intersect1d isin setdiff1d setxor1d union1d unique unique_all unique_counts unique_inverse
        unique_values
    """,
    "agnesi.ops.numerics.statistics": """
        average bincount corrcoef cov digitize histogram histogram2d histogram_bin_edges histogramdd
        ptp
    """,
    "agnesi.ops.signal.tapers": "bartlett blackman hamming hanning kaiser",
    "agnesi.ops.arrays.triangles": """
        diag_indices diag_indices_from diagflat fill_diagonal mask_indices tri tril_indices
        tril_indices_from triu_indices triu_indices_from vander
    """,
    "agnesi.ops.contractions.einsum": "einsum einsum_path",
    "agnesi.ops.contractions.linear": "linear",
    "agnesi.ops.convolution.conv": "conv1d conv2d conv3d",
    "agnesi.ops.convolution.pool": "avg_pool max_pool",
    "agnesi.ops.convolution.transposed": "conv_transpose",
    "agnesi.ops.neural.losses": "cross_entropy nll_loss",
    "agnesi.ops.numerics.padding": "pad",
    "agnesi.ops.special.special": "digamma erf erfc erfinv lgamma polygamma",
    "agnesi.ops.contractions.vectors": "matvec vdot vecmat",
    "agnesi.ops.contractions.composite": """
        addcdiv addcmul allclose array_equal cross diff dist inner isclose lerp masked_fill
        nan_to_num
    """,
    "agnesi.ops.elementwise.bitcast": "bitcast",
    "agnesi.ops.arrays.replicate": """
        broadcast_arrays broadcast_shapes broadcast_to copy expand meshgrid repeat tile unfold
    """,
    "agnesi.ops.arrays.strided": "as_strided",
    "agnesi.ops.base.ensure": "ensure",
    "agnesi.ops.indexing.ranges": "arange eye identity_like linspace logspace",
    "agnesi.ops.elementwise.complexes": "complex polar view_as_complex view_as_real",
    "agnesi.ops.indexing.diagonal": "diag diagonal trace tril triu",
    "agnesi.ops.neural.softmax": "log_softmax logsumexp softmax",
    "agnesi.ops.reductions.positions": "argmax argmin",
    "agnesi.ops.reductions.running": "cumprod cumsum cumulative_prod cumulative_sum",
    "agnesi.ops.reductions.vector_norms": "norm",
    "agnesi.ops.sorting.sort": "argsort searchsorted sort topk",
    "agnesi.ops.indexing.join": "chunk concat dstack hstack roll split stack unstack vstack",
    "agnesi.ops.indexing.scatter": """
        inc_subtensor index_add index_put scatter scatter_add set_subtensor
    """,
}
#: Other libraries' names of what has one here.
_OTHERS = {
    "agnesi.api.linalg": {
        "block_diag": "block_diag", "cholesky": "cholesky", "det": "det", "inverse": "inv",
        "lu_unpack": "lu_unpack",
        "matrix_exp": "expm", "matrix_power": "matrix_power", "pinverse": "pinv",
        "slogdet": "slogdet",
    },
    "agnesi.api.functions": {
        "as_tensor": "asarray", "conj_physical": "conj", "movedim": "moveaxis",
        "swapdims": "swapaxes",
    },
    "agnesi.api.random": {"Generator": "Generator", "normal": "normal"},
    "agnesi.core.ir.dims": {"Size": "Sizes"},
    "agnesi.core.support.dtypes": {
        "cdouble": "complex128", "cfloat": "complex64", "double": "float64", "float": "float32",
        "half": "float16", "int": "int32", "long": "int64", "short": "int16",
    },
    "agnesi.nn.functional": {name: name for name in """
        adaptive_avg_pool1d avg_pool1d bilinear celu
        cosine_similarity group_norm hardshrink layer_norm max_pool1d max_pool2d max_pool3d
        pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu rms_norm selu threshold
    """.split()},
    "agnesi.ops.arrays.rearrange": {"tensor_split": "array_split"},
    "agnesi.ops.indexing.join": {"cat": "concat", "concatenate": "concat", "unbind": "unstack"},
    "numpy": {"dtype": "dtype"},
}
#: Where each name is found, as "module:name".
NAMES = {
    **{name: f"{module}:{name}" for module, names in _MODULES.items() for name in names.split()},
    **{name: f"{module}:{own}" for module, names in _OTHERS.items() for name, own in names.items()},
}


def load(place: str) -> Any:
    """What stands at a place: a module, or what one has under a name."""
    module, _, name = place.partition(":")
    found = import_module(module)
    return getattr(found, name) if name else found
