"""Errors of backward() and grad() themselves."""

from .case import Case

CALLING = "Calling backward and grad"
Case(
    CALLING,
    "Backward from a tensor without a graph",
    """
prediction = torch.ones(3)
loss = prediction.sum()
loss.backward()
""",
    "Nothing that the value was computed from has `requires_grad=True`, or recording was off, or the graph was cut on the way.",
    "Set `requires_grad_()` on the inputs or parameters before the computation.",
    "Look for `no_grad()`, `detach()`, `.data`, `.item()` and conversions to NumPy on the way; `rushlight.explain(loss)` helps.",
)
Case(
    CALLING,
    "Backward from more than one element",
    """
x = torch.ones(3, requires_grad=True)
y = x * 2
y.backward()
""",
    "A gradient starts from one number. For a tensor of many elements there is no obvious number to start from.",
    "Reduce first: `y.sum().backward()` or `y.mean().backward()`.",
    "Pass the gradient of some final value with respect to `y`: `y.backward(torch.ones_like(y))`.",
)
Case(
    CALLING,
    "Backward from a complex number",
    """
z = torch.tensor(1 + 2j, requires_grad=True)
w = z * z
w.backward()
""",
    "The derivative of a complex value is not one number: only real losses have an implicit gradient.",
    "Make the loss real: `w.abs().backward()` or `w.real.backward()`.",
    "Pass a complex `gradient=`.",
)
Case(
    CALLING,
    "Backward twice through one graph",
    """
x = torch.ones(3, requires_grad=True)
loss = x.exp().sum()
loss.backward()
loss.backward()
""",
    "The first call freed what the operations had saved. The hint names that call, which often stands elsewhere: in a loop "
    "whose graph reaches back into the step before.",
    "Compute the forward pass again before each backward call; `detach()` what is carried from one step to the next.",
    "Pass `retain_graph=True` to the first call if two passes through one graph are meant.",
    "Add the losses and call backward once.",
)
Case(
    CALLING,
    "A hidden state that carries the graph from step to step",
    """
weight = torch.ones(1, requires_grad=True)
state = torch.zeros(1)
for step in range(2):
    state = (state + weight).tanh()
    state.sum().backward()
""",
    "The second step's graph contains the first step's, which was freed.",
    "`state = state.detach()` after each step cuts the graph there.",
)
Case(
    CALLING,
    "Reading saved values after backward",
    """
x = torch.ones(3, requires_grad=True)
y = x.exp()
y.sum().backward()
y.grad_fn._saved_result
""",
    "Backward frees what nodes have saved; a look at it needs it to be kept.",
    "Look before backward, or pass `retain_graph=True`.",
)
Case(
    CALLING,
    "A gradient of another shape",
    """
x = torch.ones(2, 3, requires_grad=True)
y = x * 2
y.backward(torch.ones(3))
""",
    "The gradient handed to backward is not broadcast: it has one number for each element of the tensor.",
    "`torch.ones_like(y)`, or `gradient.expand_as(y)`.",
)
Case(
    CALLING,
    "A real gradient for a complex tensor",
    """
z = torch.ones(2, dtype=torch.complex64, requires_grad=True)
w = z * 2
w.backward(torch.ones(2))
""",
    "Complex tensors have complex gradients.",
    "`gradient.to(w.dtype)`.",
)
Case(
    CALLING,
    "A gradient that is no tensor",
    """
x = torch.ones(2, requires_grad=True)
torch.autograd.backward([x * 2], [1.0])
""",
    "Gradients are tensors of the outputs' shapes, or None for outputs of one element.",
    "`torch.ones_like(output)`.",
)
Case(
    CALLING,
    "Another number of gradients than of tensors",
    """
x = torch.ones(2, requires_grad=True)
torch.autograd.backward([x * 2, x * 3], [torch.ones(2)])
""",
    "Every tensor needs its own gradient, None for a scalar.",
    "Pass a list of the same length.",
)
Case(
    CALLING,
    "An empty list of inputs",
    """
x = torch.ones(2, requires_grad=True)
x.sum().backward(inputs=[])
""",
    "With `inputs=`, gradients go to these tensors alone; an empty list would make the call do nothing.",
    "Leave `inputs=` away, or name the tensors.",
)
Case(
    CALLING,
    "The gradient with respect to a tensor that does not require grad",
    """
x = torch.ones(2)
w = torch.ones(2, requires_grad=True)
torch.autograd.grad((w * x).sum(), x)
""",
    "Nothing was recorded about `x`, so there is no derivative with respect to it.",
    "`x.requires_grad_()` before the computation.",
)
Case(
    CALLING,
    "The gradient with respect to an unused tensor",
    """
used = torch.ones(2, requires_grad=True)
forgotten = torch.ones(2, requires_grad=True)
loss = (used * 2).sum()
torch.autograd.grad(loss, [used, forgotten])
""",
    "The outputs do not depend on that input: a layer that was not called, a copy made before the computation, a branch not taken.",
    "`allow_unused=True` returns None, `materialize_grads=True` zeros.",
)
Case(
    CALLING,
    "Zeros for unused inputs, and an error for them",
    """
x = torch.ones(2, requires_grad=True)
torch.autograd.grad(x.sum(), x, allow_unused=False, materialize_grads=True)
""",
    "`materialize_grads=True` makes zeros of missing gradients, so `allow_unused=False` contradicts it.",
    "Leave `allow_unused` away.",
)
Case(
    CALLING,
    "Zeros for the gradient at an edge",
    """
x = torch.ones(2, requires_grad=True)
edge = torch.autograd.graph.get_gradient_edge(x)
other = torch.ones(2, requires_grad=True)
torch.autograd.grad(other.sum(), [edge], materialize_grads=True)
""",
    "An edge is a place in the graph without a shape.",
    "Pass the tensor itself, or `allow_unused=True`.",
)
Case(
    CALLING,
    "Batched gradients of another shape",
    """
x = torch.ones(3, requires_grad=True)
y = x * 2
torch.autograd.grad(y, x, torch.ones(4, 2), is_grads_batched=True)
""",
    "With `is_grads_batched=True` the first dimension counts the gradients; the rest is the shape of the output.",
    "Here `torch.ones(4, 3)`: four gradients for a tensor of three elements.",
)
Case(
    CALLING,
    "An edge of a tensor without gradients",
    """
torch.autograd.graph.get_gradient_edge(torch.ones(2))
""",
    "Only a tensor that requires grad has a place in the graph.",
    "`requires_grad_()` first.",
)
Case(
    CALLING,
    "Recording into the gradients themselves",
    """
x = torch.ones(1, requires_grad=True)
x.exp().sum().backward(create_graph=True)
""",
    "The gradient is stored on the leaf and its graph refers to the leaf: a cycle, which lives until it is broken. A warning.",
    "`torch.autograd.grad(loss, parameters, create_graph=True)` returns gradients instead of storing them.",
    "Set the gradients to None when done.",
)

