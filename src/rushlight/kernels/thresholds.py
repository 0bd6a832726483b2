"""From how many elements of its first operand an operation leaves NumPy for a generated kernel, and why.

Measured on two cores of an Intel Xeon (Emerald Rapids); where a kernel wins on one machine at such sizes, it is not far
from winning on others. Kernels may still decline what they are offered.
"""

from __future__ import annotations

OPERATIONS = {  # module of the kernels -> operation -> elements
}

ELEMENTS = {name: elements for operations in OPERATIONS.values() for name, elements in operations.items()}
MODULE_OF = {name: module for module, operations in OPERATIONS.items() for name in operations}
