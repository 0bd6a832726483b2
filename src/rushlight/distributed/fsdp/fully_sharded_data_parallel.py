"""FullyShardedDataParallel: parameters, gradients and optimizer state are divided among processes, and gathered where they are used."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from ...autograd import no_grad
from ...base.contexts import contextmanager
from ...base.errors import hinted
from ...nn import Module
from ...nn.parallel.agreement import broadcast_all, check_same_parameters
from ...ops.table import functions
from .. import collectives
from ..device_mesh import DeviceMesh
from ..groups import default_group
from ..later import LATER as _LATER
from .api import (
    BackwardPrefetch,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    MixedPrecision,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictSettings,
    StateDictType,
)
from .api import (
    CPUOffload as CPUOffload,  # libraries import these two from here
)
from .api import (
    OptimStateDictConfig as OptimStateDictConfig,
)
from .units import Unit
from .whole import cast
from .wrap import wrap_children

_WRAPPED, _FLAT = "_fsdp_wrapped_module", "_flat_param"


def _refused(what: str) -> NotImplementedError:
    return NotImplementedError(hinted(f"FullyShardedDataParallel: {what} is not in this version", "leave it out"))


class FullyShardedDataParallel(Module):
    """Trains ``module`` with all processes of a group, each of which keeps a part of its parameters.

    Its parameters become one flat tensor, ``_flat_param``, of this process's part; submodules that are wrapped, too, have their own.
    Forward gathers the whole of each unit where it runs, backward once more, and gradients are averaged. Optimizers are made of
    ``parameters()`` after the wrapping.

    Args:
        module (Module): on the CPU.
        process_group: default: all processes; with HYBRID_SHARD the group that divides and the one of replicas.
        device_mesh (DeviceMesh): in place of ``process_group``; with HYBRID_SHARD of replicas, and of what divides.
        sharding_strategy (ShardingStrategy): FULL_SHARD; SHARD_GRAD_OP keeps what was gathered until backward; NO_SHARD is
            DistributedDataParallel's work; HYBRID_SHARD divides within groups. Default: FULL_SHARD
        auto_wrap_policy: which submodules become units of their own: see `fsdp.wrap`. Default: those that are wrapped by hand
        mixed_precision (MixedPrecision): the dtypes in which parameters compute and gradients are reduced.
        ignored_modules: submodules whose parameters stay whole.
        sync_module_states (bool): all begin with the numbers of process 0. Default: False
        cpu_offload, backward_prefetch, forward_prefetch, limit_all_gathers, device_id: accepted; there is one device.

    Follows ``torch.distributed.fsdp.FullyShardedDataParallel``.

    >>> import rushlight as torch
    >>> import rushlight.distributed as dist
    >>> from rushlight.distributed.fsdp import FullyShardedDataParallel
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = FullyShardedDataParallel(torch.nn.Linear(2, 2))
    >>> [(name, tuple(each.shape)) for name, each in model.named_parameters()]
    [('_flat_param', (6,))]
    >>> list(model.state_dict())
    ['weight', 'bias']
    >>> dist.destroy_process_group()
    """

    _settings = StateDictSettings(StateDictType.FULL_STATE_DICT, FullStateDictConfig())

    def __init__(
        self,
        module: Module,
        process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: Any = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Any = None,
        param_init_fn: Any = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Any = None,
        device_mesh: Any = None,
    ) -> None:
        super().__init__()
        strategy = ShardingStrategy.FULL_SHARD if sharding_strategy is None else sharding_strategy
        for what, given in (
            ("use_orig_params", use_orig_params), ("param_init_fn", param_init_fn), ("ignored_states", ignored_states),
        ):  # fmt: skip
            if given:
                raise _refused(what)
        self.process_group, self._replicas = _groups_of(process_group, device_mesh, strategy)
        self.rank, self.world_size = self.process_group.rank(), self.process_group.size()
        self.sharding_strategy = strategy
        ignored = {each for top in ignored_modules or () for each in top.modules()}
        if auto_wrap_policy is not None:
            wrapper = functools.partial(
                FullyShardedDataParallel, process_group=process_group, device_mesh=device_mesh, sharding_strategy=strategy,
                mixed_precision=mixed_precision, ignored_modules=ignored_modules, sync_module_states=sync_module_states,
            )  # fmt: skip
            wrap_children(module, auto_wrap_policy, wrapper, ignored)
        taken = {id(unit.part) for unit in _units(module)}
        taken |= {id(each) for top in ignored for each in top.parameters()}
        own = [each for each in module.parameters() if id(each) not in taken]
        check_same_parameters(self.process_group, own)
        if sync_module_states:
            broadcast_all(self.process_group, [*own, *module.buffers()])
        setattr(self, _WRAPPED, module)
        self._unit = None
        if own:
            keeps = strategy not in (ShardingStrategy.FULL_SHARD, ShardingStrategy.HYBRID_SHARD)
            self._unit = Unit(
                module, own, self.process_group, keeps, mixed_precision or MixedPrecision(), self._replicas
            )
            setattr(self, _FLAT, self._unit.part)

    @property
    def module(self) -> Any:
        """The module that was wrapped."""
        return getattr(self, _WRAPPED)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__(_WRAPPED), name)

    def __getitem__(self, place: Any) -> Any:
        return self.module[place]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if self._unit is None:
            return self.module(*args, **kwargs)
        dtype = self._unit.precision.param_dtype
        if dtype is not None:
            args, kwargs = cast(args, dtype), cast(kwargs, dtype)
        whole, context = self._unit.gathered()
        self._unit.show(whole)
        try:
            with context:
                return self.module(*args, **kwargs)
        finally:
            self._unit.hide()

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Gradients are accumulated. Each backward reduces its own, whose sum is the same, and keeps memory small."""
        yield

    @staticmethod
    @contextmanager
    def summon_full_params(
        module: Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """Inside, the modules have their whole parameters; with ``writeback`` what is written to them stays.

        All processes come here.
        """
        if with_grads:
            raise _refused("with_grads")
        shown = []
        try:
            for unit in _units(module) if recurse else _units(module)[:1]:
                if unit.summoned:
                    continue
                shown.append((unit, unit.summon()))
            yield
        finally:
            for unit, whole in shown:
                unit.dismiss(whole, writeback)

    @staticmethod
    def set_state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: Any = None,
        optim_state_dict_config: Any = None,
    ) -> StateDictSettings:
        """Choose what ``state_dict`` of the units in a module holds; returns the settings before."""
        if state_dict_type is StateDictType.LOCAL_STATE_DICT:
            raise _refused(state_dict_type.name)
        before = FullyShardedDataParallel.get_state_dict_type(module)
        sharded = state_dict_type is StateDictType.SHARDED_STATE_DICT
        made = StateDictSettings(
            state_dict_type,
            state_dict_config or (ShardedStateDictConfig() if sharded else FullStateDictConfig()),
            optim_state_dict_config or (ShardedOptimStateDictConfig() if sharded else FullOptimStateDictConfig()),
        )
        for each in module.modules():
            if isinstance(each, FullyShardedDataParallel):
                each._settings = made
        return before

    @staticmethod
    def get_state_dict_type(module: Module) -> StateDictSettings:
        """The settings of the first unit in a module."""
        found = [each for each in module.modules() if isinstance(each, FullyShardedDataParallel)]
        return found[0]._settings if found else FullyShardedDataParallel._settings

    @staticmethod
    @contextmanager
    def state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: Any = None,
        optim_state_dict_config: Any = None,
    ) -> Iterator[None]:
        """`set_state_dict_type` inside a context."""
        before = FullyShardedDataParallel.get_state_dict_type(module)
        try:
            FullyShardedDataParallel.set_state_dict_type(
                module, state_dict_type, state_dict_config, optim_state_dict_config
            )
            yield
        finally:
            FullyShardedDataParallel.set_state_dict_type(
                module, before.state_dict_type, before.state_dict_config, before.optim_state_dict_config
            )

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Parameters under the names that they have without wrapping, whole ones or DTensors; all processes call this."""
        if any(unit.summoned for unit in _units(self)):  # within that of a unit around this one
            return super().state_dict(*args, **kwargs)
        before = set(kwargs.get("destination") or ())
        with self.summon_full_params(self, writeback=False):
            found = super().state_dict(*args, **kwargs)
            parameters = {
                _plain(name) for name, _ in self.named_parameters(prefix=kwargs.get("prefix", "").rstrip("."))
            }
            for name in [each for each in found if each not in before]:
                value = found.pop(name)
                elsewhere = self.rank and getattr(self._settings.state_dict_config, "rank0_only", False)
                if not name.endswith(_FLAT) and not elsewhere:
                    found[_plain(name)] = self._as_saved(value, _plain(name) in parameters)
        return found

    def _as_saved(self, value: Any, is_parameter: bool) -> Any:
        """A whole parameter or buffer, as `state_dict` gives it."""
        if is_parameter and self._settings.state_dict_type is StateDictType.SHARDED_STATE_DICT:
            return _states().divided(value, DeviceMesh.from_group(self.process_group, "cpu"))
        return value.clone()

    @staticmethod
    def optim_state_dict(model: Module, optim: Any, optim_state_dict: Any = None, group: Any = None) -> dict[str, Any]:
        """The state of an optimizer of ``model.parameters()`` by plain names of parameters: whole tensors in all processes or, with
        ``FullOptimStateDictConfig(rank0_only=True)``, in process 0; DTensors where `state_dict` has them. All processes call this."""
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        first = getattr(settings.optim_state_dict_config, "rank0_only", False)
        keep = not first or default_group().rank() == 0
        sharded = settings.state_dict_type is StateDictType.SHARDED_STATE_DICT
        return _states().optimizer_state(model, optim, _units(model), sharded, keep)

    @staticmethod
    def optim_state_dict_to_load(
        model: Module, optim: Any, optim_state_dict: dict[str, Any], is_named_optimizer: bool = False, load_directly: bool = False,
        group: Any = None,
    ) -> dict[str, Any]:  # fmt: skip
        """What ``optim.load_state_dict`` takes, of a state of `optim_state_dict`; with ``load_directly`` it is loaded, too."""
        made = _states().optimizer_state_to_load(model, optim, _units(model), optim_state_dict)
        if load_directly:
            optim.load_state_dict(made)
        return made

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[Any]:
        """The modules of this class in a module, or the outermost of them."""
        found = [each for each in module.modules() if isinstance(each, FullyShardedDataParallel)]
        inner = {id(below) for each in found for below in each.modules() if below is not each}
        return [each for each in found if id(each) not in inner] if root_only else found

    def apply(self, fn: Any) -> Any:
        """``Module.apply`` to modules that have their whole parameters."""
        with self.summon_full_params(self):
            return super().apply(fn)

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Take the own part of whole parameters; all processes call this, each with the whole state."""
        if assign:
            raise _refused("assign=True")
        state_dict = {
            name: each.full_tensor() if hasattr(each, "full_tensor") else each for name, each in state_dict.items()
        }
        with self.summon_full_params(self):
            return _load(self, state_dict, strict)

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Any:
        """Scale the gradients of all processes so that their common norm is at most ``max_norm``. Returns the norm."""
        gradients = [unit.part.grad for unit in _units(self) if unit.part.grad is not None]
        with no_grad():
            norms = [functions.norm(each.float(), norm_type) for each in gradients]
            largest = norm_type == float("inf")
            own = functions.stack(norms) if norms else functions.zeros(1)
            total = own.max() if largest else own.pow(norm_type).sum()
            collectives.all_reduce(
                total, collectives.ReduceOp.MAX if largest else collectives.ReduceOp.SUM, self.process_group
            )
            total = total if largest else total.pow(1.0 / norm_type)
            scale = (max_norm / (total + 1e-6)).clamp(max=1.0)
            for each in gradients:
                each.mul_(scale.to(each.dtype))
        return total


