"""Operations that a program defines itself: ``torch.library``. They run as the functions that they are, with derivatives of their own."""

from __future__ import annotations

import functools
import importlib
import inspect
import operator
import re

from ..amp.autocast_mode import autocast
from ..amp.state import as_now
from ..autograd import is_grad_enabled, no_grad
from ..autograd.function import Function
from ..base.dtypes import float64
from ..base.errors import hinted
from ..base.trees import tree_map
from ..tensor import Tensor
from .schemas import infer_schema

REGISTERED = {}  # (namespace, name) -> the operation
_KINDS = ("IMPL", "DEF", "FRAGMENT")


def _parts(qualname):
    """(namespace, name) of ``namespace::name``, or of ``namespace::name.overload``."""
    namespace, double, name = qualname.partition("::")
    if not double or not namespace or not name:
        raise ValueError(
            f"Expected qualname to be of the form 'namespace::name' but got {qualname}. The qualname passed to the "
            "torch.library API must consist of a namespace and a name, e.g. aten::sin"
        )
    return namespace, name.partition(".")[0]


def operation_at(path):
    """What ``torch.ops`` has at a dotted path: ``aten.add``, ``aten.add.Tensor``."""
    return operator.attrgetter(path)(importlib.import_module(".inside.ops", __package__))


class _Operation:
    """A name with kernels and, perhaps, a derivative."""

    packet = None  # what torch.ops has under the name, once it was asked for

    def __init__(self, qualname, schema=""):
        self.namespace, self.name = _parts(qualname)
        self._qualname, self.schema = qualname, schema
        self._kernels, self.fake, self._autocast = {}, None, {}
        self._backward = self._setup_context = self._signature = None
        REGISTERED[self.namespace, self.name] = self
        self.__name__ = self.name

    def kernel(self):
        """The function that computes on the CPU."""
        for kind in ("CPU", "CompositeExplicitAutograd", "CompositeImplicitAutograd", ""):
            if kind in self._kernels:
                return self._kernels[kind]
        raise NotImplementedError(
            hinted(
                f"Could not run '{self._qualname}' with arguments from the 'CPU' backend. This could be because the operator "
                "doesn't exist for this backend, or was omitted during the selective/custom build process (if using custom build).",
                f"torch.library.impl('{self._qualname}', 'CPU') registers a function for it",
            )
        )

    def compute(self, *args, **kwargs):
        """What ``torch.ops`` calls where nothing else sees the call."""
        if self._autocast and "cpu" in self._autocast and as_now()["enabled"]:
            with autocast("cpu", enabled=False):
                return self._run(*_cast(args, self._autocast["cpu"]), **_cast(kwargs, self._autocast["cpu"]))
        return self._run(*args, **kwargs)

    def _run(self, *args, **kwargs):
        kernel = self._kernels.get("Autograd") or self._kernels.get("AutogradCPU") or self.kernel()
        if self._signature is None:
            return kernel(*args, **kwargs)
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        flat, rebuild = _flattened(bound.args)
        if not (is_grad_enabled() and any(isinstance(value, Tensor) and value.requires_grad for value in flat)):
            return kernel(*bound.args, **bound.kwargs)
        return self._differentiable().apply(self, kernel, rebuild, bound.kwargs, *flat)

    @functools.cache  # noqa: B019  # operations live as long as the program
    def _differentiable(self):
        """The graph node's class."""
        name = f"GeneratedBackwardFor_{self.namespace}_{self.name}_default"
        return type(name, (Function,), {"forward": staticmethod(_forward), "backward": staticmethod(_backward)})


def _cast(values, dtype):
    def cast(value):
        wanted = isinstance(value, Tensor) and value.is_floating_point() and value.dtype is not float64
        return value.to(dtype) if wanted else value

    return tree_map(cast, values)


def _flattened(arguments):
    """The arguments with lists of tensors taken apart, and the function that puts others of the same number together again."""
    flat, places = [], []
    for value in arguments:
        many = isinstance(value, (list, tuple)) and value and all(isinstance(item, Tensor) for item in value)
        places.append(len(value) if many else None)
        flat.extend(value if many else [value])

    def rebuild(values):
        values = iter(values)
        return [next(values) if count is None else [next(values) for _ in range(count)] for count in places]

    return flat, rebuild


def _forward(ctx, operation, kernel, rebuild, keywords, *flat):
    inputs = tuple(rebuild(flat))
    with no_grad():
        output = kernel(*inputs, **keywords)
    ctx.operation, ctx.count = operation, len(flat)
    if operation._setup_context is not None:
        given = {"keyword_only_inputs": keywords} if keywords else {}
        operation._setup_context(ctx=ctx, inputs=inputs, output=output, **given)
    return output


