"""Where the boxes go: rows by longest path, order within a row by barycentres, positions by least squares."""

from __future__ import annotations

from bisect import bisect_right, insort
from itertools import pairwise

from .collect import CUT, RESULT
from .dot import shape_text

TITLE_SIZE, DETAIL_SIZE = 13, 11
BOX_HEIGHT, LEAF_HEIGHT = 30, 42
ROW_GAP, COLUMN_GAP, LANE_GAP = 30, 22, 16
SWEEPS = 12
FEEBLE = 1e-3  # the weight of a leaf: it stands where the operations leave room
NARROW = frozenset(" .,:;'|!iIjlrtf[]()1")


def text_width(text, size):
    """About how wide `text` is drawn; rather too wide, since fonts differ."""
    return sum(0.42 if letter in NARROW else 0.66 for letter in text) * size


def detail_of(box):
    """The second line of a box: name and shape of a named result, the shape of a leaf."""
    shape = shape_text(box.shape)
    if box.kind == RESULT or box.is_leaf:
        return shape if box.title else ""
    return " ".join(part for part in (box.name, shape) if part)


def title_of(box):
    return box.title or shape_text(box.shape) or "number"


class Spot:
    """A place in a row: that of a box, or one where a long arrow passes (`box` None)."""

    __slots__ = ("box", "down", "height", "index", "row", "up", "width", "x", "y")

    def __init__(self, box, row):
        self.box, self.row = box, row
        self.up, self.down = [], []  # neighbours one row nearer to the leaves; one row nearer to the result
        self.width, self.height = (0, 0) if box is None else size_of(box)
        self.x = self.y = self.index = 0


def size_of(box):
    if box.kind == CUT:
        return 34, 22
    detail = detail_of(box)
    width = max(text_width(title_of(box), TITLE_SIZE), text_width(detail, DETAIL_SIZE)) + 26
    return max(round(width), 54), LEAF_HEIGHT if detail else BOX_HEIGHT


class Layout:
    """Spots with coordinates (centres) for `boxes`, arrows as lists of spots, and the size of the whole."""

    def __init__(self, boxes):
        self.boxes = boxes
        self.spots = [Spot(box, row) for box, row in zip(boxes, rows_of(boxes))]
        self.arrows = []  # (spots from the input to the one that uses it, how many times)
        self.rows = [[] for _ in range(max(spot.row for spot in self.spots) + 1)]
        for spot in sorted(self.spots, key=lambda each: each.box.is_leaf):
            self.rows[spot.row].append(spot)
        self.connect()
        order_rows(self.rows)
        place_across(self.rows)
        self.place_down()

    def connect(self):
        """Arrows, with a spot in each row that they pass."""
        for user, box in zip(self.spots, self.boxes):
            for number, count in box.inputs.items():
                source = self.spots[number]
                chain = [source]
                for row in range(source.row - 1, user.row, -1):
                    lane = Spot(None, row)
                    self.rows[row].append(lane)
                    chain.append(lane)
                chain.append(user)
                for upper, lower in pairwise(chain):
                    upper.down.append(lower)
                    lower.up.append(upper)
                self.arrows.append((chain, count))

    def place_down(self):
        """The heights: the result's row lies lowest. Lanes are as high as their row, so that arrows pass it upright."""
        y = 0
        for row in reversed(self.rows):
            height = max((spot.height for spot in row), default=0)
            for spot in row:
                spot.y = y + height / 2
                if spot.box is None:
                    spot.height = height
            y += height + ROW_GAP
        self.height = y - ROW_GAP
        left = min(spot.x - spot.width / 2 for row in self.rows for spot in row)
        right = max(spot.x + spot.width / 2 for row in self.rows for spot in row)
        for row in self.rows:
            for spot in row:
                spot.x -= left
        self.width = right - left


def rows_of(boxes):
    """The row of each box: the length of the longest way from it to the result."""
    rows = [0] * len(boxes)
    for number, box in enumerate(boxes):  # a box with inputs stands behind all that use it
        for each in box.inputs:
            rows[each] = max(rows[each], rows[number] + 1)
    return rows


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
            row.sort(key=lambda spot: middle(spot.down if upwards else spot.up or spot.down, spot.index))
            number(row)
        count = crossings(rows)
        if count < fewest:
            best, fewest = [list(row) for row in rows], count
    rows[:] = best
    number_rows(rows)


def number_rows(rows):
    for row in rows:
        number(row)


def number(row):
    for index, spot in enumerate(row):
        spot.index = index


def middle(neighbours, otherwise):
    return sum(spot.index for spot in neighbours) / len(neighbours) if neighbours else otherwise


def crossings(rows):
    """How many pairs of arrows cross: inversions between the ends in neighbouring rows."""
    total = 0
    for row in rows[1:]:
        ends = [lower.index for spot in row for lower in sorted(spot.down, key=lambda each: each.index)]
        seen = []
        for end in ends:
            total += len(seen) - bisect_right(seen, end)
            insort(seen, end)
    return total


# ---------------------------------------------------------------- positions within the rows


def place_across(rows):
    """Give each spot an x near its neighbours': operations in a straight line weigh more than their leaves."""
    for row in rows:
        settle(row, [0.0] * len(row), [strength(spot) for spot in row])
    sweeps = max(SWEEPS, min(120, 100_000 // sum(len(row) for row in rows)))
    for sweep in range(2 * sweeps):
        upwards = sweep % 2 == 0
        for row in rows if upwards else reversed(rows):
            wishes, weights = [], []
            for spot in row:
                wish, weight = wish_of(spot, sweep >= sweeps // 2, upwards)
                wishes.append(wish)
                weights.append(weight)
            settle(row, wishes, weights)


def wish_of(spot, both, upwards):
    """(where the spot wants to be, how strongly)."""
    near = spot.up + spot.down if both else (spot.down or spot.up) if upwards else (spot.up or spot.down)
    total = sum(pull(spot, each) for each in near)
    if not total:
        return spot.x, strength(spot)
    return sum(pull(spot, each) * each.x for each in near) / total, strength(spot)


def strength(spot):
    return 8.0 if spot.box is None else FEEBLE if spot.box.is_leaf else 6.0


def pull(one, other):
    """How straight the arrow between two spots wants to be."""
    if one.box is None and other.box is None:
        return 8.0
    leaf = any(spot.box is not None and spot.box.is_leaf for spot in (one, other))
    return FEEBLE if leaf else 4.0


def settle(row, wishes, weights):
    """The positions nearest to the wishes (weighted least squares) in this order and with gaps.

    Without the gaps' sum this is isotonic regression: neighbours that violate the order are pooled at their mean.
    """
    offsets, reach = [], 0.0
    for before, spot in zip([None, *row], row):
        if before is not None:
            lane = before.box is None or spot.box is None
            reach += (before.width + spot.width) / 2 + (LANE_GAP if lane else COLUMN_GAP)
        offsets.append(reach)
    pools = []  # [mean, weight, members]
    for wish, weight, offset in zip(wishes, weights, offsets):
        pools.append([wish - offset, weight, 1])
        while len(pools) > 1 and pools[-2][0] >= pools[-1][0]:
            mean, weight, members = pools.pop()
            last = pools[-1]
            last[0] = (last[0] * last[1] + mean * weight) / (last[1] + weight)
            last[1] += weight
            last[2] += members
    found = [mean for mean, _, members in pools for _ in range(members)]
    for spot, position, offset in zip(row, found, offsets):
        spot.x = position + offset
