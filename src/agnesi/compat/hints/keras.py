"""Names of Keras 3: layers, losses, operations, initializers, metrics, utilities.

A line is ``names : what to use``; operands are named as in :mod:`agnesi.compat.hints.torch`.
"""

LAYERS = """
Attention AdditiveAttention : `nn.functional.scaled_dot_product_attention(q, k, v)`
add : `ag.add(x, y)`
Average average : `ag.mean([x, y], axis=0)`
Maximum maximum : `ag.maximum(x, y)`
Minimum minimum : `ag.minimum(x, y)`
Multiply multiply : `ag.multiply(x, y)`
Subtract subtract : `ag.subtract(x, y)`
Dot dot : `ag.einsum('bi,bi->b', x, y)`
concatenate : `ag.cat`
ConvLSTM1D ConvLSTM2D ConvLSTM3D : `ag.scan` of a step with `nn.Conv2d`
Convolution1D Convolution2D Convolution3D : `nn.Conv1d`, `nn.Conv2d`, `nn.Conv3d`, whose first
    argument are channels
Cropping1D Cropping2D Cropping3D : `nn.ZeroPad2d(-1)`, whose negative sizes cut
EinsumDense : `ag.einsum` of an `nn.Parameter`
JaxLayer FlaxLayer TFSMLayer TorchModuleWrapper Wrapper Layer : a subclass of `nn.Module`
InputSpec Masking Hashing Pipeline deserialize serialize get : a subclass of `nn.Module`, with
    checks and steps in its `forward`; `nn.to_config`, `nn.from_config` write and read models
MaxPool1D MaxPooling1D : `nn.MaxPool1d`
MaxPool3D MaxPooling3D : `nn.MaxPool3d`
AvgPool1D AveragePooling1D : `nn.AvgPool1d`
AvgPool2D : `nn.AvgPool2d`
AvgPool3D AveragePooling3D : `nn.AvgPool3d`
GlobalAveragePooling3D GlobalAvgPool1D GlobalAvgPool3D AdaptiveAveragePooling1D
    AdaptiveAveragePooling2D AdaptiveAveragePooling3D : `nn.AdaptiveAvgPool1d`,
    `nn.AdaptiveAvgPool2d`, `nn.AdaptiveAvgPool3d`
GlobalMaxPooling3D GlobalMaxPool1D GlobalMaxPool3D AdaptiveMaxPooling1D AdaptiveMaxPooling2D
    AdaptiveMaxPooling3D : `nn.AdaptiveMaxPool1d`, `nn.AdaptiveMaxPool2d`, `nn.AdaptiveMaxPool3d`
Convolution1DTranspose Convolution2DTranspose Convolution3DTranspose :
    `nn.ConvTranspose1d`, `nn.ConvTranspose2d`, `nn.ConvTranspose3d`
DepthwiseConv1D SeparableConv1D SeparableConvolution1D SeparableConvolution2D :
    `nn.Conv1d(n, n, 3, groups=n)`, and a convolution with one weight per channel
Permute : `x.permute(0, 2, 1)`
RepeatVector : `x.unsqueeze(1).expand(-1, 5, -1)`
RandomHeight RandomWidth RandomFlip RandomRotation RandomZoom RandomTranslation RandomCrop
    RandomBrightness RandomContrast : `ag.image`, in a function of `ag.data.MappedDataset`
Rescaling Resizing Normalization : `ag.nn.functional.interpolate`, arithmetic
SimpleRNNCell : `nn.RNNCell`
StackedRNNCells : `nn.LSTM(3, 4, num_layers=2)`
ThresholdedReLU : `nn.Threshold(1.0, 0.0)`
ReversibleEmbedding : `nn.functional.linear(x, layer.weight)` of an `nn.Embedding`
UnitNormalization : `nn.functional.normalize(x, dim=-1)`
UpSampling1D UpSampling3D : `nn.Upsample(scale_factor=2)`
SpatialDropout3D : `nn.Dropout3d`
GaussianNoise : `x + ag.randn_like(x)`
GaussianDropout ActivityRegularization : nothing: a term of the loss, or noise by `ag.randn_like(x)`
ZeroPadding1D ZeroPadding2D ZeroPadding3D : `nn.ZeroPad1d`, `nn.ZeroPad2d`, `nn.ZeroPad3d`
GroupQueryAttention : `nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)`
L1 L2 L1L2 l1 l2 l1_l2 Regularizer OrthogonalRegularizer : a term of the loss, or
    `optim.AdamW(model.parameters(), weight_decay=0.01)` and kin
"""

