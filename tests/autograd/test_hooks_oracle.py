"""Hooks, nodes and saved tensors against PyTorch."""

import pytest
from stories import assert_same_story, leaf

torch = pytest.importorskip("torch")


def tensor_hooks(torch, note):
    log = []

    def logger(name, result=None):
        return lambda grad: log.append((name, grad.clone())) or (None if result is None else grad * result)

    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    x.register_hook(logger("x1", 10))
    second = x.register_hook(logger("x2"))
    y.register_hook(logger("y1", 3))
    y.register_hook(logger("y2"))
    (y * y).sum().backward(retain_graph=True)
    note("order", lambda: (log, x.grad))
    log.clear()
    second.remove()
    note("grad", lambda: torch.autograd.grad((y * y).sum(), x, retain_graph=True))
    note("grad log", lambda: log)
    log.clear()
    note("grad of y", lambda: torch.autograd.grad((y * y).sum(), y, retain_graph=True))
    note("grad of y log", lambda: log)
    log.clear()
    note("inputs", lambda: (y * y).sum().backward(inputs=[x]))
    note("inputs log", lambda: (log, x.grad))
    note("not callable", lambda: torch.ones(2).register_hook(lambda g: g))
    for result in (3, torch.ones(3), torch.ones(2).double(), torch.ones(2)):
        with x.register_hook(lambda grad, result=result: result):
            note("leaf result", lambda: x.exp().sum().backward())
        z = x * 2
        with z.register_hook(lambda grad, result=result: result):
            note("result", lambda: z.sum().backward())
    note("left", lambda: x.grad)

    def failing(grad):
        raise ValueError("boom")

    with x.register_hook(failing):
        note("raises", lambda: x.exp().sum().backward())
    note("after", lambda: x.exp().sum().backward())
    w = leaf(torch, 1.0, 2.0)
    w.register_hook(lambda grad: log.append("once") or handle.remove())
    handle = w.register_hook(lambda grad: log.append("removed by the first"))
    log.clear()
    w.sum().backward()
    w.sum().backward()
    note("removal inside", lambda: log)
    a = leaf(torch, 1.0)
    b = a * 2
    b.register_hook(lambda grad: log.append(("before in-place", grad)))
    b.mul_(3)
    b.register_hook(lambda grad: log.append(("after in-place", grad)))
    log.clear()
    (b * 5).backward()
    note("in-place", lambda: log)
    note("hooks dictionary", lambda: torch.ones(1)._backward_hooks)


def leaf_hooks(torch, note):
    log = []
    x = leaf(torch, 1.0, 2.0)
    x.register_post_accumulate_grad_hook(lambda t: log.append(("post", t is x, t.grad.clone())))
    x.register_hook(lambda grad: log.append(("pre", grad)) or grad * 2)
    x.sum().backward()
    (x * x).sum().backward()
    note("each backward", lambda: log)
    log.clear()
    torch.autograd.grad((x * x).sum(), x)
    note("not by grad", lambda: log)
    log.clear()
    (x * x).sum().backward(inputs=[x])
    note("by inputs", lambda: log)
    note("non-leaf", lambda: (x * 2).register_post_accumulate_grad_hook(print))
    note("without grad", lambda: torch.ones(2).register_post_accumulate_grad_hook(print))

    def clear(tensor):
        tensor.grad = None

    with x.register_post_accumulate_grad_hook(clear):
        x.sum().backward()
        note("cleared", lambda: x.grad)
    accumulator = (x * 2).grad_fn.next_functions[0][0]
    note("accumulator", lambda: (accumulator.name(), accumulator.variable is x, accumulator.next_functions))
    kept = (x * 2).grad_fn.next_functions[0][0]
    note("one accumulator", lambda: kept is accumulator)
    log.clear()
    accumulator.register_prehook(lambda grads: log.append(("node pre", grads)))
    accumulator.register_hook(lambda inputs, outputs: log.append(("node post", inputs, outputs)))
    x.sum().backward()
    note("all kinds", lambda: log)


