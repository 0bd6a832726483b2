"""docs/graph.md says what happens, and its pictures are those that the library draws."""

import doctest
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
DOCUMENT, FOLDER = ROOT / "docs" / "graph.md", ROOT / "docs" / "pictures"


def test_examples_of_the_document(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(DOCUMENT), module_relative=False)
    assert failed == 0 and tried > 20
    assert {path.suffix for path in tmp_path.iterdir()} == {".svg", ".html", ".dot", ".txt"}


def drawn():
    spec = importlib.util.spec_from_file_location("draw_graph_pictures", ROOT / "tools" / "draw_graph_pictures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.pictures()


PICTURES = sorted(set(re.findall(r"\(pictures/([\w-]+\.svg)\)", DOCUMENT.read_text(encoding="utf-8"))))


@pytest.fixture(scope="module")
def pictures():
    return drawn()


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_up_to_date(name, pictures):
    assert (FOLDER / name).read_text(encoding="utf-8") == pictures[name], "run: python tools/draw_graph_pictures.py"


def test_all_pictures_are_in_the_document(pictures):
    assert sorted(pictures) == PICTURES
