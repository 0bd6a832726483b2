"""ONNXProgram: an exported model, which runs in ONNX Runtime and is saved as a file."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..base.errors import hinted
from ..export.exported_program import ExportedProgram
from ..tensor import Tensor
from ..tensor.creation import from_numpy
from ..utils import _pytree as pytree
from .builder import onnx_package


class ONNXProgram:
    """What `export` gives.

    Attributes:
        model_proto: the model, as the package onnx has it.
        exported_program: the program that was translated.
    """

    def __init__(self, model_proto: Any, exported_program: ExportedProgram):
        self.model_proto, self.exported_program = model_proto, exported_program
        self._session: Any = None

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
            initializer: what makes one of the model's bytes; ONNX Runtime on the CPU by default.
        """
        if initializer is not None:
            self._session = initializer(self.model_proto.SerializeToString())
            return
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            self.model_proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )

    def release(self) -> None:
        """Let the session go."""
        self._session = None

    def optimize(self) -> None:
        """Without effect: the graph holds what is needed alone, and runtimes optimise it by themselves."""

    def apply_weights(self, state_dict: dict[str, Any]) -> None:
        """Exchange parameters and buffers, by name."""
        for each in self.model_proto.graph.initializer:
            if each.name in state_dict:
                array = np.asarray(state_dict[each.name].detach().contiguous()._array)
                each.CopyFrom(onnx_package().numpy_helper.from_array(array, each.name))
        self._session = None

    def rename_axes(self, rename_mapping: dict[str, str]) -> None:
        """Give sizes that vary other names."""
        graph = self.model_proto.graph
        for each in (*graph.input, *graph.output):
            for dim in each.type.tensor_type.shape.dim:
                if dim.dim_param in rename_mapping:
                    dim.dim_param = rename_mapping[dim.dim_param]

    def save(
        self,
        destination: str | os.PathLike[str],
        *,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
        external_data: bool | None = None,
    ) -> None:
        """Write the model into a file.

        Args:
            destination: the path.
            include_initializers: with the tensors; else they are inputs.
            keep_initializers_as_inputs: name the tensors among the inputs, too.
            external_data: put them into a file beside it, ``destination + ".data"``; by default where they are larger than what
                a file of ONNX takes (2 GB).
        """
        onnx = onnx_package()
        model = onnx.ModelProto()
        model.CopyFrom(self.model_proto)
        graph = model.graph
        known = {each.name for each in graph.input}
        if keep_initializers_as_inputs or not include_initializers:
            for each in graph.initializer:
                if each.name not in known:
                    graph.input.append(onnx.helper.make_tensor_value_info(each.name, each.data_type, list(each.dims)))
        if not include_initializers:
            del graph.initializer[:]
        large = external_data if external_data is not None else model.ByteSize() > onnx.checker.MAXIMUM_PROTOBUF
        path = os.fspath(destination)
        options: dict[str, Any] = (
            {"save_as_external_data": True, "location": f"{os.path.basename(path)}.data"} if large else {}
        )
        if large and os.path.exists(f"{path}.data"):
            os.remove(f"{path}.data")  # onnx would append to it
        onnx.save_model(model, path, **options)

    def __repr__(self) -> str:
        return f"ONNXProgram(\n    model=\n{_indented(onnx_package().printer.to_text(self.model_proto))}\n)"


def _indented(text: str) -> str:
    return "\n".join(f"        {line}" for line in text.splitlines())
