"""Names of PyTorch, Keras and later versions that users look for in the rooms of older libraries.

A line is ``names : what to use``, as in :mod:`agnesi.compat.hints.torch`.
"""

CHAINER = """
datasets dataset : `ag.data.TensorDataset`, `ag.data.datasets`
iterators : `ag.data.DataLoader`
training : a loop over batches, or `ag.training.Trainer` of an `nn.Module`
initializers : an array, or a function of one, as `initialW`
using_config no_backprop_mode : `chainer.Variable(x, volatile='on')`
report reporter Reporter : nothing: functions return their values
Sequential : `chainer.ChainList(*links)`
Parameter : `chainer.Link(W=(2, 3))`
config global_config : arguments, as `train` of `F.dropout(x, train=False)`
as_variable : `chainer.Variable(x)`
"""

CHAINER_FUNCTIONS = """
conv2d Conv2D conv_2d : `F.convolution_2d`
conv_transpose2d conv2d_transpose : `F.deconvolution_2d`
max_pool2d MaxPooling2D max_pool : `F.max_pooling_2d`
avg_pool2d AveragePooling2D avg_pool : `F.average_pooling_2d`
cross_entropy categorical_crossentropy nll_loss : `F.softmax_cross_entropy`
binary_cross_entropy binary_cross_entropy_with_logits binary_crossentropy bce_loss :
    `F.sigmoid_cross_entropy`
mse_loss mse : `F.mean_squared_error`
l1_loss mae : `F.mean_absolute_error`
smooth_l1_loss huber : `F.huber_loss`
ctc_loss ctc : `F.connectionist_temporal_classification`
batch_norm : `F.batch_normalization`
embedding : `F.embed_id`
cat concatenate : `F.concat`
split : `F.split_axis`
mm dot : `F.matmul`
permute : `F.transpose`
view : `F.reshape`
gather : `F.select_item`
dilated_convolution_2d depthwise_convolution_2d convolution_nd convolution_1d convolution_3d :
    `F.convolution_2d`, or `ag.nn.functional.conv2d` of tensors, with `dilation` and `groups`
max_pooling_nd average_pooling_nd max_pooling_1d max_pooling_3d : `F.max_pooling_2d`, or
    `ag.nn.functional.max_pool1d` of tensors
upsampling_2d resize_images : `F.unpooling_2d`, or `ag.nn.functional.interpolate` of tensors
n_step_lstm n_step_bilstm n_step_gru n_step_bigru n_step_rnn : `L.LSTM`, or `ag.nn.LSTM` of tensors
crf1d argmax_crf1d : `ag.logsumexp` of tensors, step by step
layer_normalization group_normalization : `ag.nn.functional.layer_norm` of tensors
selu gelu swish softmin crelu rrelu : `F.elu`, or `ag.nn.functional.selu` of tensors
absolute absolute_error : `abs(variable)`, an operator
squared_error squared_difference : `F.square(x - t)`
ceil fix fmod arcsin arccos arctan2 erf cumsum cumprod pad pad_sequence repeat flip fliplr flipud
    moveaxis diagonal einsum tensordot scatter_add : `ag.cumsum`, and so on, of tensors
r2_score precision recall f1_score classification_summary : `ag.metrics`
zoneout simplified_dropconnect : `F.dropout`
"""

