"""``theano.sandbox.rng_mrg``: streams of MRG31k3p."""

from agnesi.api.streams.mrg import MRG_RandomStreams as _Streams
from agnesi.compat.theano.tensor.shared_randomstreams import Streams
from agnesi.core.keywords import strictly as _strictly


class MRG_RandomStreams(Streams):  # noqa: N801
    """Random variables from the generator MRG31k3p."""

    _kind = _Streams


MRG_RandomStream = RandomStreams = MRG_RandomStreams


_strictly(__name__)
