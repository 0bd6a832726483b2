"""Sequences of different lengths: padded into one tensor, or packed without padding."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from typing import Any, Self

from ...base.dtypes import int64
from ...base.errors import hinted
from ...ops.table import functions
from ...tensor import Tensor
from .. import functional as F

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]

PackedSequence_ = namedtuple("PackedSequence_", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])
PackedSequence_.__new__.__defaults__ = (None, None)


class PackedSequence(PackedSequence_):
    """Sequences packed step by step: the first elements of all, then the second of those that have one, ...

    Attributes:
        data (Tensor): the elements, (sum of lengths, *)
        batch_sizes (Tensor): how many sequences have a first element, a second, ...
        sorted_indices (Tensor): the order, longest first, in which the sequences were packed; ``None`` if as given
        unsorted_indices (Tensor): the way back

    Made by `pack_padded_sequence` and `pack_sequence`; taken by recurrent layers.

    >>> import rushlight as torch
    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 4, 2, 5, 3]), tensor([2, 2, 1]))
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """The same sequences with ``data`` cast or moved as ``Tensor.to`` does; itself if nothing changes."""
        return self._with(self.data.to(*args, **kwargs))

    def cpu(self) -> Self:
        """The same sequences on the CPU."""
        return self._with(self.data.cpu())

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        """The same sequences on a CUDA device; raises as PyTorch's CPU build does where there is none."""
        return self._with(self.data.cuda(*args, **kwargs))

    def pin_memory(self) -> Self:
        """The same sequences in pinned memory."""
        return self._with(self.data.pin_memory())

    def double(self) -> Self:
        """The same sequences as float64."""
        return self._with(self.data.double())

    def float(self) -> Self:
        """The same sequences as float32."""
        return self._with(self.data.float())

    def half(self) -> Self:
        """The same sequences as float16."""
        return self._with(self.data.half())

    def long(self) -> Self:
        """The same sequences as int64."""
        return self._with(self.data.long())

    def int(self) -> Self:
        """The same sequences as int32."""
        return self._with(self.data.int())

    def short(self) -> Self:
        """The same sequences as int16."""
        return self._with(self.data.short())

    def char(self) -> Self:
        """The same sequences as int8."""
        return self._with(self.data.char())

    def byte(self) -> Self:
        """The same sequences as uint8."""
        return self._with(self.data.byte())

    def _with(self, data):
        return self if data is self.data else type(self)(data, *self[1:])

    @property
    def is_cuda(self) -> bool:
        """Whether ``data`` lies on a CUDA device."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether ``data`` lies in pinned memory."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes ``permutation``; ``None`` for ``None``.

    >>> import rushlight as torch
    >>> torch.nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    places = functions.arange(permutation.numel(), device=permutation.device)
    return functions.empty_like(permutation).scatter_(0, permutation, places)


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | list[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack a batch of padded sequences: (T, B, *), or (B, T, *) if ``batch_first``.

    Args:
        lengths (Tensor or list of int): the length of each sequence, at least 1
        enforce_sorted (bool): require that they come longest first; otherwise they are sorted. Default: ``True``

    >>> import rushlight as torch
    >>> padded = torch.tensor([[1, 2, 3], [4, 5, 0]])
    >>> torch.nn.utils.rnn.pack_padded_sequence(padded, [3, 2], batch_first=True).data
    tensor([1, 4, 2, 5, 3])
    """
    lengths = functions.as_tensor(lengths, dtype=int64)
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = functions.sort(lengths, descending=True)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    if batch_first:
        input = input.transpose(0, 1)
    _check_lengths(input, lengths)
    present = functions.arange(int(lengths[0])).unsqueeze(1) < lengths
    steps = input[: present.shape[0]].flatten(0, 1)
    data = steps.index_select(0, present.flatten().nonzero().squeeze(1))
    return PackedSequence(data, present.sum(1), sorted_indices)


