"""Every array function of the library, under the names that NumPy, PyTorch and Theano use."""

from agnesi.ops.arith import abs as abs
from agnesi.ops.arith import angle as angle
from agnesi.ops.arith import cbrt as cbrt
from agnesi.ops.arith import conj as conj
from agnesi.ops.arith import floor_divide as floor_divide
from agnesi.ops.arith import fmod as fmod
from agnesi.ops.arith import imag as imag
from agnesi.ops.arith import multiply as multiply
from agnesi.ops.arith import negative as negative
from agnesi.ops.arith import positive as positive
from agnesi.ops.arith import pow as pow
from agnesi.ops.arith import power as power
from agnesi.ops.arith import real as real
from agnesi.ops.arith import reciprocal as reciprocal
from agnesi.ops.arith import remainder as remainder
from agnesi.ops.arith import rsqrt as rsqrt
from agnesi.ops.arith import sign as sign
from agnesi.ops.arith import sqrt as sqrt
from agnesi.ops.arith import square as square
from agnesi.ops.bitwise import bitwise_and as bitwise_and
from agnesi.ops.bitwise import bitwise_invert as bitwise_invert
from agnesi.ops.bitwise import bitwise_left_shift as bitwise_left_shift
from agnesi.ops.bitwise import bitwise_or as bitwise_or
from agnesi.ops.bitwise import bitwise_right_shift as bitwise_right_shift
from agnesi.ops.bitwise import bitwise_xor as bitwise_xor
from agnesi.ops.compare import equal as _equal
from agnesi.ops.compare import greater as greater
from agnesi.ops.compare import greater_equal as greater_equal
from agnesi.ops.compare import isfinite as isfinite
from agnesi.ops.compare import isinf as isinf
from agnesi.ops.compare import isnan as isnan
from agnesi.ops.compare import less as less
from agnesi.ops.compare import less_equal as less_equal
from agnesi.ops.compare import logical_and as logical_and
from agnesi.ops.compare import logical_not as logical_not
from agnesi.ops.compare import logical_or as logical_or
from agnesi.ops.compare import logical_xor as logical_xor
from agnesi.ops.compare import not_equal as not_equal
from agnesi.ops.compare import signbit as signbit
from agnesi.ops.complexes import complex as complex
from agnesi.ops.complexes import polar as polar
from agnesi.ops.complexes import view_as_complex as view_as_complex
from agnesi.ops.complexes import view_as_real as view_as_real
from agnesi.ops.composite import addcdiv as addcdiv
from agnesi.ops.composite import addcmul as addcmul
from agnesi.ops.composite import allclose as allclose
from agnesi.ops.composite import array_equal as array_equal
from agnesi.ops.composite import cross as cross
from agnesi.ops.composite import diff as diff
from agnesi.ops.composite import dist as dist
from agnesi.ops.composite import inner as inner
from agnesi.ops.composite import isclose as isclose
from agnesi.ops.composite import lerp as lerp
from agnesi.ops.composite import masked_fill as masked_fill
from agnesi.ops.composite import nan_to_num as nan_to_num
from agnesi.ops.conv import conv1d as conv1d
from agnesi.ops.conv import conv2d as conv2d
from agnesi.ops.conv import conv3d as conv3d
from agnesi.ops.creation import alloc as alloc
from agnesi.ops.creation import asarray as asarray
from agnesi.ops.creation import empty as empty
from agnesi.ops.creation import empty_like as empty_like
from agnesi.ops.creation import from_numpy as from_numpy
from agnesi.ops.creation import full as full
from agnesi.ops.creation import full_like as full_like
from agnesi.ops.creation import ones as ones
from agnesi.ops.creation import ones_like as ones_like
from agnesi.ops.creation import tensor as tensor
from agnesi.ops.creation import zeros as zeros
from agnesi.ops.creation import zeros_like as zeros_like
from agnesi.ops.diagonal import diag as diag
from agnesi.ops.diagonal import diagonal as diagonal
from agnesi.ops.diagonal import trace as trace
from agnesi.ops.diagonal import tril as tril
from agnesi.ops.diagonal import triu as triu
from agnesi.ops.einsum import einsum as einsum
from agnesi.ops.einsum import einsum_path as einsum_path
from agnesi.ops.ensure import ensure as ensure
from agnesi.ops.explog import exp as exp
from agnesi.ops.explog import exp2 as exp2
from agnesi.ops.explog import expm1 as expm1
from agnesi.ops.explog import log as log
from agnesi.ops.explog import log1p as log1p
from agnesi.ops.explog import log2 as log2
from agnesi.ops.explog import log10 as log10
from agnesi.ops.explog import logaddexp as logaddexp
from agnesi.ops.explog import sigmoid as sigmoid
from agnesi.ops.explog import softplus as softplus
from agnesi.ops.explog import xlogy as xlogy
from agnesi.ops.hyperbolic import acosh as acosh
from agnesi.ops.hyperbolic import asinh as asinh
from agnesi.ops.hyperbolic import atanh as atanh
from agnesi.ops.hyperbolic import cosh as cosh
from agnesi.ops.hyperbolic import sinh as sinh
from agnesi.ops.hyperbolic import tanh as tanh
from agnesi.ops.index import gather as gather
from agnesi.ops.index import narrow as narrow
from agnesi.ops.index import select as select
from agnesi.ops.index import take as take
from agnesi.ops.index import take_along_axis as take_along_axis
from agnesi.ops.join import chunk as chunk
from agnesi.ops.join import concat as concat
from agnesi.ops.join import dstack as dstack
from agnesi.ops.join import hstack as hstack
from agnesi.ops.join import pad as pad
from agnesi.ops.join import roll as roll
from agnesi.ops.join import split as split
from agnesi.ops.join import stack as stack
from agnesi.ops.join import unstack as unstack
from agnesi.ops.join import vstack as vstack
from agnesi.ops.linear import linear as linear
from agnesi.ops.losses import cross_entropy as cross_entropy
from agnesi.ops.losses import nll_loss as nll_loss
from agnesi.ops.matmul import dot as dot
from agnesi.ops.matmul import matmul as matmul
from agnesi.ops.matmul import outer as outer
from agnesi.ops.matmul import tensordot as tensordot
from agnesi.ops.matmul import vecdot as vecdot
from agnesi.ops.movement import atleast_1d as atleast_1d
from agnesi.ops.movement import atleast_2d as atleast_2d
from agnesi.ops.movement import atleast_3d as atleast_3d
from agnesi.ops.movement import dimshuffle as dimshuffle
from agnesi.ops.movement import expand_dims as expand_dims
from agnesi.ops.movement import flatten as flatten
from agnesi.ops.movement import matrix_transpose as matrix_transpose
from agnesi.ops.movement import moveaxis as moveaxis
from agnesi.ops.movement import permute_dims as permute_dims
from agnesi.ops.movement import ravel as ravel
from agnesi.ops.movement import reshape as reshape
from agnesi.ops.movement import squeeze as squeeze
from agnesi.ops.movement import swapaxes as swapaxes
from agnesi.ops.movement import transpose as transpose
from agnesi.ops.nonzeros import nonzero as nonzero
from agnesi.ops.pool import avg_pool as avg_pool
from agnesi.ops.pool import max_pool as max_pool
from agnesi.ops.positions import argmax as argmax
from agnesi.ops.positions import argmin as argmin
from agnesi.ops.pytorch import add as add
from agnesi.ops.pytorch import addmm as addmm
from agnesi.ops.pytorch import cdist as cdist
from agnesi.ops.pytorch import divide as divide
from agnesi.ops.pytorch import equal as equal
from agnesi.ops.pytorch import index_select as index_select
from agnesi.ops.pytorch import subtract as subtract
from agnesi.ops.quantiles import median as median
from agnesi.ops.quantiles import quantile as quantile
from agnesi.ops.ranges import arange as arange
from agnesi.ops.ranges import eye as eye
from agnesi.ops.ranges import identity_like as identity_like
from agnesi.ops.ranges import linspace as linspace
from agnesi.ops.ranges import logspace as logspace
from agnesi.ops.reduce import all as all
from agnesi.ops.reduce import amax as amax
from agnesi.ops.reduce import amin as amin
from agnesi.ops.reduce import any as any
from agnesi.ops.reduce import count_nonzero as count_nonzero
from agnesi.ops.reduce import max as max
from agnesi.ops.reduce import mean as mean
from agnesi.ops.reduce import min as min
from agnesi.ops.reduce import prod as prod
from agnesi.ops.reduce import std as std
from agnesi.ops.reduce import sum as sum
from agnesi.ops.reduce import var as var
from agnesi.ops.replicate import broadcast_arrays as broadcast_arrays
from agnesi.ops.replicate import broadcast_shapes as broadcast_shapes
from agnesi.ops.replicate import broadcast_to as broadcast_to
from agnesi.ops.replicate import copy as copy
from agnesi.ops.replicate import expand as expand
from agnesi.ops.replicate import meshgrid as meshgrid
from agnesi.ops.replicate import repeat as repeat
from agnesi.ops.replicate import tile as tile
from agnesi.ops.replicate import unfold as unfold
from agnesi.ops.running import cumprod as cumprod
from agnesi.ops.running import cumsum as cumsum
from agnesi.ops.running import cumulative_prod as cumulative_prod
from agnesi.ops.running import cumulative_sum as cumulative_sum
from agnesi.ops.scatter import inc_subtensor as inc_subtensor
from agnesi.ops.scatter import index_add as index_add
from agnesi.ops.scatter import index_put as index_put
from agnesi.ops.scatter import put_along_axis as put_along_axis
from agnesi.ops.scatter import scatter as scatter
from agnesi.ops.scatter import scatter_add as scatter_add
from agnesi.ops.scatter import set_subtensor as set_subtensor
from agnesi.ops.select import ceil as ceil
from agnesi.ops.select import clip as clip
from agnesi.ops.select import copysign as copysign
from agnesi.ops.select import floor as floor
from agnesi.ops.select import fmax as fmax
from agnesi.ops.select import fmin as fmin
from agnesi.ops.select import maximum as maximum
from agnesi.ops.select import minimum as minimum
from agnesi.ops.select import nextafter as nextafter
from agnesi.ops.select import relu as relu
from agnesi.ops.select import round as round
from agnesi.ops.select import trunc as trunc
from agnesi.ops.select import where as where
from agnesi.ops.sets import isin as isin
from agnesi.ops.sets import unique as unique
from agnesi.ops.sets import unique_all as unique_all
from agnesi.ops.sets import unique_counts as unique_counts
from agnesi.ops.sets import unique_inverse as unique_inverse
from agnesi.ops.sets import unique_values as unique_values
from agnesi.ops.slices import flip as flip
from agnesi.ops.softmax import log_softmax as log_softmax
from agnesi.ops.softmax import logsumexp as logsumexp
from agnesi.ops.softmax import softmax as softmax
from agnesi.ops.sort import argsort as argsort
from agnesi.ops.sort import searchsorted as searchsorted
from agnesi.ops.sort import sort as sort
from agnesi.ops.sort import topk as topk
from agnesi.ops.special import digamma as digamma
from agnesi.ops.special import erf as erf
from agnesi.ops.special import erfc as erfc
from agnesi.ops.special import erfinv as erfinv
from agnesi.ops.special import lgamma as lgamma
from agnesi.ops.special import polygamma as polygamma
from agnesi.ops.transposed import conv_transpose as conv_transpose
from agnesi.ops.trig import acos as acos
from agnesi.ops.trig import asin as asin
from agnesi.ops.trig import atan as atan
from agnesi.ops.trig import atan2 as atan2
from agnesi.ops.trig import cos as cos
from agnesi.ops.trig import hypot as hypot
from agnesi.ops.trig import sin as sin
from agnesi.ops.trig import tan as tan
from agnesi.ops.types import astype as astype
from agnesi.ops.types import can_cast as can_cast
from agnesi.ops.types import finfo as finfo
from agnesi.ops.types import iinfo as iinfo
from agnesi.ops.types import isdtype as isdtype
from agnesi.ops.types import result_type as result_type
from agnesi.ops.vectornorms import norm as norm

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
bmm = matmul
cat = concat
clamp = clip
concatenate = concat
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
mm = matmul
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
unbind = unstack
unsqueeze = expand_dims
