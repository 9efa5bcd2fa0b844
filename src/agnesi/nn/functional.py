"""Layers and losses as functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from agnesi.api.torch.overrides import handle_torch_function as handle_torch_function
from agnesi.api.torch.overrides import has_torch_function as has_torch_function
from agnesi.api.torch.overrides import has_torch_function_unary as has_torch_function_unary
from agnesi.api.torch.overrides import has_torch_function_variadic as has_torch_function_variadic
from agnesi.core.support.errors import no_attribute
from agnesi.core.support.exports import shown as _shown
from agnesi.nn.functions.forms import batch_norm as batch_norm
from agnesi.nn.functions.forms import instance_norm as instance_norm
from agnesi.nn.functions.forms import log_softmax as log_softmax
from agnesi.nn.functions.forms import pad as pad
from agnesi.nn.functions.forms import relu as relu
from agnesi.nn.functions.forms import softmax as softmax
from agnesi.nn.functions.forms import softplus as softplus
from agnesi.nn.functions.fractional import fractional_max_pool2d as fractional_max_pool2d
from agnesi.nn.functions.fractional import (
    fractional_max_pool2d_with_indices as fractional_max_pool2d_with_indices,
)
from agnesi.nn.functions.fractional import fractional_max_pool3d as fractional_max_pool3d
from agnesi.nn.functions.fractional import (
    fractional_max_pool3d_with_indices as fractional_max_pool3d_with_indices,
)
from agnesi.nn.functions.grids import affine_grid as affine_grid
from agnesi.nn.functions.grids import grid_sample as grid_sample
from agnesi.nn.functions.lookups import embedding as embedding
from agnesi.nn.functions.lookups import embedding_bag as embedding_bag
from agnesi.nn.functions.noise import alpha_dropout as alpha_dropout
from agnesi.nn.functions.noise import feature_alpha_dropout as feature_alpha_dropout
from agnesi.nn.functions.noise import rrelu as rrelu
from agnesi.nn.functions.piecewise_activations import hardshrink as hardshrink
from agnesi.nn.functions.piecewise_activations import hardsigmoid as hardsigmoid
from agnesi.nn.functions.piecewise_activations import hardswish as hardswish
from agnesi.nn.functions.piecewise_activations import hardtanh as hardtanh
from agnesi.nn.functions.piecewise_activations import softshrink as softshrink
from agnesi.nn.functions.piecewise_activations import threshold as threshold
from agnesi.nn.functions.positions import alibi as alibi
from agnesi.nn.functions.positions import rotary as rotary
from agnesi.nn.functions.rearranged import channel_shuffle as channel_shuffle
from agnesi.nn.functions.rearranged import upsample_bilinear as upsample_bilinear
from agnesi.nn.functions.rearranged import upsample_nearest as upsample_nearest
from agnesi.nn.functions.smooth_activations import celu as celu
from agnesi.nn.functions.smooth_activations import glu as glu
from agnesi.nn.functions.smooth_activations import logsigmoid as logsigmoid
from agnesi.nn.functions.smooth_activations import mish as mish
from agnesi.nn.functions.smooth_activations import selu as selu
from agnesi.nn.functions.smooth_activations import softmin as softmin
from agnesi.nn.functions.smooth_activations import softsign as softsign
from agnesi.nn.functions.smooth_activations import tanhshrink as tanhshrink
from agnesi.nn.functions.spellings import (
    adaptive_max_pool1d_with_indices as adaptive_max_pool1d_with_indices,
)
from agnesi.nn.functions.spellings import (
    adaptive_max_pool2d_with_indices as adaptive_max_pool2d_with_indices,
)
from agnesi.nn.functions.spellings import (
    adaptive_max_pool3d_with_indices as adaptive_max_pool3d_with_indices,
)
from agnesi.nn.functions.spellings import celu_ as celu_
from agnesi.nn.functions.spellings import conv_tbc as conv_tbc
from agnesi.nn.functions.spellings import elu_ as elu_
from agnesi.nn.functions.spellings import hardtanh_ as hardtanh_
from agnesi.nn.functions.spellings import leaky_relu_ as leaky_relu_
from agnesi.nn.functions.spellings import linear_cross_entropy as linear_cross_entropy
from agnesi.nn.functions.spellings import max_pool1d_with_indices as max_pool1d_with_indices
from agnesi.nn.functions.spellings import max_pool2d_with_indices as max_pool2d_with_indices
from agnesi.nn.functions.spellings import max_pool3d_with_indices as max_pool3d_with_indices
from agnesi.nn.functions.spellings import relu_ as relu_
from agnesi.nn.functions.spellings import rrelu_ as rrelu_
from agnesi.nn.functions.spellings import selu_ as selu_
from agnesi.nn.functions.spellings import threshold_ as threshold_
from agnesi.nn.functions.vectors import bilinear as bilinear
from agnesi.nn.functions.vectors import conv_transpose1d as conv_transpose1d
from agnesi.nn.functions.vectors import conv_transpose2d as conv_transpose2d
from agnesi.nn.functions.vectors import conv_transpose3d as conv_transpose3d
from agnesi.nn.functions.vectors import cosine_similarity as cosine_similarity
from agnesi.nn.functions.vectors import gumbel_softmax as gumbel_softmax
from agnesi.nn.functions.vectors import normalize as normalize
from agnesi.nn.functions.vectors import one_hot as one_hot
from agnesi.nn.functions.vectors import pairwise_distance as pairwise_distance
from agnesi.nn.functions.vectors import pdist as pdist
from agnesi.nn.functions.vectors import prelu as prelu
from agnesi.nn.losses.binary import binary_cross_entropy as binary_cross_entropy
from agnesi.nn.losses.binary import (
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
)
from agnesi.nn.losses.binary import hinge_embedding_loss as hinge_embedding_loss
from agnesi.nn.losses.binary import kl_div as kl_div
from agnesi.nn.losses.binary import soft_margin_loss as soft_margin_loss
from agnesi.nn.losses.classes import multi_margin_loss as multi_margin_loss
from agnesi.nn.losses.classes import multilabel_margin_loss as multilabel_margin_loss
from agnesi.nn.losses.classes import multilabel_soft_margin_loss as multilabel_soft_margin_loss
from agnesi.nn.losses.ctc import ctc_loss as ctc_loss
from agnesi.nn.losses.metric import cosine_embedding_loss as cosine_embedding_loss
from agnesi.nn.losses.metric import margin_ranking_loss as margin_ranking_loss
from agnesi.nn.losses.metric import triplet_margin_loss as triplet_margin_loss
from agnesi.nn.losses.metric import (
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from agnesi.nn.losses.regression import gaussian_nll_loss as gaussian_nll_loss
from agnesi.nn.losses.regression import huber_loss as huber_loss
from agnesi.nn.losses.regression import l1_loss as l1_loss
from agnesi.nn.losses.regression import poisson_nll_loss as poisson_nll_loss
from agnesi.nn.losses.regression import smooth_l1_loss as smooth_l1_loss
from agnesi.ops.contractions.linear import linear as linear
from agnesi.ops.convolution.conv import conv1d as conv1d
from agnesi.ops.convolution.conv import conv2d as conv2d
from agnesi.ops.convolution.conv import conv3d as conv3d
from agnesi.ops.convolution.im2col import fold as fold
from agnesi.ops.convolution.im2col import unfold as unfold
from agnesi.ops.convolution.interpolate import interpolate as interpolate
from agnesi.ops.convolution.pixels import pixel_shuffle as pixel_shuffle
from agnesi.ops.convolution.pixels import pixel_unshuffle as pixel_unshuffle
from agnesi.ops.convolution.pool import adaptive_avg_pool as adaptive_avg_pool
from agnesi.ops.convolution.pool import adaptive_avg_pool1d as adaptive_avg_pool1d
from agnesi.ops.convolution.pool import adaptive_avg_pool2d as adaptive_avg_pool2d
from agnesi.ops.convolution.pool import adaptive_avg_pool3d as adaptive_avg_pool3d
from agnesi.ops.convolution.pool import adaptive_max_pool as adaptive_max_pool
from agnesi.ops.convolution.pool import adaptive_max_pool1d as adaptive_max_pool1d
from agnesi.ops.convolution.pool import adaptive_max_pool2d as adaptive_max_pool2d
from agnesi.ops.convolution.pool import adaptive_max_pool3d as adaptive_max_pool3d
from agnesi.ops.convolution.pool import avg_pool as avg_pool
from agnesi.ops.convolution.pool import avg_pool1d as avg_pool1d
from agnesi.ops.convolution.pool import avg_pool2d as avg_pool2d
from agnesi.ops.convolution.pool import avg_pool3d as avg_pool3d
from agnesi.ops.convolution.pool import lp_pool as lp_pool
from agnesi.ops.convolution.pool import lp_pool1d as lp_pool1d
from agnesi.ops.convolution.pool import lp_pool2d as lp_pool2d
from agnesi.ops.convolution.pool import lp_pool3d as lp_pool3d
from agnesi.ops.convolution.pool import max_pool as max_pool
from agnesi.ops.convolution.pool import max_pool1d as max_pool1d
from agnesi.ops.convolution.pool import max_pool2d as max_pool2d
from agnesi.ops.convolution.pool import max_pool3d as max_pool3d
from agnesi.ops.convolution.pool import max_unpool1d as max_unpool1d
from agnesi.ops.convolution.pool import max_unpool2d as max_unpool2d
from agnesi.ops.convolution.pool import max_unpool3d as max_unpool3d
from agnesi.ops.convolution.pool import sum_pool as sum_pool
from agnesi.ops.convolution.pool import sum_pool1d as sum_pool1d
from agnesi.ops.convolution.pool import sum_pool2d as sum_pool2d
from agnesi.ops.convolution.pool import sum_pool3d as sum_pool3d
from agnesi.ops.convolution.unpool import max_unpool as max_unpool
from agnesi.ops.elementwise.explog import sigmoid as sigmoid
from agnesi.ops.elementwise.hyperbolic import tanh as tanh
from agnesi.ops.neural.activations import elu as elu
from agnesi.ops.neural.activations import gelu as gelu
from agnesi.ops.neural.activations import leaky_relu as leaky_relu
from agnesi.ops.neural.activations import relu6 as relu6
from agnesi.ops.neural.activations import silu as silu
from agnesi.ops.neural.attention import scaled_dot_product_attention as scaled_dot_product_attention
from agnesi.ops.neural.channels import dropout1d as dropout1d
from agnesi.ops.neural.channels import dropout2d as dropout2d
from agnesi.ops.neural.channels import dropout3d as dropout3d
from agnesi.ops.neural.gates import lstm as lstm
from agnesi.ops.neural.losses import cross_entropy as cross_entropy
from agnesi.ops.neural.losses import mse_loss as mse_loss
from agnesi.ops.neural.losses import nll_loss as nll_loss
from agnesi.ops.neural.normalize import group_norm as group_norm
from agnesi.ops.neural.normalize import layer_norm as layer_norm
from agnesi.ops.neural.normalize import local_response_norm as local_response_norm
from agnesi.ops.neural.normalize import rms_norm as rms_norm
from agnesi.ops.neural.sequences import pad_sequence as pad_sequence
from agnesi.ops.neural.sequences import unpad_sequence as unpad_sequence
from agnesi.ops.random.random import dropout as dropout

native_channel_shuffle = channel_shuffle
upsample = interpolate

if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise no_attribute("module 'agnesi.nn.functional'", name)


def __dir__() -> list[str]:
    return _shown(__name__)
