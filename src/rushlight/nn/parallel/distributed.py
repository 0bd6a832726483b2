"""DistributedDataParallel: a module trained by all processes of a group."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from ...autograd import is_grad_enabled
from ...base.contexts import contextmanager
from ...base.errors import hinted
from ...base.process_group import process_group as default_group
from ...tensor import Tensor
from ..modules.module import Module
from ..modules.sparse import Embedding, EmbeddingBag
from ..parameter import UninitializedParameter
from .agreement import broadcast_all, check_same_parameters, largest, total
from .buckets import GradBucket
from .join import Join, Joinable, JoinHook
from .reducer import Reducer

_MEBIBYTE = 1024 * 1024
_REPLACED = (
    "`broadcast_buffers` is deprecated. Use `forward_sync_buffers` instead. IMPORTANT: unlike `broadcast_buffers=False`, "
    "`forward_sync_buffers=False` still syncs buffers at init. If you rely on buffers NOT being synced at init (e.g. rank-local "
    "buffers), keep using `broadcast_buffers=False` until `init_sync_buffers` is available."
)
_BOTH = (
    "Both `broadcast_buffers` and `forward_sync_buffers` were specified. `broadcast_buffers` is deprecated and its value is "
    "ignored when `forward_sync_buffers` is provided."
)
_REDUCTION = "The `check_reduction` argument in `DistributedDataParallel` module is deprecated. Please avoid using it."


def _find_tensors(found):
    """The tensors in a result: itself, or inside lists, tuples, dicts and dataclasses."""
    if isinstance(found, Tensor):
        return [found]
    if isinstance(found, (list, tuple)):
        parts = found
    elif isinstance(found, dict):
        parts = found.values()
    elif is_dataclass(found):
        parts = [getattr(found, field.name) for field in fields(found)]
    else:
        return []
    return [tensor for part in parts for tensor in _find_tensors(part)]


class DistributedDataParallel(Module, Joinable):
    """Trains ``module`` together with the other processes of a group, whose gradients are averaged.

    All begin with the parameters and buffers of process 0, which are compared in number and shape first. Gradients are put into
    buckets in the order in which backward made them in the first iteration, and averaged while it goes on.
    State dict names begin with 'module.'.

    Args:
        module (Module): has a parameter that requires a gradient, and lies on the CPU.
        device_ids, output_device: None on a CPU.
        broadcast_buffers, forward_sync_buffers (bool): buffers are those of process 0 in each forward. Default: True
        init_sync (bool): parameters and buffers are compared and sent in the beginning. Default: True
        process_group: Default: the one that ``init_process_group`` made; ValueError before that.
        bucket_cap_mb, bucket_cap_mb_list: how large the buckets are. Default: 25, the first 1
        find_unused_parameters (bool): parameters without a path from the outputs are no error of the next forward.
        gradient_as_bucket_view (bool): gradients are views of buckets.
        static_graph (bool): the graph stays as in the first iteration; parameters may be unused.

    Follows ``torch.nn.parallel.DistributedDataParallel``.

    >>> import rushlight as torch
    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    >>> list(model.state_dict())
    ['module.weight', 'module.bias']
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: list[int] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        _check_options(delay_all_reduce_named_params, param_to_hook_all_reduce, mixed_precision)
        self.process_group = _group(process_group, device_mesh)
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self.parameters_to_ignore.update(name for name, _ in delay_all_reduce_named_params or ())
        self.module = module
        self._module_parameters = self._parameters_to_average()
        _check(self._module_parameters, device_ids, output_device, bool(delay_all_reduce_named_params))
        self.device_ids = self.output_device = None
        self.dim = dim
        self.device = self._module_parameters[0].device if self._module_parameters else None
        self.device_type, self.is_multi_device_module = "cpu", False
        self.forward_sync_buffers = _synchronised(broadcast_buffers, forward_sync_buffers)
        if check_reduction:
            warnings.warn(_REDUCTION, FutureWarning, stacklevel=2)
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.batched_grad_copy, self.mixed_precision = batched_grad_copy, mixed_precision
        self.skip_all_reduce_unused_params = skip_all_reduce_unused_params
        self._joining = Join.NONE
        self._buffers_sent: list[Tensor] | None = None  # those of the module, once they were looked for
        self._set_caps(bucket_cap_mb, bucket_cap_mb_list)
        if init_sync and self.process_group.size() > 1:
            check_same_parameters(self.process_group, self._module_parameters)
            self._send_state()
        self._make_reducer()

    def _parameters_to_average(self):
        named = self.module.named_parameters()
        return [parameter for name, parameter in named if name not in self.parameters_to_ignore]

    def _buffers_to_send(self):
        if self._buffers_sent is None:
            named = self.module.named_buffers()
            self._buffers_sent = [buffer for name, buffer in named if name not in self.parameters_to_ignore]
        return self._buffers_sent

    def _send_state(self, root=0):
        """Give all processes the parameters and buffers of one."""
        broadcast_all(self.process_group, [*self._module_parameters, *self._buffers_to_send()], root)

    def _set_caps(self, size, sizes):
        self.bucket_bytes_cap_list = [int(each * _MEBIBYTE) for each in sizes or ()]
        self.bucket_bytes_cap_default = size is None and not sizes
        self.bucket_bytes_cap = int((max(sizes) if sizes else 25 if size is None else size) * _MEBIBYTE)

    def _make_reducer(self):
        first = [_MEBIBYTE] if self.bucket_bytes_cap_default else []
        self.reducer = Reducer(
            self.process_group,
            [parameter for parameter in self._module_parameters if parameter.requires_grad],
            self.bucket_bytes_cap_list or [*first, self.bucket_bytes_cap],
            # What static_graph learns in the first iteration is looked up in each.
            self.find_unused_parameters or self.static_graph,
            self.gradient_as_bucket_view,
            bool(self.bucket_bytes_cap_list),
            self.static_graph,
            [
                each.weight
                for each in self.module.modules()
                if isinstance(each, (Embedding, EmbeddingBag)) and each.sparse
            ],
        )
        self._comm_hooks: list[tuple[Callable[..., Any], Any]] = []

    @property
    def broadcast_buffers(self) -> bool:
        """The old name of ``forward_sync_buffers``."""
        return self.forward_sync_buffers

    @broadcast_buffers.setter
    def broadcast_buffers(self, value: bool) -> None:
        self.forward_sync_buffers = value

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        active = Join.notify_join_context(self)
        if active is not None:
            self._join_forward(active)
        if is_grad_enabled():
            self.reducer._rebuild_buckets()
        if self.will_sync_module_buffers():
            self._send_buffers(takes_part=True)
        result = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = is_grad_enabled() and self.require_backward_grad_sync
        if self.require_forward_param_sync:
            looking = self.find_unused_parameters or self.static_graph
            self.reducer.prepare_for_backward(_find_tensors(result) if looking else [])
        return result

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Gradients of what runs forward inside are only accumulated: neither averaged nor given to communication hooks."""
        before = self.require_backward_grad_sync
        try:
            self.require_backward_grad_sync = False
            yield
        finally:
            self.require_backward_grad_sync = before

    def _send_buffers(self, takes_part):
        """Give all processes the buffers of process 0; within `join`, of the last process that still has batches."""
        if self.process_group.size() > 1:
            joining = self._joining is not Join.NONE
            root = largest(self.process_group, self.process_group.rank() if takes_part else -1) if joining else 0
            broadcast_all(self.process_group, self._buffers_to_send(), root)

    def _join_forward(self, active):
        """Tell those who have run out of batches what comes, and learn how many they are."""
        total(self.process_group, int(self.require_backward_grad_sync and is_grad_enabled()))
        if not self._joining.options.get("divide_by_initial_world_size", True):
            active.wait()
            self.reducer.divisor = int(active.result()[0])

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Any:
        """Processes inside may have different numbers of batches: those that have none left take part with zeros.

        Args:
            divide_by_initial_world_size (bool): averages count all processes, else those that have batches. Default: True
            enable (bool): False: the context does nothing. Default: True
            throw_on_early_termination (bool): all raise RuntimeError once one has none left. Default: False
        """
        return Join(
            [self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What this module does while its process waits for others in `Join`."""
        return _JoinHook(self)

    @property
    def join_device(self) -> Any:
        """Where the tensors lie that processes tell each other in `join`."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The processes that wait for each other in `join`."""
        return self.process_group

    def register_comm_hook(self, state: object, hook: Callable[..., Any]) -> None:
        """Let ``hook(state, bucket)`` make the gradients: it returns a future of a tensor as long as ``bucket.buffer()``."""
        _check_hook(hook)
        if self.reducer.comm_hook is not None:
            raise RuntimeError(
                hinted(
                    "register_comm_hook or register_builtin_comm_hook can only be called once.",
                    "a module has one communication hook: let it call the other",
                )
            )
        self.reducer.set_hook(state, hook)
        self._comm_hooks.append((hook, state))

    def will_sync_module_buffers(self) -> bool:
        """Whether the next forward sends buffers to other processes."""
        return self.require_forward_param_sync and self.forward_sync_buffers and len(self._buffers_to_send()) > 0

    @property
    def _distributed_rank(self):
        return self.process_group.rank()

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module, params_and_buffers_to_ignore):
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore

    def _set_static_graph(self):
        self.static_graph = True
        self._make_reducer()

    def __getstate__(self):
        if self.process_group is not default_group():
            raise RuntimeError(
                hinted(
                    "DDP Pickling/Unpickling are only supported when using DDP with the default process group. That is, when "
                    "you have called init_process_group and have not passed process_group argument to DDP constructor",
                    "save .module, or its state_dict()",
                )
            )
        state = copy.copy(self.__dict__)
        for name in ("process_group", "reducer", "_comm_hooks", "_joining", "_buffers_sent"):
            del state[name]
        return state

    def __setstate__(self, state):
        self.__dict__.update(process_group=default_group(), _joining=Join.NONE, _buffers_sent=None)
        super().__setstate__(state)
        self._module_parameters = self._parameters_to_average()
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self._make_reducer()


