"""Operations that a program defines itself: ``torch.library``. They run as the functions that they are, with derivatives of their own."""

from __future__ import annotations

import functools
import inspect
import re

from ..autograd import is_grad_enabled, no_grad
from ..autograd.function import Function
from ..base.errors import hinted
from ..tensor import Tensor

REGISTERED = {}  # (namespace, name) -> what torch.ops calls
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


class _Operation:
    """A name with kernels and, perhaps, a derivative."""

    def __init__(self, qualname, schema=""):
        self.namespace, self.name = _parts(qualname)
        self._qualname, self.schema = qualname, schema
        self._kernels, self._fake = {}, None
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

    def __call__(self, *args, **kwargs):
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
        if schema is None:
            for parameter in signature.parameters.values():
                if parameter.annotation is parameter.empty:
                    raise ValueError(
                        hinted(
                            f"infer_schema(func): Parameter {parameter.name} must have a type annotation. Got func with "
                            f"signature {signature})",
                            "annotate every argument and the result, such as `x: torch.Tensor`",
                        )
                    )
        super().__init__(qualname, schema or "")
        self._signature, self._mutates = signature, mutates_args
        self._init_fn = self.__wrapped__ = fn
        self.register_kernel(device_types, fn)
        self.__doc__ = fn.__doc__

    def register_kernel(self, device_types, fn=None, /):
        """Let ``fn`` compute on devices (None: on all)."""

        def register(function):
            kinds = [device_types] if isinstance(device_types, str) else device_types or ["CPU"]
            self._kernels.update((kind.upper(), function) for kind in kinds)
            return function

        return register if fn is None else register(fn)

    def register_fake(self, fn, /):
        """What the result looks like, for a compiler: kept."""
        self._fake = fn
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


def _find(op):
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
        _find(op)._kernels.update((kind.upper(), function) for kind in kinds)
        return function

    return register if func is None else register(func)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=True):
    """What an operation's result looks like, for a compiler: kept where the operation is known."""

    def register(function):
        name = op if isinstance(op, str) else getattr(op, "_qualname", None) or op.name()
        found = REGISTERED.get(_parts(name))
        if found is not None:
            found._fake = function
        return function

    return register if func is None else register(func)


impl_abstract = register_fake


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """The derivative of an operation: see `CustomOpDef.register_autograd`."""
    found = _find(op)
    found._backward, found._setup_context = backward, setup_context
    if found._signature is None:
        found._signature = inspect.signature(found.kernel())


def register_vmap(op, func=None, /, *, lib=None):
    """How ``vmap`` runs an operation: kept; the function's own operations are batched."""
    _find(op)
    return func if func is not None else lambda function: function


def register_torch_dispatch(op, torch_dispatch_class, func=None, /, *, lib=None):
    """How a class runs an operation: kept."""
    return func if func is not None else lambda function: function


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
        _find(qualname)._kernels.update(("CPU" if kind == "default" else kind.upper(), function) for kind in kinds)
        return function

    return register if func is None else register(func)
