"""Every array function of the library, under the names that NumPy, PyTorch and Theano use."""

import typing as _typing

from agnesi.api.lazy_names import NAMES as _NAMES
from agnesi.api.lazy_names import load as _load
from agnesi.core import value_sizes as _valuedims
from agnesi.ops.arrays.types import astype as astype
from agnesi.ops.arrays.types import can_cast as can_cast
from agnesi.ops.arrays.types import finfo as finfo
from agnesi.ops.arrays.types import iinfo as iinfo
from agnesi.ops.arrays.types import isdtype as isdtype
from agnesi.ops.arrays.types import result_type as result_type
from agnesi.ops.base.arith import abs as abs
from agnesi.ops.base.arith import angle as angle
from agnesi.ops.base.arith import cbrt as cbrt
from agnesi.ops.base.arith import conj as conj
from agnesi.ops.base.arith import floor_divide as floor_divide
from agnesi.ops.base.arith import fmod as fmod
from agnesi.ops.base.arith import imag as imag
from agnesi.ops.base.arith import multiply as multiply
from agnesi.ops.base.arith import negative as negative
from agnesi.ops.base.arith import positive as positive
from agnesi.ops.base.arith import pow as pow
from agnesi.ops.base.arith import power as power
from agnesi.ops.base.arith import real as real
from agnesi.ops.base.arith import reciprocal as reciprocal
from agnesi.ops.base.arith import remainder as remainder
from agnesi.ops.base.arith import rsqrt as rsqrt
from agnesi.ops.base.arith import sign as sign
from agnesi.ops.base.arith import sqrt as sqrt
from agnesi.ops.base.arith import square as square
from agnesi.ops.base.compare import equal as _equal
from agnesi.ops.base.compare import greater as greater
from agnesi.ops.base.compare import greater_equal as greater_equal
from agnesi.ops.base.compare import isfinite as isfinite
from agnesi.ops.base.compare import isinf as isinf
from agnesi.ops.base.compare import isnan as isnan
from agnesi.ops.base.compare import less as less
from agnesi.ops.base.compare import less_equal as less_equal
from agnesi.ops.base.compare import logical_and as logical_and
from agnesi.ops.base.compare import logical_not as logical_not
from agnesi.ops.base.compare import logical_or as logical_or
from agnesi.ops.base.compare import logical_xor as logical_xor
from agnesi.ops.base.compare import not_equal as not_equal
from agnesi.ops.base.compare import signbit as signbit
from agnesi.ops.base.creation import alloc as alloc
from agnesi.ops.base.creation import asarray as asarray
from agnesi.ops.base.creation import empty as empty
from agnesi.ops.base.creation import empty_like as empty_like
from agnesi.ops.base.creation import from_numpy as from_numpy
from agnesi.ops.base.creation import full as full
from agnesi.ops.base.creation import full_like as full_like
from agnesi.ops.base.creation import ones as ones
from agnesi.ops.base.creation import ones_like as ones_like
from agnesi.ops.base.creation import tensor as tensor
from agnesi.ops.base.creation import zeros as zeros
from agnesi.ops.base.creation import zeros_like as zeros_like
from agnesi.ops.base.movement import atleast_1d as atleast_1d
from agnesi.ops.base.movement import atleast_2d as atleast_2d
from agnesi.ops.base.movement import atleast_3d as atleast_3d
from agnesi.ops.base.movement import dimshuffle as dimshuffle
from agnesi.ops.base.movement import expand_dims as expand_dims
from agnesi.ops.base.movement import flatten as flatten
from agnesi.ops.base.movement import matrix_transpose as matrix_transpose
from agnesi.ops.base.movement import moveaxis as moveaxis
from agnesi.ops.base.movement import permute_dims as permute_dims
from agnesi.ops.base.movement import ravel as ravel
from agnesi.ops.base.movement import reshape as reshape
from agnesi.ops.base.movement import squeeze as squeeze
from agnesi.ops.base.movement import swapaxes as swapaxes
from agnesi.ops.base.movement import transpose as transpose
from agnesi.ops.base.reduce import all as all
from agnesi.ops.base.reduce import amax as amax
from agnesi.ops.base.reduce import amin as amin
from agnesi.ops.base.reduce import any as any
from agnesi.ops.base.reduce import count_nonzero as count_nonzero
from agnesi.ops.base.reduce import max as max
from agnesi.ops.base.reduce import mean as mean
from agnesi.ops.base.reduce import min as min
from agnesi.ops.base.reduce import prod as prod
from agnesi.ops.base.reduce import std as std
from agnesi.ops.base.reduce import sum as sum
from agnesi.ops.base.reduce import var as var
from agnesi.ops.base.select import ceil as ceil
from agnesi.ops.base.select import clip as clip
from agnesi.ops.base.select import copysign as copysign
from agnesi.ops.base.select import floor as floor
from agnesi.ops.base.select import fmax as fmax
from agnesi.ops.base.select import fmin as fmin
from agnesi.ops.base.select import maximum as maximum
from agnesi.ops.base.select import minimum as minimum
from agnesi.ops.base.select import nextafter as nextafter
from agnesi.ops.base.select import relu as relu
from agnesi.ops.base.select import round as round
from agnesi.ops.base.select import trunc as trunc
from agnesi.ops.base.select import where as where
from agnesi.ops.base.slices import flip as flip
from agnesi.ops.contractions.matmul import dot as dot
from agnesi.ops.contractions.matmul import matmul as matmul
from agnesi.ops.contractions.matmul import outer as outer
from agnesi.ops.contractions.matmul import tensordot as tensordot
from agnesi.ops.contractions.matmul import vecdot as vecdot
from agnesi.ops.elementwise.bitwise import bitwise_and as bitwise_and
from agnesi.ops.elementwise.bitwise import bitwise_invert as bitwise_invert
from agnesi.ops.elementwise.bitwise import bitwise_left_shift as bitwise_left_shift
from agnesi.ops.elementwise.bitwise import bitwise_or as bitwise_or
from agnesi.ops.elementwise.bitwise import bitwise_right_shift as bitwise_right_shift
from agnesi.ops.elementwise.bitwise import bitwise_xor as bitwise_xor
from agnesi.ops.elementwise.explog import exp as exp
from agnesi.ops.elementwise.explog import exp2 as exp2
from agnesi.ops.elementwise.explog import expm1 as expm1
from agnesi.ops.elementwise.explog import log as log
from agnesi.ops.elementwise.explog import log1p as log1p
from agnesi.ops.elementwise.explog import log2 as log2
from agnesi.ops.elementwise.explog import log10 as log10
from agnesi.ops.elementwise.explog import logaddexp as logaddexp
from agnesi.ops.elementwise.explog import sigmoid as sigmoid
from agnesi.ops.elementwise.explog import softplus as softplus
from agnesi.ops.elementwise.explog import xlogy as xlogy
from agnesi.ops.elementwise.hyperbolic import acosh as acosh
from agnesi.ops.elementwise.hyperbolic import asinh as asinh
from agnesi.ops.elementwise.hyperbolic import atanh as atanh
from agnesi.ops.elementwise.hyperbolic import cosh as cosh
from agnesi.ops.elementwise.hyperbolic import sinh as sinh
from agnesi.ops.elementwise.hyperbolic import tanh as tanh
from agnesi.ops.elementwise.trig import acos as acos
from agnesi.ops.elementwise.trig import asin as asin
from agnesi.ops.elementwise.trig import atan as atan
from agnesi.ops.elementwise.trig import atan2 as atan2
from agnesi.ops.elementwise.trig import cos as cos
from agnesi.ops.elementwise.trig import hypot as hypot
from agnesi.ops.elementwise.trig import sin as sin
from agnesi.ops.elementwise.trig import tan as tan
from agnesi.ops.indexing.index import gather as gather
from agnesi.ops.indexing.index import narrow as narrow
from agnesi.ops.indexing.index import select as select
from agnesi.ops.indexing.index import take as take
from agnesi.ops.indexing.index import take_along_axis as take_along_axis
from agnesi.ops.numerics.pytorch import add as add
from agnesi.ops.numerics.pytorch import addmm as addmm
from agnesi.ops.numerics.pytorch import bmm as bmm
from agnesi.ops.numerics.pytorch import cdist as cdist
from agnesi.ops.numerics.pytorch import divide as divide
from agnesi.ops.numerics.pytorch import equal as equal
from agnesi.ops.numerics.pytorch import index_select as index_select
from agnesi.ops.numerics.pytorch import mm as mm
from agnesi.ops.numerics.pytorch import subtract as subtract

