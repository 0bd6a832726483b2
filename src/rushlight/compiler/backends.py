"""The names of backends of ``torch.compile``: those of a build for the CPU, and those that programs register."""

from __future__ import annotations

import functools

from ..base.errors import hinted
from .errors import InvalidBackend

_DEBUG, _EXPERIMENTAL = ("debug",), ("experimental",)
_TAGS = {
    "cudagraphs": (), "inductor": (), "openxla": (), "tvm": (), "eager": _DEBUG, "eager_debug": _DEBUG, "eager_noexcept": _DEBUG,
    "pre_dispatch_eager": _DEBUG, "aot_eager": _DEBUG, "aot_eager_decomp_partition": _DEBUG, "aot_eager_default_partitioner": _DEBUG,
    "aot_ts": _EXPERIMENTAL, "ts": _EXPERIMENTAL, "inductor_prims": _EXPERIMENTAL,
}  # fmt: skip
_functions = {}
_default = ["inductor"]


def _built_in(name):
    def backend(gm, fake_tensor_inputs, **kwargs):
        return gm

    backend.__name__ = backend.__qualname__ = name
    backend.__doc__ = f"The backend ``{name}``: the graph module as it is."
    backend._tags = _TAGS[name]
    return backend


def list_backends(exclude_tags=("debug", "experimental")):
    """The names that ``torch.compile(backend=...)`` takes.

    >>> import rushlight as torch
    >>> "inductor" in torch.compiler.list_backends()
    True
    """
    left_out = set(exclude_tags or ())
    known = {**_TAGS, **{name: function._tags for name, function in _functions.items()}}
    return sorted(name for name, tags in known.items() if not left_out.intersection(tags))


def lookup_backend(compiler_fn):
    """The function of a backend's name; anything else itself."""
    if not isinstance(compiler_fn, str):
        return compiler_fn
    if compiler_fn not in _functions:
        if compiler_fn not in _TAGS:
            raise InvalidBackend(compiler_fn)
        _functions[compiler_fn] = _built_in(compiler_fn)
    return _functions[compiler_fn]


def register_backend(compiler_fn=None, name=None, tags=()):
    """Give a backend a name that ``torch.compile(backend=...)`` takes; as a decorator too."""
    if compiler_fn is None:
        return functools.partial(register_backend, name=name, tags=tags)
    if not callable(compiler_fn):
        raise AssertionError(hinted(f"compiler_fn must be callable, got {type(compiler_fn)}", "it is a function"))
    name = name or compiler_fn.__name__
    if name in _functions or name in _TAGS:
        raise AssertionError(hinted(f"duplicate name: {name}", "another backend has it; give another name"))
    _functions[name] = compiler_fn
    compiler_fn._tags = tuple(tags)
    return compiler_fn


def set_default_backend(backend):
    """Set the backend of ``torch.compile`` where none is given; None for the first, "inductor"."""
    if not (backend is None or isinstance(backend, str) or callable(backend)):
        raise TypeError(hinted(f"backend must be a string or callable, got {type(backend)}", "or None for the default"))
    _default[0] = "inductor" if backend is None else backend


def get_default_backend():
    """The backend of ``torch.compile`` where none is given."""
    return _default[0]
