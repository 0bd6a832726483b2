"""``torch._dynamo.decorators``: marks for the compiler."""

from ....compiler.marks import (
    allow_in_graph,
    assume_constant_result,
    disable,
    disallow_in_graph,
    error_on_graph_break,
    forbid_in_graph,
    nonstrict_trace,
    run,
    set_stance,
    substitute_in_graph,
)
