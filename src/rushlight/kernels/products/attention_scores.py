"""The scores of attention whose weights are wanted, too: a batch of products, by the kernel of those."""

from __future__ import annotations

from ..planning.layout import Layout
from ..planning.plan import Made, Passed
from ..planning.runner import plan_for
from .matmul import plan_batch, scaled


@plan_for("scaled_scores")
def scaled_scores(query: Layout, key: Layout, scale: Passed):
    plan = plan_batch(("scaled", query.plain()), ("key", key, True))
    return plan and plan._replace(made={"scaled": Made(scaled, ("query", scale))})
