"""Cross entropy is one computation here; what can be seen of its two nodes in PyTorch, and of what they save, is the same."""

import pytest
from stories import first_line

import rushlight as rl

torch = pytest.importorskip("torch")

OPTIONS = [
    {},
    {"reduction": "sum"},
    {"reduction": "none"},
    {"label_smoothing": 0.2},
    {"ignore_index": 1},
    {"weight": [1.0, 2.0, 0.5, 3.0, 1.5]},
]


def scored(t, dtype="float64"):
    """A leaf, scores computed from it, class numbers."""
    leaf = t.linspace(-2, 3, 20, dtype=getattr(t, dtype)).cos().reshape(4, 5).requires_grad_()
    return leaf, leaf * 2, t.tensor([0, 1, 2, 3])


def loss(t, scores, classes, options):
    weight = options.get("weight")
    options = {**options, "weight": None if weight is None else t.tensor(weight, dtype=scores.dtype)}
    return t.nn.functional.cross_entropy(scores, classes, **options)


def chain(node):
    return None if node is None else (node.name(), *[chain(following) for following, _ in node.next_functions])


def both(story, *args):
    ours, theirs = story(rl, *args), story(torch, *args)
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12), (ours, theirs)


def flat(tensor):
    return tensor.detach().reshape(-1).tolist()


@pytest.mark.parametrize("freed", [False, True])
def test_the_nodes_behind_the_loss(freed):
    def names(t):
        _, scores, classes = scored(t)
        found = loss(t, scores, classes, {})
        if freed:
            found.backward()
        return chain(found.grad_fn)

    assert names(rl) == names(torch)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("looked", [False, True])
def test_gradients_of_both_orders(options, looked):
    def story(t):
        leaf, scores, classes = scored(t)
        found = loss(t, scores, classes, options).sum()
        if looked:
            chain(found.grad_fn)
        (first,) = t.autograd.grad(found, leaf, create_graph=True)
        (second,) = t.autograd.grad((first * first).sum(), leaf)
        return flat(first) + flat(second)

    both(story)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_scores_may_be_overwritten(options):
    def story(t):
        leaf, scores, classes = scored(t)
        found = loss(t, scores, classes, options)
        scores.zero_()
        found.sum().backward()
        return flat(leaf.grad)

    both(story)


def test_a_hook_on_the_inner_node():
    def story(t):
        leaf, scores, classes = scored(t)
        found, seen = loss(t, scores, classes, {"reduction": "sum"}), []
        found.grad_fn.next_functions[0][0].register_hook(
            lambda given, came: seen.extend(flat(given[0]) + flat(came[0]))
        )
        found.backward()
        return seen + flat(leaf.grad)

    both(story)


def test_what_is_written_since():
    def story(t):
        _, scores, classes = scored(t)
        found = loss(t, scores, classes, {})
        classes.zero_()
        chain(found.grad_fn)
        try:
            found.backward()
        except RuntimeError as error:
            return first_line(error).partition("; expected")[0]

    assert story(rl) == story(torch)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what PyTorch imports
def test_batches_of_gradients_and_transforms():
    def story(t):
        leaf, scores, classes = scored(t)
        found = loss(t, scores, classes, {"reduction": "none"})
        (batched,) = t.autograd.grad(found, leaf, t.eye(4, dtype=t.float64), is_grads_batched=True)
        plain = leaf.detach()
        per_sample = t.func.vmap(t.func.grad(lambda x, y: loss(t, x[None], y[None], {})))(plain, classes)
        hessian = t.func.hessian(lambda x: loss(t, x, classes, {"label_smoothing": 0.1}))(plain)
        return flat(batched) + flat(per_sample) + flat(hessian)

    both(story)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 2e-3), ("bfloat16", 1e-2)])
@pytest.mark.parametrize("options", OPTIONS[:4], ids=str)
def test_half_precision(dtype, tolerance, options):
    def story(t):
        _, scores, classes = scored(t, dtype)
        return flat(loss(t, scores, classes, options))

    assert story(rl) == pytest.approx(story(torch), rel=tolerance)
