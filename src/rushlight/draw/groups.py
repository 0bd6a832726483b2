"""Modules as groups: the tree of module calls, or one guessed from the names of parameters, folded to a depth."""

from __future__ import annotations

from collections import deque
from itertools import product, zip_longest

from .collect import LEAF, OPERATION

READABLE = 60  # boxes up to which a drawing is unfolded by itself
NEARBY = 6  # modules next to an operation that are looked at to guess its own


class Group:
    """A call of a module: the operations made directly in it and the groups inside; the root has no parent.

    ``name`` is the module's name seen from the outermost one, ``number`` its place in the tree's list.
    """

    __slots__ = ("class_name", "groups", "name", "number", "operations", "parent")

    def __init__(self, parent, name="", class_name=""):
        self.parent, self.name, self.class_name = parent, name, class_name
        self.operations, self.groups, self.number = [], [], 0

    @property
    def depth(self):
        depth, group = 0, self.parent
        while group is not None:
            depth, group = depth + 1, group.parent
        return depth

    @property
    def label(self):
        """``layer1.0 · BasicBlock``."""
        return " · ".join(part for part in (self.name, self.class_name) if part)

    def all_operations(self):
        """The numbers of all operations in this group and in those inside."""
        found, waiting = [], [self]
        while waiting:
            group = waiting.pop()
            found += group.operations
            waiting += group.groups
        return sorted(found)


class Tree:
    """The groups of a model: `groups` lists them, outer before inner, the root first; `home` is that of each operation.

    `labels` are the names of modules that hold one operation alone: such a group is no box, the operation says it.
    """

    def __init__(self, model):
        self.model, self.labels = model, {}
        self.root = Group(None)
        _plant(self.root, model, _paths(model))
        self._settle()
        _take_apart(self)
        self._settle()
        _prune(self)
        self._settle()

    def _settle(self):
        self.groups = [self.root]
        for group in self.groups:  # which grows meanwhile
            self.groups += group.groups
        self.home = [self.root] * len(self.model.operations)
        for number, group in enumerate(self.groups):
            group.number = number
            for operation in group.operations:
                self.home[operation] = group

    def dissolve(self, group):
        """Move the contents of a group to its parent."""
        parent = group.parent
        parent.groups.remove(group)
        parent.operations += group.operations
        for inner in group.groups:
            inner.parent = parent
            parent.groups.append(inner)

    def way(self, operation):
        """The groups that hold an operation, root first."""
        way, group = [], self.home[operation]
        while group is not None:
            way.append(group)
            group = group.parent
        return way[::-1]

    def edges(self):
        """(group, item with the source, item that uses it, source operation) for each arrow, in the group it belongs to.

        An item of a group is (OPERATION, number) or ("group", number).
        """
        ways = [self.way(number) for number in range(len(self.model.operations))]
        for operation in self.model.operations:
            for source in operation.inputs:
                if source is None or source[0] == LEAF:
                    continue
                upper, lower = ways[source[1]], ways[operation.number]
                level = 0
                while level + 1 < min(len(upper), len(lower)) and upper[level + 1] is lower[level + 1]:
                    level += 1
                items = [
                    ("group", way[level + 1].number) if len(way) > level + 1 else (OPERATION, number)
                    for way, number in ((upper, source[1]), (lower, operation.number))
                ]
                yield upper[level], items[0], items[1], source[1]

    def open_to(self, depth):
        """The numbers of the groups that are unfolded at `depth`; None chooses the deepest that stays readable."""
        deepest = max(group.depth for group in self.groups)
        if depth is None:
            depth = next((each for each in range(deepest, 1, -1) if self.boxes(each) <= READABLE), 1)
        return {group.number for group in self.groups if group.depth <= depth}

    def boxes(self, depth):
        """How many boxes a drawing of this depth has."""
        return sum(
            len(group.operations) + sum(inner.depth > depth for inner in group.groups)
            for group in self.groups
            if group.depth <= depth
        )


def _paths(model):
    """For each operation the groups around it as (key, name, class name), outermost first."""
    if any(operation.calls for operation in model.operations):
        return [
            [(id(call), call.name, call.class_name) for call in operation.calls or ()] for operation in model.operations
        ]
    return _guessed_paths(model)


