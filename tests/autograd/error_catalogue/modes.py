"""Errors of modes, of gradcheck and of autograd.functional."""

from .case import Case

MODES = "Modes and checks"
Case(
    MODES,
    "A NaN in anomaly mode",
    """
x = torch.zeros(1, requires_grad=True)
with torch.autograd.set_detect_anomaly(True):
    y = (x * 0).sqrt() * 0
    y.sum().backward()
""",
    "The derivative of a square root at 0 is infinite, and infinity times 0 is not a number.",
    "`(x + eps).sqrt()`, or keep the 0 away with `torch.where` before the root.",
    "`rushlight.find_nonfinite()` shows the ranges of the values that went in, in forward and backward.",
)
Case(
    MODES,
    "An error in backward in anomaly mode, of a graph made before",
    """
x = torch.ones(2, requires_grad=True)
y = x.exp()
y.add_(1)
with torch.autograd.set_detect_anomaly(True):
    y.sum().backward()
""",
    "The mode was off in the forward pass, so no node knows its line. (PyTorch warns of that before the error.)",
    "Put the forward pass inside too.",
)
Case(
    MODES,
    "The announcement of anomaly mode",
    """
with torch.autograd.detect_anomaly():
    pass
""",
    "Anomaly mode keeps a stack trace for each operation. A warning, so that it is not left on.",
    "Remove it when the error is found.",
)
Case(
    MODES,
    "A mode that is neither on nor off",
    """
torch.set_grad_enabled("on")
""",
    "The argument is a bool.",
    "`torch.set_grad_enabled(True)`.",
)
Case(
    MODES,
    "A class decorated with no_grad",
    """
@torch.no_grad()
class Model:
    pass
""",
    "The decorator would apply to the making of instances alone, which is rarely what is meant. A warning.",
    "Decorate the methods.",
)
Case(
    MODES,
    "A wrong derivative that gradcheck found",
    """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x * grad

x = torch.ones(1, dtype=torch.float64, requires_grad=True)
torch.autograd.gradcheck(Square.apply, x)
""",
    "The derivative of the formula and the measured one differ: here 3 instead of 2.",
    "Correct `backward`. Where both are nearly equal, check in float64.",
)
Case(
    MODES,
    "Nothing to check",
    """
x = torch.ones(1, dtype=torch.float64)
torch.autograd.gradcheck(torch.exp, x)
""",
    "gradcheck compares derivatives with respect to the inputs that require grad: there is none.",
    "`requires_grad=True` on the inputs.",
)
Case(
    MODES,
    "A Jacobian of what is no tensor",
    """
torch.autograd.functional.jacobian(lambda x: 1.0, torch.ones(2))
""",
    "The function must return tensors.",
    "Return the tensor itself, not `.item()` of it.",
)
Case(
    MODES,
    "A Hessian of more than one number",
    """
torch.autograd.functional.hessian(lambda x: x * x, torch.ones(2))
""",
    "A Hessian is that of one number.",
    "Sum the result, or take the Jacobian of a Jacobian.",
)

