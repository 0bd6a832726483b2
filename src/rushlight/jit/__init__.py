"""``torch.jit``: TorchScript's names. What they make runs the Python that it was given; a note says so once."""

from . import _async, _freeze, _fuser, _script, _serialization, _state, _trace, annotations, frontend
from ._async import Future, fork, wait
from ._freeze import freeze, optimize_for_inference, run_frozen_optimizations
from ._fuser import (
    enable_onednn_fusion,
    fuser,
    last_executed_optimized_graph,
    onednn_fusion_enabled,
    optimized_execution,
    set_fusion_strategy,
    strict_fusion,
)
from ._script import (
    Attribute,
    CompilationUnit,
    RecursiveScriptModule,
    ScriptFunction,
    ScriptModule,
    ScriptWarning,
    script,
    script_method,
)
from ._serialization import jit_module_from_flatbuffer, load, save, save_jit_module_to_flatbuffer
from ._trace import (
    ONNXTracedModule,
    TopLevelTracedModule,
    TracedModule,
    TracerWarning,
    TracingCheckError,
    _get_trace_graph,
    _script_if_tracing,
    is_tracing,
    script_if_tracing,
    trace,
    trace_module,
)
from .containers import isinstance
from .marks import (
    Final,
    _drop,
    _overload,
    _overload_method,
    _unwrap_optional,
    annotate,
    export,
    ignore,
    interface,
    is_scripting,
    unused,
)

_fork, _wait = fork, wait

__all__ = [
    "Attribute", "CompilationUnit", "Error", "Future", "ScriptFunction", "ScriptModule", "annotate", "enable_onednn_fusion", "export",
    "export_opnames", "fork", "freeze", "interface", "ignore", "isinstance", "load", "onednn_fusion_enabled", "optimize_for_inference",
    "save", "script", "script_if_tracing", "set_fusion_strategy", "strict_fusion", "trace", "trace_module", "unused", "wait",
]  # fmt: skip


class Error(Exception):
    """What compiled code raises in PyTorch: here an error keeps its own class."""


def export_opnames(m):
    """Refused: there is no TorchScript, whose operations could be listed."""
    raise _script.refused("export_opnames", _script._GRAPH)
