"""``torch._dynamo._trace_wrapped_higher_order_op``: what masks that are made under ``vmap`` need from PyTorch's compiler."""


class TransformGetItemToIndex:
    """A block in which a tensor's entries can be indices under ``vmap``; here they always can."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None