Case(
    MODES,
    "Anomaly mode that comes too late",
    """
x = torch.ones(2, requires_grad=True)
y = x.exp()
y.add_(1)
try:
    with torch.autograd.set_detect_anomaly(True):
        y.sum().backward()
except RuntimeError:
    pass
""",
    "The warning before the error of the example above: backward failed, and the forward pass was not recorded.",
    "Put the forward pass inside too.",
)
Case(
    MODES,
    "A Jacobian in an unknown way",
    """
torch.autograd.functional.jacobian(torch.exp, torch.ones(2), strategy="sideways")
""",
    "Derivatives are computed forwards, by inputs, or in reverse, by outputs.",
    "`strategy='forward-mode'` or `'reverse-mode'`.",
)
Case(
    MODES,
    "A Jacobian forwards, one by one",
    """
torch.autograd.functional.jacobian(torch.exp, torch.ones(2), strategy="forward-mode")
""",
    "Forward mode computes all columns in one batch.",
    "`vectorize=True`.",
)
Case(
    MODES,
    "A strict Jacobian in one pass",
    """
torch.autograd.functional.jacobian(torch.exp, torch.ones(2), strict=True, vectorize=True)
""",
    "`strict=True` looks at each row, `vectorize=True` computes all at once.",
    "Leave one of them away.",
)
Case(
    MODES,
    "A Hessian of two results",
    """
torch.autograd.functional.hessian(lambda x: (x.sum(), x.sum()), torch.ones(2))
""",
    "A Hessian is that of one number.",
    "Choose one, or add them.",
)
Case(
    MODES,
    "A vector for a product, of another shape",
    """
torch.autograd.functional.vjp(torch.exp, torch.ones(2), torch.ones(3))
""",
    "The vector of a vector-Jacobian product has the shape of the result.",
    "`torch.ones_like(result)`.",
)
Case(
    MODES,
    "Too many vectors for a product",
    """
torch.autograd.functional.vjp(torch.exp, torch.ones(2), (torch.ones(2), torch.ones(2)))
""",
    "One vector for each result.",
    "Pass one.",
)
Case(
    MODES,
    "An expanded input for gradcheck",
    """
x = torch.ones(1, dtype=torch.float64, requires_grad=True)
torch.autograd.gradcheck(torch.exp, x.expand(3))
""",
    "gradcheck moves one element at a time; those of an expanded tensor are one.",
    "`x.expand(3).contiguous()`.",
)
Case(
    MODES,
    "An input of low precision for gradcheck",
    """
x = torch.ones(1, requires_grad=True)
torch.autograd.gradcheck(torch.exp, x, raise_exception=False)
""",
    "The measured derivative is a difference of nearly equal numbers: float32 leaves too few digits. A warning.",
    "`dtype=torch.float64`.",
)
Case(
    MODES,
    "A backward that forgets its gradient",
    """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return torch.full_like(grad, 2)

x = torch.ones(1, dtype=torch.float64, requires_grad=True)
torch.autograd.gradcheck(Double.apply, x)
""",
    "The gradient of the result has to go into the gradient of the input.",
    "`grad * 2`.",
)
Case(
    MODES,
    "A backward that depends on chance",
    """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2 * (1 + 1e-5 * torch.rand_like(grad))

x = torch.ones(1, dtype=torch.float64, requires_grad=True)
torch.autograd.gradcheck(Double.apply, x)
""",
    "Two calls gave two results.",
    "Draw random numbers in forward and save them; `nondet_tol` allows small differences.",
)
Case(
    MODES,
    "A backward that makes gradients of none",
    """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return torch.ones(1, dtype=torch.float64) if grad is None else grad * 2

x = torch.ones(1, dtype=torch.float64, requires_grad=True)
torch.autograd.gradcheck(Double.apply, x)
""",
    "Where no gradient arrives, none goes on.",
    "`if grad is None: return None`.",
)
Case(
    MODES,
    "A function that cuts the graph",
    """
x = torch.ones(2, dtype=torch.float64, requires_grad=True)
torch.autograd.gradcheck(lambda x: x.detach() * 2, x)
""",
    "The result changes with the input and does not require grad.",
    "Remove `detach()`, `.data`, `no_grad()`.",
)
Case(
    MODES,
    "A result that does not depend on the input, among others",
    """
torch.autograd.functional.jacobian(lambda x: (x * 2, torch.ones(1, requires_grad=True) * 1), torch.ones(2), strict=True)
""",
    "With `strict=True` that is an error instead of zeros.",
    "`strict=False`.",
)
Case(
    MODES,
    "A product with a function that ignores its input",
    """
weight = torch.ones(2, requires_grad=True)
torch.autograd.functional.vjp(lambda x: weight * 2, torch.ones(2), torch.ones(2), strict=True)
""",
    "The result requires grad, but not because of `x`.",
    "`strict=False`, or use `x`.",
)
Case(
    MODES,
    "A Hessian of a linear function",
    """
torch.autograd.functional.hessian(lambda x: x.sum(), torch.ones(2), strict=True)
""",
    "Its first derivative is constant: nothing leads from there to the input.",
    "`strict=False` gives zeros.",
)
Case(
    MODES,
    "A Jacobian that is constant, to be differentiated again",
    """
torch.autograd.functional.jacobian(lambda x: x * 2, torch.ones(2), strict=True, create_graph=True)
""",
    "The derivative of `2 * x` does not depend on `x`.",
    "`strict=False`.",
)
Case(
    MODES,
    "A strict Jacobian, forwards",
    """
torch.autograd.functional.jacobian(torch.exp, torch.ones(2), strict=True, strategy="forward-mode", vectorize=True)
""",
    "Forward mode does not look for dependence.",
    "Leave one of them away, or use `torch.func.jacfwd`.",
)
Case(
    MODES,
    "A number among the inputs",
    """
torch.autograd.functional.jacobian(torch.add, (torch.ones(2), 1.0))
""",
    "Every input is a tensor.",
    "`lambda x: torch.add(x, 1.0)`.",
)
Case(
    MODES,
    "A Hessian in an unknown way",
    """
torch.autograd.functional.hessian(torch.sum, torch.ones(2), outer_jacobian_strategy="sideways")
""",
    "Derivatives are computed forwards or in reverse.",
    "Leave the argument away.",
)