def _states() -> Any:
    """The module of states, which needs `tensor`, at whose sight operations ask for more."""
    return import_module(f"{__package__}.states")


def _groups_of(given: Any, mesh: Any, strategy: ShardingStrategy) -> tuple[Any, Any]:
    """(the group that divides parameters, the one of replicas or None)."""
    hybrid = strategy.name.lstrip("_").startswith("HYBRID")
    if mesh is not None:
        if (mesh.ndim == 2) != hybrid:
            message = f"Expected device_mesh to have ndim={2 if hybrid else 1} but got {mesh.ndim}"
            raise ValueError(hinted(message, "HYBRID_SHARD has replicas, and what divides; the others one dimension"))
        return (mesh.get_group(1), mesh.get_group(0)) if hybrid else (mesh.get_group(0), None)
    if hybrid:
        if not isinstance(given, tuple) or len(given) != 2:
            message = "Manual wrapping with ShardingStrategy.HYBRID_SHARD requires explicit specification of process group or device_mesh."
            raise ValueError(hinted(message, "process_group=(group that divides, group of replicas)"))
        return given
    return (default_group() if given is None else given), None


def _units(module: Module) -> list[Unit]:
    found = [each._unit for each in module.modules() if isinstance(each, FullyShardedDataParallel)]
    return [unit for unit in found if unit is not None]


def _plain(name: str) -> str:
    return name.replace(f"{_WRAPPED}.", "")


def _load(root: Module, state_dict: Any, strict: bool) -> Any:
    """Load whole parameters, which the modules have at the moment, by their plain names."""
    named = {
        _plain(name): name for name, _ in (*root.named_parameters(), *root.named_buffers()) if not name.endswith(_FLAT)
    }
    flat = {name: value for name, value in Module.state_dict(root).items() if name.endswith(_FLAT)}
    return Module.load_state_dict(
        root, {**flat, **{named.get(name, name): value for name, value in state_dict.items()}}, strict
    )


__getattr__ = _LATER.of("fsdp")
