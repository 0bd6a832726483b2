"""Writes docs/errors.md from the programs in tests/autograd/error_catalogue/: ``python tools/write_errors.py``."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "errors.md"
HEAD = """\
# Autograd's errors and warnings

Each with the shortest program that provokes it, what Rushlight says, the cause, and the ways out. The first line of a message
is PyTorch's; the hint below it is Rushlight's own and names what it found: shapes, versions, names of variables, the lines that
are to blame. Two questions help with many of them: `rushlight.explain(tensor)` says why a tensor does or does not require grad
and what backward would reach; `rushlight.find_nonfinite()` finds the operation that made the first NaN.

This page is written by `python tools/write_errors.py` from the programs of `tests/autograd/error_catalogue/`, which the tests
run in Rushlight and in PyTorch.
"""


def anchor(heading):
    """What a link to a heading of the page ends in."""
    return re.sub(r"[^a-z ]", "", heading.lower()).replace(" ", "-")


def page(sections, torch):
    """The text of docs/errors.md: ``sections`` are lists of cases by heading, ``torch`` is the library that runs them."""
    parts = [
        HEAD,
        *(f"- [{heading}](#{anchor(heading)})" for heading in sections),
        "",
    ]
    for heading, cases in sections.items():
        parts.append(f"## {heading}\n")
        for case in cases:
            kind, message = case.run(torch)
            message = re.sub("0x[0-9a-f]+", "0x7f0000000000", message)  # addresses differ from run to run
            parts += [
                f"### {case.title}\n",
                f"```python\n{case.code}\n```\n",
                f"```text\n{kind}: {message.rstrip()}\n```\n",
            ]
            parts += [f"{case.cause}\n", *(f"- {cure}" for cure in case.cures), ""]
    return "\n".join(parts)


def main():
    sys.path[:0] = [str(ROOT / "tests" / "autograd"), str(ROOT / "src")]
    import error_catalogue

    import rushlight

    PAGE.write_text(page(error_catalogue.SECTIONS, rushlight), encoding="utf-8")


if __name__ == "__main__":
    main()
