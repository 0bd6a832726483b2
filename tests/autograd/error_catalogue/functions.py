"""Errors of custom Functions."""

from .case import Case

FUNCTIONS = "Custom functions"
_FUNCTION = """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        {forward}

    @staticmethod
    def backward(ctx, grad):
        {backward}

x = torch.ones(2, requires_grad=True){after}
"""


def _function(
    forward="return x * factor", backward="return grad * 2, None", after="\nDouble.apply(x, 2).sum().backward()"
):
    return _FUNCTION.format(forward=forward, backward=backward, after=after)


Case(
    FUNCTIONS,
    "Too few gradients",
    _function(backward="return grad * 2"),
    "`backward` returns one value for each argument of `forward` after `ctx`.",
    "`return grad * 2, None`: None for arguments that need no gradient.",
)
Case(
    FUNCTIONS,
    "A gradient for a number",
    _function(backward="return grad * 2, grad"),
    "The second argument was a number, which has no gradient.",
    "Return None in its place.",
)
Case(
    FUNCTIONS,
    "A gradient of a shape that does not fit",
    _function(backward="return torch.ones(3), None"),
    "The gradient of a tensor has the shape of that tensor (or one that broadcasting could have made of it).",
    "Print `grad.shape` and the shapes of forward's arguments.",
)
Case(
    FUNCTIONS,
    "A backward that returns a number",
    _function(backward="return 2.0, None"),
    "`backward` returns tensors and None.",
    "`grad * 2.0`.",
)
Case(
    FUNCTIONS,
    "No backward",
    """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

x = torch.ones(2, requires_grad=True)
Double.apply(x).sum().backward()
""",
    "The class has no static method `backward`.",
    "Write it, or mark the output with `ctx.mark_non_differentiable`.",
)
Case(
    FUNCTIONS,
    "No forward",
    """
class Double(torch.autograd.Function):
    pass

Double.apply(torch.ones(2))
""",
    "The class has no static method `forward`.",
    "Write it.",
)
Case(
    FUNCTIONS,
    "Saving what is no tensor",
    _function(forward="ctx.save_for_backward(x, factor)\n        return x * factor"),
    "`save_for_backward` keeps tensors, whose versions it can check.",
    "`ctx.factor = factor`.",
)
Case(
    FUNCTIONS,
    "A dirty input that is not returned",
    """
class Increment(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.add_(1)
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad

x = torch.ones(2, requires_grad=True) * 1
Increment.apply(x)
""",
    "An input that forward wrote into is an output: its new values come out of this operation.",
    "`return x`.",
)
Case(
    FUNCTIONS,
    "A leaf as dirty input",
    """
class Increment(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.add_(1)

    @staticmethod
    def backward(ctx, grad):
        return grad

x = torch.ones(2, requires_grad=True)
Increment.apply(x)
""",
    "As with every other write: a leaf that requires grad must not be written where writes are recorded.",
    "`Increment.apply(x.clone())`.",
)
Case(
    FUNCTIONS,
    "An instance of a Function",
    """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

Double()
""",
    "All methods of a Function are static; there is nothing to make an instance of. A warning.",
    "`Double.apply(x)`.",
)
Case(
    FUNCTIONS,
    "A second derivative that was excluded",
    """
once_differentiable = torch.autograd.function.once_differentiable

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad

x = torch.ones(2, requires_grad=True)
(first,) = torch.autograd.grad((Square.apply(x) ** 2).sum(), x, create_graph=True)
first.sum().backward()
""",
    "`once_differentiable` says that `backward` is not made of differentiable operations.",
    "Remove the decorator where it is, or do not pass `create_graph=True`.",
)

Case(
    FUNCTIONS,
    "A Function that is called",
    """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

Double()(torch.ones(2))
""",
    "That is how Functions were used long ago.",
    "`Double.apply(x)`.",
)
Case(
    FUNCTIONS,
    "A number for forward mode",
    _function(forward="ctx.save_for_forward(x, factor)\n        return x * factor"),
    "`save_for_forward` keeps tensors for `jvp`.",
    "`ctx.factor = factor`.",
)
Case(
    FUNCTIONS,
    "A dirty tensor that was no input",
    """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = x * 2
        ctx.mark_dirty(result)
        return result

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

Double.apply(torch.ones(2, requires_grad=True))
""",
    "Only inputs that forward wrote into are dirty. A warning.",
    "Leave `mark_dirty` away.",
)
Case(
    FUNCTIONS,
    "Writing into a view, with two results",
    """
class Increment(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.add_(1), x * 2

    @staticmethod
    def backward(ctx, grad, other):
        return grad + 2 * other

x = torch.ones(4, requires_grad=True) * 1
Increment.apply(x[:2])
""",
    "The base of the view would get a history that leads through a node with two outputs.",
    "`Increment.apply(x[:2].clone())`, or two Functions.",
)
Case(
    FUNCTIONS,
    "Saving an input that is returned as it is",
    """
class Same(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad):
        return grad

Same.apply(torch.ones(2, requires_grad=True))
""",
    "Input and output are one tensor, but have different places in the graph: which one is to be saved?",
    "`return x.view_as(x)`.",
)
Case(
    FUNCTIONS,
    "Two ways back",
    """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

    @staticmethod
    def vjp(ctx, grad):
        return grad * 2

Double.apply(torch.ones(2, requires_grad=True)).sum().backward()
""",
    "`backward` and `vjp` are two names for the same.",
    "Keep one.",
)
Case(
    FUNCTIONS,
    "A complex gradient for a real input",
    _function(backward="return torch.ones(2, dtype=torch.complex64), None"),
    "A real input has a real gradient.",
    "`gradient.real`.",
)
Case(
    FUNCTIONS,
    "Saved tensors that were let go",
    """
class Square(torch.autograd.Function):
    clear_saved_tensors_on_access = True

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad + 0 * ctx.saved_tensors[0]

Square.apply(torch.ones(2, requires_grad=True)).sum().backward()
""",
    "With `clear_saved_tensors_on_access` the first look takes them out, so that their memory is free early.",
    "`(x,) = ctx.saved_tensors`, once.",
)
Case(
    FUNCTIONS,
    "A keyword for forward",
    """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(x, *, factor):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

Scale.apply(torch.ones(2, requires_grad=True), factor=2)
""",
    "`setup_context` and `backward` count arguments by position.",
    "`def forward(x, factor)`.",
)
