"""PyTorch's names of layers, losses, optimizers and schedules.

A line is ``call | what it is here``, or ``names : what to use``; operands are named as in
:mod:`agnesi.compat.hints.torch`.
"""

NN = """
UninitializedParameter : `ag.tensor(data, requires_grad=True)`, an attribute
register_module_forward_hook register_module_forward_pre_hook register_module_backward_hook
    register_module_full_backward_hook register_module_full_backward_pre_hook :
    `nn.Module.register_forward_hook` and its kin, for each module of a model
register_module_buffer_registration_hook register_module_module_registration_hook
    register_module_parameter_registration_hook : `nn.Module.named_modules`, when a model is made
consume_prefix_in_state_dict_if_present : the state of the module inside, `model.state_dict()`,
    or names cut with `removeprefix`
UninitializedBuffer : `self.register_buffer(name, tensor)`
quantized qat intrinsic quantizable : nothing: there is one device, and no quantized
    tensors
common_types grad modules factory_kwargs : `ag.Tensor`
LinearCrossEntropyOptions : nothing: `ag.jit` decides how `nn.LinearCrossEntropyLoss` is computed
Dense : `nn.Linear(in_features, out_features)`, and a layer such as `nn.ReLU()` behind it
Conv1D Conv2D Conv3D : `nn.Conv1d`, `nn.Conv2d`, `nn.Conv3d`, whose first argument are channels
Conv2DTranspose : `nn.ConvTranspose2d`
MaxPooling2D MaxPool2D AveragePooling2D : `nn.MaxPool2d`, `nn.AvgPool2d`
BatchNormalization BatchNorm : `nn.BatchNorm1d`, `nn.BatchNorm2d`, with the number of channels
LayerNormalization : `nn.LayerNorm`
GroupNormalization : `nn.GroupNorm`
GlobalAveragePooling1D GlobalAveragePooling2D GlobalAvgPool2D : `nn.AdaptiveAvgPool2d(1)`, and
    `nn.Flatten()`
GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPool2D : `nn.AdaptiveMaxPool2d(1)`, and
    `nn.Flatten()`
SimpleRNN : `nn.RNN`
Bidirectional : `nn.LSTM(..., bidirectional=True)`
TimeDistributed : nothing: `nn.Linear` takes any axes before the last
Reshape : `nn.Unflatten`, or `x.reshape(...)`
UpSampling2D : `nn.Upsample(scale_factor=2)`
DepthwiseConv2D SeparableConv2D : `nn.Conv2d(n, n, 3, groups=n)`
SpatialDropout1D SpatialDropout2D : `nn.Dropout1d`, `nn.Dropout2d`
Concatenate : `ag.cat`
Activation : `nn.ReLU()`, `nn.Tanh()` and others
Input InputLayer Model : a subclass of `nn.Module` with a `forward`, or `nn.Sequential`
"""

FUNCTIONAL = """
swish : `nn.functional.silu`
sigmoid_cross_entropy sigmoid_cross_entropy_with_logits :
    `nn.functional.binary_cross_entropy_with_logits`
softmax_cross_entropy softmax_cross_entropy_with_logits sparse_cross_entropy
    categorical_crossentropy sparse_categorical_crossentropy : `nn.functional.cross_entropy`
mean_squared_error mean_absolute_error : `nn.functional.mse_loss`, `nn.functional.l1_loss`
conv max_pool avg_pool conv_transpose batch_normalization max_pooling_2d average_pooling_2d :
    `nn.functional.conv2d`, `nn.functional.max_pool2d`, `nn.functional.batch_norm` and kin
log_sigmoid : `ag.special.log_expit(x)`
multi_head_attention_forward : `nn.MultiheadAttention`, `nn.functional.scaled_dot_product_attention`
grouped_mm scaled_mm scaled_grouped_mm : `ag.matmul`
"""

