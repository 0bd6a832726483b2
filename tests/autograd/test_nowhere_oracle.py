"""What an operation keeps of a view that requires grad without a place in the graph, made under no_grad: a second backward tells."""

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

CALLS = {
    "mul": lambda t, v, w: v * v, "mul by other": lambda t, v, w: v * w, "mul by number": lambda t, v, w: v * 2, "div": lambda t, v, w: v / 2,
    "number divided": lambda t, v, w: 2 / v, "add": lambda t, v, w: v + w, "pow": lambda t, v, w: v**2, "powers": lambda t, v, w: v**v,
    "exp": lambda t, v, w: v.exp(), "sin": lambda t, v, w: v.sin(), "dot": lambda t, v, w: v @ w, "maximum": lambda t, v, w: t.maximum(v, w),
    "mm": lambda t, v, w: v.reshape(2, 2) @ v.reshape(2, 2), "where": lambda t, v, w: t.where(v > 0, v, w), "cat": lambda t, v, w: t.cat([v, w]),
    "clamp": lambda t, v, w: v.clamp(0, 1), "gather": lambda t, v, w: v.gather(0, t.tensor([0, 1])), "lerp": lambda t, v, w: v.lerp(w, 0.3),
    "addcmul": lambda t, v, w: t.addcmul(v, v, w), "in place": lambda t, v, w: (v * 1).add_(v), "atan2": lambda t, v, w: t.atan2(v, v),
    "layer norm": lambda t, v, w: t.nn.functional.layer_norm(v, (4,), w, w), "logaddexp": lambda t, v, w: v.logaddexp(w),
}  # fmt: skip


def story(library, call, tracked):
    told = []
    for _ in range(2):  # the second call takes the short path
        x = library.arange(1.0, 5.0, requires_grad=True)
        with library.no_grad():
            view = x.view(4)
        other = library.ones(4, requires_grad=tracked)
        result = call(library, view, other)
        told += [
            result.requires_grad,
            result.grad_fn.name(),
            [n and n.name() for n, _ in result.grad_fn.next_functions],
        ]
        for _ in range(2):
            try:
                result.sum().backward()
            except RuntimeError as error:
                told.append(str(error).splitlines()[0])
        told += [x.grad, None if other.grad is None else [round(number, 5) for number in other.grad.tolist()]]
    return told


@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_a_second_backward(name, tracked):
    ours, theirs = (story(library, CALLS[name], tracked) for library in (rl, torch))
    assert ours == theirs
