"""``torch.nn.attention.bias``: which keys a query sees, as a bias that `scaled_dot_product_attention` knows without making a mask."""

import enum
import warnings

from ...base.dtypes import bool_
from ...base.errors import hinted
from ...ops.table import functions
from ...tensor import Tensor
from ...tensor.interception import intercept_for
from ..functional import scaled_dot_product_attention

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """Where the triangle of a causal bias lies: query i sees keys 0 to i, or the last query sees all keys."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


@intercept_for
class CausalBias(Tensor):
    """A causal bias of ``seq_len_q`` queries and ``seq_len_kv`` keys, to be passed as ``attn_mask``.

    `causal_upper_left` and `causal_lower_right` make one. ``_materialize()`` is the mask, a bool tensor.
    """

    def __init__(self, variant, seq_len_q, seq_len_kv):
        if not isinstance(variant, CausalVariant):
            raise AssertionError(
                hinted(
                    f"variant must be a CausalVariant, got {type(variant).__name__}", "such as CausalVariant.UPPER_LEFT"
                )
            )
        super().__init__()
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv
        if seq_len_q > seq_len_kv and variant == CausalVariant.LOWER_RIGHT:
            warnings.warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!", stacklevel=2
            )

    def _materialize(self, device=None):
        """The mask: (seq_len_q, seq_len_kv), True where the query sees the key."""
        seen = functions.ones(self.seq_len_q, self.seq_len_kv, dtype=bool_, device=device)
        lower_right = self.variant == CausalVariant.LOWER_RIGHT
        return seen.tril(self.seq_len_kv - self.seq_len_q if lower_right else 0)

    @staticmethod
    def _dispatch(
        query, key, value, attn_mask, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
    ):  # fmt: skip
        """Attention under the bias ``attn_mask``; the square and the upper left one are what ``is_causal`` says."""
        if is_causal:
            raise ValueError(
                hinted("CausalBias should not be used with causal=True", "leave is_causal out: the bias says it")
            )
        plain = attn_mask.seq_len_q == attn_mask.seq_len_kv or attn_mask.variant == CausalVariant.UPPER_LEFT
        mask = None if plain else attn_mask._materialize(query.device)
        return scaled_dot_product_attention(
            query, key, value, mask, dropout_p, is_causal=plain, scale=scale, enable_gqa=enable_gqa
        )

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is scaled_dot_product_attention:
            return cls._dispatch(*args, **kwargs)
        return super().__torch_function__(func, types, args, kwargs)

    def __repr__(self):
        return repr(self._materialize())


def causal_upper_left(*size):
    """A causal bias of (queries, keys) whose triangle begins at the upper left: query i sees keys 0 to i.

    >>> import rushlight as torch
    >>> from rushlight.nn.attention.bias import causal_upper_left
    >>> bias = causal_upper_left(2, 3)
    >>> bias
    tensor([[ True, False, False],
            [ True,  True, False]])
    >>> q, k = torch.randn(1, 1, 2, 4), torch.randn(1, 1, 3, 4)
    >>> torch.nn.functional.scaled_dot_product_attention(q, k, k, bias).shape
    torch.Size([1, 1, 2, 4])
    """
    return _made("causal_upper_left", CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size):
    """A causal bias of (queries, keys) whose triangle ends at the lower right: the last query sees all keys.

    >>> from rushlight.nn.attention.bias import causal_lower_right
    >>> causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    return _made("causal_lower_right", CausalVariant.LOWER_RIGHT, size)


def _made(name, variant, size):
    if len(size) != 2:
        raise AssertionError(hinted(f"{name} only supports 2D tensors", "pass the numbers of queries and of keys"))
    return CausalBias(variant, *size)
