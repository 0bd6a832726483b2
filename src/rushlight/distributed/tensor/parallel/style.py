"""Styles: how the parameters of a layer are divided, and how its inputs and outputs lie."""

from __future__ import annotations

from typing import Any

from ....base.errors import hinted
from ....nn import Embedding, Linear, Module, Parameter
from ...placements import Placement, Replicate, Shard
from ..creation import distribute_module, distribute_tensor
from ..dtensor import DTensor


class ParallelStyle:
    """What `parallelize_module` does with a module; subclasses say it in ``_apply(module, mesh)``."""

    src_data_rank: int | None = 0  # whose numbers count: see `distribute_tensor`

    def _apply(self, module: Module, device_mesh: Any) -> Module:
        raise NotImplementedError


def _distributed(value: Any, mesh: Any, layout: Placement, wanted: Placement) -> Any:
    """A tensor that lies as ``layout`` says, a plain one or a DTensor, as one that lies as ``wanted``."""
    if not isinstance(value, DTensor):
        value = DTensor.from_local(value, mesh, (layout,))
    return value if value.placements == (wanted,) else value.redistribute(placements=(wanted,))


class _LayerStyle(ParallelStyle):
    """A layer whose parameters are divided; ``_desired`` is how its input has to lie."""

    _desired: Placement = Replicate()

    def __init__(self, input_layouts: Placement, output_layouts: Placement, use_local_output: bool) -> None:
        self.input_layouts, self.output_layouts = (input_layouts,), (output_layouts,)
        self.use_local_output = use_local_output

    def _placement(self, module: Module, name: str) -> Placement:
        raise NotImplementedError

    def _partition(self, name: str, module: Module, mesh: Any) -> None:
        for own, held in list(module.named_parameters(recurse=False)):
            made = distribute_tensor(held.data, mesh, [self._placement(module, own)], src_data_rank=self.src_data_rank)
            module.register_parameter(own, Parameter(made, held.requires_grad))

    def _wanted(self, module: Module) -> Placement:
        return self._desired

    def _take(self, module: Module, inputs: Any, mesh: Any) -> Any:
        return (_distributed(inputs[0], mesh, self.input_layouts[0], self._wanted(module)), *inputs[1:])

    def _give(self, module: Module, outputs: Any, mesh: Any) -> Any:
        made = _distributed(outputs, mesh, self.output_layouts[0], self.output_layouts[0])
        return made.to_local() if self.use_local_output else made

    def _apply(self, module: Module, device_mesh: Any) -> Module:
        if not isinstance(module, (Linear, Embedding)):
            message = f"{type(self).__name__} currently only support nn.Linear and nn.Embedding!"
            raise NotImplementedError(hinted(message, f"{type(module).__name__} is neither"))
        return distribute_module(module, device_mesh, self._partition, self._take, self._give)


class ColwiseParallel(_LayerStyle):
    """Divide the outputs of a Linear, or the columns of an Embedding: each process computes some of them.

    Args:
        input_layouts (Placement): how a plain input lies. Default: Replicate()
        output_layouts (Placement): how the output is to lie. Default: Shard(-1)
        use_local_output (bool): give this process's part, a plain tensor. Default: True

    Follows ``torch.distributed.tensor.parallel.ColwiseParallel``.
    """

    def __init__(
        self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None, use_local_output: bool = True
    ) -> None:  # fmt: skip
        super().__init__(input_layouts or Replicate(), output_layouts or Shard(-1), use_local_output)

    def _placement(self, module: Module, name: str) -> Placement:
        return Shard(1) if isinstance(module, Embedding) else Shard(0)


class RowwiseParallel(_LayerStyle):
    """Divide the inputs of a Linear, or the rows of an Embedding: the processes' results are added up.

    Args:
        input_layouts (Placement): how a plain input lies. Default: Shard(-1)
        output_layouts (Placement): how the output is to lie. Default: Replicate()
        use_local_output (bool): give this process's part, a plain tensor. Default: True

    Follows ``torch.distributed.tensor.parallel.RowwiseParallel``.
    """

    def __init__(
        self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None, use_local_output: bool = True
    ) -> None:  # fmt: skip
        super().__init__(input_layouts or Shard(-1), output_layouts or Replicate(), use_local_output)

    def _placement(self, module: Module, name: str) -> Placement:
        if isinstance(module, Embedding):
            return Shard(0)
        return Shard(1) if name == "weight" else Replicate()

    def _wanted(self, module: Module) -> Placement:
        return Replicate() if isinstance(module, Embedding) else Shard(-1)


