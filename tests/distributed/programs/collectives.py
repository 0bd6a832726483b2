"""Every collective, message and error, run by each process of a job: writes down what each case gave, or raised, in JSON."""

from telling import CASES, case, d, m, part, rank, size, tell

other, last, R = (rank + 1) % size, size - 1, d.ReduceOp
groups = {
    "pair": d.new_group([0, 1]),
    "first": d.new_group([0]),
    "second": d.new_group([1]),
    "turned": d.new_group([last, 0], sort_ranks=False),
}
DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
OPERATIONS = ["SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"]


def plain(value):
    """A value as JSON has it."""
    if isinstance(value, m.Tensor):
        value = value.detach()
        return [str(value.dtype).split(".")[1], (m.view_as_real(value) if value.is_complex() else value).tolist()]
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value if isinstance(value, (int, float, str, bool, dict, type(None))) else type(value).__name__


def values(dtype, count=4, shift=0):
    """Numbers of this rank's own."""
    return ((m.arange(count) * 3 + rank * 2 + shift) % 5).to(getattr(m, dtype))


for _dtype in DTYPES:
    for _op in OPERATIONS:
        if _op == "AVG" if "int" in _dtype or _dtype == "bool" else _op in ("BAND", "BOR", "BXOR"):
            continue  # refused, but gloo may tell it to the next collective only

        def reduced(dtype=_dtype, op=_op):
            x = values(dtype)
            d.all_reduce(x, op=getattr(R, op))
            return x

        def scattered(dtype=_dtype, op=_op):
            x = values(dtype, 2)
            d.reduce_scatter_tensor(x, values(dtype, 2 * size), op=getattr(R, op))
            return x

        CASES[f"all_reduce {_dtype} {_op}"] = reduced
        if _op in ("SUM", "AVG"):
            CASES[f"reduce_scatter_tensor {_dtype} {_op}"] = scattered

    def moved(dtype=_dtype):
        x, lists = values(dtype), [m.zeros(4).to(getattr(m, dtype)) for _ in range(size)]
        d.all_gather(lists, x)
        whole, turned = m.cat([x] * size), values(dtype, size)
        d.all_gather_into_tensor(whole, values(dtype, 4, 1))
        d.broadcast(x, last)
        if "complex" not in dtype:
            d.all_to_all_single(turned, values(dtype, size))
        part = values(dtype, 2)
        if "complex" not in dtype:
            d.scatter(part, [values(dtype, 2, i) for i in range(size)] if rank == 1 else None, src=1)
            d.gather(values(dtype), lists if rank == 0 else None, dst=0)
        return x, lists, whole, turned, part

    CASES[f"moved {_dtype}"] = moved


@case
def reduce_to_last():
    x = values("float32")
    d.reduce(x, last, op=R.MAX)
    return x if rank == last else None


@case
def not_contiguous():
    x = values("float32", 6).view(2, 3).t()
    d.all_reduce(x)
    lists = [m.zeros(2, 3).t() for _ in range(size)]
    d.all_gather(lists, x)
    y = values("int64", 6).view(2, 3).t()
    d.broadcast(y, 1)
    return x, lists, y


def added(dtype, waits, *shape):
    """The sum of sparse tensors, of which rank 1 has none, with indices that are there twice."""
    places = m.tensor([[rank, 3, 3, 5]])[:, : 0 if rank == 1 else 4]
    x = m.sparse_coo_tensor(places, m.ones(places.shape[1], *shape).to(getattr(m, dtype)), (9, *shape))
    if waits:
        d.all_reduce(x)
    else:
        d.all_reduce(x, async_op=True).wait()
    return x.is_coalesced(), x.indices(), x.values()


for _dtype in "float32", "int64":
    CASES[f"sparse {_dtype}"] = lambda dtype=_dtype: added(dtype, True)
CASES["sparse rows"] = lambda: added("float64", False, 2, 3)


@case
def empty_and_scalars():
    x, y = m.zeros(0), m.tensor(float(rank))
    d.all_reduce(x), d.all_reduce(y), d.broadcast(x, 0)
    return x, y


