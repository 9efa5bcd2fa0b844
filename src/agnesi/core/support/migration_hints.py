"""Names that users of PyTorch, JAX, NumPy and Theano know, and what stands for them here.

They are named in the AttributeError; each function has one name.  The tables are in
``compat/hints`` and are imported when the first hint is wanted.  A hint names code between
backquotes, which a test looks up; a line with the call of the other library is run beside it.
"""

from __future__ import annotations

import fnmatch
import functools
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from typing import Any

#: The package of the tables; ``api/loading.py`` names it, for core knows nothing of ``compat``.
TABLES = ""


def lines(text: str) -> Iterator[tuple[str, str]]:
    """Parse a table of hints: names, and the text for each."""
    for line in text.strip().replace("\n    ", " ").splitlines():
        call, bar, code = line.partition(" | ")
        if bar:
            yield call.partition("(")[0], f"`{code}` for `{call}`"
            continue
        names, _, advice = line.partition(" : ")
        for name in names.split():
            yield name, advice.replace("{0}", name.rstrip("_"))


def _file(name: str = "") -> Any:
    from importlib import import_module

    return import_module(f"{TABLES}.{name}" if name else TABLES)


@functools.cache
def table(owner: str) -> dict[str, str]:
    """Return the hints for names that an owner does not have."""
    found: dict[str, str] = {}
    for table in _file().TEXTS.get(owner, "").split():
        file, _, name = table.partition(".")
        for key, advice in lines(getattr(_file(file), name)):
            found.setdefault(key, advice)
    return found


#: What is said of a method where the function's line says it.
_AS_FUNCTION = "as the function"
_UNKNOWN = " got an unexpected keyword argument "


@functools.cache
def _keywords() -> tuple[tuple[frozenset[str], re.Pattern[str], str], ...]:
    """Rows of the table of keywords: which words, functions' names, what is said."""
    rows = []
    for line in _file("keywords").KEYWORDS.strip().replace("\n    ", " ").splitlines():
        left, _, advice = line.partition(" : ")
        words, _, forms = left.partition(" | ")
        names = re.compile("|".join(map(fnmatch.translate, forms.split())))
        rows.append((frozenset(words.split()), names, advice))
    return tuple(rows)


def with_keyword(reason: Any, known: Iterable[str] = ()) -> Any:
    """The error for a refused call, with our name for a keyword that is not ``known``."""
    if not isinstance(reason, str):
        return reason
    reason = re.sub(r"(?<=')\. Did you mean '\w+'\?", "", reason)  # Python 3.13's, by names alone
    call, unknown, rest = reason.partition(_UNKNOWN)
    name = rest.strip("'")
    if not unknown or not name.isidentifier():
        return reason
    given, known, called = list(known), set(known), _called(call)
    here = [(words, advice) for words, names, advice in _keywords()
            if names.match(called) and _has(known, advice)]
    if known & {"f", "function", "model", "parameters"}:
        here = [(words, advice) for words, advice in here if not advice.startswith("operands")]
    for words, advice in here:
        if name in words:
            return f"{reason}; use {advice}"
    near = nearest(name, known) or _longer(name, known)
    if near:
        return f"{reason}; did you mean `{near}`?"
    others = {word: advice for row, advice in reversed(here) for word in row if len(word) > 5}
    alike = nearest(name, others, 0.88)
    if alike:
        return f"{reason}; use {others[alike]}"
    listed = [word for word in given if not word.startswith("_") and word != "self"]
    return f"{reason}; it takes {', '.join(listed)}" if listed and "<" not in call else reason


def meant(owner: str, name: str, known: tuple[str, ...]) -> str:
    """That an attribute or option has another name, or nothing where it may be the user's own."""
    text = f"{owner}() got an unexpected keyword argument {name!r}"
    advice = with_keyword(text, known)
    return advice[len(text):] if advice.startswith((f"{text}; use", f"{text}; did you")) else ""


def _called(call: str) -> str:
    """The name of a function, from the words before its parentheses."""
    return call.removesuffix("()").rpartition(" ")[2].rpartition(".")[2]


def _has(known: Collection[str], advice: str) -> bool:
    """Return whether a function has the parameter that the text names, or it names none."""
    parameter = advice[1:].partition("`")[0].partition("=")[0] if advice.startswith("`") else ""
    return not parameter.isidentifier() or not known or parameter in known


def _longer(name: str, known: Iterable[str]) -> str:
    """The parameter, if it is the only one, that contains the name as a word."""
    found = [p for p in known if name in p.split("_")] if len(name) > 2 else []
    return found[0] if len(found) == 1 else ""


