"""``torch.fx.experimental``: what programs ask of it."""
