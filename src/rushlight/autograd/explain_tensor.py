"""What there is to say about one tensor: its requires_grad, its grad, what backward reaches, what its graph holds."""

from __future__ import annotations

from collections import Counter

from ..base import dtypes
from ..base.user_code import written
from . import modes
from .holdings import freed_at, graph_from, memory_of, saved_arrays
from .living import counted, tensors_in_graph, tracked_owners_of_memory, users_of
from .names import described, modules_in_scope, names_in_scope
from .node import LEAF, AccumulateGrad, edge_of, leads_nowhere
from .views import View

SHOWN = 8  # leaves, kinds of operations and holders that are listed
NOT_STORED = (
    "it was created with requires_grad=False, the default",
    "it was computed from tensors none of which requires grad, detach()ed ones for example",
    "it was computed inside torch.no_grad() or after torch.set_grad_enabled(False)",
    "its values took a way that records nothing: .data, .numpy(), .item(), torch.tensor(values)",
    "a custom Function marked it as non-differentiable",
)


def explain_tensor(tensor):
    """``(title, sections, facts)`` of an `Explanation`."""
    names = names_in_scope()
    name = names.get(id(tensor))
    title = f"{f'`{name}`' if name else 'a tensor'}: shape {list(tensor.shape)}, {tensor.dtype.name}"
    facts = {"name": name, "shape": tuple(tensor.shape), "dtype": tensor.dtype, "possible_causes": []}
    try:
        edge = edge_of(tensor)
    except RuntimeError as error:  # a view whose history an in-place write made invalid
        facts |= {"requires_grad": None, "why_requires_grad": "invalid view"}
        return title, [("its history is invalid", str(error).split("\n"))], facts
    node = None if leads_nowhere(edge) else edge[0]
    is_leaf = node is None or node.__class__ is AccumulateGrad
    facts |= {"requires_grad": tensor.requires_grad, "is_leaf": is_leaf, "grad_fn": None if is_leaf else node.name()}
    sections = [_requires_grad(tensor, node, names, facts), _gradient(tensor, edge, names, facts)]
    sections += _backward(tensor, node, names, facts)
    return title, sections, facts


def _listed(items, shown=SHOWN):
    """``a, b and 3 more``."""
    items = list(items)
    rest = f" and {len(items) - shown} more" if len(items) > shown else ""
    return ", ".join(items[:shown]) + rest


def size_of(count):
    """A number of bytes for people."""
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


# ---------------------------------------------------------------- requires_grad


def _requires_grad(tensor, node, names, facts):
    """The section that says why ``tensor`` does or does not require grad."""
    if not facts["requires_grad"]:
        reason, sentences = _why_not(tensor, names, facts)
    elif node is None:
        reason = "no_grad"
        sentences = [
            f"It is a view of {described(tensor._base, names)}, which requires grad, but was made inside torch.no_grad() or "
            "torch.inference_mode(): nothing was recorded, and no gradient flows from it to there."
        ]
    elif node.__class__ is AccumulateGrad:
        reason = "leaf"
        kind = "an nn.Parameter does from the start" if type(tensor).__name__ == "Parameter" else "requires_grad=True"
        sentences = [f"It is a leaf: no operation made it, and it was told to ({kind})."]
    else:
        is_view = tensor._edge.__class__ is View
        reason = "view" if is_view else "computed"
        sentences = [f"{node.name()} made it from tensors that require grad."]
        if is_view:
            sentences.append(f"It is a view: it looks into the memory of {described(tensor._base, names)}.")
    facts["why_requires_grad"] = reason
    return f"requires_grad is {facts['requires_grad']}", sentences


