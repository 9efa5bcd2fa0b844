"""Docstrings in numpydoc form, taken apart: sections, and the entries that they consist of."""

import re
import textwrap
from dataclasses import dataclass

#: In the order in which they stand.
SECTIONS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns", "See Also", "Notes",
            "References", "Examples")


@dataclass
class Entry:
    """``names : kind`` and the indented text below it."""

    names: list[str]
    kind: str
    text: str


@dataclass
class Doc:
    """A docstring: its summary, and the lines of each section."""

    summary: str
    sections: dict[str, list[str]]

    def entries(self, section: str) -> list[Entry]:
        found: list[Entry] = []
        for line in self.sections.get(section, ()):
            if line.startswith(" "):
                if found:
                    found[-1].text = f"{found[-1].text} {line.strip()}".strip()
            elif line.strip():
                names, _, kind = line.partition(" : ")
                found.append(Entry(names.split(", "), kind.strip(), ""))
        return found

    def kin(self) -> list[str]:
        """Names in See Also, one or several a line, before what is said of them."""
        return [name.strip().strip("`") for line in self.sections.get("See Also", ())
                if line.strip() and not line.startswith(" ")
                for name in line.partition(" : ")[0].split(",")]


def parse(text: str) -> Doc:
    """The parts of a docstring (``inspect.getdoc`` has taken its indentation off)."""
    lines = textwrap.dedent(text).strip().splitlines()
    heads = [i for i, line in enumerate(lines)
             if i and re.fullmatch(r"-{3,}", line) and lines[i - 1] in SECTIONS]
    starts = [i - 1 for i in heads] + [len(lines)]
    return Doc("\n".join(lines[: starts[0]]).strip(),
               {lines[i - 1]: lines[i + 1: end]
                for i, end in zip(heads, starts[1:], strict=True)})
