"""``torch.export``: modules as programs, graphs of operations that run, are saved and loaded without their Python."""

from ..base.absent import AbsentNames as _AbsentNames
from ..utils._pytree import register_dataclass
from . import dynamic_shapes, exported_program, graph_signature, operations
from .capturing import export
from .dynamic_shapes import AdditionalInputs, Dim, ShapesCollection, dims
from .exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from .files import load, save
from .graph_signature import ExportBackwardSignature, ExportGraphSignature

_LATER = _AbsentNames(
    __name__,
    {
        "": "Constraint CustomDecompTable FlatArgsAdapter UnflattenedModule default_decompositions draft_export unflatten",
        "_trace": "_export",
        "decomp_utils": "CustomDecompTable",
        "unflatten": "InterpreterModule UnflattenedModule",
    },
    "a program is one graph of operations of the table: program.module() runs it, torch.fx changes it",
)
_LATER.make_modules()
__getattr__ = _LATER.of("")
unflatten = __getattr__("unflatten")  # the function, which has the name of its module
