"""What users call: functions and classes of all public modules, and methods with own texts."""

import inspect
from types import ModuleType
from typing import Any

import agnesi
import agnesi.sklearn
from agnesi.api.tensor.matrices import Late
from agnesi.compiler.function import Function
from agnesi.compiler.jit import Jit
from agnesi.compiler.shared import Shared

MODULES = (
    agnesi.accelerator, agnesi.amp, agnesi.metrics, agnesi.training, agnesi.data.datasets,
    agnesi, agnesi.autograd, agnesi.autograd.function,
    agnesi.autograd.forward_ad, agnesi.autograd.functional, agnesi.nn.utils.prune,
    agnesi.backends, agnesi.cuda, agnesi.data,
    agnesi.distributions,
    agnesi.distributions.constraints, agnesi.distributions.transforms,
    agnesi.distributions.utils, agnesi.fft, agnesi.func,
    agnesi.image, agnesi.inspect, agnesi.linalg, agnesi.nn,
    agnesi.nn.functional, agnesi.nn.init, agnesi.nn.utils, agnesi.nn.utils.parametrizations,
    agnesi.nn.utils.parametrize, agnesi.nn.utils.rnn, agnesi.nn.utils.stateless, agnesi.optim,
    agnesi.optim.flat, agnesi.optim.lr_scheduler, agnesi.optim.swa_utils, agnesi.random,
    agnesi.rewrite, agnesi.saving, agnesi.sklearn, agnesi.sparse, agnesi.special,
    agnesi.symbolic, agnesi.testing, agnesi.tree,
)


def offered(module: ModuleType) -> dict[str, Any]:
    """Functions and classes of ours that a module offers; of errors the name says all."""
    names = getattr(module, "__all__", None) or dir(module)
    found = {name: getattr(module, name) for name in names if name[0] != "_"}
    return {
        name: value for name, value in found.items()
        if (inspect.isroutine(value) or inspect.isclass(value))
        and not (inspect.isclass(value) and issubclass(value, Exception))
        and (value.__module__ or "").startswith("agnesi")
        and (module is agnesi or hasattr(module, "__all__")
             or not value.__module__.startswith("agnesi.core"))
    }


def _by_names() -> dict[str, Any]:
    """Each once, by the name that is its own and that has the fewest dots."""
    names: dict[int, list[str]] = {}
    values: dict[int, Any] = {}
    for module in MODULES:
        home = module.__name__.replace("agnesi.api.", "agnesi.")
        for name, value in offered(module).items():
            names.setdefault(id(value), []).append(f"{home}.{name}")
            values[id(value)] = value

    def rank(key: int, name: str) -> Any:
        own = name.rpartition(".")[2] == getattr(values[key], "__name__", "")
        return not own, "symbolic" in name, name.count("."), len(name)

    return {min(found, key=lambda name, key=key: rank(key, name)): values[key]
            for key, found in names.items()}


def _methods(kind: str, value: type) -> dict[str, Any]:
    """Methods with texts of their own: not those of public functions; of bases that are not
    public, too."""
    known = {id(base) for base in (*PUBLIC.values(), object, dict, tuple)}
    bases = [base for base in value.__mro__ if base is value or (
        id(base) not in known and base.__module__.startswith("agnesi"))]
    found = {name: method.found() if isinstance(method, Late) else
             getattr(method, "__func__", method)
             for base in reversed(bases) for name, method in vars(base).items()}
    return {
        f"{kind}.{name}": method for name, method in found.items()
        if name[0] != "_" and inspect.isfunction(method) and method.__doc__
        and method.__doc__ not in _TEXTS
    }


PUBLIC = _by_names()
_TEXTS = {value.__doc__ for value in PUBLIC.values()}
#: Classes of what users get, though they make none by name.
RETURNED = {"jit": Jit, "function": Function, "shared": Shared, "config": type(agnesi.config),
            "tree.Tree": type(agnesi.tree.flatten(())[1])}
#: Methods without an object.
STATIC = {id(method.__func__) for value in (*PUBLIC.values(), *RETURNED.values())
          if inspect.isclass(value) for base in value.__mro__ for method in vars(base).values()
          if isinstance(method, staticmethod)}
METHODS = {name: method for kind, value in (*PUBLIC.items(), *RETURNED.items())
           if inspect.isclass(value) for name, method in _methods(kind, value).items()}
