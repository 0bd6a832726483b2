"""``torch.nn.functional``: the layers' functions without their parameters."""

from ...tensor.interception import seen_whole as _seen_whole
from ...tensor.names import names_of as _names_of
from ...tensor.refusals import guarded as _guarded
from .. import grad
from .attention import multi_head_attention_forward, scaled_dot_product_attention
from .linear_cross_entropy import linear_cross_entropy

scaled_dot_product_attention = _guarded(scaled_dot_product_attention, "nn.functional", "scaled_dot_product_attention")
_seen_whole(scaled_dot_product_attention)
_seen_whole(linear_cross_entropy)
__getattr__, __dir__ = _names_of("nn.functional", globals())
_threshold = __getattr__("threshold")  # a name that programs reach for
