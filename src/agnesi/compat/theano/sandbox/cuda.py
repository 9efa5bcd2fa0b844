"""``theano.sandbox.cuda`` and ``theano.gpuarray``: there is no GPU, which programs ask for."""

cuda_available = cuda_enabled = pygpu_activated = False
