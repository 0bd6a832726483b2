"""``torch.testing._internal``: what test suites written for PyTorch build their cases with."""
