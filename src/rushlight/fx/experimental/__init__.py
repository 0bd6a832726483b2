"""``torch.fx.experimental``: questions about sizes that a compiler does not know; here all are known."""