Case(
    CALLING,
    "Accumulating into what is no tensor",
    """
x = torch.ones(2, requires_grad=True)
x.sum().backward(inputs=["x"])
""",
    "`inputs=` are the tensors themselves, not their names.",
    "`inputs=[x]`.",
)
Case(
    CALLING,
    "A derivative that is not known",
    """
x = torch.full((2,), 2.0, requires_grad=True)
torch.special.zeta(x, 1.0).sum().backward()
""",
    "Nobody has written the derivative with respect to that operand.",
    "`x.detach()` where no gradient is needed, or a custom `torch.autograd.Function` that has one.",
)
Case(
    CALLING,
    "A function of steps",
    """
x = torch.ones(2, requires_grad=True)
torch.heaviside(x, torch.zeros(2)).sum().backward()
""",
    "A step has no slope that anything could be learned from, so the operation refuses to be differentiated.",
    "A smooth function in its place, such as a sigmoid.",
)
Case(
    CALLING,
    "Backward from what is no tensor",
    """
torch.autograd.backward([1.0])
""",
    "A number has no graph behind it. Often `.item()` was called one step too early.",
    "Pass the tensor.",
)
Case(
    CALLING,
    "A dictionary of another kind",
    """
import types
x = torch.ones(2, requires_grad=True)
torch.autograd.grad(x.sum(), types.MappingProxyType({"x": x}))
""",
    "Inputs may be a tensor, a sequence, or a plain dictionary, whose keys the result then has.",
    "`dict(inputs)`.",
)
Case(
    CALLING,
    "An argument by its former name",
    """
x = torch.ones(2, requires_grad=True)
torch.autograd.backward(x, grad_variables=torch.ones(2))
""",
    "`grad_variables` became `grad_tensors`. A warning.",
    "`torch.autograd.backward(x, torch.ones(2))`.",
)
Case(
    CALLING,
    "Both names of an argument",
    """
x = torch.ones(2, requires_grad=True)
torch.autograd.backward(x, torch.ones(2), grad_variables=torch.ones(2))
""",
    "They are two names for the same.",
    "Leave `grad_variables` away.",
)
Case(
    CALLING,
    "Gradients for other inputs as well",
    """
x = torch.ones(2, requires_grad=True)
torch.autograd.grad(x.sum(), x, only_inputs=False)
""",
    "`grad` never touches other tensors. A warning.",
    "`torch.autograd.backward` accumulates into all leaves.",
)
