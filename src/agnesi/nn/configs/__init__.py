"""Networks as descriptions: data of plain Python, YAML and Caffe's prototxt, read and written.

In: dicts, JSON, YAML or prototxt, as text or files. Out: modules, and the dicts of modules.
What must hold: ``from_config(to_config(m))`` computes what ``m`` does; no description runs code.
"""

from agnesi.nn.configs.descriptions import again as again
from agnesi.nn.configs.descriptions import from_config as from_config
from agnesi.nn.configs.descriptions import to_config as to_config