def _why_not(tensor, names, facts):
    if not dtypes.is_differentiable(tensor._array.dtype):
        return "dtype", [
            f"Elements of type {tensor.dtype!r} cannot carry gradients, floating and complex ones can. Comparisons, argmax, "
            "sort indices, masks and conversions such as .long() give such tensors: the graph ends there."
        ]
    if tensor.is_inference():
        return "inference_mode", ["It was made inside torch.inference_mode(), whose tensors never meet autograd."]
    sources = tracked_owners_of_memory(tensor)
    if sources:
        return "detached", [
            f"It shares its memory with {described(sources[0], names)}, which requires grad: detach(), .data or a view made "
            "without recording took it out of the graph."
        ]
    facts["possible_causes"] = list(NOT_STORED)
    sentences = ["Why is not stored anywhere. These are the possible causes:", *[f"{cause};" for cause in NOT_STORED]]
    if not modes.state.grad:
        sentences.append(
            "recording is off here, where explain() was called: no result of an operation requires grad now."
        )
    return "not recorded", [*sentences, "Call requires_grad_() on what is to be learned, before the computation."]


# ---------------------------------------------------------------- grad


def _gradient(tensor, edge, names, facts):
    """The section that says what ``grad`` is, or why it is None."""
    grad = tensor._grad
    facts["why_grad_is_none"] = None
    if grad is not None:
        return "grad is there", [f"Shape {list(grad.shape)}, {grad.dtype.name}, {values_of(grad)}."]
    if edge is not None and leads_nowhere(edge):
        reason, sentences = "no_grad", ["No gradient flows to or through a view that was made without recording."]
    elif edge is None:
        reason, sentences = "does not require grad", ["It does not require grad, so no backward fills it."]
    elif edge[0].__class__ is AccumulateGrad:
        reason, sentences = _leaf_without_gradient(edge[0], names)
    else:
        reason, sentences = _result_without_gradient(tensor, edge, names)
    facts["why_grad_is_none"] = reason
    return "grad is None", sentences


def values_of(grad):
    """What the elements of a gradient are like."""
    plain = grad.detach()
    bad = int((~plain.isfinite()).sum().item())
    if bad:
        return f"{bad} of {grad.numel()} elements are NaN or infinite"
    return f"norm {plain.norm().item():.4g}"


def _result_without_gradient(tensor, edge, names):
    if tensor._base is not None and tensor._base._edge is LEAF:
        return "view of a leaf", [
            f"It is a view of the leaf {described(tensor._base, names)}: the gradient arrives in the grad of that leaf."
        ]
    if not tensor.retains_grad:
        return "not a leaf", [
            f"It is no leaf ({edge[0].name()} made it), and backward keeps the gradients of leaves alone. Call retain_grad() on it "
            "before backward()."
        ]
    return "no backward yet", ["retain_grad() was called, and no backward has passed through it since."]


def _last_backward():
    """A sentence about the last backward of this thread that freed its graph."""
    last = modes.state.last_backward
    if last is None:
        return "There was no backward call in this thread yet."
    return f"The last backward call of this thread was at {written(last.location)}."


def _siblings_with_gradients(parameter):
    """A sentence about a module of the caller's that holds ``parameter`` beside others that have gradients, or None."""
    for name, module in modules_in_scope():
        parameters = list(module.parameters())
        given = sum(each._grad is not None for each in parameters)
        if given and any(each is parameter for each in parameters):
            return (
                f"{given} of {len(parameters)} parameters of `{name}` have a gradient, so backward did run and did not reach this one: "
                "what it computes does not lead to the loss, is detached on the way, or its module was not called."
            )
    return None


def _leaf_without_gradient(accumulator, names):
    direct, every = users_of([accumulator])
    if not direct:
        unused = "No living graph uses it: no operation has recorded it, or those graphs are gone."
        if modes.state.last_backward is None:
            return "no backward yet", [unused, _last_backward()]
        siblings = _siblings_with_gradients(accumulator.variable)
        if siblings:
            return "not reached", [unused, siblings, _last_backward()]
        return "not reached", [
            unused,
            _last_backward()
            + " It did not reach this tensor, or the gradient was set to None since (zero_grad() does that), "
            "or autograd.grad() returned the gradients instead of storing them.",
        ]
    used = f"It is used by {counted(node.name() for node in direct)}"
    ends = tensors_in_graph(every)
    ends = [described(t, names) for t in [t for t in ends if id(t) in names] or ends]
    towards = f", on the way to {_listed(dict.fromkeys(ends), 3)}" if ends else ""
    ran = [node for node in direct if freed_at(node)]
    if not ran:
        return "no backward yet", [
            f"{used}{towards}. No backward has run through that and freed it: call backward() on a scalar computed from it."
        ]
    place = written(freed_at(ran[0]))
    if all(hasattr(node, "needs_input_grad") for node in direct):
        return "None from a custom Function", [
            f"{used}, a custom Function. backward ran through it ({place}), and its backward returned None for this input, or the "
            "gradient was set to None since."
        ]
    return "cleared, or not stored", [
        f"{used}{towards}. backward ran through it ({place}): the gradient was set to None since (zero_grad() does that), or that "
        "call was autograd.grad(), or backward(inputs=...) with other inputs."
    ]


