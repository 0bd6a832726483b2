"""Where everything goes: positions across by weighted least squares, rows below each other, groups from inside out.

The page of HTML drawings (page/place.js) does the same when groups are folded and unfolded; a test compares the two.
"""

from __future__ import annotations

from collections import Counter

from .collect import LEAF
from .levels import GROUP, IN, OUT

ROW_GAP, COLUMN_GAP, LANE_GAP = 30, 26, 16
PADDING, HEADER, FOOTER = 16, 40, 0  # of the frame around an unfolded group: at the sides, above, below
SWEEPS, STRAIGHTENINGS = 12, 8
FEEBLE = 1e-3  # the weight of a leaf: it stands where the operations leave room


class Placed:
    """A level with positions: `x` and `y` of the middle of each spot, seen from the frame's upper left corner."""

    def __init__(self, level, extents, ports):
        self.level, self.extents = level, extents
        self.left = [extent[0] for extent in extents]
        self.right = [extent[1] for extent in extents]
        self.height = [extent[2] for extent in extents]
        self.upper = [ports(link.upper.item, OUT, link.signal) for link in level.links]  # where links begin and end,
        self.lower = [ports(link.lower.item, IN, link.signal) for link in level.links]  # from the middle of their spot
        self.numbers = {id(link): number for number, link in enumerate(level.links)}
        self.x, self.y = [0.0] * len(level.spots), [0.0] * len(level.spots)

    def place(self, framed):
        """Find all positions; `framed` leaves room for a group's frame and its name."""
        self.place_across()
        self.place_down(HEADER if framed else 0, FOOTER if framed else 0)
        spots = [spot.number for spot in self.level.spots]
        padding = PADDING if framed else 0
        start = min((self.x[n] - self.left[n] for n in spots), default=0) - padding
        self.x = [x - start for x in self.x]
        self.width = max((self.x[n] + self.right[n] for n in spots), default=0) + padding
        return self

    def place_down(self, above, below):
        """The heights: the result's row lies lowest. Lanes are as high as their row, so that arrows pass it upright."""
        y = above
        for number in range(len(self.level.rows) - 1, -1, -1):
            row = self.level.rows[number]
            height = max((self.height[spot.number] for spot in row if spot.item is not None), default=0)
            ports = all(spot.item is None or spot.item[0] in (IN, OUT) for spot in row)
            for spot in row:
                self.y[spot.number] = y + height / 2
                if spot.item is None:
                    self.height[spot.number] = height
                elif spot.item[0] == IN:
                    self.y[spot.number] = 0.0
            y += height + (0 if ports and above and number else ROW_GAP)
        y -= ROW_GAP
        self.whole = y + below
        for spot in self.level.spots:
            if spot.item is not None and spot.item[0] == OUT:
                self.y[spot.number] = self.whole

    def place_across(self):
        """Give each spot an x near its neighbours': operations in a straight line weigh more than their leaves."""
        rows = self.level.rows
        for row in rows:
            self.settle(row, [0.0] * len(row))
        count = max(len(self.level.spots), 1)
        sweeps = max(SWEEPS // 2, min(24, 60_000 // count))
        for sweep in range(2 * sweeps):
            upwards = sweep % 2 == 0
            for row in rows if upwards else reversed(rows):
                self.settle(row, [self.wish(spot, sweep >= sweeps // 2, upwards) for spot in row])

        chains = self.chains()
        for _ in range(STRAIGHTENINGS):
            self.straighten(chains)

    def chains(self):
        """Spots that are linked in one line, as lists of (spot, how far from the line it stands)."""
        following, starts = {}, set()
        firm = [link for link in self.level.links if pull(link.upper, link.lower) != FEEBLE]
        users, sources = Counter(link.upper.number for link in firm), Counter(link.lower.number for link in firm)
        for link in firm:
            upper, lower, number = link.upper.number, link.lower.number, self.numbers[id(link)]
            lanes = link.upper.item is None and link.lower.item is None
            if (lanes or users[upper] == sources[lower] == 1) and upper not in following and lower not in starts:
                following[upper] = link.lower, self.upper[number] - self.lower[number]
                starts.add(lower)
        chains = []
        for row in reversed(self.level.rows):
            for spot in row:
                if spot.number in starts or spot.number not in following:
                    continue
                chain, shift = [(spot.number, 0.0)], 0.0
                while chain[-1][0] in following:
                    lower, step = following[chain[-1][0]]
                    shift += step
                    chain.append((lower.number, shift))
                chains.append(chain)
        return chains

    def straighten(self, chains):
        """Move the spots of each chain towards one line, as far as their neighbours in the rows let them."""
        lines = {}
        for chain in chains:
            middle = sum(self.x[spot] - shift for spot, shift in chain) / len(chain)
            lines.update((spot, middle + shift) for spot, shift in chain)
        for row in self.level.rows:
            wishes = [lines.get(spot.number) for spot in row]
            self.settle(row, [self.wish(s, True, True) if wish is None else wish for s, wish in zip(row, wishes)])

    def wish(self, spot, both, upwards):
        """Where the spot wants to be."""
        total = weight = 0.0
        down = both or (upwards and spot.down) or not spot.up
        if down:
            for link in spot.down:
                number, pulls = self.numbers[id(link)], pull(spot, link.lower)
                total += pulls * (self.x[link.lower.number] + self.lower[number] - self.upper[number])
                weight += pulls
        if both or not down:
            for link in spot.up:
                number, pulls = self.numbers[id(link)], pull(spot, link.upper)
                total += pulls * (self.x[link.upper.number] + self.upper[number] - self.lower[number])
                weight += pulls
        return total / weight if weight else self.x[spot.number]

    def settle(self, row, wishes):
        """The positions nearest to the wishes (weighted least squares) in this order and with gaps.

        Without the gaps' sum this is isotonic regression: neighbours that violate the order are pooled at their mean.
        """
        offsets, reach, before = [], 0.0, None
        for spot in row:
            if before is not None:
                gap = LANE_GAP if before.item is None or spot.item is None else COLUMN_GAP
                reach += self.right[before.number] + gap + self.left[spot.number]
            offsets.append(reach)
            before = spot
        pools = []  # [mean, weight, members]
        for wish, spot, offset in zip(wishes, row, offsets):
            pools.append([wish - offset, strength(spot), 1])
            while len(pools) > 1 and pools[-2][0] >= pools[-1][0]:
                mean, weight, members = pools.pop()
                last = pools[-1]
                last[0] = (last[0] * last[1] + mean * weight) / (last[1] + weight)
                last[1] += weight
                last[2] += members
        found = [mean for mean, _, members in pools for _ in range(members)]
        for spot, position, offset in zip(row, found, offsets):
            self.x[spot.number] = position + offset


def strength(spot):
    return 8.0 if spot.item is None else FEEBLE if spot.item[0] == LEAF else 6.0


def pull(one, other):
    """How straight the arrow between two spots wants to be."""
    if one.item is None and other.item is None:
        return 8.0
    return FEEBLE if any(spot.item is not None and spot.item[0] == LEAF for spot in (one, other)) else 4.0


def place_groups(levels, opened, extent):
    """The `Placed` of each unfolded group, inner ones first; `extent(item)` is (left, right, height) of a box."""
    placed = {}

    def ports(item, kind, signal):
        inner = placed.get(item[1]) if item is not None and item[0] == GROUP else None
        if inner is None:
            return 0.0
        return inner.x[inner.spot_of[kind, signal[1]]] - inner.width / 2

    def size(spot):
        item = spot.item
        if item is None or item[0] in (IN, OUT):
            return 0.0, 0.0, 0.0
        inner = placed.get(item[1]) if item[0] == GROUP else None
        return extent(item) if inner is None else (inner.width / 2, inner.width / 2, inner.whole)

    for number in range(len(levels) - 1, -1, -1):
        if number in opened:
            level = levels[number]
            found = Placed(level, [size(spot) for spot in level.spots], ports)
            found.spot_of = {spot.item: spot.number for spot in level.spots if spot.item is not None}
            placed[number] = found.place(framed=number > 0)
    return placed
