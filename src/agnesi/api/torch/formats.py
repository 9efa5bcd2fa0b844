"""PyTorch's words for how memory lies, which change nothing here: the compiler lays it out."""

from __future__ import annotations

channels_last = "channels_last"
channels_last_3d = "channels_last_3d"
contiguous_format = "contiguous_format"
preserve_format = "preserve_format"
