"""Plans for half precision by way of programs of single precision: converted on the way in, rounded once on the way out."""

from __future__ import annotations

import functools
import inspect

import numpy as np

from .layout import Layout

_HALVES = "f16", "bf16"
_SINGLE = np.dtype(np.float32)


def in_single_precision(*exact):
    """Let plans that there are none of for half precision compute in float32. Their results in float32 are rounded, but for
    those numbered ``exact``."""

    def decorate(plan):
        code = inspect.unwrap(plan).__code__
        names = code.co_varnames[: code.co_argcount]

        @functools.wraps(plan)
        def planned(*arguments):
            found = plan(*arguments)
            halves = {name: a for name, a in zip(names, arguments) if isinstance(a, Layout) and a.scalar in _HALVES}
            kinds = {layout.dtype for layout in halves.values()}
            if found is not None or len(kinds) != 1:
                return found
            singles = {name: layout.dense().of(_SINGLE) for name, layout in halves.items()}
            found = plan(*[singles.get(name, a) for name, a in zip(names, arguments)])
            if found is None:
                return None
            (kind,) = kinds
            rounded = {name: layout.dense().of(kind) for i, (name, layout) in enumerate(found.returned.items())
                       if isinstance(layout, Layout) and layout.dtype == _SINGLE and i not in exact}  # fmt: skip
            singles.update({name: goal if isinstance(goal, Layout) else singles[name].plain()
                            for name, goal in found.copied.items() if name in singles})  # fmt: skip
            return found._replace(copied={**found.copied, **singles}, given={**found.given, **rounded})

        return planned

    return decorate
