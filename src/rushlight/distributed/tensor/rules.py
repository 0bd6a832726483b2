"""Rules: how an operation can be run on parts, as candidates along one dimension of a mesh.

A rule takes a `Call` and gives `Candidate`s: a placement for each operand, and for each result what the parts then make. The
cheapest is taken, along each dimension of the mesh by itself. Operations without a rule run on whole tensors: their operands are
gathered, and every process has the whole result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ...ops import table
from ..placements import Partial, Placement, Replicate, Shard, _NormPartial

R, SUM = Replicate(), Partial()


class Candidate(NamedTuple):
    """Placements along one dimension of a mesh: of all tensors among the arguments, and of all results."""

    operands: tuple[Placement, ...]
    results: tuple[Placement, ...]


class Call:
    """A call that rules look at: its operation, bound values, the shapes of its tensors and of its results."""

    def __init__(self, op: Any, schema: Any, values: list[Any], shapes: list[Any], results: list[Any]) -> None:
        self.op, self.schema, self.values, self.shapes, self.results = op, schema, values, shapes, results
        self.processes = 1
        self.placements: list[Placement] = [R for _ in shapes]  # along the dimension of the mesh that is looked at

    def argument(self, name: str) -> Any:
        """The value of an argument."""
        return self.values[self.schema.index[name]]

    def all_whole(self) -> Candidate:
        """The candidate that every operation has: all operands whole, and all results."""
        return Candidate((R,) * len(self.shapes), (R,) * len(self.results))

    def fits(self, candidate: Candidate) -> bool:
        """Whether a candidate cuts an operand as one is cut already: nothing is cut that was whole everywhere."""
        cut = [pair for pair in zip(self.placements, candidate.operands) if isinstance(pair[1], Shard)]
        return not cut or any(now == wanted for now, wanted in cut)

    def divides(self, size: int) -> bool:
        """Whether a dimension is cut into equal parts."""
        return size % self.processes == 0

    def reaches_all(self, size: int) -> bool:
        """Whether each process has some of a dimension that is cut."""
        return size > 0 and (self.processes - 1) * -(-size // self.processes) < size

    def partials(self) -> list[Placement]:
        """The sums and averages among the operands' placements, each once."""
        return list(dict.fromkeys(each for each in self.placements if _is_linear(each)))


def _is_linear(placement: Placement) -> bool:
    return placement.is_partial() and not isinstance(placement, _NormPartial) and placement.reduce_op in ("sum", "avg")  # type: ignore[attr-defined]


RULES: dict[str, Callable[[Call], Iterator[Candidate]]] = {}
# Arguments that are sizes of the result: those of its part, where it is cut.
SIZES = {
    "view_shape": "size", "unsafe_view": "size", "reshape_copy": "size", "expand": "size", "select_gradient": "shape",
    "slice_gradient": "shape", "placed": "shape", "convolution_input_gradient": "input_size",
}  # fmt: skip


def rule(*names: str) -> Callable[[Any], Any]:
    """Let the decorated function be the rule of these operations."""

    def register(function: Any) -> Any:
        for name in names:
            RULES[name] = function
        return function

    return register


def rule_of(op: Any) -> Any:
    """The rule of an operation; None where it has none."""
    if op.kind in (table.UNARY, table.BINARY, table.ELEMENTWISE, table.FUSED):
        return RULES.get(op.name, pointwise)
    return RULES.get(op.name)


# ---------------------------------------------------------------- element by element


def aligned(shape: Any, whole: Any, dim: int) -> Placement:
    """The placement of an operand that broadcasts to a shape which is cut along ``dim``."""
    own = dim - (len(whole) - len(shape))
    return Shard(own) if own >= 0 and shape[own] == whole[dim] else R


def pointwise(call: Call) -> Iterator[Candidate]:
    """Each dimension of the result can be cut, in all operands that have it."""
    whole = call.results[0]
    for dim in range(len(whole)):
        operands = tuple([aligned(shape, whole, dim) for shape in call.shapes])
        yield Candidate(operands, (Shard(dim),) * len(call.results))


