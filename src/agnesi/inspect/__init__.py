"""Looking at graphs: text for people, and a drawing for Graphviz.

In: tensors, graphs, compiled functions. Out: text.
What must hold: looking at a graph changes and computes nothing.
"""

from agnesi.core.keywords import strictly as _strictly
from agnesi.inspect.dot import to_dot as to_dot
from agnesi.inspect.listing import listing as listing
from agnesi.inspect.listing import pprint as pprint

_strictly(__name__)
