"""Runs the examples of the pages in docs/ and keeps the pictures that they draw: ``python tools/draw_pictures.py``."""

import doctest
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
PAGES = ("autograd.md", "amp.md", "compat.md", "distributions.md", "nested.md", "sparse.md", "vision.md")


def examples(page):
    """The examples of a page: what stands behind prompts in its blocks of Python, in order."""
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return doctest.DocTestParser().get_examples("\n".join(blocks), page)


def run(page):
    """Run the examples of a page in the current folder; how many of them did not print what the page says."""
    test = doctest.DocTest(examples(page), {"__name__": "__main__"}, page, str(DOCS / page), 0, None)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    return runner.run(test).failed


def main():
    """Draw the pictures of all pages; returns how many examples failed."""
    failed, here = 0, os.getcwd()
    for page in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "pictures"))
            os.chdir(folder)
            try:
                failed += run(page)
            finally:
                os.chdir(here)
            for picture in sorted(Path(folder, "pictures").iterdir()):
                shutil.copy(picture, DOCS / "pictures" / picture.name)
                print(DOCS / "pictures" / picture.name)
    return failed


if __name__ == "__main__":
    sys.exit(main())
