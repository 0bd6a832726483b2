"""Interposers: objects that see every call of an operation before it runs (transforms, forward mode, watchers).

They form a stack of each thread; the innermost is asked first and passes the call on to those below it. While no thread
has one, `INTERPOSERS` is empty, which is all that the short paths test.

An interposer has ``call(op, schema, values, again, around, writes=False)``:

- ``again(values)`` makes the same call (in its form: plain, in place, ``out=``, creation) with other argument values;
- ``around(values, calculate)`` does what autograd has to do around the call, with ``calculate(values)`` in its midst: the
  checks before it, the views and graph nodes after it;
- ``writes`` says that the call writes into its first argument, which it returns;

and returns what the user gets. To reach those below, it calls ``again`` inside ``with below(self)``.
"""

from __future__ import annotations

from threading import get_ident

from ..ops.table import functions

INTERPOSERS = []


class Interposer:
    """What all interposers have; an instance belongs to the thread that made it."""

    sees_creation = False  # whether the gradient that backward begins with is made by an operation, for it to see

    def __init__(self):
        self.thread = get_ident()

    def call(self, op, schema, values, again, around, writes=False):
        raise NotImplementedError(f"{type(self).__name__} must say what it does with a call")

    def variable(self, tensor, connected):
        """What ``functions.variable`` gives where this is the innermost: a tensor to differentiate by."""
        with below(self):
            return functions.variable(tensor, connected)

    def refuse_out(self, name, out, values):
        """Raise where the ``out=`` form of operation ``name`` cannot be followed; ``values`` are its arguments."""
        with below(self):
            functions.refuse_tracked_out(name, out, values)


def innermost():
    """The interposer that sees the next call of this thread; None where there is none."""
    me = get_ident()
    for interposer in reversed(INTERPOSERS):
        if interposer.thread == me:
            return interposer
    return None


class interposed:
    """A context in which ``interposer`` sees the calls of this thread."""

    __slots__ = ("interposer",)

    def __init__(self, interposer):
        self.interposer = interposer

    def __enter__(self):
        interposer, interposers = self.interposer, INTERPOSERS
        interposers += [interposer]  # no call: after one Ctrl-C may come, and nobody would leave what was entered
        return interposer

    def __exit__(self, *error):
        INTERPOSERS.remove(self.interposer)


class below:
    """A context in which calls go to what lies below ``interposer``, which is the innermost of this thread."""

    __slots__ = ("interposer",)

    def __init__(self, interposer):
        self.interposer = interposer

    def __enter__(self):
        try:
            INTERPOSERS.remove(self.interposer)
        except BaseException:  # Ctrl-C came when it was done
            if self.interposer not in INTERPOSERS:
                INTERPOSERS.append(self.interposer)
            raise

    def __exit__(self, *error):
        INTERPOSERS.append(self.interposer)
