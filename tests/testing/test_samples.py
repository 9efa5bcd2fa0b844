"""Every public array function has sample operands, or a reason why it has none."""

import importlib.util
import inspect
import pathlib
import re

import pytest

import agnesi as ag
from agnesi.api import functions, lazy_names
from agnesi.ops.special import quadrature
from agnesi.testing.samples import cases

#: Reasons, and the functions that they are for.
WITHOUT = {
    "makes a tensor out of none, or of an array": """
        alloc arange asanyarray asarray empty empty_like frombuffer from_numpy fromiter full
        identity_like ones tensor zeros
    """,
    "tells of types, shapes and memory": """
        broadcast_shapes can_cast finfo get_default_dtype iinfo is_autocast_enabled is_nonzero
        is_tensor iscomplexobj
        isdtype isrealobj isscalar issubdtype iterable may_share_memory ndim promote_types
        result_type set_default_dtype shape shares_memory size get_float32_matmul_precision
        is_autocast_enabled set_default_tensor_type set_float32_matmul_precision
    """,
    "values decide the shape; tests/ops/numerics/test_numpy_names.py compares them with a size": """
        nonzero unique_all unique_counts unique_inverse unique_values
    """,
    "cuts by sizes that must be known; tests/ops/base/test_movement.py": "chunk",
    "takes functions": "vectorize",
    "takes what lu_factor gives; tests/api/test_torch_paths.py": "lu_unpack",
    "stops a program; tests/compiler": "ensure",
    "draws random numbers; tests/api/test_torch_names.py, tests/ops/random": """
        bernoulli binomial multinomial normal poisson rand_like randint_like randn_like randperm
    """,
    "tests/api/test_torch_names.py compares its frames with NumPy's": "istft stft",
    "belongs to networks; tests/nn, tests/testing/test_every_derivative.py": """
        adaptive_avg_pool1d avg_pool1d bilinear group_norm hardshrink max_pool1d max_pool2d
        max_pool3d pdist prelu rms_norm selu
    """,
}
#: The same of linear algebra and Fourier transforms.
WITHOUT_HERE = {
    "makes a tensor out of numbers; tests/ops/linalg/test_scipy_names.py, tests/ops/signal": """
        dft hadamard helmert hilbert invhilbert pascal invpascal fftfreq rfftfreq
    """,
    "values decide the shape; tests/ops/linalg/test_scipy_names.py":
        "null_space orth subspace_angles",
    "takes what lu_factor gives; tests/api/test_torch_paths.py": "lu_unpack",
    "tells of a library": "backend",
}
#: Special functions put together of others, which have samples; compared with SciPy's.
MADE_OF_OTHERS = """
    sici sinc zeta comb diric factorial2 factorialk perm h1vp h2vp hankel1 hankel1e hankel2 hankel2e
    ivp jvp kelvin kvp yvp modfresnelm modfresnelp assoc_laguerre assoc_legendre_p legendre_p
    sph_harm_y sph_legendre_p
"""
#: Those with several results, whose rows have names of their own.
ROWS = {"airy": "airy_ai", "airye": "airye_ai", "fresnel": "fresnel_s", "shichi": "shi"}


def beside(package, name):
    """The module of another test."""
    place = pathlib.Path(__file__).parents[1] / package / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{name}_beside", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sampled():
    """The first words of all names of samples, and of the tests of NumPy's and PyTorch's names."""
    numpy, torch = beside("ops/numerics", "test_numpy_names"), beside("api", "test_torch_names")
    told = [*cases(), *numpy.CASES, *numpy.WRITERS, *(call for call, _ in torch.ROWS)]
    words = (re.split(r"[ ,(]", name)[0] for name in told)
    return {re.sub(r"^(special|linalg|fft)\.", "", word) for word in words}


@pytest.fixture(scope="module")
def known():
    return sampled()


def lacking(place, names, known):
    found = []
    for name in sorted(names):
        function = getattr(place, name)
        if callable(function) and not isinstance(function, type):
            own = {name, getattr(function, "__name__", name), ROWS.get(name), f"{name}_0"}
            if not own & known:
                found.append(name)
    return found


def test_array_functions_have_samples(known):
    own = [n for n, f in vars(functions).items() if n[0] != "_" and inspect.isfunction(f)]
    reasons = " ".join(WITHOUT.values()).split()
    found = lacking(ag, {*own, *lazy_names.NAMES}, known)
    assert sorted(set(found) - set(reasons)) == [], "give them samples, or say why not"
    assert sorted(set(reasons) - set(found)) == [], "these have samples"


def test_linear_algebra_and_transforms_have_samples(known):
    found = [name for place in (ag.linalg, ag.fft)
             for name in lacking(place, [n for n in vars(place) if n[0] != "_"], known)]
    reasons = " ".join(WITHOUT_HERE.values()).split()
    assert sorted(found) == sorted(reasons), "give them samples, or say why not"


def test_special_functions_have_samples(known):
    tables = set(quadrature.__all__)  # of numbers; tests/ops/special compares them with SciPy's
    found = lacking(ag.special, set(ag.special.__all__) - tables, known)
    assert found == sorted(set(MADE_OF_OTHERS.split()) & set(found))