CHAINER_LINKS = """
Conv2d Conv2D : `L.Convolution2D`
ConvTranspose2d Conv2DTranspose : `L.Deconvolution2D`
Dense FullyConnected : `L.Linear`
Embedding : `L.EmbedID`
BatchNorm BatchNorm2d BatchNorm1d : `L.BatchNormalization`
LSTMCell : `L.StatelessLSTM`
ReLU Tanh Sigmoid Dropout Softmax MaxPool2d AvgPool2d : a function, as `F.relu(h)` where links
    are called
Sequential ModuleList : `chainer.ChainList`
Module : `chainer.Chain`
CrossEntropyLoss MSELoss : a function, as `F.softmax_cross_entropy`
NStepLSTM NStepBiLSTM NStepGRU NStepBiGRU NStepRNNTanh : `L.LSTM`, or `ag.nn.LSTM` of tensors
DilatedConvolution2D DepthwiseConvolution2D ConvolutionND Convolution1D Convolution3D :
    `L.Convolution2D`, or `ag.nn.Conv2d` of tensors
CRF1d : `ag.logsumexp` of tensors, step by step
Highway : `L.Linear` twice: `F.sigmoid(gate(x))` of the one weighs the other and x
LayerNormalization GroupNormalization : `L.BatchNormalization`, or `ag.nn.LayerNorm` of tensors
Scale Bias : a `chainer.Link` with one parameter
"""

CHAINER_OPTIMIZERS = """
AdaMax AMSGrad NAdam RAdam AdamW AdaBound : `chainer.optimizers.Adam`
NesterovSGD Nesterov : `chainer.optimizers.NesterovAG`
Momentum : `chainer.optimizers.MomentumSGD`
Adagrad : `chainer.optimizers.AdaGrad`
Adadelta : `chainer.optimizers.AdaDelta`
RMSProp RMSpropCentered : `chainer.optimizers.RMSprop`
"""

CHAINER_LINK = """
cleargrad zero_grad zerograd zero_grads : `link.cleargrads()`
named_parameters : `link.namedparams()`
state_dict : `serializers.save_npz(path, link)`
load_state_dict : `serializers.load_npz(path, link)`
modules named_modules : `link.links()`
train eval : an argument, as of `F.dropout(x, train=False)`
to_device to_intel64 to_chx : nothing: there is one device
cuda to : nothing: devices are the processor
init_scope : `chain.add_link(name, link)`, or `super().__init__(l1=link)`
add_module register_module : `chain.add_link(name, link)`
"""

CHAINER_VARIABLE = """
item numpy : `variable.data`, an array
backward_ : `variable.backward()`
zero_grad cleargrad cleargrads zero_grads : `variable.zerograd()`
requires_grad_ requires_grad detach :
    `chainer.Variable(variable.data)`, or `variable.unchain_backward()`
sum : `F.sum(variable)`
mean : `F.average(variable)` or `F.sum(variable) / variable.size`
view : `F.reshape(variable, shape)`
permute dimshuffle : `F.transpose(variable, axes)`
softmax : `F.softmax(variable)`
"""

CHAINER_OPTIMIZER = """
step minimize apply_gradients : `sgd.update()`, after `loss.backward()`
zero_grad cleargrads clear_grads : `sgd.zero_grads()`
state_dict : `serializers.save_npz(path, sgd)`
load_state_dict : `serializers.load_npz(path, sgd)`
"""

CHAINER_SERIALIZERS = """
save_hdf5 save dump : `serializers.save_npz(path, link)`
load_hdf5 load : `serializers.load_npz(path, link)`
"""

THEANO_NNET = """
leaky_relu : `nnet.relu(x, 0.01)`
logsigmoid log_sigmoid : the logarithm of `nnet.sigmoid(x)`
log_softmax : `nnet.logsoftmax(x)`
cross_entropy sparse_categorical_crossentropy : `nnet.categorical_crossentropy(p, labels)`
bce mse : `nnet.binary_crossentropy(p, t)`
batch_norm : `nnet.bn.batch_normalization`
"""

THEANO_VARIABLE = """
value data numpy item tolist : `shared.get_value()` of a shared variable,
    `expression.eval({y: value})` of others
backward grad : `theano.grad(cost, expression)`
detach : `theano.gradient.disconnected_grad(expression)`
view : `expression.reshape(shape)`
permute : `expression.dimshuffle(1, 0)`
unsqueeze : `expression.dimshuffle('x', 0)`
"""

