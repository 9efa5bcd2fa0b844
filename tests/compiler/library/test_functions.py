"""Library functions from the disk cache: what is damaged there is made again."""

from agnesi.compiler.library import functions
from agnesi.core.support.config import config
from agnesi.runtime import disk_cache, machine


def test_a_library_function_whose_text_was_cut_is_made_again(tmp_path):
    """Under a checksum that is right: LLVM would refuse the text, in every later call."""
    with config(cache_dir=tmp_path, cache=True):
        name, target = "maximum float32", machine.native()
        text = functions._text("extreme", name, target)
        (entry,) = [p.name.removesuffix(disk_cache.SUFFIX) for p in tmp_path.glob("library-*")]
        for size in (0, 10, len(text) // 2, len(text)):
            disk_cache.put(entry, text.encode()[:size])
            assert functions._text("extreme", name, target) == text
