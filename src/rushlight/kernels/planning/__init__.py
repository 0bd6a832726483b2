"""What all families of kernels share: layouts, plans, what runs them, which function computes an operation."""
