"""The pages in docs/: their examples print what they say, and the pictures that they draw are those in docs/pictures."""

import importlib.util
import re
from collections import Counter
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"

_spec = importlib.util.spec_from_file_location("draw_pictures", DOCS.parent / "tools" / "draw_pictures.py")
draw_pictures = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(draw_pictures)


def labels(picture):
    """The names of operations and leaves in a picture; how they are drawn is not looked at."""
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", picture.read_text(encoding="utf-8"))
    return Counter(text for text in texts if re.fullmatch(r"[A-Z]\w*|[a-z]\d?", text))


def links(page):
    """What the prose of a page links to, inside the repository."""
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"\]\(([^)#:]+)\)", prose)


@pytest.mark.parametrize("page", draw_pictures.PAGES)
def test_a_page(page, tmp_path, monkeypatch):
    (tmp_path / "pictures").mkdir()
    monkeypatch.chdir(tmp_path)
    assert draw_pictures.run(page) == 0
    drawn = {picture.name for picture in (tmp_path / "pictures").iterdir()}
    shown = set(re.findall(r"\]\(pictures/(.*?)\)", (DOCS / page).read_text(encoding="utf-8")))
    assert drawn == shown
    for name in drawn:
        assert labels(tmp_path / "pictures" / name) == labels(DOCS / "pictures" / name), (
            "run: python tools/draw_pictures.py"
        )
        assert labels(DOCS / "pictures" / name)


def test_every_example_on_the_pages_has_prompts_or_is_one_for_reading():
    for page in draw_pictures.PAGES:
        assert len(list(draw_pictures.examples(page))) > 10


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_links_between_pages_and_to_pictures_lead_somewhere(page):
    for target in links(page):
        assert (page.parent / target).exists(), target
