"""Transformer layers and stacks: encoder, decoder and both together."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

from ...amp.state import get_autocast_dtype, is_autocast_enabled
from ...autograd.modes import is_grad_enabled
from ...backends.mha import get_fastpath_enabled
from ...base.device import DeviceLike
from ...base.dtypes import DType
from ...base.exporting import is_exporting
from ...ops.table import functions
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..functional.attention import canonical_mask
from .activation import GELU, ReLU
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

_INFINITY = float("inf")


def _generate_square_subsequent_mask(size, device=None, dtype=None):
    """A (size, size) mask to add: zero where a position may look, minus infinity at all later ones."""
    return functions.full((size, size), -_INFINITY, dtype=dtype, device=device).triu(1)


def _is_causal_mask(mask, is_causal, size):
    """Whether to say that ``mask`` is causal: as told, or, for None, whether it is one for ``size`` positions."""
    if is_causal is not None or mask is None:
        return bool(is_causal)
    if tuple(mask.shape) != (size, size):
        return False
    return bool((mask == _generate_square_subsequent_mask(size, mask.device, mask.dtype)).all())


def _sequence_length(source, batch_first):
    """The number of positions of (L, N, E), (N, L, E) or (L, E)."""
    return source.shape[1 if source.dim() == 3 and batch_first else 0]


def _copies(module, count):
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _get_activation_fn(activation):
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


class TransformerEncoderLayer(Module):
    """Self-attention, then two linear layers, each followed by dropout, added to its input and normalised.

    Args:
        d_model, nhead: size of a position and number of attention heads.
        dim_feedforward: size between the linear layers (2048).
        dropout: probability of dropping, in attention and after each part (0.1).
        activation: 'relu', 'gelu' or a function, between the linear layers.
        layer_norm_eps: the norms' eps (1e-5).
        batch_first: inputs are (N, L, E) rather than (L, N, E).
        norm_first: normalise each part's input instead of the sum.
        bias: whether linear layers and norms have biases (True).

    After Vaswani et al., "Attention Is All You Need" (2017). Follows ``torch.nn.TransformerEncoderLayer``.

    >>> import rushlight as torch
    >>> layer = torch.nn.TransformerEncoderLayer(d_model=16, nhead=4, batch_first=True)
    >>> layer(torch.rand(2, 5, 16)).shape
    torch.Size([2, 5, 16])
    """

    __constants__ = ["norm_first"]

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        place = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **place
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **place)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        activation = _get_activation_fn(activation)
        if activation is F.relu or isinstance(activation, ReLU):
            self.activation_relu_or_gelu = 1
        elif activation is F.gelu or isinstance(activation, GELU):
            self.activation_relu_or_gelu = 2
        else:
            self.activation_relu_or_gelu = 0
        self.activation = activation

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The layer's output for ``src``; masks as in :class:`MultiheadAttention`, ``src_mask`` being its attn_mask."""
        padding_mask = canonical_mask(src_key_padding_mask, "src_key_padding_mask", src_mask, "src_mask", src.dtype)
        mask = canonical_mask(src_mask, "src_mask", None, "", src.dtype, check_other=False)
        x = src
        if is_autocast_enabled("cpu") and self._runs_in_one_call(src):
            x = x.to(get_autocast_dtype("cpu"))
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), mask, padding_mask, is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, mask, padding_mask, is_causal))
        return self.norm2(x + self._ff_block(x))

    def _runs_in_one_call(self, src):
        """Whether PyTorch runs the layer in one call, whose result under autocast has autocast's dtype."""
        attention = self.self_attn
        if self.training or src.dim() != 3 or not attention.batch_first or attention.in_proj_bias is None:
            return False
        if not (attention._qkv_same_embed_dim and self.activation_relu_or_gelu) or attention.num_heads % 2:
            return False
        if self.norm1.eps != self.norm2.eps or any(m._forward_hooks or m._forward_pre_hooks for m in self.modules()):
            return False
        return not (is_grad_enabled() and (src.requires_grad or any(p.requires_grad for p in self.parameters())))

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        x, _ = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False, is_causal=is_causal
        )
        return self.dropout1(x)

    def _ff_block(self, x):
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(Module):
    """Self-attention, attention to an encoder's output, then two linear layers, as in :class:`TransformerEncoderLayer`.

    Arguments as there. Follows ``torch.nn.TransformerDecoderLayer``.

    >>> import rushlight as torch
    >>> layer = torch.nn.TransformerDecoderLayer(d_model=16, nhead=4)
    >>> layer(torch.rand(7, 2, 16), memory=torch.rand(5, 2, 16)).shape
    torch.Size([7, 2, 16])
    """

    __constants__ = ["norm_first"]

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        place = {"device": device, "dtype": dtype}
        attention = {"dropout": dropout, "batch_first": batch_first, "bias": bias, **place}
        self.self_attn = MultiheadAttention(d_model, nhead, **attention)
        self.multihead_attn = MultiheadAttention(d_model, nhead, **attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **place)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
        self.norm3 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = _get_activation_fn(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The layer's output for ``tgt`` that may look at ``memory``; masks as in :class:`MultiheadAttention`."""
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), memory, *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, memory, *other))
        return self.norm3(x + self._ff_block(x))

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        x, _ = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal, need_weights=False
        )
        return self.dropout1(x)

    def _mha_block(self, x, memory, attn_mask, key_padding_mask, is_causal=False):
        x, _ = self.multihead_attn(
            x, memory, memory,
            attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal, need_weights=False,
        )  # fmt: skip
        return self.dropout2(x)

    def _ff_block(self, x):
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoder(Module):
    """``num_layers`` copies of an encoder layer, one after the other, and an optional ``norm`` at the end.

    With ``enable_nested_tensor``, in evaluation and without gradients, padded positions are left out of the computation,
    and come out as zeros; ``mask_check`` looks whether padding comes after each sequence. Follows ``torch.nn.TransformerEncoder``.

    >>> import rushlight as torch
    >>> layer = torch.nn.TransformerEncoderLayer(d_model=16, nhead=4, batch_first=True)
    >>> torch.nn.TransformerEncoder(layer, num_layers=2)(torch.rand(2, 5, 16)).shape
    torch.Size([2, 5, 16])
    """

    __constants__ = ["norm"]

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        reason = _why_not_nested(encoder_layer)
        if enable_nested_tensor and reason:
            warnings.warn(
                f"enable_nested_tensor is True, but self.use_nested_tensor is False because {reason}", stacklevel=2
            )
        self.use_nested_tensor = enable_nested_tensor and not reason
        self.mask_check = mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """The stack's output for ``src``. ``is_causal`` None looks whether ``mask`` is causal."""
        padding_mask = canonical_mask(src_key_padding_mask, "src_key_padding_mask", mask, "mask", src.dtype)
        mask = canonical_mask(mask, "mask", None, "", src.dtype, check_other=False)
        length = None if src.is_nested else _sequence_length(src, self._batch_first())
        is_causal = _is_causal_mask(mask, is_causal, length)
        output, packs = src, self._packs(src, mask, padding_mask)
        if packs:
            output = functions.nested_from_mask(src, padding_mask != -_INFINITY, False)
        for layer in self.layers:
            left_out = None if packs else padding_mask
            output = layer(output, src_mask=mask, is_causal=is_causal, src_key_padding_mask=left_out)
        if packs:
            output = output.to_padded_tensor(0.0, src.size())
        return output if self.norm is None else self.norm(output)

    def _batch_first(self):
        attention = getattr(self.layers[0], "self_attn", None) if len(self.layers) else None
        return bool(getattr(attention, "batch_first", False))

    def _packs(self, src, mask, padding_mask):
        """Whether the layers get a nested tensor of the positions that are not padding, as they do in PyTorch."""
        if not self.use_nested_tensor or self.training or mask is not None or padding_mask is None or src.dim() != 3:
            return False
        if src.is_nested or not get_fastpath_enabled() or is_autocast_enabled("cpu") or is_exporting():
            return False
        if is_grad_enabled() and (src.requires_grad or any(p.requires_grad for p in self.layers[0].parameters())):
            return False
        padded = padding_mask == -_INFINITY
        ends_in_padding = not (padded[:, :-1] & padded[:, 1:].logical_not()).any()
        return ends_in_padding or not self.mask_check


