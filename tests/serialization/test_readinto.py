"""Reading checkpoints from file objects that can fill a buffer themselves, and from those that cannot."""

import io

import pytest

import rushlight as rl


class Reader:
    """A file object of ours, with ``readinto`` that gives at most ``most`` bytes a call."""

    def __init__(self, data, most):
        self.file, self.most, self.calls = io.BytesIO(data), most, 0
        self.read, self.seek, self.tell = self.file.read, self.file.seek, self.file.tell

    def readinto(self, buffer):
        self.calls += 1
        return self.file.readinto(memoryview(buffer)[: self.most])


def saved(tensor):
    file = io.BytesIO()
    rl.save(tensor, file)
    return file.getvalue()


@pytest.mark.parametrize("most", [7, 1 << 30])
def test_readinto_is_used_and_may_give_less(most):
    tensor = rl.arange(1000.0)
    reader = Reader(saved(tensor), most)
    assert rl.equal(rl.load(reader), tensor)
    assert reader.calls > 0


def test_without_readinto():
    tensor = rl.arange(1000.0)
    reader = Reader(saved(tensor), 1)
    reader.readinto = None
    assert rl.equal(rl.load(reader), tensor)


def test_a_file_cut_short_is_refused():
    data = saved(rl.arange(1000.0))
    with pytest.raises(RuntimeError):
        rl.load(Reader(data[: len(data) // 2], 1 << 30))
