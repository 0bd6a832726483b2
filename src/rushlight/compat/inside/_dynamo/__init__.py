"""``torch._dynamo``: marks and questions of PyTorch's compiler, which is not here: functions run as they are."""

import contextlib as _contextlib

from ...settings import unchanged as _unchanged
from . import config, eval_frame, exc
from .eval_frame import OptimizedModule

allow_in_graph = _unchanged("allow_in_graph", "Take a function into a graph as it is")
disallow_in_graph = _unchanged("disallow_in_graph", "Keep a function out of graphs")
forbid_in_graph = _unchanged("forbid_in_graph", "Refuse a function in graphs")
assume_constant_result = _unchanged("assume_constant_result", "Take a function's result for a constant")
nonstrict_trace = _unchanged("nonstrict_trace", "Trace a function less strictly")
run = _unchanged("run", "Run what is compiled already")


def disable(fn=None, recursive=True, *, reason=None, wrapping=True):
    """Keep a function from being compiled: the function itself, since nothing is compiled."""
    return fn if fn is not None else lambda function: function


def is_compiling():
    """Whether code is being compiled: False."""
    return False


def is_dynamo_supported():
    """Whether the compiler works on this platform: there is none."""
    return False


def list_backends(exclude_tags=("debug", "experimental")):
    """The names of compilers: there are none."""
    return []


def _mark(name, arguments):
    namespace = {}
    exec(f"def {name}({arguments}):\n    return None\n", namespace)
    namespace[name].__doc__ = "A mark for the compiler: without effect, since nothing is compiled."
    namespace[name].__module__ = __name__
    return namespace[name]


mark_dynamic = _mark("mark_dynamic", "t, index, *, hint_override=None, min=None, max=None, specialize_on=None")
maybe_mark_dynamic = _mark("maybe_mark_dynamic", "t, index")
mark_static = _mark("mark_static", "t, index=None")
mark_static_address = _mark("mark_static_address", "t, guard=False")
mark_unbacked = _mark("mark_unbacked", "t, index, *args, **options")
graph_break = _mark("graph_break", "msg=''")
reset = _mark("reset", "")
reset_code_caches = _mark("reset_code_caches", "")


@_contextlib.contextmanager
def set_stance(stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
    """How the compiler treats what follows: without effect, since nothing is compiled."""
    yield


def substitute_in_graph(
    original_fn, *, can_constant_fold_through=False, skip_signature_check=False, is_embedded_type=False
):
    """Let the compiler see another function: without effect, since nothing is compiled."""
    return lambda traceable: traceable
