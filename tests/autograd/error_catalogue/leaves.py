"""Errors of tensors: what may require grad, and what may be assigned."""

from .case import Case

LEAVES = "Tensors, leaves and their gradients"
Case(
    LEAVES,
    "Gradients for integers",
    """
index = torch.arange(3)
index.requires_grad_()
""",
    "Derivatives exist for continuous numbers: floating-point and complex tensors.",
    "`index.float().requires_grad_()`. An embedding's indices need no gradient, its weight does.",
)
Case(
    LEAVES,
    "An integer tensor that is to require grad from the start",
    """
torch.tensor([1, 2, 3], requires_grad=True)
""",
    "Whole numbers make an integer tensor.",
    "Write `[1.0, 2.0, 3.0]`, or pass `dtype=torch.float32`.",
)
Case(
    LEAVES,
    "A gradient for what a loss treats as given",
    """
weight = torch.ones(3, requires_grad=True)
torch.nn.functional.nll_loss(torch.zeros(2, 3), torch.tensor([0, 1]), weight)
""",
    "Weights of classes and running statistics have no derivative.",
    "Give `weight.detach()`.",
)
Case(
    LEAVES,
    "Switching off requires_grad of a result",
    """
x = torch.ones(2, requires_grad=True)
y = x * 2
y.requires_grad = False
""",
    "A result requires grad because of what it was computed from.",
    "`y.detach()` is the same values outside the graph.",
)
Case(
    LEAVES,
    "Reading the gradient of a result",
    """
x = torch.ones(2, requires_grad=True)
y = x * 2
y.sum().backward()
y.grad
""",
    "Backward keeps the gradients of leaves alone; the others are passed on and dropped. A warning, and None.",
    "`y.retain_grad()` before backward, or `torch.autograd.grad(loss, y)`.",
)
Case(
    LEAVES,
    "Keeping the gradient of what has none",
    """
x = torch.ones(2)
x.retain_grad()
""",
    "No gradient flows to a tensor that does not require grad.",
    "`requires_grad_()` on what it is computed from.",
)
Case(
    LEAVES,
    "Assigning a gradient that is no tensor",
    """
w = torch.ones(2, requires_grad=True)
w.grad = 0
""",
    "A gradient is a tensor, or None.",
    "`w.grad = None`, or `torch.zeros_like(w)`.",
)
Case(
    LEAVES,
    "Assigning a gradient of another shape",
    """
w = torch.ones(2, requires_grad=True)
w.grad = torch.ones(3)
""",
    "A gradient has one number for each element.",
    "`sum_to_size`, `expand` or `reshape` it.",
)
Case(
    LEAVES,
    "Assigning a gradient of another dtype",
    """
w = torch.ones(2, requires_grad=True)
w.grad = torch.ones(2, dtype=torch.float64)
""",
    "A gradient has the dtype of its tensor.",
    "`gradient.to(w.dtype)`.",
)
Case(
    LEAVES,
    "A tensor as its own gradient",
    """
w = torch.ones(2, requires_grad=True)
w.grad = w
""",
    "The two would share their memory, and every accumulation would change the tensor.",
    "`w.grad = w.detach().clone()`.",
)
Case(
    LEAVES,
    "Integer data for a tensor that requires grad",
    """
w = torch.ones(2, requires_grad=True)
w.data = torch.ones(2, dtype=torch.int64)
""",
    "The tensor would require grad and hold integers.",
    "Convert the data.",
)
Case(
    LEAVES,
    "Data that is no tensor",
    """
w = torch.ones(2, requires_grad=True)
w.data = [1.0, 2.0]
""",
    "`.data` is a tensor.",
    "`torch.tensor([1.0, 2.0])`, or `with torch.no_grad(): w.copy_(...)`.",
)
Case(
    LEAVES,
    "Detaching a view in place",
    """
x = torch.ones(4, requires_grad=True) * 1
part = x[:2]
part.detach_()
""",
    "A view belongs to its base; it cannot leave the graph alone.",
    "`part = part.detach()`.",
)
Case(
    LEAVES,
    "Backward through what was detached in place",
    """
x = torch.ones(4, requires_grad=True) * 1
loss = (x * x).sum()
x.detach_()
loss.backward()
""",
    "The product keeps its operand to compute the gradient, and that has left the graph since.",
    "`x = x.detach()` leaves the tensor that the graph knows as it is.",
)
Case(
    LEAVES,
    "A NumPy array of a tensor that requires grad",
    """
w = torch.ones(2, requires_grad=True)
w.numpy()
""",
    "NumPy records nothing: what is computed there has no gradient. The error makes sure that this is known.",
    "`w.detach().numpy()`.",
)
Case(
    LEAVES,
    "A deep copy of a result",
    """
import copy
x = torch.ones(2, requires_grad=True)
y = x * 2
copy.deepcopy(y)
""",
    "A copy would have to copy the graph behind it. Often a module keeps a result as an attribute.",
    "`y.detach().clone()`; keep results out of modules, or detach them.",
)
Case(
    LEAVES,
    "A tensor made of a tensor",
    """
x = torch.ones(2, requires_grad=True)
torch.tensor(x)
""",
    "`torch.tensor` copies values, and the copy is outside the graph. A warning.",
    "`x.clone()` keeps the graph, `x.detach().clone()` does not.",
)

