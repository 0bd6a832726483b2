"""From formulas and loop programs to kernels that are called: traced, expanded, emitted, compiled, shown."""