OPTIM = """
SGDM MomentumSGD Momentum NesterovSGD : `ag.optim.SGD(model.parameters(), 0.1, momentum=0.9)`
clip_grad_norm_ clip_by_norm clipnorm : `ag.nn.utils.clip_grad_norm_(parameters, limit)`
swap_in_optimizer_params_and_state : `optimizer.load_state_dict(state)`
"""

SCHEDULES = """
Cosine CosineDecay CosineSchedule CosineAnnealing : `optim.lr_scheduler.CosineAnnealingLR`
CosineDecayRestarts : `optim.lr_scheduler.CosineAnnealingWarmRestarts`
ExponentialDecay : `optim.lr_scheduler.ExponentialLR`
PiecewiseConstantDecay PiecewiseConstant : `optim.lr_scheduler.MultiStepLR`
PolynomialDecay : `optim.lr_scheduler.PolynomialLR`
InverseTimeDecay Schedule : `optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: ...)`
Warmup LinearWarmup : `optim.lr_scheduler.LinearLR`
EPOCH_DEPRECATION_WARNING : `optim.lr_scheduler.Scheduler`
"""

MODULE = """
W kernel : `weight`, with outputs on axis 0
b : `bias`
gamma beta moving_mean moving_variance running_std : `weight`, `bias`, `running_mean`,
    `running_var` of norms
cuda ipu xpu mtia : nothing: there is one device, the CPU
to_empty : nothing: there is one device, the CPU
compile : `ag.jit(model)`
fit evaluate predict score : `ag.training.Trainer(model, optimizer, loss)`, whose methods these are
predict_proba : `ag.softmax(model(x), -1)`
save save_model save_pretrained save_weights : `ag.save(model.state_dict(), path)`, which
    `model.load_state_dict(ag.load(path))` reads
load load_model load_pretrained : `model.load_state_dict(ag.load(path))`
count_params num_params num_parameters n_parameters : `sum(p.numel() for p in model.parameters())`
summary : `ag.nn.summary(model, x)`, or `print(model)`
get_weights weights trainable_variables trainable_weights variables params : `model.parameters()`,
    or `model.state_dict()`
set_weights load_weights : `model.load_state_dict(state)`, of `ag.load(path)`
to_onnx export export_onnx to_torchscript : `ag.save(model.state_dict(), path)`, or
    `ag.jit(model).c_function`: files of ONNX are not written
init lazy_init setup param variable is_initializing make_rng sow bind unbind : nothing: layers have
    parameters when they are made, in `__init__`
tabulate : `ag.nn.summary(model, x)`
backward : `loss.backward()`
copy clone : `copy.deepcopy(model)`
add : `nn.Sequential.append`, of a container
get_extra_state set_extra_state : `model.state_dict()`: tensors among the attributes are saved; a
    subclass may have both
register_backward_hook : `model.register_full_backward_hook(hook)`
register_state_dict_pre_hook : `self.register_state_dict_post_hook(hook)`, or a subclass of
    `nn.Module` with its own state_dict
T_destination call_super_init dump_patches : `model.state_dict()`
"""

OPTIMIZER = """
minimize apply_gradients update apply_updates : `loss.backward()`, and then `optimizer.step()`
clip_grad_norm : `nn.utils.clip_grad_norm_(parameters, max_norm)`
backward : `loss.backward()`, and then `optimizer.step()`
OptimizerPreHook OptimizerPostHook profile_hook_step : `optimizer.register_step_post_hook(hook)`
"""

#: Names by their form: functions that write into their operand, and what is no function.
FORMS = (
    ("*_", "the function without the underscore at its end, with `inplace=True`"),
    ("*[Tt]orch_function*", "`ag.op`: operations of one's own"),
    ("BroadcastingList?", "`tuple`"), ("GRID_SAMPLE*", "`nn.functional.interpolate`"),
    ("*_notes", "`nn.functional`"), ("assert_int_or_pair", "`tuple`"),
    ("boolean_dispatch", "`nn.functional.max_pool2d`"), ("ScalingType", "`ag.matmul`"),
    ("SwizzleType", "`ag.matmul`"), ("DType", "`numpy.dtype`"),
)
