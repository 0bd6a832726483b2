"""Hooks of modules against PyTorch: their order, what they are given, what they may return."""

import copy

import pytest
from scenarios import assert_same_story

torch = pytest.importorskip("torch")


def logger(log, name):
    """A hook that logs its name and what it was given, in brief."""

    def brief(value):
        return len(value) if isinstance(value, (tuple, dict)) else type(value).__name__

    return lambda module, *args: log.append((name, *map(brief, args)))


def logged(note, log, label, action):
    """Note the outcome of ``action`` and what hooks logged meanwhile."""
    log.clear()
    note(label, action)
    note(f"{label} log", lambda: list(log))


def product_class(torch):
    class Product(torch.nn.Module):
        def forward(self, a, b=2, *, c=3):
            return a * b, a + c

    return Product


def forward_hooks(torch, note):
    log = []
    module = product_class(torch)()
    x = torch.zeros(1)
    module.register_forward_pre_hook(logger(log, "pre1"))
    module.register_forward_pre_hook(logger(log, "pre0"), prepend=True)
    module.register_forward_pre_hook(logger(log, "pre kwargs"), with_kwargs=True)
    module.register_forward_hook(logger(log, "post1"))
    module.register_forward_hook(logger(log, "post0"), prepend=True)
    module.register_forward_hook(logger(log, "post kwargs"), with_kwargs=True, always_call=True)
    module.register_forward_hook(logger(log, "post always"), always_call=True)
    logged(note, log, "plain", lambda: module(x))
    logged(note, log, "keywords", lambda: module(x, b=4, c=5))
    logged(note, log, "bad keyword", lambda: module(x, zz=4))
    logged(note, log, "error", lambda: module("a"))

    def fail(*args):
        raise ValueError("boom")

    handle = module.register_forward_hook(fail, always_call=True, prepend=True)
    logged(note, log, "error twice", lambda: module("a"))
    logged(note, log, "hook error", lambda: module(x))
    handle.remove()
    for result in (3, (x,), (x, {}, 1), ((x,), {"b": 7})):
        with module.register_forward_pre_hook(lambda *args, result=result: result, with_kwargs=True):
            logged(note, log, f"pre hook returns {result}", lambda: module(x))
    with module.register_forward_pre_hook(lambda module, args: args[0] + 1):
        logged(note, log, "pre hook replaces", lambda: module(x))
    with module.register_forward_hook(lambda module, args, output: "new"):
        logged(note, log, "hook replaces", lambda: module(x))
    note("flags", lambda: (len(module._forward_hooks_with_kwargs), len(module._forward_hooks_always_called)))


def removing_itself(torch, note):
    log = []
    for register in ("register_forward_hook", "register_forward_pre_hook"):
        module, handles = torch.nn.ReLU(), []
        handles.append(getattr(module, register)(lambda *args, handles=handles: log.append(handles[0].remove())))
        getattr(module, register)(logger(log, "second"))
        logged(note, log, register, lambda module=module: [module(torch.ones(1)) for _ in range(2)])


def global_hooks(torch, note):
    log = []
    nn = torch.nn
    everywhere = nn.modules.module
    model = nn.Sequential(nn.ReLU(), nn.Tanh())
    model[0].register_forward_hook(logger(log, "own"))
    handles = [
        everywhere.register_module_forward_pre_hook(logger(log, "pre")),
        everywhere.register_module_forward_hook(logger(log, "post")),
        everywhere.register_module_forward_hook(logger(log, "kwargs"), with_kwargs=True),
        everywhere.register_module_forward_hook(logger(log, "always"), always_call=True),
    ]
    logged(note, log, "model", lambda: model(torch.ones(1)))
    logged(note, log, "error", lambda: model("a"))
    for handle in handles:
        handle.remove()
    logged(note, log, "removed", lambda: model(torch.ones(1)))
    for kind, make in {
        "buffer": lambda: nn.BatchNorm1d(1),
        "module": lambda: nn.Sequential(nn.ReLU()),
        "parameter": lambda: nn.Linear(1, 1),
    }.items():
        register = getattr(everywhere, f"register_module_{kind}_registration_hook")
        with register(lambda module, name, value: log.append((type(module).__name__, name, type(value).__name__))):
            logged(note, log, kind, make)


def is_refused(write):
    """Whether ``write``, into a tensor that went through a hook's node, raises as it should."""
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        write()
    return True


def backward_logger(log, name, result=None):
    def hook(module, *gradients):
        log.append((name, *gradients))
        return result

    return hook


def gradient_of(x, module, *args):
    """x.grad after backward through the sum of whatever tensors ``module(*args)`` returns."""
    x.grad = None
    output = module(*args)
    parts = output if isinstance(output, tuple) else (output,)
    sum(part.sum() for part in parts).backward()
    return x.grad


def full_backward_hooks(torch, note):
    log = []
    ones = torch.ones(2)
    x = torch.ones(2, requires_grad=True)
    module = product_class(torch)()
    module.register_full_backward_hook(backward_logger(log, "second"))
    module.register_full_backward_hook(backward_logger(log, "first"), prepend=True)
    module.register_full_backward_pre_hook(backward_logger(log, "pre"))
    for args in ((x,), (x, ones), (x, x), (ones, x)):
        logged(note, log, "call", lambda args=args: gradient_of(x, module, *args))
    linear = torch.nn.Linear(2, 1)
    torch.nn.init.ones_(linear.weight)
    torch.nn.init.zeros_(linear.bias)
    seven = torch.full((2,), 7.0)
    for result in (None, (seven,), seven, (x, x)):
        with linear.register_full_backward_hook(backward_logger(log, "hook", result)):
            logged(note, log, f"returns {result}", lambda: gradient_of(x, linear, x))
            logged(note, log, f"no input gradient, returns {result}", lambda: gradient_of(x, linear, torch.ones(1, 2)))
    three = torch.full((1,), 3.0)
    for result in (None, (three,), three, (x, x)):
        with linear.register_full_backward_pre_hook(backward_logger(log, "pre", result)):
            logged(note, log, f"pre returns {result}", lambda: gradient_of(x, linear, x))
    with linear.register_full_backward_hook(backward_logger(log, "hook")):
        note("in place on the output", lambda: is_refused(lambda: linear(x).add_(1)))
        note(
            "nodes",
            lambda: [type(node).__name__ for node in (linear(x).grad_fn, linear(x).grad_fn.next_functions[0][0])],
        )
        with torch.no_grad():
            logged(note, log, "no grad", lambda: linear(x))


