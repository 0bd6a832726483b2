"""``torch.onnx``: models as ONNX, which other programs run. Exporting needs the package onnx; running, onnxruntime."""

from ..base.absent import AbsentNames as _AbsentNames
from ..version import __version__ as producer_version
from . import errors
from .errors import OnnxExporterError
from .exporting import export
from ..base.exporting import is_in_onnx_export
from .modes import OperatorExportTypes, TrainingMode, select_model_mode_for_export
from .program import ONNXProgram

producer_name = "rushlight"

_LATER = _AbsentNames(
    __name__,
    {
        "": "ExportableModule InputObserver JitScalarType TensorProtoDataType ops register_custom_op_symbolic unregister_custom_op_symbolic",
        "operators": "reshape_from_tensor_shape shape_as_tensor",
        "symbolic_helper": "cast_pytorch_to_onnx parse_args",
        "symbolic_opset9": "masked_fill softmax",
        "symbolic_opset11": "select squeeze unsqueeze",
        "symbolic_opset12": "dropout",
        "utils": "export",
    },
    "operations are translated one by one: custom_translation_table of torch.onnx.export takes functions that do so",
)
_LATER.make_modules()
__getattr__ = _LATER.of("")
