"""Hints for names of other libraries: tables by library, read when a name is not found.

In: nothing. Out: texts of lines ``names : what to use`` (the format stands in ``torch.py``), which
``core/support/migration_hints.py`` reads; here is which of them are about which module or class.
What must hold: no table is read before a name is missed.
"""

#: Which texts are about an owner's names: files and their names, the first ones first.
TEXTS = {
    "module 'agnesi'": "scipy.SCIPY torch.ORDERED torch.TORCH jax.JAX jax.JNP numpy.NUMPY "
                       "theano.THEANO jax.LAX theano.TENSOR jax_libraries.EQUINOX "
                       "jax_libraries.FUNCTIONAL jax_libraries.OPTAX jax_libraries.LOSSES "
                       "keras.OPS scipy_names.OTHERS languages.LANGUAGES",
    "module 'agnesi.nn'":
        "layers.NN keras.LAYERS jax_libraries.NN jax_libraries.FUNCTIONAL jax_libraries.STAX "
        "keras.LOSSES flax.NNX jax_libraries.LOSSES",
    "module 'agnesi.nn.functional'":
        "layers.FUNCTIONAL jax_libraries.FUNCTIONAL jax_libraries.LOSSES keras.LOSSES keras.OPS",
    "module 'agnesi.nn.init'": "jax_libraries.INIT keras.INIT",
    "module 'agnesi.tree'": "jax_libraries.TREE",
    "module 'agnesi.optim'": "layers.OPTIM jax_libraries.OPTAX jax_libraries.LOSSES "
                             "jax_libraries.OPTIMIZERS keras.OPTIMIZERS scipy_names.OPTIMIZE",
    "module 'agnesi.optim.lr_scheduler'": "layers.SCHEDULES jax_libraries.OPTAX",
    "module 'agnesi.random'": "numpy.RANDOM jax_libraries.RANDOM keras.RANDOM",
    "module 'agnesi.symbolic'": "theano.TENSOR theano.THEANO",
    "module 'agnesi.autograd'": "modules.AUTOGRAD", "module 'agnesi.func'": "modules.FUNC",
    "module 'agnesi.utils'": "modules.UTILS keras.UTILS",
    "module 'agnesi.utils.data'": "modules.DATA",
    "module 'agnesi.sparse'": "numpy.SPARSE",
    "module 'agnesi.special'": "modules.SPECIAL scipy.SPECIAL",
    "module 'agnesi.linalg'": "modules.LINALG",
    "module 'agnesi.fft'": "modules.FFT scipy.FFT", "module 'agnesi.testing'": "modules.TESTING",
    "module 'agnesi.distributions'": "modules.DISTRIBUTIONS scipy_names.STATS",
    "module 'agnesi.nn.utils'": "modules.NN_UTILS keras.UTILS",
    "module 'agnesi.nn.parallel'": "modules.PARALLEL",
    "module 'agnesi.distributed'": "distributed.DISTRIBUTED",
    "module 'agnesi.metrics'": "modules.METRICS keras.METRICS scipy_names.SCORES",
    "module 'agnesi.image'": "modules.IMAGE keras.IMAGE scipy_names.NDIMAGE",
    "module 'agnesi.data'": "modules.DATASETS",
    "module 'agnesi.data.datasets'": "modules.DATASETS", "module 'agnesi.saving'": "modules.SAVING",
    "module 'agnesi.sklearn'": "modules.SKLEARN",
    "module 'agnesi.training'": "modules.TRAINING keras.CALLBACKS",
    "Distribution": "modules.DISTRIBUTION", "Generator": "numpy.GENERATOR",
    "Trainer": "modules.TRAINER", "KVStore": "distributed.STORE", "Group": "distributed.GROUP",
    "DataParallel": "distributed.PARALLEL", "Zero": "distributed.ZERO",
    "Pipeline": "distributed.PIPELINE", "Mesh": "distributed.MESH",
    "Central": "distributed.CENTRAL", "ShardedBatches": "distributed.BATCHES",
    "Workers": "distributed.WORKERS",
    "module 'agnesi.accelerator'": "modules.CUDA",
    "module 'agnesi.cuda'": "modules.CUDA", "module 'agnesi.amp'": "modules.AMP",
    "module 'agnesi.cuda.amp'": "modules.AMP", "module 'agnesi.compiler'": "modules.COMPILER",
    "module 'agnesi.distributions.constraints'": "modules.CONSTRAINTS",
    "module 'agnesi.compat.chainer'": "compat.CHAINER",
    "module 'agnesi.compat.chainer.functions'": "compat.CHAINER_FUNCTIONS",
    "module 'agnesi.compat.chainer.links'": "compat.CHAINER_LINKS",
    "module 'agnesi.compat.chainer.optimizers'": "compat.CHAINER_OPTIMIZERS",
    "module 'agnesi.compat.torch7'": "compat.TORCH7",
    "module 'agnesi.compat.torch7.nn'": "compat.TORCH7_NN",
    "module 'agnesi.compat.autograd.numpy'": "compat.AUTOGRAD_NUMPY",
    "module 'agnesi.compat.chainer.serializers'": "compat.CHAINER_SERIALIZERS",
    "module 'agnesi.compat.theano.tensor.nnet'": "compat.THEANO_NNET",
    "chainer.Variable": "compat.CHAINER_VARIABLE", "chainer.Optimizer": "compat.CHAINER_OPTIMIZER",
    "theano.Variable": "compat.THEANO_VARIABLE", "Jit": "modules.JIT", "Function": "modules.JIT",
    "chainer.Link": "compat.CHAINER_LINK", "torch7.Tensor": "compat.TORCH7_TENSOR",
    "torch7.Module": "compat.TORCH7_MODULE",
    "SparseTensor": "numpy.SPARSE_TENSOR", "COO": "numpy.SPARSE_TENSOR",
    "Tensor": "tensors.TENSOR", "Module": "layers.MODULE", "Optimizer": "layers.OPTIMIZER",
}
#: Which forms of names say something where no text does.
FORMS = {
    "module 'agnesi'": ("torch", "jax", "theano"), "module 'agnesi.symbolic'": ("theano",),
    "module 'agnesi.nn.functional'": ("layers",), "module 'agnesi.optim'": ("jax_libraries",),
}