def _backward(ctx, *gradients):
    operation = ctx.operation
    if operation._backward is None:
        raise RuntimeError(
            hinted(
                f"Trying to backward through {operation.namespace}.{operation.name}.default but no autograd formula was "
                "registered. Please use register_autograd to add one.",
                f"torch.library.register_autograd('{operation._qualname}', backward, setup_context=...)",
            )
        )
    found = operation._backward(ctx, *gradients)
    flat = []
    for value in found if isinstance(found, tuple) else (found,):
        flat.extend(value if isinstance(value, (list, tuple)) else [value])
    return (None, None, None, None, *flat, *[None] * (ctx.count - len(flat)))


class CustomOpDef(_Operation):
    """What ``custom_op`` makes of a function: called like it."""

    def __init__(self, qualname, fn, mutates_args, device_types, schema):
        signature = inspect.signature(fn)
        schema = infer_schema(fn, mutates_args=mutates_args) if schema is None else schema
        super().__init__(qualname, schema)
        self._signature, self._mutates = signature, mutates_args
        self._init_fn = self.__wrapped__ = fn
        self.register_kernel(device_types, fn)
        self.__doc__ = fn.__doc__

    @functools.cached_property
    def _opoverload(self):
        """Its overload in ``torch.ops``."""
        return operation_at(f"{self.namespace}.{self.name}.default")

    def __call__(self, *args, **kwargs):
        return self._opoverload(*args, **kwargs)

    def register_kernel(self, device_types, fn=None, /):
        """Let ``fn`` compute on devices (None: on all)."""

        def register(function):
            kinds = [device_types] if isinstance(device_types, str) else device_types or ["CPU"]
            self._kernels.update((kind.upper(), function) for kind in kinds)
            return function

        return register if fn is None else register(fn)

    def register_fake(self, fn, /):
        """What the result looks like, for a compiler: kept."""
        self.fake = fn
        return fn

    def register_vmap(self, func=None):
        """How ``vmap`` runs it: kept; the function's own operations are batched."""
        return func if func is not None else lambda function: function

    def register_torch_dispatch(self, torch_dispatch_class, fn=None, /):
        """How a class runs it: kept."""
        return fn if fn is not None else lambda function: function

    def register_autograd(self, backward, /, *, setup_context=None):
        """The derivative: ``backward(ctx, *gradients)``, and what is saved for it: ``setup_context(ctx, inputs, output)``."""
        self._backward, self._setup_context = backward, setup_context

    def register_autocast(self, device_type, cast_inputs, /):
        """Cast the tensors of floats to a dtype where autocast is on for the device."""
        register_autocast(self, device_type, cast_inputs)

    def mutated_names(self):
        """The names of the arguments that are written to, or "unknown"."""
        return self._mutates

    def bound(self, args, kwargs):
        """The arguments by name, defaults included."""
        found = self._signature.bind(*args, **kwargs)
        found.apply_defaults()
        return found.arguments

    def set_kernel_enabled(self, device_type, enabled=True):
        """Accepted: the kernel is used where it is there."""

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Make an operation of a function.

    >>> import rushlight as torch
    >>> @torch.library.custom_op("docs::twice", mutates_args=())
    ... def twice(x: torch.Tensor) -> torch.Tensor:
    ...     return 2 * x
    >>> twice(torch.ones(2))
    tensor([2., 2.])
    """

    def make(function):
        return CustomOpDef(name, function, mutates_args, device_types, schema)

    return make if fn is None else make(fn)


def find(op):
    """The operation of a name, a definition or an overload."""
    if isinstance(op, _Operation):
        return op
    name = op if isinstance(op, str) else op.name()
    found = REGISTERED.get(_parts(name))
    if found is None:
        raise RuntimeError(
            hinted(f"operator {name} does not exist", "torch.library.custom_op or torch.library.define makes it first")
        )
    return found


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """Let a function compute an operation on devices (None: on all)."""

    def register(function):
        kinds = [device_types] if isinstance(device_types, str) else device_types or ["CPU"]
        find(op)._kernels.update((kind.upper(), function) for kind in kinds)
        return function

    return register if func is None else register(func)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=True):
    """What an operation's result looks like, for a compiler: kept where the operation is known."""

    def register(function):
        name = op if isinstance(op, str) else getattr(op, "_qualname", None) or op.name()
        found = REGISTERED.get(_parts(name))
        if found is not None:
            found.fake = function
        return function

    return register if func is None else register(func)