TORCH7 = """
from_numpy as_tensor : `torch.Tensor(array)`
matmul : `torch.mm`
concatenate : `torch.cat`
stack : `torch.cat`
manual_seed : `torch.manualSeed`
arange : `torch.range`, which ends with its second number
index_select : `torch.index`
masked_select : `torch.maskedSelect`
where : `torch.cmul`, with a mask as numbers
no_grad enable_grad autograd : nothing: gradients are `module.backward(input, gradOutput)`
float32 float64 int64 : `torch.FloatTensor`, `torch.DoubleTensor` or `torch.LongTensor`
set_default_tensor_type : `torch.setdefaulttensortype`
"""

TORCH7_TENSOR = """
shape ndim : `tensor.size()` or `tensor.dim()`
item tolist : `tensor[1]` or `tensor.totable()`
add_ sub_ mul_ div_ fill_ zero_ copy_ clamp_ exp_ log_ : `tensor.add(1)`: methods without
    an underscore change the tensor
indexSelect index_select : `tensor.index(dim, numbers)`
matmul : `torch.mm(t, u)`
requires_grad grad backward detach requires_grad_ : nothing: gradients are
    `module.backward(input, gradOutput)`
dtype : `tensor.type()`
astype to : `tensor.type("torch.FloatTensor")`
cpu : nothing: tensors are the processor's
unsqueeze : `tensor.view(1, 3)` with a size of 1
flatten ravel : `tensor.view(-1)`
argmax argmin : `torch.max(t, 1)`, which returns the places, too
"""

TORCH7_NN = """
Conv2d Conv2D : `tnn.SpatialConvolution`
Conv1d Conv1D : `tnn.TemporalConvolution`
Conv3d : `tnn.VolumetricConvolution`
ConvTranspose2d : `tnn.SpatialFullConvolution`
MaxPool2d MaxPooling2D : `tnn.SpatialMaxPooling`
AvgPool2d : `tnn.SpatialAveragePooling`
BatchNorm1d : `tnn.BatchNormalization`
BatchNorm2d : `tnn.SpatialBatchNormalization`
Dropout2d : `tnn.SpatialDropout`
Flatten : `tnn.View(-1)`
Embedding : `tnn.LookupTable`
CrossEntropyLoss : `tnn.CrossEntropyCriterion`
NLLLoss : `tnn.ClassNLLCriterion`
MSELoss : `tnn.MSECriterion`
BCELoss : `tnn.BCECriterion`
L1Loss : `tnn.AbsCriterion`
SmoothL1Loss : `tnn.SmoothL1Criterion`
KLDivLoss : `tnn.DistKLDivCriterion`
Softmax : `tnn.SoftMax`
LogSoftmax : `tnn.LogSoftMax`
ModuleList : `tnn.Sequential`
functional : nothing: each function is a module, as `tnn.ReLU`
LSTM GRU RNN LSTMCell GRUCell Recurrent Recursor Sequencer FastLSTM LinearRNN : `ag.nn.LSTM` of
    tensors: recurrent modules were in packages beside Torch
Conv2dLocal LocallyConnected : `tnn.SpatialConvolutionLocal`
Hardtanh Hardshrink Softshrink Softplus Softsign Tanhshrink LogSigmoid_ : `tnn.HardTanh`, and so
    on, in Torch's capitals
gModule : `tnn.Sequential`, `tnn.ConcatTable` and `tnn.ParallelTable`, or a subclass of `tnn.Module`
"""

TORCH7_MODULE = """
zero_grad : `module.zeroGradParameters()`
state_dict : `module.parameters()`
load_state_dict : `torch.load(path)`
eval : `module.evaluate()`
named_parameters : `module.parameters()`, a table of weights and one of gradients
to cpu : nothing: modules are the processor's
append : `add`, a method of containers
"""

AUTOGRAD_NUMPY = """
softmax log_softmax : `np.exp(x - scipy.special.logsumexp(x))`
cat : `np.concatenate`
relu : `np.maximum(x, 0.0)`
logsumexp : `scipy.special.logsumexp`
sigmoid : `scipy.special.expit`
tensor : `np.array`
"""
