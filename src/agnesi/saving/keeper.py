"""A folder of checkpoints, of which the last few are kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from agnesi.core.support.atomic import sweep
from agnesi.core.support.errors import FileFormatError, at, retold, warn
from agnesi.saving.checkpoints import load_checkpoint, save_checkpoint

_ENDING = ".safetensors"


class Checkpoints:
    """A folder of checkpoints by number, of which the last few are kept.

    Parameters
    ----------
    folder : str or os.PathLike
        Made if it is not there.
    keep : int, optional
        How many to keep; None: all.
    name : str
        What file names begin with, before ``-`` and the number.

    Attributes
    ----------
    folder : pathlib.Path
        Where they are.

    Raises
    ------
    ValueError
        If none were to be kept.

    See Also
    --------
    saving.save_checkpoint, saving.load_checkpoint

    Examples
    --------
    >>> import agnesi as ag, tempfile
    >>> net = ag.nn.Linear(3, 2)
    >>> checkpoints = ag.saving.Checkpoints(tempfile.mkdtemp(), keep=2)
    >>> for step in (10, 20, 30):
    ...     _ = checkpoints.save(step, model=net, loss=1.0 / step)
    >>> checkpoints.steps()
    [20, 30]
    >>> checkpoints.load(model=net)["step"]
    30
    """

    def __init__(self, folder: str | os.PathLike[str], keep: int | None = 3,
                 name: str = "step") -> None:
        if keep is not None and keep < 1:
            raise ValueError(at(f"Checkpoints: keep must be at least 1, or None for all, not "
                                f"{keep}"))
        self.folder, self.keep, self.name = Path(folder), keep, name
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise retold(error, at(f"Checkpoints: folder {str(folder)!r} cannot be made: {error}")
                         ) from None

    def path(self, step: int) -> Path:
        """The file of a number, whether it is there or not.

        :param step: Its number.
        :returns: In the folder.
        :rtype: pathlib.Path
        """
        return self.folder / f"{self.name}-{step:010d}{_ENDING}"

    def steps(self) -> list[int]:
        """Numbers of the checkpoints that are there.

        :returns: In rising order.
        """
        ends = (p.name.removesuffix(_ENDING).removeprefix(f"{self.name}-")
                for p in self.folder.glob(f"{self.name}-*{_ENDING}"))
        return sorted(int(end) for end in ends if end.isdecimal())

    def save(self, step: int, /, **parts: Any) -> Path:
        """Write a checkpoint, then remove those that are too many.

        :param step: Its number; saved as ``step``, too.
        :param **parts: As :func:`agnesi.saving.save_checkpoint` takes them.
        :returns: The file.
        :rtype: pathlib.Path
        :raises OSError: If it cannot be written; the earlier ones stay.
        """
        path = self.path(step)
        save_checkpoint(path, **{"step": step, **parts})
        for old in self.steps()[: -self.keep] if self.keep else []:
            if old != step:
                self.path(old).unlink(missing_ok=True)
        return path

    def load(self, step: int | None = None, /, **parts: Any) -> dict[str, Any]:
        """Load a checkpoint into objects, such as a model and an optimizer.

        :param step: Its number; by default the last one that is whole: where a disk has damaged a
            file, a warning says so and the one before is taken.
        :param **parts: Objects by the names under which they were saved.
        :returns: The data that was saved with them, ``step`` among it.
        :rtype: dict of str to object
        :raises FileNotFoundError: If there is none.
        :raises FileFormatError: If none is whole (a ValueError).
        :raises KeyError, ValueError, TypeError: As :func:`agnesi.saving.load_checkpoint` raises
            them; nothing is changed.
        """
        sweep(self.folder)
        steps = self.steps()[::-1] if step is None else [step]
        if not steps:
            raise FileNotFoundError(at(f"there is no checkpoint in {self.folder}"))
        if step is not None and not self.path(step).exists():
            raise FileNotFoundError(at(f"Checkpoints.load: there is no checkpoint {step} in "
                                       f"{self.folder}, but {self.steps()}"))
        for number in steps[:-1]:
            try:
                return load_checkpoint(self.path(number), **parts)
            except FileFormatError as error:
                warn(f"{error}; an earlier checkpoint is taken")
        return load_checkpoint(self.path(steps[-1]), **parts)
