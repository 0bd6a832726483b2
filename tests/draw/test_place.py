"""Where boxes go: rows, order, gaps, lanes of long arrows, references where there are too many; large graphs."""

import random
from itertools import pairwise

import pytest
from subjects import Tower, small_network, unrolled

import rushlight as rl
from rushlight.draw import graph, levels, trace
from rushlight.draw.cards import Cards
from rushlight.draw.place import place_groups


def placed(drawing, opened=None):
    """The `Placed` of every unfolded group of a drawing."""
    found = drawing.levels()
    cards = Cards(drawing.model, drawing.tree, found)
    opened = {group.number for group in drawing.tree.groups} if opened is None else opened
    return place_groups(found, opened, lambda item: cards.card(item).extent)


def check(level):
    """Boxes of a row do not overlap, and arrows run downwards from row to row."""
    for row in level.level.rows:
        for before, after in pairwise(row):
            assert (
                level.x[before.number] + level.right[before.number] < level.x[after.number] - level.left[after.number]
            )
    for link in level.level.links:
        assert link.upper.row == link.lower.row + 1
        upper, lower = link.upper.number, link.lower.number
        assert level.y[upper] + level.height[upper] / 2 <= level.y[lower] - level.height[lower] / 2
    for spot in level.level.spots:
        n = spot.number
        assert level.x[n] - level.left[n] >= -1e-6 and level.x[n] + level.right[n] <= level.width + 1e-6
        assert level.y[n] - level.height[n] / 2 >= -1e-6 and level.y[n] + level.height[n] / 2 <= level.whole + 1e-6


def traced_tower():
    model = Tower()
    with trace():
        return model(rl.rand(3, 2)).sum()


def random_graph(count=300, seed=0):
    generator = random.Random(seed)
    pool = [rl.ones(2, requires_grad=True) for _ in range(4)]
    for _ in range(count):
        pool.append(generator.choice(pool[-30:]) * generator.choice(pool[-30:]))
    return sum(pool[-30:]).sum()


@pytest.mark.parametrize("loss", [lambda: small_network()[3], lambda: unrolled()[0], traced_tower, random_graph])
def test_boxes_stand_apart_and_arrows_run_downwards(loss):
    for level in placed(graph(loss())).values():
        check(level)


def test_folding_leaves_the_rest_in_order():
    drawing = graph(traced_tower())
    whole, folded = placed(drawing), placed(drawing, {0, 1})
    assert set(folded) == {0, 1} and len(whole) > 2
    check(folded[1])
    assert folded[1].whole < whole[1].whole


def test_a_chain_is_drawn_in_a_straight_line():
    level = placed(graph(small_network()[3]))[0]
    places = [level.x[spot.number] for spot in level.level.spots]
    assert max(places) - min(places) < 1


def test_a_long_arrow_runs_straight_beside_the_boxes_that_it_passes():
    x = rl.ones(2, requires_grad=True).exp()
    y = x
    for _ in range(12):
        y = y.sin()
    level = placed(graph((x + y).sum()))[0]
    lanes = [level.x[spot.number] for spot in level.level.spots if spot.item is None]
    assert len(lanes) == 12 and max(lanes) - min(lanes) < 1


def test_arrows_with_the_same_data_share_their_way():
    x = rl.ones(2, requires_grad=True).exp()
    y = x
    for _ in range(10):
        y = y.sin() * x
    (level,) = graph(y.sum()).levels()
    assert sum(spot.item is None for spot in level.spots) == 19 - 1 + 1


def test_leaves_stand_beside_their_only_user_and_alone_where_several_share_them():
    w, b = rl.ones(2, requires_grad=True), rl.ones(2, requires_grad=True)
    (level,) = graph(((w * 2) + w * b).sum()).levels()
    kinds = [spot.item for spot in level.spots if spot.item is not None and spot.item[0] == "leaf"]
    drawing = graph(((w * 2) + w * b).sum())
    numbers = {leaf.name: leaf.number for leaf in drawing.model.leaves}
    assert kinds == [("leaf", numbers["w"])]
    assert [numbers["b"]] in level.attached.values()


def test_a_leaf_used_far_apart_is_repeated():
    w = rl.ones(2, requires_grad=True)
    y = w.exp()
    for _ in range(50):
        y = (y * w).sin()
    drawing = graph(y.sum())
    (level,) = drawing.levels()
    assert len(level.attached) == 51 and not [spot for spot in level.spots if spot.item and spot.item[0] == "leaf"]
    assert drawing.svg().count(">w<") == 51


def test_too_many_long_arrows_become_references(monkeypatch):
    monkeypatch.setattr(levels, "LANES", 30)
    inputs = [rl.ones(2, requires_grad=True).exp() for _ in range(5)]
    y = rl.ones(2)
    for each in [*inputs, *inputs]:
        y = (y * each).sin()
    drawing = graph(y.sum())
    (level,) = drawing.levels()
    far = [spot.item for spot in level.spots if spot.item is not None and spot.item[0] == "far"]
    assert far and sum(spot.item is None for spot in level.spots) <= 30
    assert drawing.svg().count("from Exp") == len(far)
    drawing.html()


def test_order_keeps_the_way_with_fewest_crossings():
    spots = [levels.Spot(number, ("operation", number), number // 3) for number in range(6)]
    rows = [spots[:3], spots[3:]]
    for upper, lower in ((3, 2), (4, 0), (5, 1)):
        levels.Link(spots[upper], spots[lower], ("operation", upper), 1)
    levels.number_rows(rows)
    assert levels.crossings(rows) == 2
    levels.order_rows(rows)
    assert levels.crossings(rows) == 0


def test_thousands_of_operations_in_every_form():
    """Deep and wide at once; nothing recurses by depth."""
    x = rl.ones(2, requires_grad=True)
    y, kept = x, []
    for number in range(1500):
        y = y.sin()
        if number % 3 == 0:
            kept.append(y * x)
    drawing = graph(rl.stack(kept).sum(), play=True)
    assert len(drawing.model.operations) == 1498 + 500 + 2
    for form in (drawing.svg, drawing.html, drawing.dot, drawing.text):
        assert form().count("Sin") >= 1498