impl_abstract = register_fake


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """The derivative of an operation: see `CustomOpDef.register_autograd`."""
    found = find(op)
    found._backward, found._setup_context = backward, setup_context
    if found._signature is None:
        found._signature = inspect.signature(found.kernel())


def register_vmap(op, func=None, /, *, lib=None):
    """How ``vmap`` runs an operation: kept; the function's own operations are batched."""
    find(op)
    return func if func is not None else lambda function: function


def register_torch_dispatch(op, torch_dispatch_class, func=None, /, *, lib=None):
    """How a class runs an operation: kept."""
    return func if func is not None else lambda function: function


def register_autocast(op, device_type, cast_inputs, /, *, lib=None):
    """Where autocast is on for a device, cast the floating-point tensors given to an operation to a dtype, and run it without."""
    if device_type not in ("cpu", "cuda", "xpu", "hpu", "mps", "mtia"):
        raise ValueError(hinted(f"Unknown device type: {device_type}", "Rushlight computes on 'cpu'"))
    find(op)._autocast[device_type] = cast_inputs


def get_kernel(op, dispatch_key):
    """The function that computes an operation for a device, such as "CPU"."""
    found = find(op)
    return found._kernels.get(str(dispatch_key).rpartition(".")[2]) or found.kernel()


def get_ctx():
    """What a compiler tells a function of `register_fake`: there is none."""
    line = "get_ctx() can only be called inside of a fake impl registered with `register_fake`"
    raise RuntimeError(hinted(line, "Rushlight runs no fake implementations"))


def triton_op(name, fn=None, /, *, mutates_args, schema=None):
    """An operation made of kernels of Triton's: a `custom_op`, as there is no graph that sees inside."""
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def wrap_triton(triton_kernel, /):
    """A kernel of Triton's, which runs on a GPU: refused."""
    line = "torch.library.wrap_triton: kernels of Triton's are not supported"
    raise NotImplementedError(
        hinted(line, "this version computes on the CPU; write the function with torch's operations")
    )


def fallthrough_kernel():
    """A kernel that passes the call on."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class Library:
    """Operations of a namespace: ``Library("mine", "DEF").define("twice(Tensor x) -> Tensor")``, then ``impl``."""

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in _KINDS:
            raise ValueError(hinted(f"Unsupported kind: {kind}", f"it is one of {', '.join(_KINDS)}"))
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._defined = []

    def define(self, schema, alias_analysis="", *, tags=()):
        """Make an operation from its schema; returns its name."""
        name = re.match(r"\s*([\w.]+)\s*\(", schema)
        if name is None:
            raise RuntimeError(
                hinted(f"expected a schema such as 'twice(Tensor x) -> Tensor' but got {schema!r}", "name(...)")
            )
        key = _parts(f"{self.ns}::{name[1]}")
        if key in REGISTERED and REGISTERED[key].schema == schema:
            raise RuntimeError(
                hinted(
                    f"Tried to register an operator ({self.ns}::{schema}) with the same name and overload name multiple times.",
                    "one definition is enough; impl() gives it another function",
                )
            )
        _Operation(f"{self.ns}::{name[1]}", schema)
        self._defined.append(key)
        return name[1]

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=True):
        """Let a function compute an operation; those for other devices are kept and never called."""
        name = op_name if isinstance(op_name, str) else op_name.name().partition("::")[2]
        key = _parts(f"{self.ns}::{name.partition('::')[2] or name}")
        operation = REGISTERED.get(key) or _Operation("::".join(key))
        operation._kernels[dispatch_key or self.dispatch_key] = fn

    def fallback(self, fn, dispatch_key="", *, with_keyset=False):
        """A function for all operations of a key: kept for no use."""

    def _register_fake(self, op_name, fn, _stacklevel=1, *, allow_override=True):
        register_fake(f"{self.ns}::{op_name}", fn)

    def _destroy(self):
        for key in self._defined:
            REGISTERED.pop(key, None)


def define(qualname, schema, *, lib=None, tags=()):
    """Make an operation: ``define("mine::twice", "(Tensor x) -> Tensor")``."""
    _parts(qualname)
    _Operation(qualname, schema)


def impl(qualname, types, func=None, *, lib=None):
    """Let a function compute an operation on devices."""

    def register(function):
        kinds = [types] if isinstance(types, str) else types
        find(qualname)._kernels.update(("CPU" if kind == "default" else kind.upper(), function) for kind in kinds)
        return function

    return register if func is None else register(func)