RULES |= dict.fromkeys(("masked_fill", "dropout_pair", "clone", "copy_from", "fill"), pointwise)


@rule("add", "sub")
def sums(call: Call) -> Iterator[Candidate]:
    """Sums of parts of sums."""
    yield from pointwise(call)
    if len(call.shapes) == 2:
        yield from (Candidate((each, each), (each,)) for each in call.partials())


@rule("mul", "mul_conjugate", "div", "true_divide")
def products(call: Call) -> Iterator[Candidate]:
    """A sum times what all processes have."""
    yield from pointwise(call)
    for each in call.partials():
        others = (R,) * (len(call.shapes) - 1)
        yield Candidate((each, *others), (each,))
        if others and call.op.name != "div":
            yield Candidate((*others, each), (each,))


@rule("neg", "to_copy")
def linear(call: Call) -> Iterator[Candidate]:
    """Linear in the one operand."""
    yield from pointwise(call)
    yield from (Candidate((each,), (each,)) for each in call.partials())


# ---------------------------------------------------------------- reductions


def _reduced_dims(call: Call, name: str = "dim") -> set[int]:
    ndim, dims = len(call.shapes[0]), call.argument(name) if name in call.schema.index else None
    if dims is None or dims == ():
        return set(range(ndim))
    return {dim % ndim for dim in (dims if isinstance(dims, (tuple, list)) else (dims,))} if ndim else set()


def _keeps(call: Call) -> bool:
    return "keepdim" in call.schema.index and bool(call.argument("keepdim"))


def _left(call: Call, reduced: set[int], dim: int) -> int:
    """The number in the result of a dimension that is not reduced."""
    return dim if _keeps(call) else dim - sum(each < dim for each in reduced)


def _reduction(joined: Callable[[Call, int], Placement | None]) -> Callable[[Call], Iterator[Candidate]]:
    """The rule of a reduction: what ``joined`` gives for parts along a dimension that is reduced, None where they do not help."""

    def found(call: Call) -> Iterator[Candidate]:
        reduced = _reduced_dims(call)
        for dim, size in enumerate(call.shapes[0]):
            made = joined(call, size) if dim in reduced else Shard(_left(call, reduced, dim))
            if made is not None:
                yield Candidate((Shard(dim),), (made,) * len(call.results))

    return found


_sum = _reduction(lambda call, size: SUM)


@rule("sum")
def sum_of(call: Call) -> Iterator[Candidate]:
    """Sums of parts, and of parts of sums."""
    yield from _sum(call)
    yield from (Candidate((each,), (each,)) for each in call.partials())


def _extreme(name: str) -> Callable[[Call], Iterator[Candidate]]:
    return _reduction(lambda call, size: Partial(name) if call.reaches_all(size) else None)


RULES["mean"] = _reduction(lambda call, size: Partial("avg") if call.divides(size) else None)
RULES |= {"amax": _extreme("max"), "max_all": _extreme("max"), "amin": _extreme("min"), "min_all": _extreme("min")}
RULES |= {"prod_all": _reduction(lambda call, size: Partial("product"))}
RULES |= dict.fromkeys(("max_dim", "min_dim", "argmax", "argmin", "prod_dim", "logsumexp", "all", "any",
                        "var_corrected", "std_corrected"), _reduction(lambda call, size: None))  # fmt: skip


@rule("vector_norm_parts")
def norms(call: Call) -> Iterator[Candidate]:
    """Norms of parts make the norm of the whole."""
    order = call.argument("ord")
    if order in (float("inf"), float("-inf")):
        yield from _extreme("max" if order > 0 else "min")(call)
    else:
        made = _NormPartial(norm_type=order) if order > 0 else None
        yield from _reduction(lambda call, size: made)(call)


