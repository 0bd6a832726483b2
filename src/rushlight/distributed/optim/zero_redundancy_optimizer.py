"""ZeroRedundancyOptimizer: each process updates a part of the parameters, keeps the state of that part alone, and tells the others."""

from __future__ import annotations

from typing import Any

from ...base.errors import hinted
from ...nn.parallel.agreement import begin_broadcast, check_same_parameters
from ...nn.parallel.join import Join, Joinable, JoinHook
from ...optim import Optimizer
from ...tensor import Tensor
from ..groups import default_group, get_global_rank
from ..objects import gather_object


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer whose parameters are divided among processes: its state takes 1/n of the memory in each.

    Gradients have to be those of all processes, as after a DistributedDataParallel's backward.

    Args:
        params: parameters or groups of them, the same in all processes.
        optimizer_class: the class of optimizer that each process runs for its part.
        process_group: default: all processes.
        parameters_as_bucket_view: accepted; parameters stay where they are.
        overlap_with_ddp: not in this version.
        defaults: given to ``optimizer_class``.

    Follows ``torch.distributed.optim.ZeroRedundancyOptimizer``.

    >>> import rushlight as torch
    >>> import rushlight.distributed as dist
    >>> from rushlight.distributed.optim import ZeroRedundancyOptimizer
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> weight = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = ZeroRedundancyOptimizer([weight], torch.optim.SGD, lr=0.5)
    >>> weight.sum().backward()
    >>> optimizer.step()
    >>> weight.tolist()
    [0.5, 0.5]
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        params: Any,
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError(
                hinted("ZeroRedundancyOptimizer: overlap_with_ddp is not in this version", "steps come after backward")
            )
        self.process_group = default_group() if process_group is None else process_group
        self.world_size, self.rank = self.process_group.size(), self.process_group.rank()
        self.global_rank = get_global_rank(self.process_group, self.rank)
        self._sizes = [0] * self.world_size  # elements that each process has
        self._owners: dict[int, int] = {}  # id of a parameter -> the process whose it is
        self._owned: list[list[Tensor]] = [[] for _ in range(self.world_size)]
        self._states: list[Any] = []  # of all processes, once they are consolidated here
        self._joining = Join.NONE
        super().__init__(params, defaults)
        check_same_parameters(self.process_group, [each for group in self.param_groups for each in group["params"]])
        self._optimizer_class, self._optimizer_defaults = optimizer_class, defaults
        self.optim = optimizer_class([self._own_part(group) for group in self.param_groups], **defaults)
        for group, own in zip(self.param_groups, self.optim.param_groups):
            group.update({name: value for name, value in own.items() if name != "params"})
        self.state = self.optim.state

    def _own_part(self, group: dict[str, Any]) -> dict[str, Any]:
        own = [each for each in group["params"] if self._owners[id(each)] == self.rank]
        return {**group, "params": own}

    def _divide(self, group: dict[str, Any]) -> None:
        """Give each parameter, the largest first, to the process that has the fewest elements so far."""
        for each in sorted(group["params"], key=lambda parameter: parameter.numel(), reverse=True):
            owner = self._sizes.index(min(self._sizes))
            self._sizes[owner] += each.numel()
            self._owners[id(each)] = owner
            self._owned[owner].append(each)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, which is divided like the others."""
        super().add_param_group(param_group)
        self._divide(self.param_groups[-1])
        if hasattr(self, "optim"):
            self.optim.add_param_group(self._own_part(self.param_groups[-1]))

    def step(self, closure: Any = None, **kwargs: Any) -> Any:
        """Update the own part of the parameters, and get the others' from their processes. Returns what ``closure`` does."""
        Join.notify_join_context(self)
        for group, own in zip(self.param_groups, self.optim.param_groups):  # schedulers change the groups of all
            own.update({name: value for name, value in group.items() if name != "params"})
        found = self.optim.step(**kwargs) if closure is None else self.optim.step(closure=closure, **kwargs)
        if self.world_size > 1:
            begun = [begin_broadcast(self.process_group, each, owner) for owner, each in enumerate(self._owned) if each]
            for finish in begun:
                finish()
        return found

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What this optimizer does while its process waits for others in `Join`: steps, too."""
        return _JoinHook(self)

    @property
    def join_device(self) -> Any:
        """Where its parameters lie."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> Any:
        """Its processes."""
        return self.process_group

    def _indices(self) -> dict[int, int]:
        """id of a parameter -> its number among all."""
        every = [each for group in self.param_groups for each in group["params"]]
        return {id(each): place for place, each in enumerate(every)}

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Collect the state of all processes in process ``to``; all call this, before `state_dict` there."""
        numbers = self._indices()
        own = {numbers[id(key)]: value for key, value in self.optim.state.items()}
        parts = [None] * self.world_size if self.rank == to else None
        gather_object(own, parts, group=self.process_group, group_dst=to)
        self._states = parts or []

    def state_dict(self) -> dict[str, Any]:
        """The state as the optimizer of all parameters has it, in the process that `consolidate_state_dict` named."""
        if not self._states:
            raise RuntimeError(
                hinted(
                    "Optimizer state has not been consolidated on this rank. "
                    f"Please call `consolidate_state_dict(to={self.rank})` on all ranks beforehand if you meant to save the global state.",
                    "state_dict() is for the process that it was collected in",
                )
            )
        made = super().state_dict()
        made["state"] = {number: state for part in self._states for number, state in sorted(part.items())}
        return made

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the own part of a state that the optimizer of all parameters has saved, or another number of processes."""
        numbers = self._indices()
        groups, state, count = [], {}, 0
        for saved, own in zip(state_dict["param_groups"], self.optim.param_groups, strict=True):
            places = range(count, count + len(own["params"]))
            groups.append({**saved, "params": list(places)})
            for place, each in zip(places, own["params"]):
                if numbers[id(each)] in state_dict["state"]:
                    state[place] = state_dict["state"][numbers[id(each)]]
            count += len(own["params"])
        self.optim.load_state_dict({"state": state, "param_groups": groups})
        self.state = self.optim.state
        for group, saved in zip(self.param_groups, state_dict["param_groups"]):
            group.update({name: value for name, value in saved.items() if name != "params"})


class _JoinHook(JoinHook):
    """Steps while the others have batches, since they wait for its parameters."""

    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self.optimizer = optimizer

    def main_hook(self) -> None:
        self.optimizer.step()