def node_hooks(torch, note):
    log = []
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    product = x * y
    node = product.grad_fn
    node.register_prehook(lambda grads: log.append(("pre", grads)))
    node.register_prehook(lambda grads: (grads[0] * 10,))
    node.register_hook(lambda inputs, outputs: log.append(("post", inputs, outputs)))
    node.register_hook(lambda inputs, outputs: (inputs[0] * 2, None))
    product.register_hook(lambda grad: log.append(("tensor", grad)))
    product.retain_grad()
    product.sum().backward(retain_graph=True)
    note("order", lambda: (log, product.grad, x.grad, y.grad))
    single = x * 2
    node = single.grad_fn
    for result in (
        3,
        torch.ones(3),
        (1,),
        (torch.ones(2).double(),),
        (),
        (torch.ones(2), torch.ones(2)),
        (torch.ones(3),),
    ):
        with node.register_prehook(lambda grads, result=result: result):
            note("pre result", lambda: single.sum().backward(retain_graph=True))
        with node.register_hook(lambda inputs, outputs, result=result: result):
            note("post result", lambda: single.sum().backward(retain_graph=True))
    a, b, c = torch.ones(3, requires_grad=True).mul(2).unbind()
    log.clear()
    a.grad_fn.register_prehook(lambda grads: log.append(grads))
    a.grad_fn.register_hook(lambda inputs, outputs: log.append((inputs, outputs)))
    (a * 3 + c).backward()
    note("several outputs", lambda: (log, a.output_nr, b.output_nr, c.output_nr, a.grad_fn is c.grad_fn))


def multi_gradient_hooks(torch, note):
    register = torch.autograd.graph.register_multi_grad_hook
    log = []
    x, y, z = leaf(torch, 1.0), leaf(torch, 2.0), leaf(torch, 3.0)
    handle = register((x, y, z), lambda grads: log.append(("all", grads)))
    anyone = register((x, y), lambda grad: log.append(("any", grad)), mode="any")
    (x * y).backward()
    (x * y * z).backward()
    note("called", lambda: log)
    log.clear()
    handle.remove()
    anyone.remove()
    (x * y * z).backward()
    note("removed", lambda: log)
    note("mode", lambda: register((x,), print, mode="some"))
    note("without grad", lambda: register((torch.ones(1),), print))


def nodes(torch, note):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    out = (x * y + 1).sum()
    node = out.grad_fn
    note("names", lambda: (node.name(), [(n.name(), i) for n, i in node.next_functions]))
    add = node.next_functions[0][0]
    note("constant", lambda: [(n and n.name(), i) for n, i in add.next_functions])
    product = add.next_functions[0][0]
    note("leaves", lambda: [(n.name(), i) for n, i in product.next_functions])
    note("unneeded", lambda: (x * torch.ones(2)).grad_fn.next_functions[1])
    note("metadata", lambda: node.metadata)
    node.metadata["mine"] = 1
    note("metadata", lambda: out.grad_fn.metadata)
    note("saved", lambda: (product._saved_self is x, product._saved_other))
    note("saved dim", lambda: x.reshape(1, 2).sum(1, keepdim=True).grad_fn._saved_keepdim)
    note("unknown attribute", lambda: node._saved_nothing)
    note("result", lambda: (x.exp().grad_fn._saved_result, x.exp().grad_fn._saved_result.grad_fn is not None))
    e = x.exp()
    note("same node", lambda: e.grad_fn._saved_result.grad_fn is e.grad_fn)
    note(
        "isinstance",
        lambda: (isinstance(node, torch.autograd.graph.Node), issubclass(type(node), torch.autograd.graph.Node)),
    )
    note("class", lambda: type(node).__name__)
    note("sequence", lambda: node._sequence_nr() > add._sequence_nr() > product._sequence_nr())
    note("call", lambda: node(torch.tensor(2.0)))
    note("call product", lambda: product(torch.tensor([2.0, 3.0])))
    note("repr", lambda: node)
    for name, result in {
        "add": x + y, "add number": x + 1, "sub": x - y, "rsub": 1 - x, "mul": x * 2, "div": x / y, "div number": x / 2, "pow": x**2,
        "pow tensor": x**y, "rpow": 2**x, "neg": -x, "matmul": x @ y, "mm": torch.ones(2, 2) @ x.reshape(2, 1), "mv": torch.ones(2, 2) @ x,
        "view": x.view(2, 1), "reshape": x.reshape(2, 1), "t": x.reshape(1, 2).t(), "T": x.reshape(1, 2).mT, "index": x[0], "slice": x[:1],
        "list": x[[0]], "mask": x[x > 0], "none": x[None], "sum": x.sum(), "sum dim": x.sum(0), "mean": x.mean(), "max": x.max(),
        "max dim": x.max(0).values, "cat": torch.cat([x, y]), "stack": torch.stack([x, y]), "where": torch.where(x > 1, x, y),
        "clone": x.clone(), "detach": x.detach(), "to": x.to(torch.float64), "relu": torch.relu(x), "sigmoid": x.sigmoid(),
        "softmax": x.softmax(0), "log_softmax": x.log_softmax(0), "expand": x.expand(3, 2), "squeeze": x.squeeze(), "prod": x.prod(),
        "unsqueeze": x.unsqueeze(0), "norm": x.norm(), "clamp": x.clamp(min=0), "std": x.std(), "unbind": x.unbind()[1], "chunk": x.chunk(2)[0],
        "split": x.split(1)[0], "cumsum": x.cumsum(0), "permute": x.reshape(1, 2).permute(1, 0), "einsum": torch.einsum("i,i->", x, y),
        "abs": x.abs(), "sqrt": x.sqrt(), "exp": x.exp(), "log": x.log(), "flatten": x.reshape(1, 2).flatten(), "masked_fill": x.masked_fill(x > 1, 0),
        "gather": x.gather(0, torch.tensor([0])), "outer": torch.outer(x, y), "floor": x.floor(), "sign": x.sign(), "comparison": x > y, "item": x[0] > 1,
        "argmax": x.argmax(), "round": x.round(), "real": torch.view_as_real(torch.complex(x, y)), "tril": x.diag().tril(),
        "linear": torch.nn.functional.linear(x, x.reshape(1, 2), x[:1]), "dropout": torch.nn.functional.dropout(x, 0.0),
    }.items():  # fmt: skip
        note(f"name of {name}", lambda result=result: result.grad_fn and result.grad_fn.name())


