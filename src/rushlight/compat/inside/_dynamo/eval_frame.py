"""``torch._dynamo.eval_frame``: the class of compiled modules, and what takes functions to the compiler."""

from ....base.errors import hinted as _hinted
from ....compiler.backends import lookup_backend as _lookup_backend
from ....compiler.compiling import optimized as _optimized
from ....compiler.optimized_module import OptimizeContext, OptimizedModule

_GRAPHS = "torch.compile records no graph here; torch.fx.symbolic_trace(module_or_function) records one"


def optimize(backend="inductor", *, nopython=False, disable=False, dynamic=None, **options):
    """A decorator that does what ``torch.compile`` does: the function runs as it is."""
    _lookup_backend(backend)
    return lambda fn: fn if disable else _optimized(fn, backend)


def optimize_assert(backend, **options):
    """`optimize` where the function has to become one graph."""
    return optimize(backend, nopython=True)


def is_dynamo_supported():
    """Whether the compiler works on this platform: there is none."""
    return False


def is_inductor_supported():
    """Whether the compiler's code generator works on this platform: there is none."""
    return False


def explain(f, *extra_args, **extra_kwargs):
    """Refused: there are no graphs to explain."""
    raise NotImplementedError(_hinted("torch._dynamo.explain is not implemented", _GRAPHS))


def export(f, *extra_args, **options):
    """Refused: there are no graphs to export."""
    raise NotImplementedError(_hinted("torch._dynamo.export is not implemented", _GRAPHS))


def innermost_fn(fn):
    """The function that compiled ones were made of."""
    while hasattr(fn, "_torchdynamo_orig_callable"):
        fn = fn._torchdynamo_orig_callable
    return fn
