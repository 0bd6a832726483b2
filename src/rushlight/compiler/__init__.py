"""``torch.compiler``: marks for a compiler and questions about it. There is none in this version: functions run as they are."""

from ..base.errors import hinted as _hinted
from ..base.exporting import is_exporting
from . import config
from .backends import get_default_backend, list_backends, set_default_backend
from .compiling import compile
from .marks import (
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    nested_compile_region,
    set_stance,
    substitute_in_graph,
    wrap_numpy,
)

__all__ = [
    "compile", "config", "assume_constant_result", "reset", "allow_in_graph", "substitute_in_graph", "list_backends", "disable",
    "set_default_backend", "get_default_backend", "set_stance", "set_enable_guard_collectives", "cudagraph_mark_step_begin",
    "load_compiled_function", "wrap_numpy", "is_compiling", "is_dynamo_compiling", "is_exporting", "save_cache_artifacts",
    "load_cache_artifacts", "keep_portable_guards_unsafe", "skip_guard_on_inbuilt_nn_modules_unsafe",
    "skip_guard_on_all_nn_modules_unsafe", "keep_tensor_guards_unsafe", "skip_guard_on_globals_unsafe", "skip_all_guards_unsafe",
    "nested_compile_region",
]  # fmt: skip
_collectives = [False]


def is_dynamo_compiling():
    """Whether code is being compiled: False."""
    return False


def reset():
    """Forget what was compiled: nothing was."""


def cudagraph_mark_step_begin():
    """A mark for CUDA's graphs: without effect."""


def set_enable_guard_collectives(enabled):
    """Let processes agree on what is compiled: kept without effect. Returns what was set before."""
    before, _collectives[0] = _collectives[0], enabled
    return before


def save_cache_artifacts():
    """What was compiled, as bytes: None, as nothing was."""
    return None


def load_cache_artifacts(serialized_artifacts):
    """Take what was compiled elsewhere: None, as nothing is used."""
    return None


def load_compiled_function(file, *, f_globals=None, external_data=None):
    """Read a function that was compiled elsewhere: refused."""
    raise NotImplementedError(
        _hinted(
            "torch.compiler.load_compiled_function is not implemented", "there is no compiler here: import the function"
        )
    )


def _keep(name, kept):
    def choose(guard_entries):
        return [kept for _ in guard_entries]

    choose.__name__ = choose.__qualname__ = name
    choose.__doc__ = "Which conditions on a compiled function are looked at: there are none here."
    return choose


keep_portable_guards_unsafe = _keep("keep_portable_guards_unsafe", True)
skip_guard_on_inbuilt_nn_modules_unsafe = _keep("skip_guard_on_inbuilt_nn_modules_unsafe", True)
skip_guard_on_all_nn_modules_unsafe = _keep("skip_guard_on_all_nn_modules_unsafe", True)
skip_guard_on_globals_unsafe = _keep("skip_guard_on_globals_unsafe", True)
skip_all_guards_unsafe = _keep("skip_all_guards_unsafe", False)


def keep_tensor_guards_unsafe(guard_entries, keep_parameters=False):
    """Which conditions on a compiled function are looked at: there are none here."""
    return [True for _ in guard_entries]
