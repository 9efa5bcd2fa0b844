"""The tables of options that optimizers take, where a misspelled name would be ignored."""

from __future__ import annotations

from typing import Any

from agnesi.core.support.errors import at, typed

NAMES = frozenset("""
    learningRate learningRateDecay learningRates weightDecay weightDecays momentum dampening
    nesterov eta0 lambda alpha t0 rho eps epsilon beta1 beta2 stepsize etaplus etaminus stepsizemin
    stepsizemax maxIter maxEval nCorrection tolFun tolX lineSearch lineSearchOptions verbose
    popsize    scaleFactor crossoverRate maxFEs minRegion maxRegion sigma ftarget
    evalCounter dfdx eta_t ax mu_t t paramVariance accDelta m v u stepsize_ delta funcEval
""".split())
#: Those that are one number.
_NUMBERS = frozenset("""
    learningRate learningRateDecay weightDecay momentum dampening eta0 lambda alpha t0 rho eps
    epsilon beta1 beta2 stepsize etaplus etaminus stepsizemin stepsizemax maxIter maxEval
    nCorrection tolFun tolX popsize scaleFactor crossoverRate maxFEs sigma ftarget
""".split())


def table(config: Any) -> Any:
    """The user's table, or a new one; a TypeError for a name that is nearly one of an option."""
    if config is None:
        return {}
    if not isinstance(config, dict):
        raise TypeError(at("options are a dict like {'learningRate': 0.1}, not "
                           f"{typed(config)}"))
    for name in config.keys() - NAMES:
        if isinstance(name, str) and not _continues(name) and (near := _near(name)):
            raise TypeError(at(f"there is no option {name!r}; did you mean {near!r}?"))
    for name in _NUMBERS & config.keys():
        if isinstance(config[name], (str, list, tuple, dict, type(None))):
            raise TypeError(at(f"{name} must be a number, not {typed(config[name])}"))
    return config


def _continues(name: str) -> bool:
    """Whether another word follows a known name, as in ``learningRateMin``: a program's own."""
    return any(name.startswith(n) and name[len(n):][:1].isupper() for n in NAMES if len(n) > 3)


def _near(name: str) -> str:
    import difflib  # late: few need it

    known = {n.lower(): n for n in sorted(NAMES)}
    plain = name.lower().replace("_", "")
    plain = {"lr": "learningrate", "betas": "beta1"}.get(plain, plain)
    return known[found[0]] if (found := difflib.get_close_matches(plain, known, 1, 0.8)) else ""