def along(*names: str) -> Callable[[Call], Iterator[Candidate]]:
    """The rule of operations that keep the shape, and look along the dimensions that their arguments name."""

    def found(call: Call) -> Iterator[Candidate]:
        taken: set[int] = set()
        for name in names:
            taken |= _reduced_dims(call, name)
        for dim in range(len(call.results[0])):
            if dim not in taken:
                yield Candidate((Shard(dim),) * len(call.shapes), (Shard(dim),) * len(call.results))

    return found


RULES |= dict.fromkeys(("softmax", "softmax_gradient", "log_softmax", "log_softmax_gradient", "cumsum", "cumprod", "sort_pair", "topk_pair",
                        "logcumsumexp", "glu", "glu_gradient", "cat", "split_even", "split_with_sizes", "gather"), along("dim"))  # fmt: skip
RULES |= dict.fromkeys(("flip",), along("dims"))


@rule("tril", "triu")
def triangles(call: Call) -> Iterator[Candidate]:
    """Batches of matrices."""
    for dim in range(len(call.results[0]) - 2):
        yield Candidate((Shard(dim),), (Shard(dim),))


# ---------------------------------------------------------------- products


def contraction(*operands: str, result: str, added: int | None = None) -> Callable[[Call], Iterator[Candidate]]:
    """The rule of a sum of products, written with a letter for each dimension; operand number ``added`` is added to it.

    ``...`` stands for dimensions that broadcast, which are aligned from the right.
    """

    def found(call: Call) -> Iterator[Candidate]:
        shapes = call.shapes
        named = [_letters(text, len(shape)) for text, shape in zip(operands, shapes)]
        goal = _letters(result, len(call.results[0]))
        sizes = {letter: size for names, shape in zip(named, shapes) for letter, size in zip(names, shape) if size > 1}
        for letter in dict.fromkeys(each for names in (goal, *named) for each in names):
            made = Shard(goal.index(letter)) if letter in goal else SUM
            wanted = []
            for place, (names, shape) in enumerate(zip(named, shapes)):
                has = letter in names and shape[names.index(letter)] == sizes.get(letter, 1)
                wanted.append(Shard(names.index(letter)) if has else SUM if place == added and made is SUM else R)
            yield Candidate(tuple(wanted), (made,))
        for each in call.partials():
            for place in range(len(shapes)):
                if place != added:
                    yield Candidate(tuple(each if p in (place, added) else R for p in range(len(shapes))), (each,))

    return found


def _letters(text: str, ndim: int) -> list[str]:
    """A name for each dimension, of which those of ``...`` are numbered from the right; a shorter operand has the last ones."""
    front, dots, back = text.partition("...")
    if not dots:
        return list(text)[len(text) - ndim :]
    more = ndim - len(front) - len(back)
    return [*front, *[f"{place}" for place in range(more, 0, -1)], *back]


RULES |= {
    "mm": contraction("mk", "kn", result="mn"),
    "transposed_mm": contraction("km", "kn", result="mn"),
    "linear_rows": contraction("mk", "nk", "n", result="mn", added=2),
    "addmm": contraction("mn", "mk", "kn", result="mn", added=0),
    "bmm": contraction("bmk", "bkn", result="bmn"),
    "baddbmm": contraction("bmn", "bmk", "bkn", result="bmn", added=0),
    "mv": contraction("mk", "k", result="m"),
    "addmv": contraction("m", "mk", "k", result="m", added=0),
    "dot": contraction("k", "k", result=""),
    "outer_product": contraction("m", "n", result="mn"),
    "vector_products": contraction("...k", "...k", result="..."),
    "batched_product": contraction("...mk", "...kn", result="...mn"),
    "scaled_scores": contraction("...mk", "...nk", result="...mn"),
}


@rule("attention")
def attention(call: Call) -> Iterator[Candidate]:
    """Samples, and heads where queries have as many as keys."""
    query, key, _, *mask = call.shapes
    for dim in (0, 1):
        if query[dim] == key[dim]:
            hidden = [aligned(shape, (*query[:2], 0, 0), dim) for shape in mask]
            yield Candidate((Shard(dim),) * 3 + tuple(hidden), (Shard(dim),) * len(call.results))


