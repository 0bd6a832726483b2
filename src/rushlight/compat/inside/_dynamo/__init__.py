"""``torch._dynamo``: marks and questions of PyTorch's compiler, which is not here: functions run as they are."""

import collections as _collections

from ....base.errors import hinted as _hinted
from ....compiler import reset
from ....compiler.backends import list_backends, lookup_backend, register_backend
from ....compiler.marks import (
    allow_in_graph,
    assume_constant_result,
    disable,
    disallow_in_graph,
    error_on_graph_break,
    forbid_in_graph,
    is_compiling,
    nonstrict_trace,
    run,
    set_stance,
    substitute_in_graph,
)
from ....tensor import Tensor as _Tensor
from . import backends, config, decorators, eval_frame, exc, external_utils, utils
from .eval_frame import (
    OptimizedModule,
    explain,
    export,
    is_dynamo_supported,
    is_inductor_supported,
    optimize,
    optimize_assert,
)

guard_failures = _collections.defaultdict(list)
patch_dynamo_config = config.patch  # type: ignore[attr-defined]
dont_skip_tracing = disable_nested_graph_breaks = forbid_in_graph
_limit = [-1]


def mark_dynamic(t, index, *, hint_override=None, min=None, max=None, specialize_on=None):
    """A mark that a dimension's size may change: without effect."""
    _marked_tensor(t, "mark_dynamic")


def maybe_mark_dynamic(t, index):
    """A mark that a dimension's size may change: without effect."""
    _marked_tensor(t, "maybe_mark_dynamic")


def mark_static(t, index=None):
    """A mark that a size, or a module, does not change: without effect."""


def mark_static_address(t, guard=False):
    """A mark that a tensor stays where it is in memory: without effect."""
    _marked_tensor(t, "mark_static_address")


def mark_unbacked(t, index, *args, **options):
    """A mark that nothing is known of a dimension's size: without effect."""
    _marked_tensor(t, "mark_unbacked")


def _marked_tensor(t, name):
    if not isinstance(t, _Tensor):
        raise TypeError(_hinted(f"{name} expects a tensor but received {type(t)}", "the first argument is a tensor"))


def graph_break(msg=""):
    """End a graph here: without effect."""


def skip_frame(msg=""):
    """Keep the function that calls this from being compiled: without effect."""


def step_unsupported(msg=""):
    """End compilation here: without effect."""


def reset_code_caches():
    """Forget what was compiled: nothing was."""


def reset_recompile_user_contexts():
    """Forget what was to be told about recompilations: nothing was."""


def set_recursion_limit(limit):
    """Set how deep calls may be nested while code is compiled: kept without effect."""
    if limit < 1 and limit != -1:
        raise ValueError(_hinted("recursion limit must be >= 1, or -1 to reset", f"it is {limit}"))
    _limit[0] = limit


def get_recursion_limit():
    """What `set_recursion_limit` was given."""
    return _limit[0]
