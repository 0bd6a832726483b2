"""``torch.onnx``: nothing is exported in this version; programs ask whether they are being exported."""

from ....base.absent import AbsentNames as _AbsentNames

_ABSENT = _AbsentNames(
    __name__,
    {
        "": "JitScalarType ONNXProgram OnnxExporterError OperatorExportTypes TensorProtoDataType TrainingMode export register_custom_op_symbolic select_model_mode_for_export unregister_custom_op_symbolic",
        "errors": "OnnxExporterError UnsupportedOperatorError SymbolicValueError",
        "operators": "reshape_from_tensor_shape shape_as_tensor",
        "symbolic_helper": "cast_pytorch_to_onnx parse_args",
        "symbolic_opset9": "masked_fill softmax",
        "symbolic_opset11": "select squeeze unsqueeze",
        "symbolic_opset12": "dropout",
        "utils": "export",
    },
    "save the weights with torch.save or safetensors; PyTorch reads them and exports",
)
_ABSENT.make_modules()
__getattr__ = _ABSENT.of("")


def is_in_onnx_export():
    """Whether an export is under way: never."""
    return False