class _JoinHook(JoinHook):
    """Takes part in the collectives of the others' forward and backward."""

    def __init__(self, module):
        self.module = module

    def main_hook(self) -> None:
        module = self.module
        synchronised = total(module.process_group, 0) > 0
        module.reducer._rebuild_buckets()
        if module.will_sync_module_buffers():
            module._send_buffers(takes_part=False)
        module.require_forward_param_sync = synchronised
        if synchronised:
            module.reducer.send_zeros()

    def post_hook(self, is_last_joiner: bool) -> None:
        group = self.module.process_group
        root = largest(group, group.rank() if is_last_joiner else -1)
        self.module._send_state(root)


def _group(process_group, device_mesh):
    if process_group and device_mesh is not None:
        raise RuntimeError(
            hinted("Cannot specify both process_group and device_mesh arguments.", "a mesh names its group itself")
        )
    if device_mesh is not None:
        return device_mesh.get_group(mesh_dim=0)
    return default_group() if process_group is None else process_group


def _check_options(late, after, mixed_precision):
    """Refuse options that belong together, and those that are not there."""
    if (late is None) != (after is None):
        raise ValueError(
            hinted(
                "delay_all_reduce_named_params and param_to_hook_all_reduce need to be set at the same time.",
                "they say which gradients are averaged late, and after which one",
            )
        )
    if mixed_precision is not None:
        raise NotImplementedError(
            hinted(
                "DistributedDataParallel: mixed_precision is not in this version",
                "torch.autocast runs forward in another precision",
            )
        )


