"""Errors of writing in place where gradients are computed."""

from .case import Case

WRITING = "Writing in place"
Case(
    WRITING,
    "Writing into a leaf",
    """
weight = torch.ones(2, requires_grad=True)
weight -= 0.1
""",
    "A leaf is where gradients end. A recorded write would make it the result of an operation.",
    "Update parameters inside `with torch.no_grad():`, as optimizers do.",
    "Use the out-of-place form, or write into a `clone()`.",
)
Case(
    WRITING,
    "Writing into a view of a leaf",
    """
weight = torch.ones(4, requires_grad=True)
weight[0] = 5.0
""",
    "The view shares the memory of the leaf, so this writes into the leaf.",
    "`with torch.no_grad():`, or build the tensor from parts with `torch.cat`, `torch.where` or `index_put`.",
)
Case(
    WRITING,
    "Writing into a result that its operation had saved",
    """
x = torch.ones(2, requires_grad=True)
y = x.exp()
y += 1
y.sum().backward()
""",
    "The derivative of exp is its result. The result was overwritten before backward needed it. The hint names the write, "
    "its line, and the operation that had saved the value.",
    "`y = y + 1` instead of `y += 1`.",
    "Run the forward pass inside `torch.autograd.detect_anomaly()`: then the line of the operation is told as well.",
)
Case(
    WRITING,
    "Writing into an input that an operation had saved",
    """
x = torch.ones(2)
w = torch.ones(2, requires_grad=True)
loss = (w * x).sum()
x.zero_()
loss.backward()
""",
    "The derivative with respect to `w` is `x`, as it was. Reused buffers are a common source.",
    "Write into another tensor, or multiply by `x.clone()`.",
)
Case(
    WRITING,
    "An optimizer step between forward and backward",
    """
first, second = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2))
optimizer = torch.optim.SGD([first, second], lr=0.1)
loss = (first * second).sum()
loss.backward(retain_graph=True)
optimizer.step()
loss.backward()
""",
    "The step changed the weights that the graph had saved. In adversarial training: one network's step before the other's backward.",
    "Call every backward before the step, or compute the loss again after it.",
)
Case(
    WRITING,
    "Both lines, in anomaly mode",
    """
x = torch.ones(2, requires_grad=True)
with torch.autograd.set_detect_anomaly(True, check_nan=False):
    y = x.sqrt()
    y.mul_(2)
    y.sum().backward()
""",
    "As above. In anomaly mode every node knows its line, so the hint tells both.",
    "`y = y * 2`.",
)
Case(
    WRITING,
    "Writing into one of several views",
    """
x = torch.ones(4, requires_grad=True) * 1
first, second = x.chunk(2)
first += 1
""",
    "Functions that return several views of one tensor record one node for all of them; a write into one would have to rewrite it.",
    "`first = first + 1`, or write through a view of its own: `x[:2] += 1`.",
)
Case(
    WRITING,
    "Writing into a view that was made without recording",
    """
x = torch.ones(4, requires_grad=True) * 1
with torch.no_grad():
    part = x[:2]
part += 1
""",
    "The view was made inside `no_grad()`, the write happens outside: it is not clear whether it should be recorded.",
    "Make the view and write through it on the same side.",
)
Case(
    WRITING,
    "Writing into a view that a custom Function returned",
    """
class Part(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x[:1]

    @staticmethod
    def backward(ctx, grad):
        return torch.cat([grad, torch.zeros(1)])

x = torch.ones(2, requires_grad=True) * 1
part = Part.apply(x)
part.mul_(2)
""",
    "A recorded write would replace the history of the view, and with it the Function's own backward.",
    "`part.clone()`, or the out-of-place form.",
)
Case(
    WRITING,
    "Giving the result a tensor to go to",
    """
x = torch.ones(2, requires_grad=True)
buffer = torch.empty(2)
torch.exp(x, out=buffer)
""",
    "`out=` writes without recording, so no gradient could flow.",
    "Leave `out=` away, or compute inside `torch.no_grad()`.",
)
Case(
    WRITING,
    "A write that would have to enlarge the tensor",
    """
total = torch.zeros(3)
total += torch.ones(2, 3)
""",
    "The result has more elements than the tensor that is to hold it.",
    "`total = total + ...`, or reduce the operand first.",
)
Case(
    WRITING,
    "A write of another kind of number",
    """
count = torch.zeros(3, dtype=torch.int64)
count += 0.5
""",
    "The result is a float, the memory holds integers.",
    "`count = count + 0.5`, or make the tensor a float one.",
)
Case(
    WRITING,
    "Copying into a leaf",
    """
weight = torch.ones(2, requires_grad=True)
weight.copy_(torch.zeros(2))
""",
    "`copy_` is a write like any other.",
    "`with torch.no_grad(): weight.copy_(...)`.",
)
Case(
    WRITING,
    "A parameter as place for a result",
    """
weight = torch.ones(2, requires_grad=True)
torch.add(torch.ones(2), 1, out=weight)
""",
    "`out=` writes into the parameter without recording.",
    "`with torch.no_grad():`, or `weight.data`.",
)
Case(
    WRITING,
    "Writing through a view after its base was written",
    """
x = torch.ones(4, requires_grad=True) * 1
first, *rest = x.unbind()
x.mul_(2)
first.sum().backward()
""",
    "The write into the base changed the view too, and the history of one of several views cannot follow.",
    "Take the views after the write, or one at a time: `x[0]`.",
)
Case(
    WRITING,
    "Writing into a tensor made in inference mode",
    """
with torch.inference_mode():
    table = torch.ones(2)
table.add_(1)
""",
    "Tensors of inference mode have no version: outside, nobody could tell that they changed.",
    "`table.clone().add_(1)`, or `torch.no_grad()` instead of `torch.inference_mode()`.",
)
Case(
    WRITING,
    "Writing into a view made in inference mode",
    """
x = torch.ones(2, requires_grad=True) * 1
with torch.inference_mode():
    part = x[:1]
part.add_(1)
""",
    "Nothing was recorded about the view, and the write would be.",
    "Make the view outside.",
)
Case(
    WRITING,
    "A write by hand, to a list of numbers",
    """
torch.autograd.graph.increment_version([1.0])
""",
    "`increment_version` tells autograd of writes that it could not see, to tensors.",
    "Pass the tensors that were written.",
)
Case(
    WRITING,
    "A write by hand, to a number",
    """
torch.autograd.graph.increment_version(1.0)
""",
    "It takes a tensor, or several.",
    "Pass the tensors that were written.",
)