def _check_lengths(input, lengths):
    if lengths.dim() != 1:
        message = f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D cpu Long tensor"
        raise RuntimeError(hinted(message, "give one length a sequence"))
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if lengths.shape[0] != input.shape[1]:
        message = "Expected `len(lengths)` to be equal to batch_size"
        message = f"{message}, but got {lengths.shape[0]} (batch_size={input.shape[1]})"
        raise RuntimeError(hinted(message, "the batch is dimension 1, or dimension 0 with batch_first=True"))
    if (lengths[1:] > lengths[:-1]).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability."
        )
    if lengths[-1] <= 0:
        message = "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        raise RuntimeError(hinted(message, "leave empty sequences out of the batch"))
    if lengths[0] > input.shape[0]:
        message = f"a length of {int(lengths[0])} is more than the {input.shape[0]} steps of the padded sequences"
        raise RuntimeError(hinted(message, "time is dimension 0, or dimension 1 with batch_first=True"))


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The sequences of a PackedSequence padded to one length, and their lengths: (T, B, *) and (B,).

    Args:
        batch_first (bool): return (B, T, *). Default: ``False``
        total_length (int): pad to this length. Default: that of the longest

    >>> import rushlight as torch
    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])])
    >>> torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2, 3],
            [4, 5, 0]]), tensor([3, 2]))
    """
    batch_sizes, data, unsorted_indices = sequence.batch_sizes, sequence.data, sequence.unsorted_indices
    longest = batch_sizes.shape[0]
    if total_length is None:
        total_length = longest
    elif total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {longest}"
        )
    count = int(batch_sizes[0])
    present = functions.arange(count) < batch_sizes.unsqueeze(1)
    padding = functions.full((total_length * count, *data.shape[1:]), padding_value, dtype=data.dtype)
    padded = padding.index_copy(0, present.flatten().nonzero().squeeze(1), data).unflatten(0, (total_length, count))
    lengths = present.sum(0)
    if batch_first:
        padded = padded.transpose(0, 1)
    if unsorted_indices is not None:
        return padded.index_select(0 if batch_first else 1, unsorted_indices), lengths[unsorted_indices]
    return padded, lengths


def pad_sequence(
    sequences: Tensor | list[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences (L, *) of different lengths L padded and stacked: (T, B, *), or (B, T, *) if ``batch_first``.

    Args:
        padding_side (str): ``'right'`` pads the ends, ``'left'`` the beginnings. Default: ``'right'``

    >>> import rushlight as torch
    >>> torch.nn.utils.rnn.pad_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])], batch_first=True)
    tensor([[1, 2, 3],
            [4, 5, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    length = max(sequence.shape[0] for sequence in sequences)
    rest = sequences[0].shape[1:]
    padded = []
    for sequence in sequences:
        for dim, (expected, found) in enumerate(zip(rest, sequence.shape[1:]), start=1):
            if expected != found:
                message = f"The size of tensor a ({expected}) must match the size of tensor b ({found})"
                raise RuntimeError(
                    hinted(f"{message} at non-singleton dimension {dim}", "sequences may differ only in dimension 0")
                )
        missing = length - sequence.shape[0]
        ends = [missing, 0] if padding_side == "left" else [0, missing]
        padded.append(
            F.pad(sequence, [0, 0] * (sequence.dim() - 1) + ends, value=padding_value) if missing else sequence
        )
    return functions.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of `pad_sequence`, cut to their lengths again; a list.

    >>> import rushlight as torch
    >>> torch.nn.utils.rnn.unpad_sequence(torch.tensor([[1, 2, 3], [4, 5, 0]]), torch.tensor([3, 2]), batch_first=True)
    [tensor([1, 2, 3]), tensor([4, 5])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [sequence[: int(length)] for sequence, length in zip(padded_sequences, lengths)]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences (L, *) of different lengths L: `pad_sequence`, then `pack_padded_sequence`."""
    lengths = [sequence.shape[0] for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The list of sequences that a PackedSequence holds, in their first order.

    >>> import rushlight as torch
    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])])
    >>> torch.nn.utils.rnn.unpack_sequence(packed)
    [tensor([1, 2, 3]), tensor([4, 5])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
