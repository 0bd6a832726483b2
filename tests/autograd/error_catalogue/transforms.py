"""Errors of forward mode and of torch.func."""

from .case import Case

FUNC = "Forward mode and torch.func"
Case(
    FUNC,
    "A dual number outside of a level",
    """
torch.autograd.forward_ad.make_dual(torch.ones(2), torch.ones(2))
""",
    "Tangents belong to a level, and vanish with it.",
    "`with torch.autograd.forward_ad.dual_level():` around all of it.",
)
Case(
    FUNC,
    "A tangent of another shape",
    """
with torch.autograd.forward_ad.dual_level():
    torch.autograd.forward_ad.make_dual(torch.ones(2), torch.ones(3))
""",
    "A tangent has one number for each element.",
    "`torch.ones_like(x)`.",
)
Case(
    FUNC,
    "The gradient of many numbers",
    """
torch.func.grad(lambda x: x * 2)(torch.ones(3))
""",
    "`grad` is for functions with one number as result.",
    "Sum the result, or use `torch.func.jacrev`.",
)
Case(
    FUNC,
    "The gradient of a Python number",
    """
torch.func.grad(lambda x: 2.0)(torch.ones(3))
""",
    "The function must return a tensor that was computed from its argument.",
    "Return the tensor, not `.item()` of it.",
)
Case(
    FUNC,
    "Mapped arguments of different lengths",
    """
torch.func.vmap(torch.add)(torch.ones(2), torch.ones(3))
""",
    "`vmap` calls the function once for each entry; all mapped arguments need as many.",
    "`in_dims=(0, None)` where an argument is the same for every call.",
)
Case(
    FUNC,
    "A dimension to map that is not there",
    """
torch.func.vmap(torch.sin, in_dims=2)(torch.ones(2, 3))
""",
    "`in_dims` names a dimension of the argument.",
    "Here 0 or 1.",
)
Case(
    FUNC,
    "A number of a mapped tensor",
    """
torch.func.vmap(lambda x: x.item())(torch.ones(2))
""",
    "Inside `vmap` a tensor stands for a whole batch: there is no one number.",
    "Compute with tensors, and call `.item()` outside.",
)
Case(
    FUNC,
    "A branch on a mapped tensor",
    """
torch.func.vmap(lambda x: x if x > 0 else -x)(torch.ones(2))
""",
    "The branch would have to go both ways, one for each entry.",
    "`torch.where(x > 0, x, -x)`.",
)
Case(
    FUNC,
    "Random numbers in a mapped function",
    """
torch.func.vmap(lambda x: x + torch.rand(()))(torch.ones(2))
""",
    "It is not clear whether every entry gets numbers of its own.",
    "`vmap(f, randomness='different')` or `'same'`.",
)
Case(
    FUNC,
    "A mapped function that returns a number",
    """
torch.func.vmap(lambda x: 3)(torch.ones(2))
""",
    "Results are stacked, so they are tensors.",
    "Return tensors alone.",
)
Case(
    FUNC,
    "A vector for a product that is missing",
    """
torch.autograd.functional.vjp(lambda x: x * 2, torch.ones(2))
""",
    "A vector-Jacobian product needs its vector, unless the result is one number.",
    "Pass `v=`, of the shape of the result.",
)
Case(
    FUNC,
    "A result that does not depend on the input, in strict mode",
    """
torch.autograd.functional.jacobian(lambda x: torch.ones(2), torch.ones(2), strict=True)
""",
    "With `strict=True` independent results are errors instead of zeros.",
    "`strict=False`, or compute the result from the input.",
)

Case(
    FUNC,
    "A level inside of a level",
    """
with torch.autograd.forward_ad.dual_level():
    with torch.autograd.forward_ad.dual_level():
        pass
""",
    "Forward mode has one level at a time.",
    "`torch.func.jvp` nests.",
)
Case(
    FUNC,
    "Leaving a level that is not open",
    """
with torch.autograd.forward_ad.dual_level():
    torch.autograd.forward_ad.exit_dual_level(level=7)
""",
    "The number is that of another level.",
    "`with dual_level():` leaves its own.",
)
Case(
    FUNC,
    "Backward inside a transform",
    """
torch.func.grad(lambda x: (x.sum().backward(), x.sum())[1])(torch.ones(2))
""",
    "Inside a transform, gradients belong to that transform and not to the leaves outside.",
    "Nest transforms: `torch.func.grad` inside of `torch.func.grad`.",
)
Case(
    FUNC,
    "A Function in one piece, in a transform",
    """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

torch.func.grad(lambda x: Double.apply(x).sum())(torch.ones(2))
""",
    "Transforms run forward themselves, without `ctx`.",
    "Write `forward(x)` and `setup_context(ctx, inputs, output)` apart.",
)
Case(
    FUNC,
    "A Function that cannot be mapped",
    """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

torch.func.vmap(Double.apply)(torch.ones(2))
""",
    "`vmap` does not know what a Function of one's own does with a batch.",
    "`generate_vmap_rule = True` where forward and backward are tensor operations, or write the static method `vmap`.",
)
Case(
    FUNC,
    "A Function without jvp, forwards",
    """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

with torch.autograd.forward_ad.dual_level():
    Double.apply(torch.autograd.forward_ad.make_dual(torch.ones(2), torch.ones(2)))
""",
    "Forward mode asks for the static method `jvp`.",
    "Write it.",
)
