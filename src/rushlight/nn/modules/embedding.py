"""Embedding and EmbeddingBag: rows of a table, looked up or added up by number."""

from __future__ import annotations

from typing import Self

from ...autograd import no_grad
from ...base.device import DeviceLike
from ...base.dtypes import DType
from ...base.errors import hinted
from ...ops.table import functions
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module, held

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """A table ``weight`` of (num_embeddings, embedding_dim), standard normal at first, whose padding row stays zero."""

    def _make_weight(self, weight, freeze, device, dtype):
        shape = (self.num_embeddings, self.embedding_dim)
        if weight is None:
            self.weight = Parameter(functions.empty(shape, device=device, dtype=dtype), requires_grad=not freeze)
            self.reset_parameters()
        else:
            if tuple(weight.shape) != shape:
                raise AssertionError(
                    hinted(
                        "Shape of weight does not match num_embeddings and embedding_dim",
                        f"the weight is {tuple(weight.shape)}, the arguments say {shape}",
                    )
                )
            self.weight = Parameter(weight, requires_grad=not freeze)

    def _set_padding_idx(self, padding_idx, first_word):
        """Check ``padding_idx`` and count it from the start."""
        count = self.num_embeddings
        if padding_idx is not None:
            if not -count <= padding_idx < count:
                message = f"{first_word} must be within num_embeddings"
                raise AssertionError(hinted(message, f"it is {padding_idx}, and there are {count} rows"))
            if padding_idx < 0:
                padding_idx += count
        self.padding_idx = padding_idx

    def reset_parameters(self) -> None:
        """Draw the table anew."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self):
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


def _check_pretrained(embeddings):
    if embeddings.dim() != 2:
        message = "Embeddings parameter is expected to be 2-dimensional"
        raise AssertionError(hinted(message, f"its shape is {tuple(embeddings.shape)}"))


class Embedding(_Table):
    """Row ``weight[i]`` for every number ``i`` of the input: (*) to (*, embedding_dim). Follows ``torch.nn.Embedding``.

    Args:
        padding_idx (int): a row that starts at zero and gets no gradient
        max_norm (float): rows looked up that are longer than this are first shortened, in the table itself
        norm_type (float): which norm ``max_norm`` measures. Default: 2
        scale_grad_by_freq (bool): divide gradients by how often a row occurs in the batch. Default: ``False``
        sparse (bool): the weight's gradient is a sparse tensor with an entry for each number looked up. Default: ``False``

    >>> import rushlight as torch
    >>> torch.nn.Embedding(10, 3)(torch.tensor([[1, 2, 4, 5], [4, 3, 2, 9]])).shape
    torch.Size([2, 4, 3])
    """

    __constants__ = [
        "num_embeddings", "embedding_dim", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse",
    ]  # fmt: skip

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self._set_padding_idx(padding_idx, "Padding_idx")
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self._make_weight(_weight, _freeze, device, dtype)
        self.sparse = sparse

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input,
            held(self, "weight"),
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        defaults = {"padding_idx": None, "max_norm": None, "norm_type": 2, "scale_grad_by_freq": False, "sparse": False}
        changed = [f"{name}={getattr(self, name)}" for name, usual in defaults.items() if getattr(self, name) != usual]
        return ", ".join([str(self.num_embeddings), str(self.embedding_dim), *changed])

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """An Embedding whose table is the 2-dimensional tensor ``embeddings``; ``freeze`` keeps it from training.

        >>> import rushlight as torch
        >>> torch.nn.Embedding.from_pretrained(torch.tensor([[1.0, 2.3], [4.0, 5.1]]))(torch.tensor([1]))
        tensor([[4.0000, 5.1000]])
        """
        _check_pretrained(embeddings)
        return cls(
            *embeddings.shape,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
            _weight=embeddings,
            _freeze=freeze,
        )


class EmbeddingBag(_Table):
    """The sum, mean or maximum of the rows in each bag of numbers. Follows ``torch.nn.EmbeddingBag``.

    Bags are the rows of a 2-dimensional input, or start at ``offsets`` in a 1-dimensional one; the result is (bags,
    embedding_dim).

    Args:
        mode (str): ``'sum'``, ``'mean'`` or ``'max'``. Default: ``'mean'``
        include_last_offset (bool): ``offsets`` ends with the length of the input. Default: ``False``
        padding_idx (int): a row that starts at zero and is left out of every bag
        max_norm, norm_type, scale_grad_by_freq, sparse: as for `Embedding`

    >>> import rushlight as torch
    >>> bag = torch.nn.EmbeddingBag(10, 3, mode="sum")
    >>> bag(torch.tensor([1, 2, 4, 5, 4, 3, 2, 9]), torch.tensor([0, 4])).shape
    torch.Size([2, 3])
    """

    __constants__ = [
        "num_embeddings", "embedding_dim", "max_norm", "norm_type", "scale_grad_by_freq", "mode", "sparse",
        "include_last_offset", "padding_idx",
    ]  # fmt: skip

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self._set_padding_idx(padding_idx, "padding_idx")
        self._make_weight(_weight, False, device, dtype)
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        defaults = {"max_norm": None, "norm_type": 2, "scale_grad_by_freq": False}
        changed = [f"{name}={getattr(self, name)}" for name, usual in defaults.items() if getattr(self, name) != usual]
        changed.append(f"mode={self.mode!r}")
        if self.padding_idx is not None:
            changed.append(f"padding_idx={self.padding_idx}")
        return ", ".join([str(self.num_embeddings), str(self.embedding_dim), *changed])

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """An EmbeddingBag whose table is the 2-dimensional tensor ``embeddings``; ``freeze`` keeps it from training."""
        _check_pretrained(embeddings)
        bag = cls(
            *embeddings.shape,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            mode=mode,
            sparse=sparse,
            _weight=embeddings,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        bag.weight.requires_grad = not freeze
        return bag
