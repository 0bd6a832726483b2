"""``torch._higher_order_ops``: operations that take functions; here they run the Python they are given."""

from ...native import cond, while_loop
from .associative_scan import associative_scan, generic_associative_scan
