"""From recordings to a graph: what is the same in all of them is what the program does, and what differs follows from sizes."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..base.errors import hinted
from ..base.lazy import stored_in
from ..compiler.errors import UserError, UserErrorType
from ..fx import Graph
from ..ops.table import functions
from ..random import Generator
from ..tensor import Tensor
from ..tensor.creation import from_numpy
from ..utils import _pytree as pytree
from .dynamic_shapes import Symbol, Varying
from .exported_program import placeholder
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)
from .names import result_name, step_name
from .operations import operation, sym_size
from .recording import Call, Positions, Recording, Ref
from .running import OUTPUT, Runner
from .sizes import Formula, SizeOf, Sizes, bound_values, symbol_values

# What fills a tensor without reading it.
_OVERWRITING = (
    "random_target",
    "copy_from",
    "fill_number",
    "fill_tensor",
    "zero_",
    "uniform_",
    "normal_",
    "bernoulli_",
    "cauchy_",
    "exponential_",
    "geometric_",
    "log_normal_",
    "random_between_",
)

_PREFIXES = {"parameter": ("p_", InputKind.PARAMETER), "buffer": ("b_", InputKind.BUFFER)}


def symbols_of(varying: list[dict[int, Varying]]) -> list[Symbol]:
    """The symbols of all inputs, each once, in order."""
    return list(dict.fromkeys(size.symbol for each in varying for size in each.values()))


class Tracer:
    """Records a module and writes the graph.

    Args:
        runner: how the module is called.
        names: the names of the leaves of its arguments.

    Attributes:
        graph, signature: what it did.
        constants: tensors by name that are neither inputs nor state.
    """

    def __init__(self, runner: Runner, names: list[str]):
        self.runner, self.names = runner, names
        self.symbols = symbols_of(runner.varying)
        self.rows = symbol_values(self.symbols)
        self.bases = _bases(self.symbols, runner.varying)
        self.graph, self.constants = Graph(), {}
        self.nodes: dict[int, Any] = {}  # by number
        self._sizes: dict[Any, Any] = {}  # nodes of sizes: by what they are
        self._user_inputs: dict[int, Any] = {}  # nodes by the places of leaves
        self.recordings = self._record()
        values = [dict(zip(self.symbols, row)) for row in self.rows]
        rows = [tuple(base.size(row[base.symbol]) for base in self.bases) for row in values]
        self.found = Sizes(rows, [recording.shapes for recording in self.recordings])
        self.signature = ExportGraphSignature(self._inputs(), [])
        self._write_calls()

    @property
    def example(self) -> Recording:
        """The recording of the example."""
        return self.recordings[0]

    # ------------------------------------------------------------ recordings

    def _record(self) -> list[Recording]:
        """The recordings of the example, of other values and of other sizes; first what depends on values is refused."""
        self.runner.begin_with(dict(zip(self.symbols, self.rows[0])))
        example = self.runner.example()
        try:
            others = self.runner.other_values()
        except Exception as error:
            first = str(error).partition("\n")[0]
            raise UserError(
                hinted(
                    "Could not guard on data-dependent expression: the module refuses other values of the inputs",
                    f"with the example's numbers in the opposite order it raises {type(error).__name__}: {first}",
                ),
                UserErrorType.DYNAMIC_CONTROL_FLOW,
            ) from error
        for other in others:
            self._compare(example, other)
        resized = [self._resized(row) for row in self.rows[1:]]
        for row in bound_values(self.symbols):
            found = None if row in self.rows else self._at_bounds(row, example)
            if found is not None:
                resized.append(found)
                self.rows.append(row)
        self.rows[1:1] = self.rows[:1] * len(others)
        return [example, *others, *resized]

    def _compare(self, example: Recording, other: Recording) -> None:
        """Raise where a recording with other values is another one."""
        for first, second in zip(example.calls, other.calls):
            if first.name != second.name or not _same(first.arguments, second.arguments):
                raise self._depends_on_values(second if first.name == OUTPUT else first)
        if len(example.calls) != len(other.calls):
            raise self._depends_on_values(min(example.calls, other.calls, key=len)[-1])
        for number in example.constants:
            user = _user_of(number, example)
            if user.name not in _OVERWRITING and not _equal(example.tensors[number], other.tensors[number]):
                raise self._depends_on_values(user)

    @staticmethod
    def _depends_on_values(call: Call) -> UserError:
        what = "what is returned" if call.name == OUTPUT else f"the call of {call.name}"
        return UserError(
            hinted(
                f"Could not guard on data-dependent expression: {what} depends on the values of the inputs",
                "a program is the same for all inputs: .item(), .tolist(), `if tensor:` and indexing with a mask read values "
                "in Python; use torch.where, masked_fill or index_select",
            ),
            UserErrorType.DYNAMIC_CONTROL_FLOW,
        )

    def _resized(self, row: tuple[int, ...]) -> Recording:
        sizes = dict(zip(self.symbols, row))
        said = ", ".join(f"{symbol.name} = {value}" for symbol, value in sizes.items())
        try:
            found = self.runner.other_sizes(sizes)
        except Exception as error:
            first = str(error).partition("\n")[0]
            raise self._violated(f"with {said} the module raises {type(error).__name__}: {first}") from error
        return found

    def _at_bounds(self, row: tuple[int, ...], example: Recording) -> Recording | None:
        """The recording at the ends of ranges, where a branch shows that sizes near the example do not take.

        None where the module refuses sizes that nobody said it takes, and where it does otherwise there and hints alone tell
        of the sizes: these then end with those that were tried.
        """
        try:
            found = self._resized(row)
        except UserError:
            if all(symbol.low >= 2 for symbol in self.symbols):
                raise
            return None
        if [call.name for call in found.calls] == [call.name for call in example.calls]:
            return found
        if not all(symbol.by_hint for symbol in self.symbols):
            return found
        for symbol, size, *tried in zip(self.symbols, row, *self.rows):
            symbol.low = min(tried) if size < min(tried) else symbol.low
            symbol.high = max(tried) if size > max(tried) else symbol.high
        return None

    def _violated(self, hint: str) -> UserError:
        names = ", ".join(symbol.name for symbol in self.symbols)
        return UserError(
            hinted(
                f'Constraints violated ({names})! For more information, run with TORCH_LOGS="+dynamic".',
                f"{hint}; sizes that cannot change freely are left out of dynamic_shapes, or follow from others (2*dim)",
            ),
            UserErrorType.CONSTRAINT_VIOLATION,
        )

    # ------------------------------------------------------------ inputs

    def _inputs(self) -> list[InputSpec]:
        """Placeholders for parameters, buffers and the user's inputs, in this order."""
        specs = []
        for number, (name, (kind, _, persistent)) in enumerate(self.runner.state.items()):
            prefix, input_kind = _PREFIXES[kind]
            node = self._placeholder(number, prefix + name.replace(".", "_"))
            specs.append(InputSpec(input_kind, TensorArgument(node.name), name, persistent))
        number = len(specs)
        for place, (name, leaf) in enumerate(zip(self.names, self.runner.leaves)):
            if isinstance(leaf, Tensor):
                node = self._user_inputs[place] = self._placeholder(number, name)
                argument: Any = TensorArgument(node.name)
                number += 1
            else:
                argument = ConstantArgument(placeholder(self.graph, name).name, leaf)
            specs.append(InputSpec(InputKind.USER_INPUT, argument, None))
        return specs

    def _value(self, number: int) -> Any:
        """The node of a value; a constant gets one when it is first asked for."""
        if number not in self.nodes:
            self.nodes[number] = self._constant(number)
        return self.nodes[number]

    def _constant(self, number: int) -> Any:
        """A tensor that came from no operation: filled with one number, made anew in each call; else an argument of the graph."""
        tensor, user = self.example.tensors[number], _user_of(number, self.example)
        name = self.runner.attributes.get(id(self.example.constants[number]))
        overwritten = user.name in _OVERWRITING
        if name is None and (overwritten or all(_is_uniform(each.tensors[number]) for each in self.recordings)):
            sizes = [self._size(self.found.find([*each], number), user, [*each]) for each in self._shapes(number)]
            filling = 0 if overwritten else self._filling(number, user)
            node = self.graph.call_function(operation("full"), (tuple(sizes), filling, tensor.dtype))
            self._describe(node, number)
            return node
        if any(not _equal(tensor, recording.tensors[number]) for recording in self.recordings[1:]):
            step = _step(tensor)
            if step is not None and all(_step(each.tensors[number]) == step for each in self.recordings):
                return self._progression(number, user, step)
            raise self._violated(
                f"an argument of {user.name} was made from sizes outside of the operations, as torch.tensor(x.shape) is"
            )
        node = self._lifted(tensor, name)
        array = stored_in(self.example.constants[number]._array)
        if any(np.may_share_memory(array, stored_in(each._array)) for each in self.example.written):
            node = self.graph.call_function(operation("clone"), (node, None))
            self._describe(node, number)
        return node

    def _progression(self, number: int, user: Call, step: int) -> Any:
        """The node of integers at equal distances, whose bounds follow from sizes."""
        arrays = [recording.tensors[number]._array for recording in self.recordings]
        start = self._merged([int(array[0]) for array in arrays], user, number)
        end = self._merged([int(array[-1]) + step for array in arrays], user, number)
        dtype = self.example.tensors[number].dtype
        node = self.graph.call_function(operation("arange_values"), (start, end, step, dtype))
        self._describe(node, number)
        return node

    def _filling(self, number: int, user: Call) -> Any:
        """The number that fills a constant: the same for all sizes, or one that follows from them."""
        tensors = [recording.tensors[number] for recording in self.recordings]
        return self._merged([each.flatten()[0].item() if each.numel() else 0 for each in tensors], user, number)

    def _shapes(self, number: int) -> Any:
        """For each dimension of a value its sizes in all recordings."""
        return zip(*(recording.shapes[number] for recording in self.recordings))

    def _placeholder(self, number: int, name: str) -> Any:
        node = placeholder(self.graph, name)
        self._enter(number, node)
        return node

    def _enter(self, number: int, node: Any) -> None:
        """Let a node stand for a value, and say what that looks like."""
        self.nodes[number] = node
        self._describe(node, number)

    def _describe(self, node: Any, number: int) -> None:
        tensor = self.example.tensors[number]
        node.meta["val"] = functions.empty(self.example.shapes[number], dtype=tensor.dtype, device="meta")
        node.meta["sizes"] = tuple(self._text(self.found.formula([*sizes])) for sizes in self._shapes(number))
        node.meta["shapes"] = [recording.shapes[number] for recording in self.recordings]

    def _text(self, found: Any) -> int | str:
        """A size as an int or as text in the names of symbols; "?" where it is neither."""
        if found is None or isinstance(found, int):
            return "?" if found is None else found
        text = "*".join(str(self.bases[number]) for number in found.symbols)
        text = text if found.factor == 1 else f"{found.factor}*{text}"
        text = f"{text} {'+' if found.offset > 0 else '-'} {abs(found.offset)}" if found.offset else text
        return text if found.divisor == 1 else f"({text})//{found.divisor}"

    # ------------------------------------------------------------ calls

    def _write_calls(self) -> None:
        for each in self.recordings[1:]:
            if len(each.calls) != len(self.example.calls):
                raise self._violated("another number of operations ran for other sizes")
        for calls in zip(*(recording.calls for recording in self.recordings)):
            first = calls[0]
            if any(call.name != first.name or call.results != first.results for call in calls):
                raise self._violated(f"where {first.name} ran, another operation did for other sizes")
            known = min((n for n in first.results if n is not None), default=len(self.example.tensors))
            arguments = self._merged([call.arguments for call in calls], first, known)
            if first.name == OUTPUT:
                self._write_output(arguments[0])
            else:
                self._write_call(first, arguments)
        for node in reversed(self.graph.nodes):
            if node.target is operator.getitem and not node.users:
                self.graph.erase_node(node)

    def _write_call(self, call: Call, arguments: Any) -> None:
        add, rank = self.graph.call_function, self._rank(call)
        if not call.several:
            node = add(operation(call.name), arguments, name=step_name(call.name, rank))
            if call.results[0] is not None:
                self._enter(call.results[0], node)
            return
        names = [result_name(call.name, rank, place) for place in range(len(call.results))]
        node = add(operation(call.name), arguments, name=call.name if any(names) else step_name(call.name, rank))
        for place, number in enumerate(call.results):
            if number is not None:
                self._enter(number, add(operator.getitem, (node, place), name=names[place]))

    def _rank(self, call: Call) -> int:
        """The number of dimensions of the first operand."""
        first = next((each for each in call.arguments if isinstance(each, Ref)), None)
        return 0 if first is None else len(self.example.shapes[first.number])

    def _write_output(self, outputs: list[Any]) -> None:
        self.graph.output(tuple(outputs))
        for output in outputs:
            argument: Any
            if not hasattr(output, "op"):
                argument = ConstantArgument("", output)
            elif "val" in output.meta:
                argument = TensorArgument(output.name)
            else:
                argument = SymIntArgument(output.name)
            self.signature.output_specs.append(OutputSpec(OutputKind.USER_OUTPUT, argument, None))

    def _merged(self, values: list[Any], call: Call, known: int) -> Any:
        """One argument from what it was in all recordings: nodes in place of numbers, and of ints that differ."""
        first = values[0]
        if isinstance(first, Ref):
            if any(value != first for value in values):
                raise self._violated(f"{call.name} was given another tensor for other sizes")
            return self._value(first.number)
        if isinstance(first, Positions):
            return self._positions(values, call)
        if isinstance(first, (list, tuple)):
            if any(type(value) is not type(first) or len(value) != len(first) for value in values):
                raise self._violated(f"{call.name} was given lists of other lengths for other sizes")
            merged = [self._merged([*each], call, known) for each in zip(*values)]
            return merged if isinstance(first, list) else tuple(merged)
        if isinstance(first, Generator):
            raise UserError(
                hinted(
                    f"{call.name} draws from a generator of its own: a program has the default one alone",
                    "leave generator= out, or give the random numbers as an input",
                )
            )
        if all(_same(first, value) for value in values):
            return first
        if all(type(value) is int for value in values):
            return self._size(self.found.find(values, known), call, values)
        other = next(value for value in values if not _same(first, value))
        raise self._violated(f"{call.name} was given {first!r} for one size and {other!r} for another")

    def _positions(self, values: list[Positions], call: Call) -> Any:
        """The tensor that an index was, where it was one that the graph knows, else a constant."""
        common = frozenset.intersection(*(value.equals for value in values))
        if common:
            return self.nodes[max(common)]
        if any(not np.array_equal(values[0].array, value.array) for value in values):
            raise self._violated(f"the positions that {call.name} was given follow from sizes by no operation")
        return self._lifted(from_numpy(values[0].array))

    def _lifted(self, tensor: Tensor, name: str | None = None) -> Any:
        """The placeholder of a new constant, behind those that are there."""
        target = f"lifted_tensor_{len(self.constants)}" if name is None else name
        self.constants[target] = tensor
        place = len(self.runner.state) + len(self.constants) - 1
        last = next((node for number, node in enumerate(self.graph.nodes) if number == place - 1), None)
        with self.graph.inserting_before() if last is None else self.graph.inserting_after(last):
            node = self.graph.placeholder(f"c_{target.replace('.', '_')}")
        node.meta["val"] = functions.empty(tensor.shape, dtype=tensor.dtype, device="meta")
        node.meta["sizes"] = tuple(tensor.shape)
        node.meta["shapes"] = [tuple(tensor.shape)] * len(self.recordings)
        specs = self.signature.input_specs
        specs.insert(place, InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node.name), target))
        return node

    # ------------------------------------------------------------ sizes

    def _size(self, found: Any, call: Call, values: list[int]) -> Any:
        """The node of a number that follows from sizes, or the number itself."""
        if found is None:
            raise self._violated(
                f"{call.name} was given {values[0]} for one size and {values[-1]} for another, which follows from no size by "
                "a multiple or a quotient"
            )
        if isinstance(found, int):
            return found
        if found not in self._sizes:
            self._sizes[found] = self._size_of(found) if isinstance(found, SizeOf) else self._calculated(found)
        return self._sizes[found]

    def _size_of(self, found: SizeOf) -> Any:
        node = self.graph.call_function(sym_size, (self.nodes[found.number], found.dim))
        return node if found.factor == 1 else self.graph.call_function(operator.mul, (node, found.factor))

    def _calculated(self, found: Formula) -> Any:
        call = self.graph.call_function
        node = self._base(found.symbols[0])
        for number in found.symbols[1:]:
            node = call(operator.mul, (node, self._base(number)))
        for function, operand, nothing in (
            (operator.mul, found.factor, 1),
            (operator.add, found.offset, 0),
            (operator.floordiv, found.divisor, 1),
        ):
            node = node if operand == nothing else call(function, (node, operand))
        return node

    def _base(self, number: int) -> Any:
        """The node of a base's value: the size of an input, or what gives that."""
        base = self.bases[number]
        if base not in self._sizes:
            places = [
                (place, dim, size)
                for place, varying in enumerate(self.runner.varying)
                for dim, size in varying.items()
                if size == base or (size.symbol is base.symbol and base == Varying(base.symbol))
            ]
            place, dim, size = min(places, key=lambda each: (each[2].factor, abs(each[2].offset)))
            node = self.graph.call_function(sym_size, (self._user_inputs[place], dim))
            if size != base and size.offset:
                node = self.graph.call_function(operator.add, (node, -size.offset))
            if size != base and size.factor != 1:
                node = self.graph.call_function(operator.floordiv, (node, size.factor))
            self._sizes[base] = node
        return self._sizes[base]


