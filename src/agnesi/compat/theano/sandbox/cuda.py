"""``theano.sandbox.cuda`` and ``theano.gpuarray``: there is no GPU, as programs that ask are told."""

cuda_available = cuda_enabled = pygpu_activated = False