@case
def uneven():
    sent = [rank + i for i in range(size)]
    received = [i + rank for i in range(size)]
    x, y = m.arange(float(2 * sum(sent))).view(-1, 2) + 100 * rank, m.zeros(sum(received), 2)
    d.all_to_all_single(y, x, received, sent)
    outputs = [m.zeros(2, 2) for _ in range(size)]
    d.all_to_all(outputs, [m.full((2, 2), float(10 * rank + i)) for i in range(size)])
    return y, outputs


@case
def reduce_scatter_of_lists():
    x = m.zeros(2, 2)
    d.reduce_scatter(x, [values("float32", 4, i).view(2, 2) for i in range(size)])
    return x


@case
def messages():
    x, seen = values("float32"), []
    if rank == 0:
        d.send(x, 1)
        seen.append(d.recv(x, 1, tag=3))
        for _ in range(size - 2):
            seen.append(sorted([d.recv(x)]) == [])
    elif rank == 1:
        seen.append(d.recv(x))
        d.send(x + 1, 0, tag=3)
    else:
        d.send(m.ones(4), 0)
    return (x, seen) if rank < 2 and size == 2 else seen


@case
def works():
    x, y, z = values("float32"), values("float32"), m.zeros(4)
    received = d.irecv(z, (rank - 1) % size)
    sent = d.isend(y, other)
    reduced = d.all_reduce(x, op=R.AVG, async_op=True)
    future = reduced.get_future().then(lambda done: done.value()[0] * 2)
    found = [sent.wait(), received.wait(), reduced.wait(), reduced.is_completed(), future.wait(), future.done()]
    return x, z, found, d.barrier(async_op=True).wait()


@case
def many_works_in_order():
    tensors = [values("float32", 1000, i) for i in range(20)]
    begun = [d.all_reduce(each, async_op=True) for each in tensors]
    return [work.wait() for work in reversed(begun)], [each.sum() for each in tensors]


@case
def batches():
    x, y = values("int64"), m.zeros(4, dtype=m.int64)
    operations = [d.P2POp(d.isend, x, other), d.P2POp(d.irecv, y, (rank - 1) % size)]
    return [work.wait() for work in d.batch_isend_irecv(operations)], y


@case
def objects():
    gathered, whole, part = [None] * size, [rank, "a", {"b": (1, 2.5)}], [None]
    d.all_gather_object(gathered, {"rank": rank, "x": m.ones(2).tolist(), "long": "y" * (rank * 1000)})
    d.broadcast_object_list(whole, last)
    d.scatter_object_list(part, [f"for {i}" for i in range(size)] if rank == 0 else None, 0)
    mine = [None] * size if rank == 1 else None
    d.gather_object((rank, None), mine, 1)
    return gathered, whole, part, mine


@case
def sent_objects():
    found = [None, None]
    if rank == 0:
        d.send_object_list([1, {"a": "b"}], 1)
    elif rank == 1:
        d.recv_object_list(found, 0)
    return found


@case
def coalesced():
    tensors = [values("float32"), values("float32", 7)]
    d.all_reduce_coalesced(tensors)
    return tensors


@case
def parts_of_the_world():
    found = []
    for name, group in groups.items():
        x = values("float32")
        d.all_reduce(x, group=group)
        found += [name, x, d.get_rank(group), d.get_world_size(group)]
        if name == "turned" and rank in (0, last):
            d.broadcast(x, 0, group=group)
            y = values("float32")
            d.broadcast(y, group_src=0, group=group)
            found += [y, d.get_process_group_ranks(group), d.get_group_rank(group, last), d.get_global_rank(group, 1)]
    return found


@case
def subgroups():
    own, every = d.new_subgroups(1)
    return d.get_world_size(own), d.get_process_group_ranks(own), [d.get_rank(each) for each in every]


