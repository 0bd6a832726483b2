"""One level of a drawing for each group: which items stand in which row, in which order, and the links between them.

An item is a box of the level (an operation with the leaves that it alone uses, a group, a leaf with several users, a
result) or a port, where data enters or leaves the group. Rows run from the result (0) upwards. This does not depend on
which groups are unfolded; place.py turns it into positions, and so does the page that HTML drawings are shown in.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import deque
from itertools import pairwise

from .collect import LEAF, OPERATION

GROUP, RESULT, CUT, IN, OUT, FAR = "group", "result", "cut", "in", "out", "far"
SWEEPS = 12
LANES = 12_000  # long arrows of a level may take so many places in rows; beyond, they become references
NEAR, FEW_USES = 4, 6  # a leaf stands alone where its users are within so many rows, and no more than so many


class Spot:
    """A place in a row: that of an item, or (item None) one where the arrow with data from `signal` passes."""

    __slots__ = ("down", "index", "item", "number", "row", "signal", "up")

    def __init__(self, number, item, row, signal=None):
        self.number, self.item, self.row, self.signal = number, item, row, signal
        self.up, self.down = [], []  # links to rows nearer to the leaves; nearer to the result
        self.index = 0


class Link:
    """A piece of an arrow between neighbouring rows; `count` is how many times the lower operation takes the data."""

    __slots__ = ("count", "lower", "signal", "upper")

    def __init__(self, upper, lower, signal, count):
        self.upper, self.lower, self.signal, self.count = upper, lower, signal, count
        upper.down.append(self)
        lower.up.append(self)


class Level:
    """What stands directly in one group. `attached` are the leaves beside each operation."""

    def __init__(self, items, edges, attached):
        self.attached, self.spots, self.links = attached, [], []
        rows = rows_of(items, edges)
        lanes = {}
        for (upper, _, signal), lower_row in ((key, rows[key[1]]) for key in edges):
            lanes[upper, signal] = max(lanes.get((upper, signal), 0), rows[upper] - lower_row - 1)
        if sum(lanes.values()) > LANES:
            items, edges = with_references(items, edges, rows)
            rows = rows_of(items, edges)
        self.rows = [[] for _ in range(max(rows.values(), default=0) + 1)]
        spots = {item: self.add(item, rows[item]) for item in sorted(items, key=lambda each: each[0] == LEAF)}
        self.connect(spots, edges)
        order_rows(self.rows)

    def add(self, item, row, signal=None):
        spot = Spot(len(self.spots), item, row, signal)
        self.spots.append(spot)
        self.rows[row].append(spot)
        return spot

    def connect(self, spots, edges):
        """Links; arrows from one item with the same data share their way for as long as they can."""
        ways = {}  # (item, signal) -> the spots it has passed, from its own row downwards
        for (upper, lower, signal), count in sorted(edges.items(), key=lambda each: -spots[each[0][1]].row):
            way = ways.setdefault((upper, signal), [spots[upper]])
            target = spots[lower]
            while way[-1].row > target.row + 1:
                lane = self.add(None, way[-1].row - 1, signal)
                self.links.append(Link(way[-1], lane, signal, 1))
                way.append(lane)
            start = way[spots[upper].row - target.row - 1]
            self.links.append(Link(start, target, signal, count))


def build_levels(model, tree):
    """The `Level` of each group of the tree, by its number."""
    items = [dict.fromkeys((OPERATION, number) for number in sorted(group.operations)) for group in tree.groups]
    edges = [{} for _ in tree.groups]
    for group in tree.groups:
        items[group.number].update(((GROUP, inner.number), None) for inner in group.groups)
    for operation in model.operations:
        for source in operation.inputs:
            if source is not None and source[0] == OPERATION:
                _route(tree, items, edges, source[1], tree.way(operation.number), (OPERATION, operation.number))
        if operation.hidden_inputs:
            home = tree.home[operation.number].number
            items[home][CUT, operation.number] = None
            edges[home][(CUT, operation.number), (OPERATION, operation.number), ("cut", operation.number)] = 1
    for number, result in enumerate(model.results):
        items[0][RESULT, number] = None
        if result.source[0] == OPERATION:
            _route(tree, items, edges, result.source[1], [tree.root], (RESULT, number))
        else:
            items[0][LEAF, result.source[1]] = None
            edges[0][(LEAF, result.source[1]), (RESULT, number), (LEAF, result.source[1])] = 1
    return [
        Level(items[n], edges[n], _place_leaves(model, group, items[n], edges[n]))
        for n, group in enumerate(tree.groups)
    ]


def _route(tree, items, edges, source, lower_way, target):
    """Draw the arrow from an operation to `target` through every group on the way: out of some, into others."""
    upper_way, signal = tree.way(source), (OPERATION, source)
    common = 0
    while common + 1 < min(len(upper_way), len(lower_way)) and upper_way[common + 1] is lower_way[common + 1]:
        common += 1
    item = (OPERATION, source)
    for group in reversed(upper_way[common + 1 :]):
        port = (OUT, source)
        items[group.number][port] = None
        edges[group.number].setdefault((item, port, signal), 1)
        item = (GROUP, group.number)
    for place in range(common, len(lower_way)):
        level = lower_way[place]
        last = place + 1 == len(lower_way)
        following = target if last else (GROUP, lower_way[place + 1].number)
        key = (item, following, signal)
        known = edges[level.number]
        known[key] = known.get(key, 0) + 1 if last else 1
        if not last:
            item = (IN, source)
            items[lower_way[place + 1].number][item] = None


def _place_leaves(model, group, items, edges):
    """Add the leaves of a level: a leaf with several users near each other is an item, others stand beside their user."""
    uses, attached = {}, {}
    for number in group.operations:
        for source in model.operations[number].inputs:
            if source is not None and source[0] == LEAF:
                users = uses.setdefault(source[1], {})
                users[number] = users.get(number, 0) + 1
    shared = {leaf: users for leaf, users in uses.items() if 1 < len(users) <= FEW_USES}
    rows = rows_of(items, edges) if shared else {}
    for leaf, users in uses.items():
        found = [rows[OPERATION, user] for user in users] if leaf in shared else ()
        if (found and max(found) - min(found) <= NEAR) or (LEAF, leaf) in items:
            items[LEAF, leaf] = None
            for user, count in users.items():
                edges[(LEAF, leaf), (OPERATION, user), (LEAF, leaf)] = count
        else:
            for user in users:
                attached.setdefault(user, []).append(leaf)
    return attached


def rows_of(items, edges):
    """The row of each item: the length of the longest way from it to the end of the level. Ports of entry come on top."""
    users, sources = {item: set() for item in items}, {item: set() for item in items}
    has_exits = any(item[0] == OUT for item in items)
    for upper, lower, _ in edges:
        users[upper].add(lower)
        sources[lower].add(upper)
    rows = dict.fromkeys(items, 0)
    waiting = {item: len(each) for item, each in users.items()}
    ready = deque(item for item, count in waiting.items() if not count)
    while ready:
        item = ready.popleft()
        if has_exits and item[0] != OUT:
            rows[item] = max(rows[item], 1)
        for source in sources[item]:
            rows[source] = max(rows[source], rows[item] + 1)
            waiting[source] -= 1
            if not waiting[source]:
                ready.append(source)
    ports = [item for item in items if item[0] == IN]
    top = max((row for item, row in rows.items() if item[0] != IN), default=0) + 1
    rows.update(dict.fromkeys(ports, top))
    return rows


def with_references(items, edges, rows):
    """Replace arrows over many rows by signs beside their ends that name where the data come from."""
    items, kept = dict(items), {}
    for (upper, lower, signal), count in edges.items():
        if rows[upper] - rows[lower] > 2 and lower[0] == OPERATION:
            sign = (FAR, (lower[1], *signal))
            items[sign] = None
            kept[sign, lower, signal] = count
        else:
            kept[upper, lower, signal] = count
    return items, kept


# ---------------------------------------------------------------- order within the rows


def order_rows(rows):
    """Order each row by the middle of its neighbours, up and down in turn, and keep the order with fewest crossings."""
    number_rows(rows)
    best, fewest = [list(row) for row in rows], crossings(rows)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        upwards = sweep % 2 == 0
        for row in rows[1:] if upwards else rows[-2::-1]:
            row.sort(key=lambda spot: middle(spot, upwards))
            number_rows([row])
        count = crossings(rows)
        if count < fewest:
            best, fewest = [list(row) for row in rows], count
    rows[:] = best
    number_rows(rows)


def number_rows(rows):
    for row in rows:
        for index, spot in enumerate(row):
            spot.index = index


def middle(spot, upwards):
    """The mean index of the neighbours in the row that was ordered before; its own where there are none."""
    down = upwards or not spot.up
    links = spot.down if down else spot.up
    if not links:
        return spot.index
    return sum((link.lower if down else link.upper).index for link in links) / len(links)


def crossings(rows):
    """How many pairs of arrows cross: inversions between the ends in neighbouring rows."""
    total = 0
    for row in rows[1:]:
        ends = [index for spot in row for index in sorted(link.lower.index for link in spot.down)]
        if all(before <= after for before, after in pairwise(ends)):
            continue
        seen = []
        for end in ends:
            total += len(seen) - bisect_right(seen, end)
            insort(seen, end)
    return total
