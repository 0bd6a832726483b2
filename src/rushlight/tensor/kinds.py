"""Calls of functions that are made of several operations are looked at before where they hold values of kinds not seen before.

Such a function would take much that PyTorch's parser refuses: 1.5 for a stride, an int for a tensor, ``keepdim=[]``. The classes
of a call's arguments that were found to fit are remembered, so looking costs 0.2 us, and nothing is loaded for the usual ones:
tensors where an argument has no default, else values of the default's class.
"""

from __future__ import annotations

from ..base.size import Size
from .classes import PLAIN_CLASSES

_SEQUENCES = frozenset((tuple, list, Size))
_SPREADS = 0x04 | 0x08  # a code's flags for *args and **kwargs
_ALSO = {float: (int,)}  # classes that go with a default's


def looking(function, refusal):
    """``known``, the kinds of arguments that calls of ``function`` had, and ``look(args, kwargs)`` for calls of others.

    The kinds of a call are the classes of its arguments, and then the names of those that have one. ``look`` raises what
    ``refusal(args, kwargs)`` gives, if they do not fit.
    """
    known = set()
    usual = _usual(function)

    def look(args, kwargs):
        values = (*args, *kwargs.values()) if kwargs else args
        classes = [  # what rows hold counts, too
            value.__class__ if value.__class__ not in _SEQUENCES else (value.__class__, *map(type, value))
            for value in values
        ]
        kinds = (*classes, *kwargs)
        if kinds in known:
            return
        # Tensors that are perhaps in place of a number: their dtypes count.
        numbers = [value._array.dtype for value in values if value.__class__ in PLAIN_CLASSES and not value._array.ndim]
        if numbers:
            kinds = (*kinds, *numbers)
            if kinds in known:
                return
        if numbers or not usual(args, kwargs):
            found = refusal(args, kwargs)
            if found is not None:
                raise found
        if len(known) < _MOST:
            known.add(kinds)

    return known, look


_MOST = 256  # kinds of calls of a function that are remembered


def _usual(function):
    """``usual(args, kwargs)``: whether all arguments are of the classes that nearly all calls have."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    defaults = function.__defaults__ or ()
    given = dict(zip(names[code.co_argcount - len(defaults) : code.co_argcount], defaults)) | (
        function.__kwdefaults__ or {}
    )
    classes = [_classes(given[name]) if name in given else PLAIN_CLASSES for name in names]
    by_name = dict(zip(names, classes))
    if code.co_flags & _SPREADS:
        return lambda args, kwargs: False

    def usual(args, kwargs):
        if len(args) > code.co_argcount or not kwargs.keys() <= by_name.keys():
            return False
        found = all(value.__class__ in fitting for value, fitting in zip(args, classes))
        return found and all(value.__class__ in by_name[name] for name, value in kwargs.items())

    return usual


def _classes(default):
    if default is None:
        return frozenset((type(None),))
    return frozenset((type(default), *_ALSO.get(type(default), ())))