if _typing.TYPE_CHECKING:  # loaded at first use
    from agnesi.ops.arrays.nonzeros import nonzero as nonzero
    from agnesi.ops.arrays.replicate import broadcast_arrays as broadcast_arrays
    from agnesi.ops.arrays.replicate import broadcast_shapes as broadcast_shapes
    from agnesi.ops.arrays.replicate import broadcast_to as broadcast_to
    from agnesi.ops.arrays.replicate import copy as copy
    from agnesi.ops.arrays.replicate import expand as expand
    from agnesi.ops.arrays.replicate import meshgrid as meshgrid
    from agnesi.ops.arrays.replicate import repeat as repeat
    from agnesi.ops.arrays.replicate import tile as tile
    from agnesi.ops.arrays.replicate import unfold as unfold
    from agnesi.ops.arrays.strided import as_strided as as_strided
    from agnesi.ops.base.ensure import ensure as ensure
    from agnesi.ops.contractions.composite import addcdiv as addcdiv
    from agnesi.ops.contractions.composite import addcmul as addcmul
    from agnesi.ops.contractions.composite import allclose as allclose
    from agnesi.ops.contractions.composite import array_equal as array_equal
    from agnesi.ops.contractions.composite import cross as cross
    from agnesi.ops.contractions.composite import diff as diff
    from agnesi.ops.contractions.composite import dist as dist
    from agnesi.ops.contractions.composite import inner as inner
    from agnesi.ops.contractions.composite import isclose as isclose
    from agnesi.ops.contractions.composite import lerp as lerp
    from agnesi.ops.contractions.composite import masked_fill as masked_fill
    from agnesi.ops.contractions.composite import nan_to_num as nan_to_num
    from agnesi.ops.contractions.einsum import einsum as einsum
    from agnesi.ops.contractions.einsum import einsum_path as einsum_path
    from agnesi.ops.contractions.linear import linear as linear
    from agnesi.ops.convolution.conv import conv1d as conv1d
    from agnesi.ops.convolution.conv import conv2d as conv2d
    from agnesi.ops.convolution.conv import conv3d as conv3d
    from agnesi.ops.convolution.pool import avg_pool as avg_pool
    from agnesi.ops.convolution.pool import max_pool as max_pool
    from agnesi.ops.convolution.transposed import conv_transpose as conv_transpose
    from agnesi.ops.elementwise.bitcast import bitcast as bitcast
    from agnesi.ops.elementwise.complexes import complex as complex
    from agnesi.ops.elementwise.complexes import polar as polar
    from agnesi.ops.elementwise.complexes import view_as_complex as view_as_complex
    from agnesi.ops.elementwise.complexes import view_as_real as view_as_real
    from agnesi.ops.indexing.diagonal import diag as diag
    from agnesi.ops.indexing.diagonal import diagonal as diagonal
    from agnesi.ops.indexing.diagonal import trace as trace
    from agnesi.ops.indexing.diagonal import tril as tril
    from agnesi.ops.indexing.diagonal import triu as triu
    from agnesi.ops.indexing.join import chunk as chunk
    from agnesi.ops.indexing.join import concat as concat
    from agnesi.ops.indexing.join import dstack as dstack
    from agnesi.ops.indexing.join import hstack as hstack
    from agnesi.ops.indexing.join import roll as roll
    from agnesi.ops.indexing.join import split as split
    from agnesi.ops.indexing.join import stack as stack
    from agnesi.ops.indexing.join import unstack as unstack
    from agnesi.ops.indexing.join import vstack as vstack
    from agnesi.ops.indexing.ranges import arange as arange
    from agnesi.ops.indexing.ranges import eye as eye
    from agnesi.ops.indexing.ranges import identity_like as identity_like
    from agnesi.ops.indexing.ranges import linspace as linspace
    from agnesi.ops.indexing.ranges import logspace as logspace
    from agnesi.ops.indexing.scatter import inc_subtensor as inc_subtensor
    from agnesi.ops.indexing.scatter import index_add as index_add
    from agnesi.ops.indexing.scatter import index_put as index_put
    from agnesi.ops.indexing.scatter import scatter as scatter
    from agnesi.ops.indexing.scatter import scatter_add as scatter_add
    from agnesi.ops.indexing.scatter import set_subtensor as set_subtensor
    from agnesi.ops.neural.losses import cross_entropy as cross_entropy
    from agnesi.ops.neural.losses import nll_loss as nll_loss
    from agnesi.ops.neural.softmax import log_softmax as log_softmax
    from agnesi.ops.neural.softmax import logsumexp as logsumexp
    from agnesi.ops.neural.softmax import softmax as softmax
    from agnesi.ops.numerics.padding import pad as pad
    from agnesi.ops.numerics.quantiles import median as median
    from agnesi.ops.numerics.quantiles import quantile as quantile
    from agnesi.ops.numerics.sets import isin as isin
    from agnesi.ops.numerics.sets import unique as unique
    from agnesi.ops.numerics.sets import unique_all as unique_all
    from agnesi.ops.numerics.sets import unique_counts as unique_counts
    from agnesi.ops.numerics.sets import unique_inverse as unique_inverse
    from agnesi.ops.numerics.sets import unique_values as unique_values
    from agnesi.ops.reductions.positions import argmax as argmax
    from agnesi.ops.reductions.positions import argmin as argmin
    from agnesi.ops.reductions.running import cumprod as cumprod
    from agnesi.ops.reductions.running import cumsum as cumsum
    from agnesi.ops.reductions.running import cumulative_prod as cumulative_prod
    from agnesi.ops.reductions.running import cumulative_sum as cumulative_sum
    from agnesi.ops.reductions.vector_norms import norm as norm
    from agnesi.ops.sorting.sort import argsort as argsort
    from agnesi.ops.sorting.sort import searchsorted as searchsorted
    from agnesi.ops.sorting.sort import sort as sort
    from agnesi.ops.sorting.sort import topk as topk
    from agnesi.ops.special.special import digamma as digamma
    from agnesi.ops.special.special import erf as erf
    from agnesi.ops.special.special import erfc as erfc
    from agnesi.ops.special.special import erfinv as erfinv
    from agnesi.ops.special.special import lgamma as lgamma
    from agnesi.ops.special.special import polygamma as polygamma

# Other names of the same functions.
absolute = abs
arccos = acos
arccosh = acosh
arcsin = asin
arcsinh = asinh
arctan = atan
arctan2 = atan2
arctanh = atanh
around = round
array = tensor
bitwise_not = bitwise_invert
clamp = clip
conjugate = conj
div = divide
fabs = abs
ge = greater_equal
ger = outer
gt = greater
invert = bitwise_invert
le = less_equal
left_shift = bitwise_left_shift
lt = less
mod = remainder
mul = multiply
ne = not_equal
neg = negative
neq = not_equal
permute = permute_dims
right_shift = bitwise_right_shift
rint = round
sqr = square
sub = subtract
eq = _equal  # its own `equal` is another function
true_divide = divide
unsqueeze = expand_dims


def __getattr__(name: str) -> _typing.Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = _load(_NAMES[name])
    return found

_valuedims.row_loop = lambda: _load("agnesi.api.control.loops:map")