def odd_backward_hooks(torch, note):
    log = []
    x = torch.ones(2, requires_grad=True)

    class Nested(torch.nn.Module):
        def forward(self, x):
            return {"a": x * 2, "b": [x]}

    class Keyword(torch.nn.Module):
        def forward(self, *, x):
            return x * 2

    class InPlace(torch.nn.Module):
        def forward(self, x):
            return x.add_(1)

    nested, keyword, in_place, sigmoid = Nested(), Keyword(), InPlace(), torch.nn.Sigmoid()
    for module in (nested, keyword, in_place, sigmoid):
        module.register_full_backward_hook(backward_logger(log, "hook"))
    logged(note, log, "nested", lambda: sorted(nested(x)))
    logged(note, log, "no tensors", lambda: nested("a"))
    logged(note, log, "keyword", lambda: keyword(x=x).sum().backward())
    note("in place", lambda: is_refused(lambda: in_place(x * 1)))

    def twice():
        x.grad = None
        (gradient,) = torch.autograd.grad(sigmoid(x).sum(), x, create_graph=True)
        gradient.sum().backward()
        return x.grad

    note("double backward", twice)
    note("double backward log", lambda: [[item.detach() for item in entry[1]] for entry in log])


def old_backward_hooks(torch, note):
    log = []
    nn = torch.nn
    x = torch.ones(2, requires_grad=True)
    hook = backward_logger(log, "old")
    chain, product = nn.Sequential(nn.ReLU(), nn.ReLU()), product_class(torch)()
    chain.register_backward_hook(hook)
    product.register_backward_hook(hook)
    logged(note, log, "chain", lambda: gradient_of(x, chain, x))
    logged(note, log, "product", lambda: gradient_of(x, product, x))
    chain.register_backward_hook(backward_logger(log, "replaces", (x * 5,)))
    logged(note, log, "replaced", lambda: gradient_of(x, chain, x))
    note("both kinds", lambda: chain.register_full_backward_hook(hook))
    everywhere = nn.modules.module
    with everywhere.register_module_full_backward_hook(backward_logger(log, "full")):
        note("both kinds everywhere", lambda: everywhere.register_module_backward_hook(hook))
        logged(note, log, "everywhere", lambda: gradient_of(x, nn.ReLU(), x))
    with everywhere.register_module_full_backward_pre_hook(backward_logger(log, "pre")):
        logged(note, log, "pre everywhere", lambda: gradient_of(x, nn.Sequential(nn.ReLU(), nn.Sigmoid()), x))


def state_dict_hooks(torch, note):
    log = []
    model = torch.nn.Sequential(torch.nn.Linear(1, 1))
    model.register_state_dict_pre_hook(logger(log, "save pre"))
    model[0].register_state_dict_pre_hook(logger(log, "save pre 0"))
    model._register_state_dict_hook(logger(log, "saved"))
    model.register_state_dict_post_hook(logger(log, "saved too"))
    logged(note, log, "save", lambda: list(model.state_dict()))
    model.register_load_state_dict_pre_hook(logger(log, "load pre"))
    model[0]._register_load_state_dict_pre_hook(logger(log, "load pre 0"))
    model._register_load_state_dict_pre_hook(logger(log, "load pre module"), with_module=True)
    model.register_load_state_dict_post_hook(logger(log, "loaded"))
    model[0].register_load_state_dict_post_hook(logger(log, "loaded 0"))
    logged(note, log, "load", lambda: model.load_state_dict(model.state_dict()))

    other = torch.nn.Linear(1, 1)
    with other.register_state_dict_post_hook(lambda *args: {}):
        note("post returns", lambda: other.state_dict())
    with other._register_state_dict_hook(lambda *args: {"x": 1}):
        note("private returns", lambda: other.state_dict())
    with other.register_load_state_dict_post_hook(lambda *args: 1):
        note("load post returns", lambda: other.load_state_dict(other.state_dict()))
    with other.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear()):
        note("load post clears", lambda: other.load_state_dict({}))
    hook = lambda *args: None
    other.register_state_dict_post_hook(hook)
    note("registered twice", lambda: other._register_state_dict_hook(hook))


def copied_hooks(torch, note):
    log = []
    layer = torch.nn.Linear(1, 1)
    layer.register_forward_hook(lambda module, *rest: log.append(module is duplicate))
    layer._register_load_state_dict_pre_hook(lambda module, *rest: log.append(module is duplicate), with_module=True)
    duplicate = copy.deepcopy(layer)
    duplicate(torch.ones(1, 1))
    duplicate.load_state_dict(layer.state_dict())
    note("copied", lambda: log)


@pytest.mark.parametrize(
    "scenario",
    [
        forward_hooks,
        removing_itself,
        global_hooks,
        full_backward_hooks,
        odd_backward_hooks,
        old_backward_hooks,
        state_dict_hooks,
        copied_hooks,
    ],
)
def test_same_as_torch(scenario):
    assert_same_story(scenario, torch)