@case
def grids():
    mesh = d.init_device_mesh("cpu", (1, size), mesh_dim_names=("rows", "columns"))
    x = m.ones(1)
    d.all_reduce(x, group=mesh.get_group("columns"))
    seen = [
        x,
        repr(mesh),
        mesh.shape,
        mesh.size(),
        mesh.size(1),
        mesh.get_local_rank("columns"),
        mesh.get_coordinate(),
        mesh.mesh,
    ]
    for text in ("mesh.get_group()", "mesh.get_group('z')", "d.init_device_mesh('cpu', (1,), mesh_dim_names=('a', 'b'))",
                 "d.init_device_mesh('cpu', (1, 1), mesh_dim_names=('a', 'a'))"):  # fmt: skip
        try:
            eval(text, {"mesh": mesh, "d": d})
        except Exception as error:
            seen.append([type(error).__name__, str(error).split("\n")[0]])
    return seen, [len(mesh.get_all_groups()), mesh.ndim, mesh.get_rank()]


@case
def leaves():
    x = m.nn.Parameter(m.ones(2))
    d.all_reduce(x)
    y = x * 2
    d.all_reduce(y)
    return x, y, x._version, y._version


@case
def barriers():
    return d.barrier(), d.monitored_barrier(), d.barrier(groups["pair"])


GRADIENTS = {
    "all_reduce": lambda f, x: f.all_reduce(x), "all_reduce of the largest": lambda f, x: f.all_reduce(x, R.MAX),
    "reduce": lambda f, x: f.reduce(x, 1) * (rank == 1), "broadcast": lambda f, x: f.broadcast(x, last),
    "all_gather": lambda f, x: m.stack(f.all_gather(x)), "gather": lambda f, x: m.stack(f.gather(x, 1)),
    "scatter": lambda f, x: f.scatter([x * i for i in range(1, size + 1)], last),
    "reduce_scatter": lambda f, x: f.reduce_scatter(m.empty(4), [x * i for i in range(size)]),
    "all_to_all": lambda f, x: m.stack(f.all_to_all([m.empty(4) for _ in range(size)], [x * (i + 1) for i in range(size)])),
    "all_to_all_single": lambda f, x: f.all_to_all_single(m.empty(4 * size), x.repeat(size)),
}  # fmt: skip
functional = part("distributed.nn.functional")
for _name, _call in GRADIENTS.items():

    def differentiated(call=_call):
        x = values("float32").requires_grad_()
        made = call(functional, x)
        (made * made * (rank + 1)).sum().backward()
        return made, x.grad

    CASES[f"gradient of {_name}"] = differentiated

# Wrong split sizes are no case here: PyTorch finds them in a thread, and the barrier after a case may raise them once more.
REFUSED = [
    "d.all_gather([x], x)", "d.all_gather([x] * size + [x], x)", "d.all_gather([x, x[:2]] * (size // 2), x)",
    "d.all_gather_into_tensor(m.zeros(size, 5), x)", "d.all_gather_into_tensor(m.zeros(size, 4), x)", "d.broadcast(x, 7)", "d.broadcast(x)",
    "d.broadcast(x, 0, group_src=0)", "d.gather(x, [x] * size, dst=other)", "d.gather(x, None, dst=rank)", "d.scatter(x, None, src=rank)",
    "d.scatter(x, [x] * size, src=other)", "d.scatter(x, [x], src=rank)", "d.reduce_scatter(x[:2], [x])", "d.gather(x, [x], dst=rank)",
    "d.send(x, rank)", "d.send(x)", "d.new_group([0, 9])",
    "d.new_group([0, 0])", "d.new_group(list(range(size + 1)))", "d.all_reduce(x, op='SUM')", "d.all_reduce([x])", "d.reduce(x)",
    "d.get_rank(d.GroupMember.NON_GROUP_MEMBER)", "d.P2POp(d.send, x, 0)", "d.new_subgroups(size + 1)",
    "d.scatter_object_list([None], None, rank)", "d.init_process_group('gloo')", "d.get_backend()",
]  # fmt: skip
for _text in REFUSED:

    def refused(text=_text):
        return eval(text, {**globals(), "x": m.ones(4)})

    CASES[_text] = refused

if __name__ == "__main__":
    tell(plain, message=lambda line: line.partition("group <")[0])
