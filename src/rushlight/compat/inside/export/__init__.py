"""``torch.export``: programs are not captured in this version."""

from ....base.absent import AbsentNames as _AbsentNames

_ABSENT = _AbsentNames(
    __name__,
    {
        "": "Constraint Dim ExportBackwardSignature ExportGraphSignature ExportedProgram ModuleCallEntry ModuleCallSignature ShapesCollection draft_export dims export load register_dataclass save unflatten",
        "_trace": "_export",
        "decomp_utils": "CustomDecompTable",
        "dynamic_shapes": "Dim ShapesCollection",
        "exported_program": "ExportedProgram",
        "unflatten": "InterpreterModule UnflattenedModule",
        "graph_signature": "ExportGraphSignature",
    },
    "torch.fx.symbolic_trace records a module as a graph; torch.save keeps whole modules",
)
_ABSENT.make_modules()
__getattr__ = _ABSENT.of("")
