"""``fully_shard``: a module's parameters become DTensors, divided among processes, and whole where its forward runs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, cast

from ...base.errors import hinted
from ...nn import Module, ModuleDict, ModuleList
from ..device_mesh import DeviceMesh, default_mesh
from .parameters import Parameters
from .policies import MixedPrecisionPolicy, OffloadPolicy
from .whole import cast as cast_tensors

_SAME, _HERE = MixedPrecisionPolicy(), OffloadPolicy()


class UnshardHandle:
    """A gather that was begun by ``unshard(async_op=True)``."""

    def __init__(self, state: _State | None) -> None:
        self._state = state

    def wait(self) -> None:
        """Wait for its end; the module then has whole parameters."""
        if self._state is not None:
            self._state.parameters.show()
            self._state = None


class _State:
    """What `fully_shard` keeps of modules: their parameters, and when they are whole."""

    def __init__(self, modules: tuple[Module, ...], parameters: Parameters, keeps: bool | None) -> None:
        self.modules, self.parameters, self.keeps = modules, parameters, keeps
        self.root: _State | None = None  # that of the outermost module, once one has run
        self.ahead: list[_State] = []  # whose parameters are gathered when these are used
        self._running: list[Any] = []  # contexts of forwards that run

    def _keeps_whole(self) -> bool:
        return self.root is self if self.keeps is None else self.keeps

    def before(self, module: Module, args: Any, kwargs: Any) -> Any:
        """Before a forward: parameters become whole, inputs get their dtype."""
        if self.root is None:
            for each in module.modules():
                state = state_of(each)
                if state is not None:
                    state.root = self
        context = self.parameters.use(self._keeps_whole())
        for each in self.ahead:
            each.parameters.begin_gather()
        context.__enter__()
        self._running.append(context)
        precision = self.parameters.precision
        if precision.cast_forward_inputs and precision.param_dtype is not None:
            args, kwargs = cast_tensors((args, kwargs), precision.param_dtype)
        return args, kwargs

    def after(self, module: Module, args: Any, result: Any) -> Any:
        """After a forward, even one that failed: parameters are divided again."""
        if self._running:
            self._running.pop().__exit__(None, None, None)
        if not self._running:
            self.parameters.hide()
            self.parameters.release()
        dtype = self.parameters.precision.output_dtype
        return result if dtype is None else cast_tensors(result, dtype)


def state_of(module: Module) -> _State | None:
    """What `fully_shard` keeps of a module; None where it was not called for it."""
    return cast("_State | None", module.__dict__.get("_fsdp_state"))


class FSDPModule:
    """What modules have on which `fully_shard` was called, besides their own class.

    Follows ``torch.distributed.fsdp.FSDPModule``.
    """

    def _states(self, recurse: bool = True) -> list[_State]:
        modules = cast(Module, self).modules() if recurse else [cast(Module, self)]
        return list(dict.fromkeys(state for state in map(state_of, modules) if state is not None))

    def _get_fsdp_state(self) -> Any:
        return state_of(cast(Module, self))

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Make the parameters whole until `reshard`; with ``async_op`` they are once the handle's ``wait`` has returned."""
        (state,) = self._states(recurse=False)
        state.parameters.begin_gather()
        handle = UnshardHandle(state)
        if async_op:
            return handle
        handle.wait()
        return None

    def reshard(self) -> None:
        """Divide the parameters again."""
        (state,) = self._states(recurse=False)
        state.parameters.hide()
        state.parameters.release()

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Whether backward averages gradients over processes; without, they are kept until it does."""
        for state in self._states(recurse):
            state.parameters.syncs = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Whether backward averages gradients over replicas, on a mesh that has them."""
        for state in self._states(recurse):
            state.parameters.all_reduces = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether memory of whole parameters goes after forward, so that backward gathers them again."""
        for state in self._states(recurse):
            state.keeps = not reshard_after_forward

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Accepted: whole parameters go when their gradients are reduced."""

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Accepted: each backward reduces its own gradients."""

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Accepted: backward gathers what it uses, and nothing else."""

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Divide the sum of all processes' gradients by ``factor`` instead of their number."""
        for state in self._states():
            state.parameters.divide_by = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def set_modules_to_forward_prefetch(self, modules: list[Any]) -> None:
        """Begin to gather the parameters of these modules when this one's forward begins."""
        (state,) = self._states(recurse=False)
        state.ahead = [each for module in modules for each in module._states(recurse=False)]

    def set_modules_to_backward_prefetch(self, modules: list[Any]) -> None:
        """Accepted: backward gathers the parameters of a module when it comes to it."""


