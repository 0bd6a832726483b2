"""MultiheadAttention: queries look at keys in several subspaces at once and take a blend of values."""

from __future__ import annotations

from ...amp.state import is_autocast_enabled
from ...autograd.modes import is_grad_enabled
from ...backends.mha import get_fastpath_enabled
from ...base.device import DeviceLike, jagged
from ...base.dtypes import DType
from ...base.errors import hinted
from ...ops.table import functions
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..functional.attention import canonical_mask
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear
from .module import Module


class MultiheadAttention(Module):
    """Multi-head attention with its projections.

    Args:
        embed_dim: size of queries and outputs; a multiple of ``num_heads``.
        num_heads: in how many subspaces of ``embed_dim // num_heads`` to attend.
        dropout: probability of dropping an attention weight in training (0).
        bias: whether the projections have biases (True).
        add_bias_kv: append a learned key and value, ``bias_k`` and ``bias_v``, to the sequence (False).
        add_zero_attn: append a key and value of zeros (False).
        kdim, vdim: sizes of keys and values, ``embed_dim`` if None. With sizes of their own the projections are
            ``q_proj_weight``, ``k_proj_weight`` and ``v_proj_weight``, otherwise one ``in_proj_weight``.
        batch_first: inputs are (N, L, E) rather than (L, N, E).

    ValueError and AssertionError for sizes that do not fit together. After Vaswani et al., "Attention Is All You Need"
    (2017). Follows ``torch.nn.MultiheadAttention``.

    >>> import rushlight as torch
    >>> attention = torch.nn.MultiheadAttention(16, num_heads=4, batch_first=True)
    >>> x = torch.randn(2, 5, 16)
    >>> output, weights = attention(x, x, x)
    >>> output.shape, weights.shape
    (torch.Size([2, 5, 16]), torch.Size([2, 5, 5]))
    """

    __constants__ = ["batch_first"]

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, "
                f"got embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def parameter(*shape):
            return Parameter(functions.empty(shape, device=device, dtype=dtype))

        if self._qkv_same_embed_dim:
            self.in_proj_weight = parameter(3 * embed_dim, embed_dim)
            absent = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
        else:
            self.q_proj_weight = parameter(embed_dim, embed_dim)
            self.k_proj_weight = parameter(embed_dim, self.kdim)
            self.v_proj_weight = parameter(embed_dim, self.vdim)
            absent = ("in_proj_weight",)
        for name in absent:
            self.register_parameter(name, None)
        self.register_parameter("in_proj_bias", parameter(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        self.bias_k = parameter(1, 1, embed_dim) if add_bias_kv else None
        self.bias_v = parameter(1, 1, embed_dim) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self):
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            init.xavier_uniform_(self.q_proj_weight)
            init.xavier_uniform_(self.k_proj_weight)
            init.xavier_uniform_(self.v_proj_weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        if self.bias_k is not None:
            init.xavier_normal_(self.bias_k)
        if self.bias_v is not None:
            init.xavier_normal_(self.bias_v)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """(output, weights): the attention of ``query`` (L, N, E) to ``key`` (S, N, kdim), blending ``value``.

        Batch first if the layer is, or without a batch dimension. A bool mask is True where a query may not look, a
        floating one is added to the scores: ``key_padding_mask`` (N, S), ``attn_mask`` (L, S) or (N * heads, L, S).
        ``is_causal`` promises that ``attn_mask`` is causal. The weights are None unless ``need_weights``, averaged over
        heads unless told otherwise.
        """
        if query.is_nested or key.is_nested or value.is_nested:
            self._expect_nested(query, key, value, key_padding_mask is not None or attn_mask is not None)
            return functions.nested_self_attention(self, query, need_weights, average_attn_weights)
        key_padding_mask = canonical_mask(key_padding_mask, "key_padding_mask", attn_mask, "attn_mask", query.dtype)
        attn_mask = canonical_mask(attn_mask, "attn_mask", None, "", query.dtype)
        transposed = self.batch_first and query.dim() == 3
        if transposed:
            query, key, value = _transpose_together(query, key, value)
        separate = not self._qkv_same_embed_dim
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=separate,
            q_proj_weight=self.q_proj_weight if separate else None,
            k_proj_weight=self.k_proj_weight if separate else None,
            v_proj_weight=self.v_proj_weight if separate else None,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (output.transpose(1, 0) if transposed else output), weights

    def _expect_nested(self, query, key, value, masked):
        """Refuse nested operands where PyTorch does: they are for self-attention in evaluation, without gradients."""
        weights = (query, self.in_proj_weight, self.in_proj_bias, self.out_proj.weight, self.out_proj.bias)
        own = {"in_proj_bias": self.in_proj_bias, "in_proj_weight": self.in_proj_weight}
        other = {name: each.dtype for name, each in own.items() if each is not None and each.dtype is not query.dtype}
        wrong_dtype = f"dtypes of query ({query.dtype}) and self.{next(iter(other), '')} ({next(iter(other.values()), '')}) don't match"
        tracked = is_grad_enabled() and any(each is not None and each.requires_grad for each in weights)
        reasons = {
            "torch.backends.mha.get_fastpath_enabled() was not True": not get_fastpath_enabled(),
            f"input not batched; expected query.dim() of 3 but got {query.dim()}": query.dim() != 3,
            "non-self attention was used (query, key, and value are not the same Tensor)": not query is key is value,
            "in_proj_weight was None": self.in_proj_weight is None,
            wrong_dtype: bool(other),
            "training is enabled": self.training,
            "self.num_heads is not even": self.num_heads % 2 != 0,
            "batch_first was not True": not self.batch_first,
            "self.bias_k was not None": self.bias_k is not None,
            "add_zero_attn was enabled": self.add_zero_attn,
            "supplying both src_key_padding_mask and src_mask at the same time "
            + " " * 33
            + "is not supported with NestedTensor input": masked,
            "autocast is enabled": is_autocast_enabled("cpu"),
            "some Tensor argument has_torch_function": query.layout is jagged,
            "grad is enabled and at least one of query or the input/output projection weights or biases requires_grad": tracked,
        }
        for reason, holds in reasons.items():
            if holds:
                message = f"MultiheadAttention does not support NestedTensor outside of its fast path. The fast path was not hit because {reason}"
                raise AssertionError(
                    hinted(message, "F.scaled_dot_product_attention takes jagged tensors, with gradients")
                )


def _transpose_together(query, key, value):
    """Each with its first two dimensions swapped; what was one tensor stays one, so that projections can be shared."""
    if key is value:
        turned = key.transpose(1, 0)
        return (turned if query is key else query.transpose(1, 0)), turned, turned
    return query.transpose(1, 0), key.transpose(1, 0), value.transpose(1, 0)
