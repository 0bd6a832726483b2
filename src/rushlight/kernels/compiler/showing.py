"""Seeing kernels: which ones a call runs, and each of them as formula, loop program, LLVM IR and assembly."""

from __future__ import annotations

import inspect
import sys
import textwrap

from ...base.contexts import contextmanager
from ...ops.table import TABLE
from ..language.text import write
from ..machine.host import host
from . import kernel as kernels
from . import lowering
from .trace import Traced

PARTS = ("formula", "program", "llvm", "assembly")


def show(function, *arguments, parts=PARTS, file=None, **options):
    """Call ``function(*arguments, **options)`` and print the generated kernels that it ran.

    Args:
        function: anything callable, such as ``torch.nn.functional.gelu`` or a training step.
        parts: what to print of each kernel, of "formula" (the operation's formula in the op table), "program" (the
            loop program), "llvm" (LLVM IR) and "assembly".
        file: where to print; standard output by default.

    Returns what the function returned. Small operands are NumPy's: then there is no kernel to show, and that is said.
    Raises ValueError for an unknown part and RuntimeError where there are no generated kernels.

    >>> import rushlight as torch
    >>> from rushlight import kernels
    >>> x = torch.rand(300_000)
    >>> _ = kernels.show(torch.exp, x, parts=["program"])  # doctest: +SKIP
    """
    unknown = set(parts) - set(PARTS)
    if unknown:
        raise ValueError(f"parts are of {', '.join(PARTS)}; got {', '.join(map(repr, sorted(unknown)))}")
    if host() is None:
        raise RuntimeError("there are no generated kernels here: llvmlite is missing, or RUSHLIGHT_KERNELS=off")
    file = file or sys.stdout
    with watching() as seen:
        result = function(*arguments, **options)
    if not seen:
        print("no kernel ran: NumPy computed everything (see rushlight.kernels.routing)", file=file)
    for kernel, launches in seen.items():
        _print(kernel, launches, parts, file)
    return result


@contextmanager
def watching():
    """A dict that tells, after the ``with`` statement, how often each kernel was run within it."""
    before = {kernel: kernel.launches for kernel in kernels.known()}
    seen = {}
    yield seen
    for kernel in kernels.known():
        launches = kernel.launches - before.get(kernel, 0)
        if launches:
            seen[kernel] = launches


def _print(kernel, launches, parts, file):
    times = "once" if launches == 1 else f"{launches} times"
    print(f"==== {kernel.name} {kernel.key[1:]}: launched {times}", file=file)
    for part in parts:
        text = PRINTERS[part](kernel)
        if text:
            print(f"---- {part}\n{text.rstrip()}\n", file=file)


def formula(kernel):
    """The source of the formulas that a kernel was traced from; empty for templates and NumPy's own functions."""
    names = [part.name if isinstance(part, Traced) else part for part in kernel.key]
    operations = [TABLE[name] for name in names if isinstance(name, str) and name in TABLE]
    sources = [inspect.getsource(op.element) for op in operations if op.element is not None]
    return "\n".join(textwrap.dedent(source) for source in sources)


PRINTERS = {
    "formula": formula,
    "program": lambda kernel: write(kernel.program()),
    "llvm": lambda kernel: lowering.machine_text(kernel.program()),
    "assembly": lambda kernel: host().assembly(lowering.machine_text(kernel.program())),
}