def _bases(symbols: list[Symbol], varying: list[dict[int, Varying]]) -> list[Varying]:
    """What formulas are made of: the symbols, then sizes of inputs that follow from them."""
    return list(dict.fromkeys([*map(Varying, symbols), *(size for each in varying for size in each.values())]))


def _same(first: Any, second: Any) -> bool:
    """Whether two arguments are equal: the same values by number, positions of the same origin, equal plain values."""
    if isinstance(first, Positions):
        return isinstance(second, Positions) and (
            bool(first.equals & second.equals) or np.array_equal(first.array, second.array)
        )
    if isinstance(first, (list, tuple)) and not isinstance(first, Ref):
        alike = type(first) is type(second) and len(first) == len(second)
        return alike and all(map(_same, first, second))
    if isinstance(first, Generator):  # a new one in each call draws what it draws
        return isinstance(second, Generator)
    return type(first) is type(second) and (first == second or (first != first and second != second))


def _is_uniform(tensor: Tensor) -> bool:
    """Whether all elements are one number."""
    array = np.asarray(tensor._array)
    return bool((array == array.flat[0]).all()) if array.size else True


def _step(tensor: Tensor) -> int | None:
    """The distance between integers that grow by the same; None where they are others."""
    array = np.asarray(tensor._array)
    if array.dtype.kind != "i" or array.ndim != 1 or array.size < 2:
        return None
    steps = np.diff(array)
    return int(steps[0]) if steps[0] > 0 and (steps == steps[0]).all() else None


def _equal(first: Tensor, second: Tensor) -> bool:
    return first.shape == second.shape and first.dtype == second.dtype and np.array_equal(first._array, second._array)


def _user_of(number: int, recording: Recording) -> Call:
    """The first call that was given a value."""
    return next(
        call
        for call in recording.calls
        if any(
            isinstance(leaf, Ref) and leaf.number == number
            for leaf in pytree.tree_leaves(call.arguments, is_leaf=lambda each: isinstance(each, Ref))
        )
    )