@rule("convolution")
def convolution(call: Call) -> Iterator[Candidate]:
    """Samples."""
    yield Candidate((Shard(0), *(R,) * (len(call.shapes) - 1)), (Shard(0),))


@rule("convolution_input_gradient")
def convolution_input(call: Call) -> Iterator[Candidate]:
    """Samples."""
    yield Candidate((Shard(0), R), (Shard(0),))


@rule("convolution_weight_gradient")
def convolution_weight(call: Call) -> Iterator[Candidate]:
    """Samples, whose gradients add up."""
    yield Candidate((Shard(0), Shard(0)), (SUM,))


# ---------------------------------------------------------------- normalisation, tables of rows


@rule("layer_norm_parts", "rms_norm_parts")
def normalized(call: Call) -> Iterator[Candidate]:
    """Rows."""
    for dim in range(len(call.shapes[0]) - len(call.argument("normalized_shape"))):
        yield Candidate((Shard(dim), *(R,) * (len(call.shapes) - 1)), (Shard(dim),) * len(call.results))


@rule("layer_norm_gradients", "rms_norm_gradients")
def normalized_gradients(call: Call) -> Iterator[Candidate]:
    """Rows; the gradients of weight and bias add up."""
    rows = len(call.shapes[0]) - len(call.argument("normalized_shape"))
    affine = sum(call.argument(name) is not None for name in ("weight", "bias") if name in call.schema.index)
    statistics = len(call.shapes) - 2 - affine
    for dim in range(rows):
        operands = (Shard(dim), Shard(dim), *(R,) * affine, *(Shard(dim),) * statistics)
        yield Candidate(operands, (Shard(dim), *(SUM,) * (len(call.results) - 1)))


@rule("embedding")
def embedding(call: Call) -> Iterator[Candidate]:
    """Places, or columns of the table; rows of it (`rows.py`) give parts of a sum."""
    indices = call.shapes[1]
    yield Candidate((Shard(1), R), (Shard(len(indices)),))
    yield from (Candidate((R, Shard(dim)), (Shard(dim),)) for dim in range(len(indices)))
    yield Candidate((Shard(0), R), (SUM,))


@rule("embedding_gradient")
def embedding_gradient(call: Call) -> Iterator[Candidate]:
    """Columns; gradients of places add up."""
    indices = call.shapes[1]
    yield Candidate((Shard(len(indices)), R), (Shard(1),))
    if not call.argument("scale_grad_by_freq"):
        yield from (Candidate((Shard(dim), Shard(dim)), (SUM,)) for dim in range(len(indices)))


# ---------------------------------------------------------------- views


def mapped(sources: Callable[[Call], list[int | None]]) -> Callable[[Call], Iterator[Candidate]]:
    """The rule of an operation whose results have dimensions of the operand's: ``sources`` names it for each, or None."""

    def found(call: Call) -> Iterator[Candidate]:
        for place, dim in enumerate(sources(call)):
            if dim is not None and call.shapes[0][dim] == call.results[0][place]:
                yield Candidate((Shard(dim),), (Shard(place),) * len(call.results))
        yield from (Candidate((each,), (each,) * len(call.results)) for each in call.partials())

    return found


def _without(call: Call, dims: set[int]) -> list[int | None]:
    return [dim for dim in range(len(call.shapes[0])) if dim not in dims]


def _dim(call: Call, more: int = 0) -> int:
    return call.argument("dim") % (len(call.shapes[0]) + more)


def _slice(call: Call) -> list[int | None]:
    same = call.shapes[0] == call.results[0]
    return [dim if same or dim != _dim(call) else None for dim in range(len(call.shapes[0]))]


