"""``torch.testing.FileCheck``: what a text has to hold, one after the other."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ..base.errors import hinted

_LINE = re.compile(r"#\s*CHECK(?:-(NOT|NEXT|SAME|DAG|REGEX|COUNT-(\d+)(-EXACTLY)?))?:\s*(.*)")


class _Check(NamedTuple):
    kind: str
    text: str
    times: int = 1
    exactly: bool = False

    @property
    def label(self) -> str:
        if self.kind == "COUNT":
            return f"CHECK-COUNT-{'EXACTLY-' if self.exactly else ''}{self.times}"
        return "CHECK" + (self.kind and f"-{self.kind}")

    def find(self, text: str, start: int) -> tuple[int, int] | None:
        """The first place at or behind ``start``."""
        if self.kind == "REGEX":
            found = re.compile(self.text).search(text, start)
            return found and found.span()
        place = text.find(self.text, start)
        return None if place < 0 else (place, place + len(self.text))


class FileCheck:
    """A list of checks; `run` compares a text with them, each beginning where the one before ended.

    >>> from rushlight.testing import FileCheck
    >>> FileCheck().check("linear").check_next("relu").check_not("dropout").run("1: linear\\n2: relu\\n3: linear")
    >>> FileCheck().check("dropout").run("1: linear")
    Traceback (most recent call last):
        ...
    RuntimeError: Expected to find "dropout" but did not find it
    Searched string:
    1: linear
    From CHECK: dropout
    """

    def __init__(self) -> None:
        self._checks: list[_Check] = []

    def _with(self, *check: Any) -> FileCheck:
        self._checks.append(_Check(*check))
        return self

    def check(self, test_string: str) -> FileCheck:
        """The text is there."""
        return self._with("", test_string)

    def check_not(self, test_string: str) -> FileCheck:
        """The text is not there before what the next check finds, or to the end."""
        return self._with("NOT", test_string)

    def check_same(self, test_string: str) -> FileCheck:
        """The text is there, in the same line as that before."""
        return self._with("SAME", test_string)

    def check_next(self, test_string: str) -> FileCheck:
        """The text is there, in the line behind that before."""
        return self._with("NEXT", test_string)

    def check_count(self, test_string: str, count: int, exactly: bool = False) -> FileCheck:
        """The text is there ``count`` times, or with ``exactly`` no more often."""
        return self._with("COUNT", test_string, count, exactly)

    def check_dag(self, test_string: str) -> FileCheck:
        """The text is there; checks of this kind in a row come in any order."""
        return self._with("DAG", test_string)

    def check_regex(self, test_string: str) -> FileCheck:
        """A regular expression is there."""
        return self._with("REGEX", test_string)

    def check_source_highlighted(self, test_string: str) -> FileCheck:
        """The text is there, with marks below: for messages of TorchScript's, which Rushlight does not have."""
        line = "torch.testing.FileCheck.check_source_highlighted is not implemented"
        raise NotImplementedError(hinted(line, "check() finds the text itself"))

    def run(self, *texts: str) -> None:
        """Compare a text with the checks; two texts: the checks of the first, ``# CHECK: ...`` lines, with the second."""
        *lines, text = map(str, texts)
        checks = [check for each in lines for check in _parsed(each)] or self._checks
        if not checks:
            raise RuntimeError(
                hinted(
                    "No checks have been added to this instance ofFilecheck! Check for bad input.",
                    "FileCheck().check('...').run(text)",
                )
            )
        _run(checks, text)


def _parsed(lines: str) -> list[_Check]:
    found = []
    for match in _LINE.finditer(lines):
        kind, count, exactly, text = match.groups()
        found.append(
            _Check("COUNT", text, int(count), exactly is not None) if count else _Check(kind or "", text.rstrip())
        )
    return found


def _run(checks: list[_Check], text: str) -> None:
    position, absent, index = 0, [], 0
    while index < len(checks):
        check = checks[index]
        index += 1
        if check.kind == "NOT":
            absent.append(check)
            continue
        group = [check]
        while check.kind == "DAG" and index < len(checks) and checks[index].kind == "DAG":
            group.append(checks[index])
            index += 1
        start, end = _find_group(group, text, position)
        for each in absent:
            _refuse(each, text, position, start)
        absent, position = [], end
    for each in absent:
        _refuse(each, text, position, len(text))


def _find_group(group: list[_Check], text: str, position: int) -> tuple[int, int]:
    """Where checks that may come in any order begin and end."""
    places = [_find(check, text, position) for check in group]
    return min(start for start, _ in places), max(end for _, end in places)


def _find(check: _Check, text: str, position: int) -> tuple[int, int]:
    first, end = None, position
    for _ in range(check.times):
        found = check.find(text, end)
        if found is None:
            what = f'regex "{check.text}"' if check.kind == "REGEX" else f'"{check.text}"'
            raise RuntimeError(
                f"Expected to find {what} but did not find it\nSearched string:\n{_from(text, end)}\nFrom {check.label}: "
                f"{check.text}"
            )
        first = found[0] if first is None else first
        end = found[1]
    first = position if first is None else first
    if check.kind in ("SAME", "NEXT"):
        lines = text.count("\n", position, first)
        if check.kind == "NEXT" and lines == 0:
            raise RuntimeError(
                f'Expected to find "\\n" but did not find it\nSearched string:\n{_from(text, position)}\nFrom {check.label}: '
                f"{check.text}"
            )
        if lines > (check.kind == "NEXT"):
            raise RuntimeError(f'Expected to not find "\\n" but found it\n{text}\nFrom {check.label}: {check.text}')
    if check.exactly:
        _refuse(_Check("NOT", check.text), text, end, len(text))
    return first, end


def _refuse(check: _Check, text: str, start: int, end: int) -> None:
    if check.find(text[:end], start) is not None:
        raise RuntimeError(
            f'Expected to not find "{check.text}" but found it\n{_from(text, start)}\nFrom CHECK-NOT: {check.text}'
        )


def _from(text: str, position: int) -> str:
    """The text from the line of a position on."""
    return text[text.rfind("\n", 0, position) + 1 :]
