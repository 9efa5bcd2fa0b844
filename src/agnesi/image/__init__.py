"""Images as tensors (channels, height, width): sizes, turns, colours, filters, plots to files.

All but the plots are made of public operations: they have gradients, go through ``vmap``, and
compile.  :func:`agnesi.data.read_image` and :func:`agnesi.data.write_image` read and write files.

In: tensors of shape (channels, height, width), or batches of them. Out: tensors; files of plots.
What must hold: whatever is no plot is an operation with gradients, in every mode.
"""

from typing import TYPE_CHECKING, NoReturn

from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import no_attribute as _no_attribute
from agnesi.image.colours import hsv_to_rgb as hsv_to_rgb
from agnesi.image.colours import rgb_to_grey as rgb_to_grey
from agnesi.image.colours import rgb_to_hsv as rgb_to_hsv
from agnesi.image.colours import rgb_to_yuv as rgb_to_yuv
from agnesi.image.colours import yuv_to_rgb as yuv_to_rgb
from agnesi.image.filters import convolve as convolve
from agnesi.image.filters import gaussian_kernel as gaussian_kernel
from agnesi.image.filters import laplacian_kernel as laplacian_kernel
from agnesi.image.plots import hist as hist
from agnesi.image.plots import imshow as imshow
from agnesi.image.plots import plot as plot
from agnesi.image.sizes import rotate as rotate
from agnesi.image.sizes import scale as scale

if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise _no_attribute("module 'agnesi.image'", name)


_strictly(__name__)
