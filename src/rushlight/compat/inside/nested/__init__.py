"""``torch.nested``: tensors of rows of different lengths, not in this version."""

from ....base.absent import AbsentNames as _AbsentNames

_ABSENT = _AbsentNames(
    __name__,
    {
        "": "as_nested_tensor masked_select narrow nested_tensor nested_tensor_from_jagged to_padded_tensor",
        "_internal": "",
        "_internal.nested_tensor": "NestedTensor _tensor_symint_registry",
        "_internal.ops": "extract_kwargs",
    },
    "torch.nn.utils.rnn.pad_sequence and a mask, or pack_padded_sequence, hold rows of different lengths",
)
_ABSENT.make_modules()
__getattr__ = _ABSENT.of("")