#: Losses, as classes and as functions.
LOSSES = """
BinaryCrossentropy binary_crossentropy : `nn.functional.binary_cross_entropy`
CategoricalCrossentropy SparseCategoricalCrossentropy : `nn.functional.cross_entropy`, of logits
CTC ctc : `nn.functional.ctc_loss`
KLD KLDivergence kld kullback_leibler_divergence : `nn.functional.kl_div`, of logarithms
MAE MeanAbsoluteError mae : `nn.functional.l1_loss`
MSE MeanSquaredError mse : `nn.functional.mse_loss`
MAPE mape MeanAbsolutePercentageError mean_absolute_percentage_error :
    `100 * ((x - y) / y).abs().mean()`
MSLE msle MeanSquaredLogarithmicError mean_squared_logarithmic_error :
    `nn.functional.mse_loss(ag.log1p(x), ag.log1p(y))`
Huber huber : `nn.functional.huber_loss`
LogCosh logcosh log_cosh : `(ag.logaddexp(x - y, y - x) - math.log(2)).mean()`
Poisson poisson : `nn.functional.poisson_nll_loss(x, y, log_input=False)`
Hinge hinge SquaredHinge squared_hinge CategoricalHinge categorical_hinge :
    `nn.functional.relu(1 - y * x).mean()`, `nn.functional.multi_margin_loss`
BinaryFocalCrossentropy CategoricalFocalCrossentropy binary_focal_crossentropy
    categorical_focal_crossentropy : `nn.functional.cross_entropy(x, y, reduction='none')`, weighted
Dice dice Tversky tversky Circle circle CategoricalGeneralizedCrossEntropy
    categorical_generalized_cross_entropy : sums and products of tensors, such as `(x * y).sum()`
Loss Reduction : a subclass of `nn.Module`
"""

#: Operations.
OPS = """
convert_to_numpy : `x.numpy()`
convert_to_tensor : `ag.tensor(data)`
vectorized_map : `ag.vmap(f)(x)`
divide_no_nan : `ag.where(y == 0, 0, x / y)`
saturate_cast : `ag.clip(x, 0, 255).astype('uint8')`
scatter_update slice_update scatter : `ag.set_subtensor(x[1:3], y)`, or `x[1:3] = y`
get_item : `x[1:3]`
view : `x.view('int32')`
adaptive_average_pool average_pool : `nn.functional.adaptive_avg_pool2d`, `nn.functional.avg_pool2d`
batch_normalization : `nn.functional.batch_norm`
layer_normalization : `nn.functional.layer_norm`
rms_normalization : `nn.functional.rms_norm`
binary_crossentropy : `nn.functional.binary_cross_entropy`
ctc_decode : `ag.argmax(x, -1)`, and `ag.unique_consecutive`
depth_to_space space_to_depth : `nn.functional.pixel_shuffle`, `nn.functional.pixel_unshuffle`
depthwise_conv separable_conv : `nn.functional.conv2d(x, weight, groups=n)`
extract_sequences : `ag.sliding_window_view(x, 3)`
gelu elu glu leaky_relu relu6 silu softsign normalize one_hot fold : `nn.functional.{0}`
hard_shrink : `nn.functional.hardshrink`
soft_shrink : `nn.functional.softshrink`
tanh_shrink : `nn.functional.tanhshrink`
exponential : `ag.exp(x)`
log_sigmoid : `nn.functional.logsigmoid(x)`
eigh inv pinv solve_triangular lu_factor : `ag.linalg.{0}`
fft2 ifft2 rfft irfft : `ag.fft.{0}`
in_top_k : `(ag.topk(x, 5).indices == y[:, None]).any(-1)`
moments : `ag.var_mean(x, correction=0)`
multi_hot : `nn.functional.one_hot(i, 10).amax(-2)`
psnr : `10 * ag.log10(peak**2 / nn.functional.mse_loss(x, y))`
polar : `ag.polar(x, y)`
sparsemax : `ag.sort(x)`, `ag.cumsum(x)` and a threshold from them
rearrange : `import agnesi.compat.einops`
jvp : `ag.jvp(f, (x,), (y,))`
cholesky_inverse : `ag.cholesky_inverse(x)`
serialize deserialize get : the function itself, such as `nn.functional.relu`
"""