def _squeeze(call: Call) -> list[int | None]:
    shape, dims = call.shapes[0], call.argument("dim")
    named = range(len(shape)) if dims is None else dims if isinstance(dims, (tuple, list)) else (dims,)
    return _without(call, {dim % len(shape) for dim in named if shape and shape[dim] == 1})


def _unsqueeze(call: Call) -> list[int | None]:
    found = _without(call, set())
    found.insert(_dim(call, 1), None)
    return found


def _transposed(call: Call, first: int, second: int) -> list[int | None]:
    found = _without(call, set())
    if found:
        found[first], found[second] = found[second], found[first]
    return found


def _expanded(call: Call) -> list[int | None]:
    more = len(call.results[0]) - len(call.shapes[0])
    return [None] * more + _without(call, set())


def _select_gradient(call: Call) -> list[int | None]:
    dim = call.argument("dim") % len(call.results[0])
    return [None if place == dim else place - (place > dim) for place in range(len(call.results[0]))]


RULES |= {
    "alias": mapped(lambda call: _without(call, set())),
    "select": mapped(lambda call: _without(call, {_dim(call)})),
    "unbind": mapped(lambda call: _without(call, {_dim(call)})),
    "slice_dim": mapped(_slice),
    "squeeze": mapped(_squeeze),
    "unsqueeze": mapped(_unsqueeze),
    "t": mapped(lambda call: _without(call, set())[::-1]),
    "transpose": mapped(lambda call: _transposed(call, call.argument("dim0"), call.argument("dim1"))),
    "permute": mapped(lambda call: [dim % len(call.shapes[0]) for dim in call.argument("dims")]),
    "expand": mapped(_expanded),
    "select_gradient": mapped(_select_gradient),
    "slice_gradient": mapped(lambda call: [d if d != call.argument("dim") % len(call.shapes[0]) else None for d in range(len(call.shapes[0]))]),
}  # fmt: skip


@rule("placed")
def placed(call: Call) -> Iterator[Candidate]:
    """Every dimension but the one along which elements are put, which operands may lack."""
    whole = call.results[0]
    dim = call.argument("dim") % len(whole)
    for each in range(len(whole)):
        if each != dim:
            own = each - (each > dim and len(call.shapes[0]) < len(whole))
            yield Candidate((Shard(own), Shard(own)), (Shard(each),))


@rule("stack")
def stack(call: Call) -> Iterator[Candidate]:
    """Every dimension but the new one."""
    new = call.argument("dim") % len(call.results[0])
    for dim in range(len(call.shapes[0])):
        yield Candidate((Shard(dim),) * len(call.shapes), (Shard(dim + (dim >= new)),))


@rule("view_shape", "unsafe_view", "reshape_copy")
def reshape(call: Call) -> Iterator[Candidate]:
    """The first dimension of each run of dimensions that becomes another run, where both are cut into equal parts."""
    before, after = call.shapes[0], call.results[0]
    for own, new in runs(before, after):
        old_dim = next((dim for dim in own if before[dim] > 1), None)
        new_dim = next((dim for dim in new if after[dim] > 1), None)
        if old_dim is None or new_dim is None:
            continue
        same = before[old_dim] == after[new_dim]
        if same or (call.divides(before[old_dim]) and call.divides(after[new_dim])):
            yield Candidate((Shard(old_dim),), (Shard(new_dim),))
    yield from (Candidate((each,), (each,)) for each in call.partials())


def runs(before: Any, after: Any) -> Iterator[tuple[list[int], list[int]]]:
    """Runs of dimensions of two shapes with as many elements, shortest first: ``([0], [0, 1])`` for (6, 5) and (2, 3, 5)."""
    own: list[int] = []
    new: list[int] = []
    first = second = 1
    left, right = list(range(len(before))), list(range(len(after)))
    while left or right:
        if left and (first <= second or not right):
            own.append(left.pop(0))
            first *= before[own[-1]]
        else:
            new.append(right.pop(0))
            second *= after[new[-1]]
        if first == second and own and new:
            yield own, new
            own, new, first, second = [], [], 1, 1
