"""Recording by tensors that stand for others, which PyTorch's exporters do: nobody does here."""


def get_proxy_mode() -> None:
    """The recording that sees the next operation: none."""
