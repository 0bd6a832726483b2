"""ONNXProgram: an exported model, which runs in ONNX Runtime and is saved as a file."""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from collections.abc import Sequence
from typing import IO, Any

import numpy as np

from ..base.errors import hinted
from ..base.user_code import to_user
from ..export.exported_program import ExportedProgram
from ..tensor import Tensor
from ..tensor.creation import from_numpy
from ..utils import _pytree as pytree
from .builder import onnx_package
from .errors import OnnxExporterWarning

_LARGE = 1536 << 20  # bytes from which on ONNX Runtime is given a file: one message takes 2 GB


class ONNXProgram:
    """What `export` gives.

    Attributes:
        model_proto: the model, as the package onnx has it.
        exported_program: the program that was translated.
    """

    def __init__(self, model_proto: Any, exported_program: ExportedProgram):
        self.model_proto, self.exported_program = model_proto, exported_program
        self._session: Any = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        """Run the model in ONNX Runtime with the arguments of the module; its tensors, as a tuple."""
        if self._session is None:
            self.initialize_inference_session()
        found = self._session.run(None, self._feed(args, kwargs))
        return tuple(from_numpy(np.array(each)) for each in found)

    def call_reference(self, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        """Run the model in onnx's own evaluator, slowly, with the arguments of the module."""
        from onnx.reference import ReferenceEvaluator

        found = ReferenceEvaluator(self.model_proto).run(None, self._feed(args, kwargs))
        return tuple(from_numpy(np.array(each)) for each in found)

    def compute_values(
        self, value_names: Sequence[str], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> tuple[Tensor, ...]:
        """Values within the graph, by their names: run the model in ONNX Runtime as far as they need it.

        Raises:
            ValueError: The graph has no such value.
        """
        graph = self.model_proto.graph
        known = {each.name for each in (*graph.input, *graph.initializer)}
        known.update(name for node in graph.node for name in node.output)
        for name in value_names:
            if name not in known:
                raise ValueError(f"Value '{name}' not found in the model. Please provide a valid value name.")
        model = onnx_package().ModelProto()
        model.CopyFrom(self.model_proto)
        del model.graph.output[:]
        model.graph.output.extend(onnx_package().ValueInfoProto(name=name) for name in value_names)
        return type(self)(model, self.exported_program)(*args, **(kwargs or {}))

    def _feed(self, args: Any, kwargs: Any) -> dict[str, np.ndarray]:
        """Arguments by the names of the model's inputs."""
        leaves = [each for each in pytree.tree_leaves((args, kwargs)) if isinstance(each, Tensor)]
        stored = {each.name for each in self.model_proto.graph.initializer}
        names = [each.name for each in self.model_proto.graph.input if each.name not in stored]
        if len(leaves) != len(names):
            raise ValueError(
                hinted(f"The model takes {len(names)} tensors, but got {len(leaves)}", f"its inputs are {names}")
            )
        return {name: np.asarray(leaf.detach()._array) for name, leaf in zip(names, leaves)}

    def initialize_inference_session(self, initializer: Any = None) -> None:
        """Make the session in which the model runs.

        Args:
            initializer: what makes one of the model's bytes, or of the path of a large model; ONNX Runtime on the CPU by default.
        """
        self.release()
        model: Any
        if self.model_proto.ByteSize() > _LARGE:
            self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
            model = os.path.join(self._folder.name, "model.onnx")
            self.save(model, external_data=True)
        else:
            model = self.model_proto.SerializeToString()
        self._session = (initializer or _cpu_session)(model)

    def release(self) -> None:
        """Let the session go."""
        self._session = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def optimize(self) -> None:
        """Without effect: the graph holds what is needed alone, and runtimes optimise it by themselves."""

    def apply_weights(self, state_dict: dict[str, Any]) -> None:
        """Exchange parameters and buffers, by name; a warning for those that the model does not have."""
        stored = {each.name: each for each in self.model_proto.graph.initializer}
        for name, tensor in state_dict.items():
            if name in stored:
                array = np.asarray(tensor.detach().contiguous()._array)
                stored[name].CopyFrom(onnx_package().numpy_helper.from_array(array, name))
            else:
                warnings.warn(
                    f"Weight '{name}' not found in the model. Skipped applying.",
                    OnnxExporterWarning,
                    stacklevel=to_user(),
                )
        self.release()

    def rename_axes(self, rename_mapping: dict[str, str]) -> None:
        """Give sizes that vary other names, also where others follow from them (``2*batch``)."""
        graph = self.model_proto.graph
        for each in (*graph.input, *graph.output):
            for dim in each.type.tensor_type.shape.dim:
                if dim.dim_param:
                    dim.dim_param = re.sub(
                        r"[^\W\d]\w*", lambda name: rename_mapping.get(name[0], name[0]), dim.dim_param
                    )

    def save(
        self,
        destination: str | os.PathLike[str] | IO[bytes],
        *,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
        external_data: bool | None = None,
    ) -> None:
        """Write the model into a file.

        Args:
            destination: the path, or a binary file.
            include_initializers: with the tensors.
            keep_initializers_as_inputs: name the tensors among the inputs, too.
            external_data: put them into a file beside it, ``destination + ".data"``; by default where they are larger than what
                a file of ONNX takes (2 GB).
        """
        onnx = onnx_package()
        model = onnx.ModelProto()
        model.CopyFrom(self.model_proto)
        if keep_initializers_as_inputs:
            infos = ((each.name, each.data_type, [*each.dims]) for each in model.graph.initializer)
            model.graph.input.extend(onnx.helper.make_tensor_value_info(*each) for each in infos)
        if not include_initializers:
            del model.graph.initializer[:]
        large = external_data if external_data is not None else model.ByteSize() > _LARGE
        if not large:
            onnx.save_model(model, destination)
            return
        path = os.fspath(destination)  # type: ignore[arg-type]
        if os.path.exists(f"{path}.data"):
            os.remove(f"{path}.data")  # onnx would append to it
        onnx.save_model(model, path, save_as_external_data=True, location=f"{os.path.basename(path)}.data")

    def __repr__(self) -> str:
        model = _indented(onnx_package().printer.to_text(self.model_proto))
        return f"ONNXProgram(\n    model=\n{model}\n    ,\n    exported_program=\n{_indented(str(self.exported_program))}\n)\n"


def _cpu_session(model: str | bytes) -> Any:
    """ONNX Runtime's session of a model, or of the file at a path, on the CPU."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _indented(text: str) -> str:
    return "\n".join(f"        {line}" for line in text.splitlines())