# ---------------------------------------------------------------- the graph


def _backward(tensor, node, names, facts):
    """The sections on what backward from here would do and what the graph holds."""
    facts |= {"reaches": [], "nodes": 0, "operations": {}, "freed": None, "kept_alive_by": []}
    facts |= {"saved_tensors": 0, "saved_bytes": 0, "saved_by_leaves": 0}
    if node is None:
        return [("backward() here", ["It would reach nothing: no operation was recorded that made this tensor."])]
    nodes = graph_from(node)
    operations = [each for each in nodes if each.__class__ is not AccumulateGrad]
    leaves = [each.variable for each in nodes if each.__class__ is AccumulateGrad]
    facts["reaches"] = [names.get(id(leaf), f"shape {list(leaf.shape)}") for leaf in leaves]
    facts["nodes"] = len(nodes)
    facts["operations"] = dict(Counter(each.name() for each in operations).most_common())
    facts["freed"] = next((place for each in operations if (place := freed_at(each))), None)
    kinds = [f"{times} {kind}" if times > 1 else kind for kind, times in facts["operations"].items()]
    sentences = []
    if not operations:
        sentences.append("It is a leaf itself: backward() would add to its own grad alone.")
    else:
        plural = "" if len(operations) == 1 else "s"
        sentences.append(f"It would run {len(operations)} operation{plural}: {_listed(kinds)}.")
        reached = [described(leaf, names) for leaf in leaves]
        plural = "leaf" if len(leaves) == 1 else "leaves"
        sentences.append(f"It would reach {len(leaves)} {plural}: {_listed(reached)}.")
    if tensor.numel() != 1:
        sentences.append(f"It needs gradient=, a tensor of shape {list(tensor.shape)}, since this is no scalar.")
    if facts["freed"]:
        sentences.append(f"It would raise: the backward call at {written(facts['freed'])} freed the saved values.")
    return [("backward() here", sentences), *_memory(tensor, operations, leaves, names, facts)]


def _memory(tensor, operations, leaves, names, facts):
    """The section on what the graph holds, and who holds the graph; none for a leaf alone."""
    if not operations:
        return []
    arrays = [array for node in operations for array in saved_arrays(node)]
    pieces = memory_of(arrays)
    of_leaves = memory_of([leaf._array for leaf in leaves])
    total = sum(pieces.values())
    shared = sum(count for key, count in pieces.items() if key in of_leaves)
    facts |= {"saved_tensors": len(arrays), "saved_bytes": total, "saved_by_leaves": shared}
    own = {id(array) for array in arrays}  # what the graph alone holds does not hold the graph
    holders = [t for t in tensors_in_graph([*operations, *users_of(operations)[1]]) if t is not tensor]
    holders = [t for t in holders if id(t) in names or id(t._array) not in own]
    facts["kept_alive_by"] = [described(t, names) for t in holders]
    places = "1 piece" if len(pieces) == 1 else f"{len(pieces)} pieces"
    kept = (
        f"{len(arrays)} tensors for backward, {size_of(total)} in {places} of memory"
        if arrays
        else "no tensors for backward"
    )
    sentences = [f"It keeps {kept}."]
    if shared:
        sentences.append(f"{size_of(shared)} of that is the memory of leaves, which would be there anyway.")
    others = f", and by {_listed(dict.fromkeys(facts['kept_alive_by']), 3)}" if holders else ""
    sentences.append(f"It is kept alive by this tensor{others}: drop or detach() them to free it.")
    return [("the graph", sentences)]
