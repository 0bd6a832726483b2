"""Errors of hooks: on tensors, on nodes, on what nodes save."""

from .case import Case

HOOKS = "Hooks"
Case(
    HOOKS,
    "A hook on a tensor without gradients",
    """
x = torch.ones(2)
x.register_hook(print)
""",
    "No gradient will come by.",
    "`requires_grad_()` first.",
)
Case(
    HOOKS,
    "A post-accumulate hook on a result",
    """
x = torch.ones(2, requires_grad=True)
y = x * 2
y.register_post_accumulate_grad_hook(print)
""",
    "Gradients accumulate in leaves alone.",
    "`register_hook` is given the gradient of any tensor.",
)
Case(
    HOOKS,
    "A hook that changes the shape",
    """
x = torch.ones(2, requires_grad=True)
x.register_hook(lambda grad: grad.sum())
x.exp().sum().backward()
""",
    "What a hook returns takes the place of the gradient, and must fit where that goes.",
    "Return a tensor of the same shape, or None to change nothing.",
)
Case(
    HOOKS,
    "A hook that changes the dtype",
    """
x = torch.ones(2, requires_grad=True)
x.register_hook(lambda grad: grad.double())
x.exp().sum().backward()
""",
    "As above.",
    "`.to(grad.dtype)`.",
)
Case(
    HOOKS,
    "A hook that returns no tensor",
    """
x = torch.ones(2, requires_grad=True)
x.register_hook(lambda grad: 0)
x.exp().sum().backward()
""",
    "A hook returns None or a tensor. A lambda returns the value of its expression, wanted or not.",
    "Write a function without a return.",
)
Case(
    HOOKS,
    "A node's hook that returns too few gradients",
    """
x = torch.ones(2, requires_grad=True)
y = x * x
y.grad_fn.register_hook(lambda inputs, outputs: inputs[:1])
y.sum().backward()
""",
    "A hook on a node replaces the gradients of all inputs of the operation, or none.",
    "Return a tuple of the same length, or None.",
)
Case(
    HOOKS,
    "A multi-gradient hook with an unknown mode",
    """
x = torch.ones(2, requires_grad=True)
torch.autograd.graph.register_multi_grad_hook([x], print, mode="some")
""",
    "`mode` is 'all' or 'any'.",
    "'all' waits for the gradients of all tensors, 'any' runs at the first.",
)
Case(
    HOOKS,
    "Hooks for saved tensors that cannot be called",
    """
x = torch.ones(2, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks("pack", "unpack"):
    x.exp()
""",
    "Both hooks are functions of one argument.",
    "`saved_tensors_hooks(lambda tensor: ..., lambda packed: ...)`.",
)
Case(
    HOOKS,
    "Hooks for saved tensors where they are forbidden",
    """
with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
    with torch.autograd.graph.save_on_cpu():
        pass
""",
    "Somebody around this code has forbidden such hooks, with this message.",
    "Leave that context first.",
)
Case(
    HOOKS,
    "A pack hook that writes",
    """
x = torch.ones(2, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.mul_(2), lambda packed: packed):
    y = x.exp()
""",
    "The hook is given the saved tensor itself, not a copy.",
    "`tensor.clone().mul_(2)`.",
)
Case(
    HOOKS,
    "An unpack hook that gives no tensor back",
    """
x = torch.ones(2, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda tensor: 0, lambda packed: packed):
    y = x.exp()
y.sum().backward()
""",
    "Backward needs the tensor that the pack hook was given.",
    "Let `unpack` undo what `pack` did.",
)