def _why_not_nested(layer):
    """The reason for which PyTorch's encoder does not use nested tensors with ``layer``, in its words, or None."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention = layer.self_attn
    if layer.norm_first:
        return "encoder_layer.norm_first was True"
    if not attention.batch_first:
        return "encoder_layer.self_attn.batch_first was not True(use batch_first for better inference performance)"
    if attention.in_proj_bias is None:
        return "encoder_layer.self_attn was passed bias=False"
    if not attention._qkv_same_embed_dim:
        return "encoder_layer.self_attn._qkv_same_embed_dim was not True"
    if not layer.activation_relu_or_gelu:
        return "encoder_layer.activation_relu_or_gelu was not True"
    if layer.norm1.eps != layer.norm2.eps:
        return "encoder_layer.norm1.eps was not equal to encoder_layer.norm2.eps"
    if attention.num_heads % 2 == 1:
        return "encoder_layer.self_attn.num_heads is odd"
    return None


class TransformerDecoder(Module):
    """``num_layers`` copies of a decoder layer, one after the other, and an optional ``norm`` at the end.

    Follows ``torch.nn.TransformerDecoder``.

    >>> import rushlight as torch
    >>> decoder = torch.nn.TransformerDecoder(torch.nn.TransformerDecoderLayer(d_model=16, nhead=4), num_layers=2)
    >>> decoder(torch.rand(7, 2, 16), memory=torch.rand(5, 2, 16)).shape
    torch.Size([7, 2, 16])
    """

    __constants__ = ["norm"]

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The stack's output for ``tgt`` that may look at ``memory``. ``tgt_is_causal`` None looks at ``tgt_mask``."""
        length = _sequence_length(tgt, self.layers[0].self_attn.batch_first)
        tgt_is_causal = _is_causal_mask(tgt_mask, tgt_is_causal, length)
        output = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=tgt_is_causal,
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """An encoder of the source and a decoder of the target, as in "Attention Is All You Need" (2017).

    ``custom_encoder`` and ``custom_decoder`` take the places of the stacks; the other arguments are those of
    :class:`TransformerEncoderLayer`. Follows ``torch.nn.Transformer``.

    >>> import rushlight as torch
    >>> model = torch.nn.Transformer(d_model=16, nhead=4, num_encoder_layers=1, num_decoder_layers=1, batch_first=True)
    >>> model(torch.rand(2, 5, 16), torch.rand(2, 7, 16)).shape
    torch.Size([2, 7, 16])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        place = {"device": device, "dtype": dtype}
        sizes = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        if custom_encoder is None:
            layer = TransformerEncoderLayer(*sizes, **place)
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, norm)
        else:
            self.encoder = custom_encoder
        if custom_decoder is None:
            layer = TransformerDecoderLayer(*sizes, **place)
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
            self.decoder = TransformerDecoder(layer, num_decoder_layers, norm)
        else:
            self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The decoder's output for ``tgt``, given the encoder's for ``src``; masks as in their layers."""
        if src.dim() == 3:
            batch_dim = 0 if self.batch_first else 1
            if src.size(batch_dim) != tgt.size(batch_dim):
                raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: DeviceLike = None, dtype: DType | None = None) -> Tensor:
        """A (sz, sz) mask to add: zero where a position may look, minus infinity at all later ones.

        >>> import rushlight as torch
        >>> torch.nn.Transformer.generate_square_subsequent_mask(3)
        tensor([[0., -inf, -inf],
                [0., 0., -inf],
                [0., 0., 0.]])
        """
        return _generate_square_subsequent_mask(sz, device, dtype)

    def _reset_parameters(self):
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)
