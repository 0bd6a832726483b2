"""``torch._logging``: levels of PyTorch's logs by their short names, and logs of what its compiler makes, which stay empty here."""

import contextlib
import functools
import importlib.util
import logging
import warnings

_DYNAMIC = tuple(f"torch.fx.experimental.{name}" for name in ("symbolic_shapes", "sym_node", "recording"))
_LOGS = {
    "all": ("torch",),
    "dynamo": ("torch._dynamo", *_DYNAMIC),
    "aot": ("torch._functorch.aot_autograd", "torch._functorch._aot_autograd"),
    "autograd": ("torch.autograd",),
    "dynamic": _DYNAMIC,
    "inductor": ("torch._inductor", "torch._inductor.cudagraph_trees"),
    "distributed": ("torch.distributed", "torch._dynamo.backends.distributed", "torch.nn.parallel.distributed"),
    "c10d": ("torch.distributed.distributed_c10d", "torch.distributed.rendezvous"),
    "ddp": ("torch.nn.parallel.distributed", "torch._dynamo.backends.distributed"),
    "fsdp": ("torch.distributed.fsdp", "torch.distributed._composable.fsdp"),
    "dtensor": ("torch.distributed._tensor", "torch.distributed.tensor"),
    "onnx": ("torch.onnx",),
    "export": ("torch._dynamo", "torch.export", "torch.export.dynamic_shapes", *_DYNAMIC),
}  # fmt: skip
_ARTIFACTS = frozenset(
    [
        "bytecode",
        "aot_graphs",
        "aot_joint_graph",
        "ddp_graphs",
        "graph",
        "graph_code",
        "graph_code_verbose",
        "graph_breaks",
        "side_effects",
        "graph_sizes",
        "guards",
        "recompiles",
        "recompiles_verbose",
        "trace_source",
        "trace_call",
        "trace_bytecode",
        "output_code",
        "kernel_code",
        "schedule",
        "perf_hints",
        "pre_grad_graphs",
        "post_grad_graphs",
        "ir_pre_fusion",
        "ir_post_fusion",
        "onnx_diagnostics",
        "fusion",
        "overlap",
        "cudagraphs",
        "sym_node",
        "compiled_autograd",
        "compiled_autograd_verbose",
        "cudagraph_static_inputs",
        "benchmarking",
        "autotuning",
        "incremental",
        "graph_region_expansion",
        "inductor_metrics",
        "hierarchical_compile",
        "compute_dependencies",
        "caching",
    ]
)


_LEVELS = (logging.CRITICAL, logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG, logging.NOTSET)
_set: list = []  # the names of the logs whose levels the last call set


def set_logs(*, modules=None, **settings):
    """Set the levels of logs: ``set_logs(dynamo=logging.DEBUG)``, or of modules by their names in the dictionary ``modules``.

    What the call before has set is as it was. Names of what the compiler makes (``graph_code=True``) are taken and show
    nothing, as there is no compiler.
    """
    for name in settings:
        if name not in _LOGS and name not in _ARTIFACTS:
            raise TypeError(f"set_logs() got an unexpected keyword argument '{name}'")
    levels = {}
    for name, value in {**settings, **(modules or {})}.items():
        if name in _ARTIFACTS:
            if not isinstance(value, bool):
                raise ValueError(f"Expected bool to enable artifact {name}, received {value}")
        elif name not in _LOGS and importlib.util.find_spec(name) is None:
            raise ValueError(f"Unrecognized log or artifact name passed to set_logs: {name}")
        elif value is not None:
            if value not in _LEVELS:
                known = ",".join(map(str, _LEVELS))
                raise ValueError(f"Unrecognized log level for log {name}: {value}, valid level values are: {known}")
            levels.update(dict.fromkeys(_LOGS.get(name, (name,)), value))
    for place in _set:
        logging.getLogger(place).setLevel(logging.NOTSET)
    for place, level in levels.items():
        logging.getLogger(place).setLevel(level)
    _set[:] = levels


def getArtifactLogger(module_qname, artifact_name):
    """The log in which a module of PyTorch's shows what its compiler makes under this name."""
    if artifact_name not in _ARTIFACTS:
        raise ValueError(
            f"Artifact name: {artifact_name!r} not registered,please call register_artifact({artifact_name!r}) in "
            "torch._logging.registrations."
        )
    log = logging.getLogger(f"{module_qname}.__{artifact_name}")
    log.artifact_name = artifact_name
    return log


@functools.cache
def warning_once(logger_obj, *args, **kwargs):
    """Warn through a log, once for the same arguments."""
    logger_obj.warning(*args, **kwargs)


@contextlib.contextmanager
def hide_warnings(filter_fn=lambda *args, **kwargs: True):
    """A block in which warnings are shown if ``filter_fn``, which is called as ``warnings.showwarning`` is, says True."""
    shown = warnings.showwarning

    def show(*args, **kwargs):
        if filter_fn(*args, **kwargs):
            shown(*args, **kwargs)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = shown


class LazyString:
    """A text that ``func(*args, **kwargs)`` makes when somebody asks for it."""

    def __init__(self, func, *args, **kwargs):
        self.func, self.args, self.kwargs = func, args, kwargs

    def __str__(self):
        return self.func(*self.args, **self.kwargs)
