"""Functions of NumPy that are loaded at first use, by the module that has them."""

from __future__ import annotations

_MODULES = {
    "agnesi.api.mapping": "apply_along_axis apply_over_axes vectorize",
    "agnesi.ops.bessel": "i0",
    "agnesi.ops.calculus": "gradient interp trapezoid trapz unwrap",
    "agnesi.ops.grids": """
        fromfunction fromiter geomspace identity indices ix_ mgrid ogrid ravel_multi_index
        unravel_index
    """,
    "agnesi.ops.inquire": """
        array_equiv asanyarray asarray_chkfinite frombuffer issubdtype iterable may_share_memory
        ndim packbits promote_types shape shares_memory size unpackbits
    """,
    "agnesi.ops.nans": """
        nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum nanvar
    """,
    "agnesi.ops.numeric": """
        bitwise_count deg2rad degrees divmod fix float_power frexp gcd heaviside iscomplex
        iscomplexobj isneginf isposinf isreal isrealobj isscalar lcm ldexp logaddexp2 modf rad2deg
        radians sinc spacing
    """,
    "agnesi.ops.lines": "c_ r_",
    "agnesi.ops.nonzeros": "argwhere flatnonzero",
    "agnesi.ops.partitions": "argpartition lexsort partition",
    "agnesi.ops.pick": "choose compress copyto extract piecewise place put putmask",
    "agnesi.ops.polynomials": """
        poly polyadd polyder polydiv polyfit polyint polymul polysub polyval roots
    """,
    "agnesi.ops.quantiles": "nanmedian nanpercentile nanquantile percentile",
    "agnesi.ops.ranked": "cummax cummin kthvalue mode",
    "agnesi.ops.rearrange": """
        append array_split block column_stack delete dsplit ediff1d fliplr flipud hsplit insert
        resize rollaxis rot90 row_stack sliding_window_view sort_complex trim_zeros vsplit
    """,
    "agnesi.ops.sets": "intersect1d setdiff1d setxor1d union1d",
    "agnesi.ops.statistics": """
        average bincount corrcoef cov digitize histogram histogram2d histogram_bin_edges histogramdd
        ptp
    """,
    "agnesi.ops.tapers": "bartlett blackman hamming hanning kaiser",
    "agnesi.ops.triangles": """
        diag_indices diag_indices_from diagflat fill_diagonal mask_indices tri tril_indices
        tril_indices_from triu_indices triu_indices_from vander
    """,
    "agnesi.ops.vectors": "matvec vdot vecmat",
}
#: Where each name is found, as "module:name".
NAMES = {
    name: f"{module}:{name}" for module, names in _MODULES.items() for name in names.split()
}
