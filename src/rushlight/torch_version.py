"""``torch.torch_version``: the version as a text that compares by its numbers."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable

_FORM = re.compile(
    r"\s*v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<pre>alpha|beta|preview|pre|a|b|c|rc)[-_.]?(?P<pre_number>\d*))?"
    r"(?:-(?P<post_alone>\d+)|[-_.]?(?P<post>post|rev|r)[-_.]?(?P<post_number>\d*))?"
    r"(?:[-_.]?(?P<dev>dev)[-_.]?(?P<dev_number>\d*))?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*",
    re.IGNORECASE,
)
_BEFORE = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}


def _key(text):
    """What versions are ordered by (the packaging specification, PEP 440); None where the text is no version."""
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    release = [int(number) for number in match["release"].split(".")]
    while release and release[-1] == 0:
        release.pop()
    pre = post = dev = None
    if match["pre"]:
        kind = match["pre"].lower()
        pre = _BEFORE.get(kind, kind), int(match["pre_number"] or 0)
    if match["post"] or match["post_alone"]:
        post = int(match["post_number"] or match["post_alone"] or 0)
    if match["dev"]:
        dev = int(match["dev_number"] or 0)
    if pre is not None:
        stage = (1, *pre)
    else:
        stage = (0,) if post is None and dev is not None else (2,)  # 1.0.dev1 < 1.0a1 < 1.0
    parts = re.split(r"[-_.]", match["local"].lower()) if match["local"] else []
    local = [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts]
    return (
        int(match["epoch"] or 0),
        release,
        stage,
        -1 if post is None else post,
        (1, 0) if dev is None else (0, dev),
        local,
    )


class TorchVersion(str):
    """``torch.__version__``: a text; ``<``, ``==``, ... with texts and tuples compare as versions do (``!=`` compares texts).

    >>> from rushlight.torch_version import TorchVersion
    >>> TorchVersion("2.13.0+rushlight") >= "2.9", TorchVersion("2.13.0+rushlight") > (2, 13)
    (True, True)
    """

    __slots__ = ()

    def _compare(self, other, name):
        if isinstance(other, str):
            text = str(other)
        elif isinstance(other, Iterable):
            text = ".".join(str(item) for item in other)
        else:
            return getattr(str, name)(self, other)
        ours, theirs = _key(str(self)), _key(text)
        if ours is None or theirs is None:
            return getattr(str, name)(self, other)
        return getattr(operator, name)(ours, theirs)

    def __lt__(self, other):
        return self._compare(other, "__lt__")

    def __le__(self, other):
        return self._compare(other, "__le__")

    def __gt__(self, other):
        return self._compare(other, "__gt__")

    def __ge__(self, other):
        return self._compare(other, "__ge__")

    def __eq__(self, other):
        return self._compare(other, "__eq__")

    __hash__ = str.__hash__
