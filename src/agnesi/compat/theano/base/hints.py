"""Replacements to propose for names of ``theano.tensor`` that are not here."""

from __future__ import annotations

#: Classes of operations, by the function that makes expressions with them.
_CLASSES = {
    "Alloc": "alloc", "AllocDiag": "diag", "AllocEmpty": "empty", "ArgSortOp": "argsort",
    "Bartlett": "bartlett", "Choose": "choose", "CumprodOp": "cumprod", "CumsumOp": "cumsum",
    "Default": "default", "DiffOp": "diff", "Eye": "eye", "Flatten": "flatten",
    "MaxAndArgmax": "max_and_argmax", "Mean": "mean", "Nonzero": "nonzero",
    "PermuteRowElements": "permute_row_elements", "RavelMultiIndex": "ravel_multi_index",
    "ScalarFromTensor": "scalar_from_tensor", "SortOp": "sort",
    "TensorFromScalar": "tensor_from_scalar", "Tile": "tile", "TopKOp": "topk", "Tri": "tri",
    "UnravelIndex": "unravel_index", "SubtensorPrinter": "printing.pp",
    "advanced_boolean_inc_subtensor": "inc_subtensor", "constructor": "as_tensor_variable",
    "advanced_boolean_set_subtensor": "set_subtensor", "bartlett_": "bartlett",
    "fill_diagonal_": "fill_diagonal", "fill_diagonal_offset_": "fill_diagonal_offset",
    "isinf_": "isinf", "isnan_": "isnan", "join_": "join",
    "extract_constant": "get_scalar_constant_value",
    "get_scalar_constant_value_elemwises": "get_scalar_constant_value",
    "as_index_variable": "as_tensor_variable", "make_constant": "constant",
    "numpy_scalar": "get_scalar_constant_value", "makeKeepDims": "sum(..., keepdims=True)",
    "dense_dot": "dot", "pack": "concatenate", "unpack": "split", "join_dims": "reshape",
    "split_dims": "reshape", "cpu_contiguous": "tensor_copy", "CpuContiguous": "tensor_copy",
    "atleast_Nd": "shape_padleft", "concat_with_broadcast": "concatenate",
    "interpolate1d": "interp", "mod_check": "mod", "div_proxy": "true_div",
    "register_transfer": "transfer", "AsTensorError": "TypeError", "linalg": "nlinalg",
}
#: Whole families.
_FAMILIES = (
    (("Advanced", "BaseAdvanced", "advanced_", "Subtensor", "get_idx_list",
      "make_slice", "slice", "NoneConst", "NoneSlice", "none_type", "adv_index", "equal_slices",
      "check_advanced"),
     "write x[key]; parts are replaced by T.set_subtensor(x[key], y)"),
    (("MPI", "mpi_", "send", "isend", "recv", "irecv"),
     "graphs do not send values to other processes; use agnesi's processes around functions"),
    (("load", "LoadFromDisk", "load_shared_variable"),
     "read the file with numpy.load and give the array to theano.shared"),
    (("check_and_", "as_int_none", "alloc_validate", "python_", "numpy_diagonal", "constant_cache",
      "sparse_module_ref", "opt_uncanonicalize", "blas_", "setdefault"),
     "it is a helper inside of Theano; nothing here stands for it"),
    (("values_eq_approx", "check_equal_numpy"), "use numpy.testing.assert_allclose"),
)


def hint(name: str) -> str:
    """Return the replacement of a name, as the end of a message; empty where none is known."""
    if (known := _CLASSES.get(name)) is not None:
        return f"; use {known if known in ('TypeError', 'printing.pp') else f'T.{known}'}"
    for beginnings, text in _FAMILIES:
        if name.startswith(beginnings):
            return f"; {text}"
    if name[:1].isupper():
        return "; classes of operations are agnesi's own here: see x.owner.op"
    return ""