Case(
    LEAVES,
    "A number made of a tensor that requires grad",
    """
loss = torch.ones(3, requires_grad=True).sum()
total = 0.0
total += float(loss)
""",
    "A Python number is outside the graph. A warning, once a process: `float()` does not show whether that is meant.",
    "`loss.item()` for a number; keep the tensor where the gradient is wanted.",
)
Case(
    LEAVES,
    "Resizing a tensor that requires grad",
    """
x = torch.ones(2, requires_grad=True)
x.resize_(3)
""",
    "New memory would have no history, and the gradient another shape than the tensor.",
    "`torch.cat`, `torch.nn.functional.pad` or `reshape` make a new tensor.",
)
Case(
    LEAVES,
    "Writing into a tensor that was expanded",
    """
row = torch.zeros(1).expand(3)
row += torch.arange(3.0)
""",
    "An expanded tensor repeats one element without memory for each: three different sums have one place.",
    "`row.clone()`, or `row = row + ...`.",
)
Case(
    LEAVES,
    "A tensor of inference mode in a graph",
    """
with torch.inference_mode():
    scale = torch.ones(2)
weight = torch.ones(2, requires_grad=True)
(weight * scale).sum().backward()
""",
    "Backward would need `scale` as it was, and nobody counts the writes to it.",
    "`scale.clone()` outside of inference mode, or make it inside `torch.no_grad()`.",
)
Case(
    LEAVES,
    "Gradients for a tensor of inference mode",
    """
with torch.inference_mode():
    weight = torch.ones(2)
weight.requires_grad_()
""",
    "Such tensors never meet autograd.",
    "`weight.clone().requires_grad_()`.",
)
Case(
    LEAVES,
    "The version of a tensor of inference mode",
    """
with torch.inference_mode():
    x = torch.ones(2)
x._version
""",
    "Not counting is what makes the mode cheap.",
    "`torch.no_grad()`.",
)
Case(
    LEAVES,
    "requires_grad that is neither true nor false",
    """
x = torch.ones(2)
x.requires_grad = 1
""",
    "It is a bool.",
    "`x.requires_grad = True`.",
)
Case(
    LEAVES,
    "requires_grad_ of something else",
    """
x = torch.ones(2)
x.requires_grad_('yes')
""",
    "It takes a bool.",
    "`x.requires_grad_()`.",
)
Case(
    LEAVES,
    "A tensor that requires grad for another library",
    """
x = torch.ones(2, requires_grad=True)
x.__dlpack__()
""",
    "What the other library does with it is not recorded.",
    "`x.detach()`.",
)
Case(
    LEAVES,
    "A Python function for each element",
    """
x = torch.ones(2, requires_grad=True)
x.map_(torch.ones(2), lambda a, b: a + b)
""",
    "A function of Python numbers has no derivative.",
    "`x.detach().map_(...)`, or tensor operations.",
)
Case(
    LEAVES,
    "The dtype of the gradients of a result",
    """
y = torch.ones(2, requires_grad=True) * 2
y.grad_dtype
""",
    "`grad_dtype` says in which dtype a leaf accumulates; results accumulate nothing.",
    "Ask the leaf.",
)
Case(
    LEAVES,
    "Choosing the dtype of the gradients of a result",
    """
y = torch.ones(2, requires_grad=True) * 2
y.grad_dtype = torch.float64
""",
    "As above.",
    "Set it on the leaf, before backward.",
)
Case(
    LEAVES,
    "A dtype of gradients that is none",
    """
x = torch.ones(2, requires_grad=True)
x.grad_dtype = "float64"
""",
    "It is a dtype, or None for any.",
    "`x.grad_dtype = torch.float64`.",
)
Case(
    LEAVES,
    "Another dtype of gradients beside a gradient",
    """
x = torch.ones(2, requires_grad=True)
x.sum().backward()
x.grad_dtype = torch.float64
""",
    "What is there and what comes must have one dtype.",
    "`x.grad = None` before.",
)
Case(
    LEAVES,
    "Numbers for a tensor of the meta device",
    """
x = torch.ones(2, device="meta")
x.data = torch.ones(2)
""",
    "A tensor of the meta device has a shape and no numbers, and never gets any.",
    "Make a new tensor, or `module.to_empty(device='cpu')` for a module and `load_state_dict` after it.",
)