def _guessed_paths(model):
    """Paths where nothing was traced: an operation belongs to the module whose parameters it uses.

    One without parameters belongs to the innermost module that is around one of its users and one of its inputs.
    """
    own = []
    for operation in model.operations:
        owners = [
            model.owners.get(id(model.leaves[source[1]].variable))
            for source in operation.inputs
            if source is not None and source[0] == LEAF
        ]
        owners = [owner for owner in owners if owner is not None]
        own.append(_common([owner.path for owner in owners]) if owners else None)
    users, inputs = [[] for _ in own], [[] for _ in own]
    for operation in model.operations:
        for source in operation.inputs:
            if source is not None and source[0] == OPERATION:
                users[source[1]].append(operation.number)
                inputs[operation.number].append(source[1])
    below = _nearest(range(len(own)), users, own)  # users come first
    above = _nearest(range(len(own) - 1, -1, -1), inputs, own)
    classes = {}
    for owner in model.owners.values():
        classes.update(zip(owner.path, owner.classes))
    paths = []
    for number, path in enumerate(own):
        if path is None:
            path = max((_common(pair) for pair in product(below[number], above[number])), key=len, default=())
        paths.append([(each, each, classes[each]) for each in path])
    return paths


def _nearest(order, neighbours, own):
    """For each operation a few of the paths that come next in the direction of `neighbours`."""
    found = {}
    for number in order:
        lists = [[own[each]] if own[each] is not None else found[each] for each in neighbours[number]]
        nearest_first = (path for paths in zip_longest(*lists) for path in paths if path is not None)
        found[number] = list(dict.fromkeys(nearest_first))[:NEARBY]
    return found


def _common(paths):
    """The longest common beginning."""
    if not paths:
        return ()
    shortest = min(paths, key=len)
    for place, name in enumerate(shortest):
        if any(path[place] != name for path in paths):
            return shortest[:place]
    return shortest


def _plant(root, model, paths):
    """Make the groups and put the operations into them."""
    made = {}
    for operation, path in zip(model.operations, paths):
        group, keys = root, ()
        for key, name, class_name in path:
            keys = (*keys, key)
            if keys not in made:
                made[keys] = Group(group, name, class_name)
                group.groups.append(made[keys])
            group = made[keys]
        group.operations.append(operation.number)


def _take_apart(tree):
    """Dissolve groups that data leaves and enters again: as one box they would stand before and behind another.

    The smallest go first: it is rather a layer used twice that is in the way than the block between its uses.
    """
    number = 0
    while number < len(tree.groups):
        stuck = _stuck_groups(tree, tree.groups[number])
        sizes = [len(group.all_operations()) for group in stuck]
        for group, size in zip(stuck, sizes):
            if size == min(sizes):
                tree.dissolve(group)
        if stuck:
            tree._settle()
        else:
            number += 1


def _stuck_groups(tree, level):
    """The groups directly in `level` that lie on, or between, circles of arrows."""
    if not level.groups:
        return []
    after, before = {}, {}
    for group, upper, lower, _ in tree.edges():
        if group is level:
            after.setdefault(upper, set()).add(lower)
            before.setdefault(lower, set()).add(upper)
    left = {("group", group.number) for group in level.groups} | {(OPERATION, number) for number in level.operations}
    for ahead, back in ((after, before), (before, after)):
        waiting = {item: sum(each in left for each in back.get(item, ())) for item in left}
        ready = deque(item for item, count in waiting.items() if not count)
        while ready:
            item = ready.popleft()
            left.discard(item)
            for each in ahead.get(item, ()):
                if each in waiting:
                    waiting[each] -= 1
                    if not waiting[each]:
                        ready.append(each)
    return [tree.groups[number] for kind, number in sorted(left) if kind == "group"]


def _prune(tree):
    """A group of one operation becomes a label of it; of two groups with nothing between them the inner one stays."""
    for group in reversed(tree.groups[1:]):
        if len(group.operations) + len(group.groups) > 1:
            continue
        for number in group.operations:
            tree.labels.setdefault(number, group)
        tree.dissolve(group)
