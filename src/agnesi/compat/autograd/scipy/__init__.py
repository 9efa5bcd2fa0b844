"""``autograd.scipy``: SciPy's functions, which are agnesi's inside of derivatives."""

from agnesi.compat.autograd.scipy import integrate as integrate
from agnesi.compat.autograd.scipy import linalg as linalg
from agnesi.compat.autograd.scipy import signal as signal
from agnesi.compat.autograd.scipy import special as special
from agnesi.compat.autograd.scipy import stats as stats