def saved_tensor_hooks(torch, note):
    log = []
    hooks = torch.autograd.graph.saved_tensors_hooks

    def pack(tensor):
        log.append(("pack", tensor.detach().clone()))
        return tensor.detach() * 10

    def unpack(tensor):
        log.append(("unpack", tensor.clone()))
        return tensor / 10

    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    with hooks(pack, unpack):
        out = (x * y).exp().sum()
    note("packed", lambda: log)
    log.clear()
    note("gradients", lambda: torch.autograd.grad(out, (x, y), create_graph=False))
    note("unpacked", lambda: log)
    log.clear()
    with hooks(lambda t: log.append("outer") or t, lambda t: t), hooks(lambda t: log.append("inner") or t, lambda t: t):
        z = x * y
    note("nested", lambda: log)
    note("saved is unpacked", lambda: z.grad_fn._saved_self)
    with hooks(lambda t: 3, lambda t: t):
        w = x.exp()
    note("unpack gives no tensor", lambda: w.sum().backward())
    with hooks(lambda t: t.mul_(2), lambda t: t):
        note("pack writes", lambda: x.exp())
    note("not callable", lambda: hooks(1, 2).__enter__())

    def failing(tensor):
        raise ValueError("boom")

    with hooks(failing, lambda t: t):
        note("pack raises", lambda: x.exp())
        note("nothing saved", lambda: x + 1)
    with hooks(lambda t: t, failing):
        w = x.exp()
    note("unpack raises", lambda: w.sum().backward())
    with hooks(lambda t: t.numpy(), lambda a: torch.from_numpy(a)):
        note("numpy", lambda: torch.autograd.grad((x.detach().requires_grad_() * y).sum(), y))
    with torch.autograd.graph.save_on_cpu():
        v = (x * y).sum()
    note("save_on_cpu", lambda: torch.autograd.grad(v, (x, y)))
    with torch.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
        note("disabled", lambda: hooks(pack, unpack).__enter__())
        note("disabled but none used", lambda: (x * y).sum())
    with hooks(pack, unpack):
        note("disable inside", lambda: torch.autograd.graph.disable_saved_tensors_hooks("too late").__enter__())
        note("still on", lambda: x.exp().grad_fn is not None)
    g = x * y
    with hooks(lambda t: t, lambda t: t):
        q = (x * x).sum()
    (first,) = torch.autograd.grad(q, x, create_graph=True)
    note("double through hooks", lambda: torch.autograd.grad(first.sum(), x))