def _check(parameters, device_ids, output_device, delayed):
    """PyTorch's refusals of modules and devices."""
    if not delayed and not any(parameter.requires_grad for parameter in parameters):
        raise RuntimeError(
            hinted(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient.",
                "use the module itself",
            )
        )
    if device_ids is not None and len(device_ids) > 1:
        raise ValueError(
            hinted("device_ids can only be None or contain a single element.", "on a CPU it is None: leave it out")
        )
    if device_ids or output_device:
        devices = {parameter.device for parameter in parameters}
        raise ValueError(
            hinted(
                "DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-device GPU "
                f"modules or CPU modules, but got device_ids {device_ids}, output_device {output_device}, and module parameters "
                f"{devices}.",
                "the module lies on the CPU: leave both out",
            )
        )
    if any(isinstance(parameter, UninitializedParameter) for parameter in parameters):
        raise RuntimeError(
            hinted(
                "Modules with uninitialized parameters can't be used with `DistributedDataParallel`. Run a dummy forward pass to "
                "correctly initialize the modules",
                "a lazy module knows its shapes after its first forward",
            )
        )


def _synchronised(broadcast_buffers, forward_sync_buffers):
    """Whether buffers are sent in forward, from the old argument and the new one."""
    if broadcast_buffers is not None:
        message = _REPLACED if forward_sync_buffers is None else _BOTH
        warnings.warn(message, FutureWarning, stacklevel=3)
    for given in (forward_sync_buffers, broadcast_buffers):
        if given is not None:
            return given
    return True


def _check_hook(hook):
    if not callable(hook):
        raise TypeError(hinted("Communication hook must be callable.", "a function of state and bucket"))
    signature = inspect.signature(hook)
    if signature.parameters["bucket"].annotation not in (inspect.Parameter.empty, GradBucket):
        raise ValueError(
            hinted("Communication hook: bucket annotation should be dist.GradBucket.", "annotate it so, or not at all")
        )
    given = signature.return_annotation
    if given is not inspect.Signature.empty and not (isinstance(given, type) and hasattr(given, "set_result")):
        raise ValueError(
            hinted(
                "Communication hook: return annotation should be torch.futures.Future[torch.Tensor].",
                "annotate it so, or not at all",
            )
        )
