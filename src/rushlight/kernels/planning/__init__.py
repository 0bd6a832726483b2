"""What all families of kernels share: which function computes an operation, and what is remembered of a call."""
