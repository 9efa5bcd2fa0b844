"""Saving and loading: tensors in safetensors files, whole checkpoints, other libraries' names.

Nothing that is read can run code, and a file is written as a whole or not at all.

In: tensors and nests of them. Out: files, and from files tensors.
What must hold: a file that is damaged or hostile is one error; a failed write leaves the old file.
"""

from typing import TYPE_CHECKING, NoReturn

from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import FileFormatError as FileFormatError
from agnesi.core.support.errors import no_attribute as _no_attribute
from agnesi.saving.checkpoints import load_checkpoint as load_checkpoint
from agnesi.saving.checkpoints import save_checkpoint as save_checkpoint
from agnesi.saving.files import TensorFile as TensorFile
from agnesi.saving.files import load_file as load_file
from agnesi.saving.files import open_file as open_file
from agnesi.saving.files import save_file as save_file
from agnesi.saving.graphs.loaded import Graph as Graph
from agnesi.saving.keeper import Checkpoints as Checkpoints
from agnesi.saving.names import rename as rename

if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise _no_attribute("module 'agnesi.saving'", name)


_strictly(__name__)
