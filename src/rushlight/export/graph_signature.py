"""What the arguments and results of an exported graph are: parameters, buffers, constants, the user's inputs and outputs."""

from __future__ import annotations

import dataclasses
from enum import Enum, auto
from typing import Any


@dataclasses.dataclass
class TensorArgument:
    """A tensor, by the name of its node."""

    name: str


@dataclasses.dataclass
class SymIntArgument:
    """An int that follows from sizes, by the name of its node."""

    name: str


@dataclasses.dataclass
class SymFloatArgument:
    """A float that follows from sizes, by the name of its node; no program here has one."""

    name: str


@dataclasses.dataclass
class SymBoolArgument:
    """A bool that follows from sizes, by the name of its node; no program here has one."""

    name: str


@dataclasses.dataclass
class CustomObjArgument:
    """An object of another kind, by the name of its node; no program here has one."""

    name: str
    class_fqn: str
    fake_val: Any = None


@dataclasses.dataclass
class ConstantArgument:
    """A plain value: int, float, bool, str or None."""

    name: str
    value: Any


class InputKind(Enum):
    """What an argument of the graph is."""

    USER_INPUT = auto()
    PARAMETER = auto()
    BUFFER = auto()
    CONSTANT_TENSOR = auto()
    CUSTOM_OBJ = auto()
    TOKEN = auto()


class OutputKind(Enum):
    """What a result of the graph is."""

    USER_OUTPUT = auto()
    LOSS_OUTPUT = auto()
    BUFFER_MUTATION = auto()
    PARAMETER_MUTATION = auto()
    GRADIENT_TO_PARAMETER = auto()
    GRADIENT_TO_USER_INPUT = auto()
    USER_INPUT_MUTATION = auto()
    TOKEN = auto()


@dataclasses.dataclass
class InputSpec:
    """One argument: its kind, its node, the name in the state where it is no input of the user's."""

    kind: InputKind
    arg: Any
    target: str | None
    persistent: bool | None = None

    def __str__(self) -> str:
        target = "" if self.target is None else f" target='{self.target}'"
        persistent = "" if self.persistent is None else f" persistent={self.persistent}"
        return f"{self.arg.name}: {self.kind.name}{target}{persistent}"


@dataclasses.dataclass
class OutputSpec:
    """One result: its kind and its node."""

    kind: OutputKind
    arg: Any
    target: str | None

    def __str__(self) -> str:
        target = "" if self.target is None else f" target='{self.target}'"
        return f"{self.arg.name}: {self.kind.name}{target}"


@dataclasses.dataclass
class ExportBackwardSignature:
    """The gradients among the results of a graph that holds backward, too; no program here does."""

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


@dataclasses.dataclass
class ExportGraphSignature:
    """All arguments and results of a graph, in order."""

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]

    def _inputs(self, kind: InputKind) -> list[InputSpec]:
        return [spec for spec in self.input_specs if spec.kind == kind]

    def _outputs(self, kind: OutputKind) -> dict[str, Any]:
        return {spec.arg.name: spec.target for spec in self.output_specs if spec.kind == kind}

    @property
    def parameters(self) -> tuple[Any, ...]:
        """The names of the parameters."""
        return tuple(spec.target for spec in self._inputs(InputKind.PARAMETER))

    @property
    def buffers(self) -> tuple[Any, ...]:
        """The names of the buffers."""
        return tuple(spec.target for spec in self._inputs(InputKind.BUFFER))

    @property
    def non_persistent_buffers(self) -> set[Any]:
        """The names of the buffers that no state dictionary has."""
        return {spec.target for spec in self._inputs(InputKind.BUFFER) if not spec.persistent}

    @property
    def lifted_tensor_constants(self) -> tuple[Any, ...]:
        """The names of the tensors that the program holds besides."""
        return tuple(spec.target for spec in self._inputs(InputKind.CONSTANT_TENSOR))

    @property
    def lifted_custom_objs(self) -> tuple[Any, ...]:
        """Names of other objects: none."""
        return ()

    @property
    def user_inputs(self) -> tuple[Any, ...]:
        """The user's inputs: names of nodes, and plain values."""
        return tuple(_shown(spec) for spec in self._inputs(InputKind.USER_INPUT))

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        """The user's outputs: names of nodes, and plain values."""
        return tuple(_shown(spec) for spec in self.output_specs if spec.kind == OutputKind.USER_OUTPUT)

    @property
    def inputs_to_parameters(self) -> dict[str, Any]:
        """The names of parameters by those of their nodes."""
        return {spec.arg.name: spec.target for spec in self._inputs(InputKind.PARAMETER)}

    @property
    def inputs_to_buffers(self) -> dict[str, Any]:
        """The names of buffers by those of their nodes."""
        return {spec.arg.name: spec.target for spec in self._inputs(InputKind.BUFFER)}

    @property
    def inputs_to_lifted_tensor_constants(self) -> dict[str, Any]:
        """The names of the constants by those of their nodes."""
        return {spec.arg.name: spec.target for spec in self._inputs(InputKind.CONSTANT_TENSOR)}

    @property
    def buffers_to_mutate(self) -> dict[str, Any]:
        """The buffers whose new values are results: none, as steps write into them."""
        return self._outputs(OutputKind.BUFFER_MUTATION)

    @property
    def parameters_to_mutate(self) -> dict[str, Any]:
        """The parameters whose new values are results: none, as steps write into them."""
        return self._outputs(OutputKind.PARAMETER_MUTATION)

    @property
    def user_inputs_to_mutate(self) -> dict[str, Any]:
        """The inputs whose new values are results: none, as steps write into them."""
        return self._outputs(OutputKind.USER_INPUT_MUTATION)

    @property
    def backward_signature(self) -> ExportBackwardSignature | None:
        """None: a program holds no backward."""
        return None

    @property
    def assertion_dep_token(self) -> None:
        """None: a program has no tokens."""

    input_tokens = output_tokens = ()

    def replace_all_uses(self, old: str, new: str) -> None:
        """Exchange the name of a node."""
        specs: list[Any] = [*self.input_specs, *self.output_specs]
        for spec in specs:
            if spec.arg.name == old:
                spec.arg.name = new

    def __str__(self) -> str:
        lines = ["", "# inputs", *map(str, self.input_specs), "", "# outputs", *map(str, self.output_specs), ""]
        return "\n".join(lines)


def _shown(spec: Any) -> Any:
    return spec.arg.value if isinstance(spec.arg, ConstantArgument) else spec.arg.name