INIT = """
Constant : `nn.init.constant_`
Zeros : `nn.init.zeros_`
Ones : `nn.init.ones_`
HeNormal : `nn.init.kaiming_normal_`
HeUniform : `nn.init.kaiming_uniform_`
GlorotNormal : `nn.init.xavier_normal_`
GlorotUniform : `nn.init.xavier_uniform_`
LecunNormal LecunUniform VarianceScaling : `nn.init.kaiming_normal_(w, nonlinearity='linear')`
Identity identity : `nn.init.eye_`
Orthogonal : `nn.init.orthogonal_`
RandomNormal RandomUniform TruncatedNormal : `nn.init.normal_`, `nn.init.uniform_`,
    `nn.init.trunc_normal_`
STFT STFTInitializer stft : `ag.fft.fft(ag.eye(16))`, real and imaginary part
serialize deserialize get : the function itself, such as `nn.init.normal_`
"""

OPTIMIZERS = """
Nadam : `optim.NAdam`
Ftrl : `optim.Adagrad`, which is nearest
LossScaleOptimizer : `ag.amp.GradScaler`
OptimizerMap : parameter groups, as of `optim.SGD([{'params': [w], 'lr': 0.1}])`
legacy serialize deserialize get : the class itself, such as `optim.Adam`
"""

METRICS = """
BinaryIoU IoU MeanIoU OneHotIoU OneHotMeanIoU FalseNegatives FalsePositives TrueNegatives
    TruePositives : `ag.metrics.ConfusionMatrix`, whose entries are counts
FBetaScore : `ag.metrics.F1Score`, `ag.metrics.Precision`, `ag.metrics.Recall`
Sum : `ag.metrics.Mean`, or a sum in Python
CategoricalHinge Hinge KLD KLDivergence LogCoshError MAPE MSLE Poisson SquaredHinge
    binary_crossentropy categorical_hinge hinge huber kld kullback_leibler_divergence logcosh mae
    mape mse msle poisson squared_hinge BinaryCrossentropy CategoricalCrossentropy
    SparseCategoricalCrossentropy CosineSimilarity RootMeanSquaredError :
    `ag.metrics.Mean`, of a loss of `nn.functional`
serialize deserialize get : the class itself, such as `ag.metrics.Accuracy`
"""

CALLBACKS = """
CallbackList : a list of `ag.training.Callback`
RemoteMonitor : `ag.training.JSONLogger`, or a `ag.training.Callback`
"""

RANDOM = """
SeedGenerator : `ag.random.Generator(0)`
dropout : `nn.functional.dropout`
"""

UTILS = """
to_categorical : `nn.functional.one_hot(i, 10)`
pad_sequences : `nn.utils.rnn.pad_sequence`
normalize : `nn.functional.normalize(x, dim=-1)`
set_random_seed : `ag.manual_seed(0)`
plot_model model_to_dot : `ag.inspect.to_dot(y)`, or `nn.summary(model, x)`
array_to_img save_img : `ag.data.write_image(image, path)`
img_to_array load_img : `ag.data.read_image(path)`
image_dataset_from_directory : `ag.data.ImageFolder`
split_dataset : `ag.data.random_split`
Progbar : `ag.training.Progress`
Sequence PyDataset : `ag.data.Dataset`
Config bounding_boxes clear_session get_file get_source_inputs legacy timeseries_dataset_from_array
    text_dataset_from_directory audio_dataset_from_directory : nothing: plain Python, and
    `ag.data.Dataset`
"""

IMAGE = """
affine_transform perspective_transform elastic_transform map_coordinates scale_and_translate :
    `nn.functional.grid_sample`, with `nn.functional.affine_grid`
crop_images : `image[..., top:bottom, left:right]`
pad_images : `ag.pad`
extract_patches extract_patches_3d : `nn.functional.unfold`
sobel_edges : `ag.image.convolve(image, kernel)`
ssim : `nn.functional.avg_pool2d` of means, squares and products
"""
