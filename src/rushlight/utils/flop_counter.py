"""``torch.utils.flop_counter``: counting the floating-point operations of a block, by modules and operations."""

from __future__ import annotations

import warnings
from collections import defaultdict
from importlib import import_module

from ..base.user_code import to_user
from ..tensor.interposers import INTERPOSERS, Interposer, below
from .flop_formulas import native_calls, register_flop_formula, registry, shape_wrapper
from .module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

_SUFFIXES = ["", "K", "M", "B", "T"]
_COLUMNS = (("Module", "<"), ("FLOP", ">"), ("% Total", ">"))
_ALL = 999999  # a depth that no module reaches


def __getattr__(name):
    if name == "flop_registry":
        return registry()
    formulas = import_module(".flop_formulas", __package__)
    if name.endswith(("_flop", "_flop_count")) or name == "get_shape":
        return getattr(formulas, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _Counting(Interposer):
    """Sees every operation of the thread, and counts it."""

    def __init__(self, counter):
        super().__init__()
        self.counter = counter

    def call(self, op, schema, values, again, around, writes=False):
        with below(self):
            found = again(values)
            self.counter._count_flops(native_calls(op, schema, values, found, writes))
        return found


class FlopCounterMode:
    """A context that counts the floating-point operations of products and convolutions, forward and backward.

    Args:
        mods: not needed any more.
        depth: down to which depth of modules the table goes, 2 by default; None: to the last.
        display: whether leaving the context prints the table.
        custom_mapping: formulas besides those of ``flop_registry``, ``{operation: function of shapes}``.

    As in PyTorch on a CPU, attention without dropout counts for nothing unless a formula is registered for
    ``torch.ops.aten._scaled_dot_product_flash_attention_for_cpu``; nor do products with vectors, and LSTMs.

    >>> import rushlight as torch
    >>> from rushlight.utils.flop_counter import FlopCounterMode
    >>> model = torch.nn.Sequential(torch.nn.Linear(64, 100), torch.nn.ReLU())
    >>> with FlopCounterMode() as counter:
    ...     model(torch.randn(8, 64)).sum().backward()
    Module              FLOP    % Total
    --------------  --------  ---------
    Sequential      204.800K    100.00%
     - aten.addmm   102.400K     50.00%
     - aten.mm      102.400K     50.00%
     Sequential.0   204.800K    100.00%
      - aten.addmm  102.400K     50.00%
      - aten.mm     102.400K     50.00%
    """

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        if mods is not None:
            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=to_user())
        self.flop_counts = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        custom = (custom_mapping or {}).items()
        raw = {key: value for key, value in custom if getattr(value, "_get_raw", False)}
        self.flop_registry = {**registry(), **{key: shape_wrapper(value) for key, value in custom}, **raw}
        self._by_name = {key.__name__: key for key in self.flop_registry if key.namespace == "aten"}
        self.mod_tracker = ModuleTracker()

    def __enter__(self):
        self.flop_counts.clear()
        try:
            self.mod_tracker.__enter__()
            INTERPOSERS.append(_Counting(self))
        except BaseException:  # Ctrl-C came in between
            self._leave()
            raise
        return self

    def __exit__(self, *error):
        try:
            self._leave()
        except BaseException:  # Ctrl-C came before it was done
            self._leave()
            raise
        if self.display:
            print(self.get_table(self.depth))

    def _leave(self):
        kept = [each for each in INTERPOSERS if getattr(each, "counter", None) is not self]
        INTERPOSERS[:] = kept
        self.mod_tracker.__exit__(None, None, None)

    def _count_flops(self, calls):
        for name, given, out in calls:
            operation = self._by_name.get(name)
            if operation is not None:
                count = self.flop_registry[operation](*given, out_val=out)
                for module in set(self.mod_tracker.parents):
                    self.flop_counts[module][operation] += count

    def get_total_flops(self):
        """How many operations were counted."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self):
        """What was counted: ``{module: {operation of torch.ops: number}}``; "Global" counts everything."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def get_table(self, depth=None):
        """The counts as a table, by modules down to ``depth`` (that of the mode where it is None)."""
        depth = _ALL if depth is None and self.depth is None else self.depth if depth is None else depth
        total = self.get_total_flops()
        suffix = _suffix_of(total)
        rows, holds_all = [], False
        for module in sorted(self.flop_counts):
            level = module.count(".") + 1
            if module != "Global" and level <= depth:
                holds_all |= sum(self.flop_counts[module].values()) >= total
                rows += self._rows(module, level - 1, total, suffix)
        if "Global" in self.flop_counts and not holds_all:
            rows = self._rows("Global", 0, total, suffix) + [(" " + name, *numbers) for name, *numbers in rows]
        return _table(rows or [("Global", "0", "0%")])

    def _rows(self, module, indent, total, suffix):
        counts, padding = self.flop_counts[module], " " * indent
        named = [(padding + module, sum(counts.values()))]
        named += [(f"{padding} - {operation}", count) for operation, count in counts.items()]
        number = lambda count: convert_num_with_suffix(count, suffix) if suffix else str(count)
        return [(name, number(count), convert_to_percent_str(count, total)) for name, count in named]


def _suffix_of(number):
    """The suffix that leaves two to four digits before the point."""
    return _SUFFIXES[max(0, min(len(_SUFFIXES) - 1, (len(str(number)) - 2) // 3))]


get_suffix_str = _suffix_of


def convert_num_with_suffix(number, suffix):
    """A number with three digits in thousands ("K"), millions, ... as the suffix says."""
    return f"{number / 1000 ** _SUFFIXES.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num, denom):
    """Which part of ``denom`` it is, in per cent."""
    return "0%" if denom == 0 else f"{num / denom:.2%}"


def _table(rows):
    widths = [max(len(title) + 2, *(len(row[n]) for row in rows)) for n, (title, _) in enumerate(_COLUMNS)]
    titles = [title for title, _ in _COLUMNS]
    lines = [titles, ["-" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(f"{cell:{align}{width}}" for cell, width, (_, align) in zip(line, widths, _COLUMNS)) for line in lines
    )
