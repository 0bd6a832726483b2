"""Lists of events drawn at random, made by either library's classes."""

import random

NAMES = ("aten::add", "aten::mul", "ProfilerStep*", "x" * 70, "Foo<int>")
SHAPES = (None, [], [[2, 3], []])


def draw_events(module, seed):
    """An EventList, its tree built."""
    draw = random.Random(seed)
    plain = seed % 2 == 0  # without names of overloads and nodes, which PyTorch's averages do not take together
    found = []

    def within(start, end):
        for _ in range(draw.randint(1, 3)):
            start += draw.random() * 10
            last = start + draw.random() * draw.choice([5, 500, 5000, 5e6])
            if last > end:
                return
            found.append(
                module.FunctionEvent(
                    len(found),
                    draw.choice(NAMES),
                    draw.choice([1, 1, 1, 2]),
                    start,
                    last,
                    overload_name=draw.choice([None, ""]) if plain else draw.choice(["Tensor", ""]),
                    input_shapes=draw.choice([*SHAPES, [[draw.randint(1, 999)] * draw.randint(1, 30)]]),
                    stack=draw.choice([[], ["a.py(3): f", "b" * 90]]),
                    scope=draw.choice([0, 0, 0, 1]),
                    fwd_thread=1,
                    sequence_nr=draw.randint(0, 3),
                    cpu_memory_usage=draw.choice([0, 12, -5, 5000, 1 << 22, 1 << 31]),
                    is_async=draw.random() < 0.1,
                    flops=draw.choice([0, 0, 5, 2000, 10**7]),
                    node_id=-1 if plain else draw.choice([-1, 3]),
                    trace_name=draw.choice(["t", None]) if found else "t",
                    is_user_annotation=draw.random() < 0.2,
                )
            )
            within(start, last)
            start = last

    within(0, 1e7)
    options = {"profile_memory": draw.random() < 0.5, "with_flops": draw.random() < 0.5}
    made = module.EventList(found, **options)
    made._build_tree()
    return made