class SequenceParallel(ParallelStyle):
    """Divide a sequence among processes for LayerNorm, RMSNorm and Dropout, whose parameters all have.

    Args:
        sequence_dim (int): the dimension of the sequence. Default: 1
        use_local_output (bool): give this process's part, a plain tensor. Default: False

    Follows ``torch.distributed.tensor.parallel.SequenceParallel``.
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_sharding, self.use_local_output = (Shard(sequence_dim),), use_local_output

    def _partition(self, name: str, module: Module, mesh: Any) -> None:
        for own, held in list(module.named_parameters(recurse=False)):
            made = DTensor.from_local(held.data, mesh, [Replicate()])
            module.register_parameter(own, Parameter(made, held.requires_grad))

    def _take(self, module: Module, inputs: Any, mesh: Any) -> Any:
        wanted = self.sequence_sharding[0]
        if not hasattr(inputs[0], "_edge"):
            message = f"expecting input of {module} to be a torch.Tensor or DTensor, but got {inputs[0]}"
            raise ValueError(hinted(message, "the first argument is the sequence"))
        return (_distributed(inputs[0], mesh, wanted, wanted), *inputs[1:])

    def _give(self, module: Module, outputs: Any, mesh: Any) -> Any:
        return outputs.to_local() if self.use_local_output else outputs

    def _apply(self, module: Module, device_mesh: Any) -> Module:
        return distribute_module(module, device_mesh, self._partition, self._take, self._give)


def _listed(layouts: Any) -> tuple[Any, ...] | None:
    return (layouts,) if isinstance(layouts, Placement) else layouts


def _several(values: Any, layouts: tuple[Any, ...], wanted: tuple[Any, ...], mesh: Any, local: bool, what: str) -> Any:
    """Tensors that lie as ``layouts`` say, each as one that lies as ``wanted``; None stands for what stays as it is."""
    given = values if isinstance(values, tuple) else (values,)
    if len(given) != len(layouts):
        message = f"module {what} and {'input' if what == 'inputs' else 'output'}_layouts should have same length!"
        raise ValueError(hinted(message, f"{len(given)} {what}, {len(layouts)} layouts"))
    made = []
    for value, layout, goal in zip(given, layouts, wanted):
        if layout is not None:
            value = _distributed(value, mesh, layout, goal)
            value = value.to_local() if local else value
        made.append(value)
    return tuple(made) if isinstance(values, tuple) else made[0]


class PrepareModuleInput(ParallelStyle):
    """Make the inputs of a module lie as they have to.

    Args:
        input_layouts: how plain inputs lie: a Placement, or one for each argument, None for what stays as it is.
        desired_input_layouts: how they are to lie.
        input_kwarg_layouts, desired_input_kwarg_layouts: the same of arguments by name.
        use_local_output (bool): give parts, plain tensors. Default: False

    Follows ``torch.distributed.tensor.parallel.PrepareModuleInput``.
    """

    def __init__(
        self, *, input_layouts: Any = None, desired_input_layouts: Any = None, input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None, use_local_output: bool = False,
    ) -> None:  # fmt: skip
        self.input_layouts, self.desired_input_layouts = _listed(input_layouts), _listed(desired_input_layouts)
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        self.use_local_output = use_local_output
        for layouts, wanted, name in (
            (self.input_layouts, self.desired_input_layouts, "input_layouts"),
            (self.input_kwarg_layouts, self.desired_input_kwarg_layouts, "input_kwarg_layouts"),
        ):
            if layouts and (not wanted or len(layouts) != len(wanted)):
                message = f"{name} and desired_{name} should have same length!"
                raise AssertionError(hinted(message, "each input has one of both"))

    def _take(self, module: Module, args: Any, kwargs: Any, mesh: Any) -> Any:
        if self.input_layouts is not None:
            args = _several(
                args, self.input_layouts, self.desired_input_layouts or (), mesh, self.use_local_output, "inputs"
            )
        made = dict(kwargs)
        for name, layout in self.input_kwarg_layouts.items():
            if name in kwargs:
                value = _distributed(kwargs[name], mesh, layout, self.desired_input_kwarg_layouts[name])
                made[name] = value.to_local() if self.use_local_output else value
        return args, made

    def _apply(self, module: Module, device_mesh: Any) -> Module:
        module.register_forward_pre_hook(
            lambda held, args, kwargs: self._take(held, args, kwargs, device_mesh), with_kwargs=True
        )
        return module


class PrepareModuleOutput(ParallelStyle):
    """Make the outputs of a module lie as they have to: see `PrepareModuleInput`; parts, plain tensors, by default.

    Follows ``torch.distributed.tensor.parallel.PrepareModuleOutput``.
    """

    def __init__(self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True) -> None:
        self.output_layouts, self.desired_output_layouts = _listed(output_layouts), _listed(desired_output_layouts)
        self.use_local_output = use_local_output
        if len(self.output_layouts or ()) != len(self.desired_output_layouts or ()):
            message = "output_layouts and desired_output_layouts should have same length!"
            raise AssertionError(hinted(message, "each output has one of both"))

    def _apply(self, module: Module, device_mesh: Any) -> Module:
        def give(held: Module, inputs: Any, outputs: Any) -> Any:
            layouts, wanted = self.output_layouts or (), self.desired_output_layouts or ()
            return _several(outputs, layouts, wanted, device_mesh, self.use_local_output, "outputs")

        module.register_forward_hook(give)
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """`PrepareModuleInput` and `PrepareModuleOutput` in one.

    Follows ``torch.distributed.tensor.parallel.PrepareModuleInputOutput``.
    """

    def __init__(
        self, *, input_layouts: Any = None, desired_input_layouts: Any = None, input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None, use_local_input: bool = False, output_layouts: Any,
        desired_output_layouts: Any, use_local_output: bool = True,
    ) -> None:  # fmt: skip
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts, desired_input_layouts=desired_input_layouts, input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts, use_local_output=use_local_input,
        )  # fmt: skip
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module: Module, device_mesh: Any) -> Module:
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)
