"""``torch.nn.functional``: the layers' functions without their parameters."""

from ...tensor import NAMESPACES as _NAMESPACES
from ...tensor.refusals import guarded as _guarded
from .. import grad
from .attention import multi_head_attention_forward, scaled_dot_product_attention

scaled_dot_product_attention = _guarded(scaled_dot_product_attention, "nn.functional", "scaled_dot_product_attention")
globals().update(_NAMESPACES["nn.functional"])
_threshold = _NAMESPACES["nn.functional"]["threshold"]  # a name that programs reach for
