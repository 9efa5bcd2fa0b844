"""Looking at graphs: text for people, and a drawing for Graphviz."""

from agnesi.inspect.dot import to_dot as to_dot
from agnesi.inspect.listing import listing as listing
from agnesi.inspect.listing import pprint as pprint
