"""From loop program to machine code: checked, expanded, simplified, emitted, compiled."""

from __future__ import annotations

import gc

from ...base.contexts import contextmanager
from ..language.program import Program
from ..language.simplify import simplify
from ..language.verify import verify
from ..machine import launch
from ..machine.host import host
from .emit import emit, emit_parts
from .expand import expand

_PARTS = 4  # that a program is compiled in, at most: they are compiled at once, as far as there are cores


def lowered(program):
    """The program as it is emitted: checked, and with its functions expanded to machine instructions."""
    return simplify(expand(verify(program)))


def machine_text(program):
    """The LLVM IR of a program and its entry points."""
    return emit(lowered(program)) + launch.entry_points(program)


def machine_code(source):
    """The object files (a bundle) of what ``source()`` gives: a Program, or the text of LLVM IR."""
    with _collector_at_rest():
        found = source()
        if not isinstance(found, Program):
            return host().compile(found)
        found.let_go()
        *texts, last = emit_parts(lowered(found), _PARTS)
        return host().compile(*texts, last + launch.entry_points(found))


@contextmanager
def _collector_at_rest():
    """Leave cycles of garbage for later: building a program makes so many objects that looking for them takes as long as
    a pass over it, or, where it comes to all of the process's objects, as long as compiling a small one."""
    was_on = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if was_on:
            gc.enable()