def gradient_edges(torch, note):
    x = leaf(torch, 1.0, 2.0)
    y = x * x
    edge = torch.autograd.graph.get_gradient_edge
    of_y, of_x = edge(y), edge(x)
    grad = torch.autograd.grad
    note("fields", lambda: (of_y.node is y.grad_fn, of_y.output_nr, of_x.node.name(), len(of_y)))
    note("root", lambda: grad(of_y, x))
    note("root", lambda: grad(of_y, x, torch.ones(2), retain_graph=True))
    note("root list", lambda: grad([of_y], [x], [torch.ones(2)], retain_graph=True))
    note("input", lambda: grad((y * 2).sum(), of_y, retain_graph=True))
    note("leaf input", lambda: grad((y * 2).sum(), of_x, retain_graph=True))
    note("backward", lambda: torch.autograd.backward(of_y, torch.ones(2), retain_graph=True))
    note("backward", lambda: x.grad)
    note("inputs", lambda: torch.autograd.backward(y.sum(), retain_graph=True, inputs=of_x))
    note("inputs", lambda: x.grad)
    note("without grad", lambda: edge(torch.ones(2)))
    note("materialize", lambda: grad((x * 2).sum(), of_y, materialize_grads=True))
    note("unused", lambda: grad((x * 2).sum(), of_y))


def reentrant_backward(torch, note):
    x = leaf(torch, 1.0, 2.0)
    y = leaf(torch, 3.0)
    log = []

    def hook(grad):
        with torch.enable_grad():
            inner = (y * y * grad.sum().detach()).sum()
        inner.backward()
        log.append(("inner", y.grad.clone(), torch.is_grad_enabled()))

    z = x * 2
    z.register_hook(hook)
    (z * z).sum().backward()
    note("in a hook", lambda: (log, x.grad, y.grad))

    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, value):
            ctx.save_for_backward(value)
            return value * 2

        @staticmethod
        def backward(ctx, grad):
            (value,) = ctx.saved_tensors
            with torch.enable_grad():
                again = value.detach().requires_grad_()
                out = (again * again * again).sum()
            out.backward()
            return again.grad * grad

    x.grad = None
    Inner.apply(x).sum().backward()
    note("in a Function", lambda: x.grad)

    class Deep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, value, depth):
            ctx.depth = depth
            return value.clone()

        @staticmethod
        def backward(ctx, grad):
            if ctx.depth:
                with torch.enable_grad():
                    leaf = torch.ones(2, requires_grad=True)
                    out = Deep.apply(leaf, ctx.depth - 1).sum()
                out.backward()
                grad = grad + leaf.grad
            return grad, None

    x.grad = None
    Deep.apply(x, 40).sum().backward()
    note("deep", lambda: x.grad)


def anomaly_mode(torch, note):
    x = leaf(torch, 0.0, 2.0)
    detect = torch.autograd.detect_anomaly
    note("context", lambda: detect().__enter__())
    torch.autograd.set_detect_anomaly(False)
    with detect():
        note("on", lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()))
        y = (x / x.detach()).sqrt().sum()
        note("nan", lambda: y.backward())
        note("has traceback", lambda: "traceback_" in y.grad_fn.metadata)
    note("off", lambda: torch.is_anomaly_enabled())
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        note("no nan check", lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()))
        y = (x / x.detach()).sqrt().sum()
        note("nan allowed", lambda: y.backward())
    y = (x / x.detach()).sqrt().sum()
    with detect():
        note("no forward information", lambda: y.backward())

    class Failing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, value):
            return value.clone()

        @staticmethod
        def backward(ctx, grad):
            raise ValueError("boom")

    with detect():
        y = Failing.apply(x).sum()
        note("error", lambda: y.backward())
    torch.autograd.set_detect_anomaly(True)
    note("function", lambda: torch.is_anomaly_enabled())
    torch.autograd.set_detect_anomaly(False)
    note("function off", lambda: torch.is_anomaly_enabled())
    with detect(check_nan=False):
        note("nan unchecked", lambda: torch.is_anomaly_check_nan_enabled())
    x = leaf(torch, 1.0, 2.0)
    with detect():
        e = x.exp()
        e.add_(1)
        note("in-place", lambda: e.sum().backward())


STORIES = [tensor_hooks, leaf_hooks, node_hooks, multi_gradient_hooks, nodes, saved_tensor_hooks, gradient_edges,
           reentrant_backward, anomaly_mode]  # fmt: skip


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_same_story(story):
    assert_same_story(story, torch)
