"""PyTorch's names of memory formats, which are ignored here: the compiler chooses layouts."""

from __future__ import annotations

channels_last = "channels_last"
channels_last_3d = "channels_last_3d"
contiguous_format = "contiguous_format"
preserve_format = "preserve_format"
