"""Modules of PyTorch that Rushlight has under its name alone, mostly of its inside, as a build for the CPU answers them."""

REPLACES = ("ops",)  # names that mean something else in Rushlight itself