def nearest(name: str, known: Iterable[str], least: float = 0.75) -> str:
    """The name that is spelt most like another one, or none."""
    import difflib  # late: few need it

    return next(iter(difflib.get_close_matches(name, list(known), 1, least)), "")


def slips(name: str) -> set[str]:
    """Names that differ from one in two letters that are exchanged, one left out or one doubled.

    >>> from agnesi.core.support.migration_hints import slips
    >>> sorted(slips("abc"))
    ['aabc', 'ab', 'abbc', 'abcc', 'ac', 'acb', 'bac', 'bc']
    """
    found = {name[:i] + name[i + 1:] for i in range(len(name))}
    found |= {name[:i] + name[i] + name[i:] for i in range(len(name))}
    found |= {name[:i] + name[i + 1] + name[i] + name[i + 2:] for i in range(len(name) - 1)}
    return found - {name}


def has_hints(owner: str) -> bool:
    """Return whether there are hints for a module or class."""
    return owner in _file().TEXTS


def hint(owner: str, name: str) -> str:
    """Return what to use for a name, as the end of a message, or "" where that is not known."""
    found = table(owner).get(name)
    if found == _AS_FUNCTION:
        found = table("module 'agnesi'")[name]
    found = found or next(
        (advice for file in _file().FORMS.get(owner, ()) for form, advice in _file(file).FORMS
         if fnmatch.fnmatchcase(name, form)), "")
    if owner == "module 'agnesi'":
        found = found.replace("`T.", "`ag.symbolic.")
    return f"; use {found}" if found else ""


#: Where a name may be that is looked for elsewhere, the first ones first.
_NAMESPACES = ("", "nn", "nn.functional", "optim", "optim.lr_scheduler", "data", "linalg", "fft",
          "special", "random", "distributions", "metrics", "training", "nn.init", "nn.utils",
          "saving", "image", "sparse", "rewrite", "autograd", "func", "tree", "testing", "inspect",
          "distributed", "utils", "amp", "overrides", "backends")


@functools.cache
def _ordered() -> frozenset[str]:
    """Names of PyTorch's that mean something else in our modules."""
    return frozenset(name for name, _ in lines(_file("torch").ORDERED))


def namesake(owner: str, name: str) -> str:
    """Where a name is that is looked for at the top, as the end of a message, and means there what
    it means in other libraries."""
    if owner == "module 'agnesi'" and not name.startswith("_") and name not in _ordered():
        for namespace in ("nn.functional", "nn", "linalg", "special", "symbolic"):
            if name in _names(namespace):
                return f"; use `ag.{namespace}.{name}`"
    return ""


def elsewhere(owner: str, name: str) -> str:
    """Return where a name is that a module of ours does not have, as the end of a message: in
    another one, or in it but for its case."""
    here = owner.removeprefix("module 'agnesi").rstrip("'").lstrip(".")
    if name.startswith("_") or not owner.startswith("module 'agnesi"):
        return ""
    if here.startswith("compat."):
        known = [n for n in dir(sys.modules[f"agnesi.{here}"]) if n[:1].lower() == name[:1].lower()]
        same = [n for n in known if n.lower() == name.lower()]  # others begin alike: no guesses
        near = same[0] if same else nearest(name, known, 0.75)
        return f"; did you mean `{near}`?" if near else ""
    own = here in ("data", "image", "metrics", "saving", "training") and not name[:1].isupper()
    for namespace in () if own else _NAMESPACES:
        if namespace != here and name in _names(namespace):
            return f"; use `{'.'.join(filter(None, ('ag', namespace, name)))}`"
    plain = {_spelt(n): n for n in _names(here)}
    found = plain.get(_spelt(name))
    if not found and not own:
        found = next((f"ag.{namespace}.{n}" for namespace in _NAMESPACES
                      if namespace not in ("", here) for n in _names(namespace)
                      if _spelt(n) == _spelt(name) and n[0] == name[0]), "")
    if not found and len(name) > 2:
        slipped = [n for n in plain.values() if len(n) > 2 and name in slips(n)]
        found = slipped[0] if len(slipped) == 1 else plain.get(f"{_spelt(name)}loss", "")
    if not found and len(name) > 5:
        permuted = [n for n in plain.values() if sorted(n) == sorted(name)]
        found = nearest(name, permuted, 0.8) or nearest(name, plain.values(), 0.87)
    return f"; did you mean `{found}`?" if found else ""


def _names(namespace: str) -> Collection[str]:
    """The public names of a module of ours."""
    ours = sys.modules[__name__.partition(".")[0]]
    return dir(functools.reduce(getattr, namespace.split("."), ours) if namespace else ours)


def _spelt(name: str) -> str:
    """A name but for its case and underscores."""
    return name.lower().replace("_", "")
