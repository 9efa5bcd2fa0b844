"""Operators on functions of one argument, made operators on functions of several."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from typing import Any

from agnesi.core.keywords import refuse
from agnesi.core.support.errors import at, call_user, typed

Function = Callable[..., Any]


def get_name(f: Any) -> str:
    """The name of a function."""
    return str(getattr(f, "__name__", "[unknown name]"))


def get_doc(f: Any) -> str:
    """The docstring of a function."""
    return str(getattr(f, "__doc__", "") or "")


def wraps(fun: Any, namestr: str = "{fun}", docstr: str = "{doc}", **words: Any) -> Any:
    """A decorator that names a function after another one."""
    def named(f: Function) -> Function:
        with contextlib.suppress(AttributeError, KeyError, ValueError):
            f.__name__ = namestr.format(fun=get_name(fun), **words)
            f.__doc__ = docstr.format(fun=get_name(fun), doc=get_doc(fun), **words)
        return f

    return named


_DOC = """    {op} of function {fun} with respect to argument number {argnum}. Takes what
    {fun} takes, and returns the {op}.
    """


def unary_to_nary(operator: Function) -> Function:
    """Give an operator on functions of one argument an ``argnum``: an index, or several."""
    known = tuple(inspect.signature(operator).parameters)[2:]

    @functools.wraps(operator)
    def nary(fun: Function, argnum: Any = 0, *more: Any, **options: Any) -> Function:
        if unknown := options.keys() - set(known):
            refuse(get_name(operator), sorted(unknown), ("fun", "argnum", *known))
        if type(argnum) not in (int, tuple, list):
            raise AssertionError(at(f"{get_name(operator)}: argnum must be an int, or a tuple of "
                                    f"them, not {typed(argnum)}"))
        if not callable(fun):
            raise TypeError(at(f"{get_name(operator)}: fun must be a function, not {typed(fun)}"))

        @wraps(fun, "{op}_of_{fun}_wrt_argnum_{argnum}", _DOC, op=get_name(operator),
               argnum=argnum)
        def derived(*args: Any, **keywords: Any) -> Any:
            @wraps(fun)
            def unary(x: Any) -> Any:
                given = list(args)
                for i, value in [(argnum, x)] if isinstance(argnum, int) else zip(argnum, x,
                                                                                 strict=True):
                    given[i] = value
                return call_user(fun, tuple(given), keywords, get_name(operator))

            for i in [argnum] if isinstance(argnum, int) else argnum:
                if not -len(args) <= i < len(args):
                    raise TypeError(at(f"{get_name(operator)}: argnum names argument {i}, but "
                                       f"{get_name(fun)} was given {len(args)} by position"))
            x = args[argnum] if isinstance(argnum, int) else tuple(args[i] for i in argnum)
            return operator(unary, x, *more, **options)

        return derived

    return nary
