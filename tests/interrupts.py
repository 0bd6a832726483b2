"""KeyboardInterrupt at every place where CPython looks for signals, and what may not be switched afterwards."""

import dis
import functools
import gc
import inspect
import sys

from rushlight.amp.state import state as amp
from rushlight.autograd.engine import accumulating
from rushlight.autograd.modes import _State, state
from rushlight.base import exporting
from rushlight.base.user_code import PACKAGE
from rushlight.compat import modes
from rushlight.nn.modules import hooks
from rushlight.nn.modules.module import Module
from rushlight.nn.utils import parametrize
from rushlight.random.generator import default_generator
from rushlight.serialization import settings
from rushlight.sparse.invariants import check_sparse_tensor_invariants
from rushlight.tensor import overrides, printing
from rushlight.tensor.interposers import INTERPOSERS
from rushlight.utils import checkpoint, dispatching

MODES = sorted({name for name, value in vars(_State).items() if not name.startswith("_") and name != "update"})
MODES.remove("last_backward")  # a place to show, nothing that is switched
HOOKS = [value for name, value in sorted(vars(hooks).items()) if name.startswith("global_")]


def switches():
    """All that contexts switch, by name."""
    return {
        **{name: getattr(state, name) for name in MODES},
        "autocast": (dict(amp.enabled), dict(amp.dtypes), amp.cache_enabled, amp.casts_to, amp.nesting),
        "interposers": list(INTERPOSERS),
        "torch function modes": modes._modes.active,
        "parametrize": parametrize._cache_depth[0],
        "print options": printing.get_printoptions(),
        "checkpoint": dict(checkpoint._settings),
        "serialization": (settings._settings.mmap_flags, settings._settings.safe_globals, settings.skips_data()),
        "exports": dict(exporting.UNDER_WAY),
        "random": default_generator.state_bytes().tobytes(),
        "collector": gc.isenabled(),
        "sparse invariants": check_sparse_tensor_invariants.is_enabled(),
        "lock of gradients": accumulating._is_owned(),
        "calls of modules": [vars(Module).get(name) for name in ("__call__", "__getattr__")],
        "dispatch": (dispatching._waiting.calls, overrides.DISPATCH.off),
        "module hooks": [list(each) for each in HOOKS],
    }


class Interrupt:
    """Raises KeyboardInterrupt at the n-th place where CPython looks for signals in functions that ``follows`` chooses.

    These are the beginning of a function, and what follows a jump back or a call, other than a plain call of a function
    that is written in Python. The interrupt is raised in the instruction that follows; where another handler is in charge
    there (``return f()`` in a ``with``), the place is left out. The beginning of ``__exit__`` itself is
    left out: an interrupt there comes before anything of ours runs, and only Python could help.
    """

    def __init__(self, number, follows):
        self.left, self.follows, self.after, self.at = number, follows, {}, {}

    def __call__(self, frame, event, argument):
        if event == "call":
            if self.after.get(frame.f_back) == "CALL" and _is_plain(frame.f_code):
                self.after[frame.f_back] = ""
            if not self.follows(frame, self.after):
                return None
            frame.f_trace_opcodes = True
            self.after[frame] = ""
            if frame.f_code.co_name != "__exit__":
                self.look()
        elif event == "opcode":
            before = self.after.get(frame, "")
            self.after[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            place, self.at[frame] = self.at.get(frame, 0), frame.f_lasti
            called = before.startswith("CALL") and _handler(frame.f_code, place) == _handler(
                frame.f_code, frame.f_lasti
            )
            if called or "JUMP_BACKWARD" in before:
                self.look()
        return self

    def look(self):
        self.left -= 1
        if self.left == 0:
            sys.settrace(None)
            raise KeyboardInterrupt


@functools.cache
def _handlers(code):
    return dis._parse_exception_table(code)


def _handler(code, place):
    """Where an error of the instruction at ``place`` leads."""
    return next((each.target for each in _handlers(code) if each.start <= place < each.end), None)


def _is_plain(code):
    """Whether code that is called is a function's, whose frame Python's own instruction makes."""
    return not (code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE) or code.co_name.startswith("__"))


def of_contexts(frame, followed):
    """Functions that enter or leave a context, and all that they call."""
    around = frame.f_back
    inside = any(part.f_code.co_name in ("__enter__", "__exit__") for part in (frame, around) if part)
    return inside or around is None or around in followed


def of_package(frame, followed):
    """The package's own functions."""
    return frame.f_code.co_filename.startswith(PACKAGE)


def interrupted(run, number, follows):
    """The KeyboardInterrupt, whose traceback holds all frames as a notebook's does; None where there were fewer places.

    True where Python ignored it: what a generator that nobody needs any more raises is lost.
    """
    before, interrupt = sys.gettrace(), Interrupt(number, follows)
    try:
        sys.settrace(interrupt)
        run()
    except KeyboardInterrupt as error:
        return error
    finally:
        sys.settrace(before)
        interrupt.after.clear(), interrupt.at.clear()  # frames
    return True if interrupt.left <= 0 else None


def enter_and_leave(context):
    with context:
        pass