_classes: dict[type, type] = {}


def _sharded_class(kind: type) -> type:
    """The class of a module of class ``kind`` once it is divided."""
    if kind not in _classes:
        _classes[kind] = type(f"FSDP{kind.__name__}", (FSDPModule, kind), {"__module__": kind.__module__})
    return _classes[kind]


def fully_shard(
    module: Any, *, mesh: DeviceMesh | None = None, reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[Any], Any] | None = None, mp_policy: MixedPrecisionPolicy = _SAME,
    offload_policy: OffloadPolicy = _HERE, ignored_params: set[Any] | None = None, dp_mesh_dims: Any = None,
) -> Any:  # fmt: skip
    """Divide a module's parameters among processes, in place: each becomes a DTensor of which a process keeps a part.

    Those of submodules on which it was called before are left out, so it is called from the inside out: for each layer, then for
    the model. Forward of a module gathers its parameters, backward once more, and gradients are averaged into parts; optimizers
    are made of ``parameters()`` after it.

    Args:
        module (Module): or a list of modules, whose parameters are gathered together.
        mesh (DeviceMesh): one dimension that divides; or two, of replicas and of what divides. Default: all processes
        reshard_after_forward (bool): let memory of whole parameters go between forward and backward. Default: True, but for the
            outermost module; an int is taken as True
        shard_placement_fn: gives the `Shard` of a parameter, None: that of its first dimension.
        mp_policy (MixedPrecisionPolicy): dtypes of computation, reduction and outputs.
        offload_policy (OffloadPolicy): accepted; there is one device.
        ignored_params: parameters that stay whole.

    Follows ``torch.distributed.fsdp.fully_shard``. Returns the module, which is an `FSDPModule` now.

    >>> import rushlight as torch
    >>> import rushlight.distributed as dist
    >>> from rushlight.distributed.fsdp import fully_shard
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = fully_shard(torch.nn.Linear(2, 2))
    >>> type(model).__name__, model.weight.placements
    ('FSDPLinear', (Shard(dim=0),))
    >>> dist.destroy_process_group()
    """
    if isinstance(module, (ModuleList, ModuleDict)):
        raise ValueError(
            hinted(
                f"fully_shard does not support containers that do not implement forward: {module}",
                "call it for what they hold",
            )
        )
    if dp_mesh_dims is not None:
        raise NotImplementedError(
            hinted("fully_shard: dp_mesh_dims is not in this version", "pass that part of the mesh")
        )
    modules = tuple(module) if isinstance(module, (list, tuple)) else (module,)
    mesh = default_mesh() if mesh is None else mesh
    if mesh.ndim not in (1, 2):
        message = f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}"
        raise ValueError(hinted(message, "replicas, and what divides"))
    own = _parameters_left(modules, ignored_params or ())
    parameters = Parameters(modules, own, mesh, mp_policy, shard_placement_fn)
    made = _State(modules, parameters, None if reshard_after_forward is None else not reshard_after_forward)
    for each in modules:
        each.__dict__["_fsdp_state"] = made
        each.__class__ = _sharded_class(each.__class__)
    modules[0].register_forward_pre_hook(made.before, prepend=True, with_kwargs=True)
    modules[-1].register_forward_hook(made.after, always_call=True)
    return module


def _parameters_left(modules: tuple[Module, ...], ignored: Iterable[Any]) -> list[Any]:
    """The parameters of modules that are neither ignored nor divided by `fully_shard` of a module in them."""
    taken = {id(each) for each in ignored}
    for top in modules:
        for state in filter(None, map(state_of, top.modules())):
            taken |= {id(place.sharded) for place in state.parameters.places}
    return list({id(each): each for top in modules for each in top.parameters() if id(each) not in taken}.values())


def register_fsdp_forward_method(module: Module, method_name: str) -> None:
    """Let another method of a module count as its forward: parameters are whole while it runs."""
    state = state_of(module)
    if state is None:
        return
    method = getattr(module, method_name)

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = state.before(module, args, kwargs)
        result = None
        try:
            result = method(*args, **kwargs)
        finally:
            result = state.after(module, args, result)
        return result

    setattr(module, method_name, call)