Case(
    HOOKS,
    "A node's hook that returns no tuple",
    """
x = torch.ones(2, requires_grad=True)
y = x.exp()
y.grad_fn.register_hook(lambda inputs, outputs: inputs[0] * 2)
y.sum().backward()
""",
    "A node has several inputs in general, so its hooks see and return tuples.",
    "`return (inputs[0] * 2,)`.",
)
Case(
    HOOKS,
    "A gradient where there is none",
    """
x = torch.ones(2, requires_grad=True)
y = x * torch.ones(2)
y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0], outputs[0]))
y.sum().backward()
""",
    "The second factor needs no gradient, so nothing flows there that could be replaced.",
    "Return None in that place.",
)
Case(
    HOOKS,
    "A post-accumulate hook that returns something",
    """
x = torch.ones(2, requires_grad=True)
x.register_post_accumulate_grad_hook(lambda leaf: leaf.grad * 2)
x.exp().sum().backward()
""",
    "The gradient is in `leaf.grad` already; there is nothing to replace.",
    "Change `leaf.grad`, and return None.",
)
Case(
    HOOKS,
    "A multi-gradient hook on a tensor without gradients",
    """
torch.autograd.graph.register_multi_grad_hook([torch.ones(2)], print)
""",
    "No gradient will come by for that tensor.",
    "`requires_grad_()`, or leave it out of the list.",
)
Case(
    HOOKS,
    "Saving a tensor that has hooks",
    """
import pickle

def halve(grad):
    return grad / 2

x = torch.ones(2, requires_grad=True)
x.register_hook(halve)
pickle.dumps(x)
""",
    "A file holds values, not functions. A warning.",
    "Register the hook again after loading, or decorate it with `torch.utils.hooks.unserializable_hook`.",
)
Case(
    HOOKS,
    "Permission to write, twice",
    """
with torch.autograd.graph.allow_mutation_on_saved_tensors():
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        pass
""",
    "One such context already keeps copies of all that is saved.",
    "Leave the inner one away.",
)
Case(
    HOOKS,
    "Backward outside of the permission to write",
    """
x = torch.ones(2, requires_grad=True)
with torch.autograd.graph.allow_mutation_on_saved_tensors():
    y = x.clone()
    z = (y * y).sum()
    y.zero_()
z.backward()
""",
    "The copies of what was overwritten are kept as long as the context.",
    "Call backward inside.",
)
Case(
    HOOKS,
    "Hooks on one saved tensor, twice",
    """
x = torch.ones(2, requires_grad=True)
y = x.exp()
saved = y.grad_fn._raw_saved_result
saved.register_hooks(lambda tensor: tensor, lambda packed: packed)
saved.register_hooks(lambda tensor: tensor, lambda packed: packed)
""",
    "What the first pair packed is no tensor that the second could pack.",
    "Write one pair that does both.",
)
Case(
    HOOKS,
    "Hooks on one saved tensor that cannot be called",
    """
x = torch.ones(2, requires_grad=True)
y = x.exp()
y.grad_fn._raw_saved_result.register_hooks("pack", "unpack")
""",
    "Both are functions of one argument.",
    "`register_hooks(lambda tensor: ..., lambda packed: ...)`.",
)
Case(
    HOOKS,
    "Hooks on a saved tensor that is gone",
    """
x = torch.ones(2, requires_grad=True)
y = x.exp()
saved = y.grad_fn._raw_saved_result
y.sum().backward()
saved.register_hooks(lambda tensor: tensor, lambda packed: packed)
""",
    "Backward has freed it.",
    "Register before backward.",
)
Case(
    HOOKS,
    "Hooks on nothing",
    """
x = torch.ones(2, requires_grad=True)
y = x * torch.ones(2)
saved = y.grad_fn._raw_saved_self
saved.register_hooks(lambda tensor: tensor, lambda packed: packed)
""",
    "The other factor needs no gradient, so this one was not kept.",
    "Look first: `saved.unpack()` is None.",
)
Case(
    HOOKS,
    "A saved tensor made by hand",
    """
y = torch.ones(2, requires_grad=True).exp()
type(y.grad_fn._raw_saved_result)()
""",
    "Only nodes make them.",
    "`tensor.grad_fn._raw_saved_result`, and the like.",
)
