"""What Python's collector looks through while tests run."""

import gc


def freeze() -> None:
    """Keep the collector from looking through all that there is, most of a second each time.

    Tests, modules and what pytest knows of them are near a million objects.
    """
    gc.collect()
    gc.freeze()
