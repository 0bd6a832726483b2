"""Training steps of many kinds: the same bits in eight threads as alone and for any number of kernel threads, memory that stays
flat, and nothing for the collector of cycles."""

import gc
import threading
import tracemalloc

import pytest

import rushlight as torch
from rushlight.optim import bundle

nn, F = torch.nn, torch.nn.functional


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.layer, self.out = nn.Embedding(20, 12), nn.LSTM(12, 12, batch_first=True), nn.Linear(12, 5)

    def forward(self, x):
        return self.out(self.layer(self.words(x))[0][:, -1])


class Attentive(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.layer = nn.Embedding(20, 16), nn.TransformerEncoderLayer(16, 2, 24, 0.0, batch_first=True)
        self.out = nn.Linear(16, 5)

    def forward(self, x):
        return self.out(self.layer(self.words(x)).mean(1))


def perceptron():
    return nn.Sequential(nn.Linear(48, 96), nn.GELU(), nn.LayerNorm(96), nn.Linear(96, 5))


def convolutions():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32, 5)
    )


def words(generator):
    return torch.randint(0, 20, (6, 7), generator=generator)


KINDS = {  # a model, what it reads, the optimizer's class and options
    "perceptron": (perceptron, lambda g: torch.randn(6, 48, generator=g), "AdamW", {"lr": 1e-2}),
    "convolutions": (convolutions, lambda g: torch.randn(6, 3, 4, 4, generator=g), "SGD", {"lr": 0.1, "momentum": 0.9}),
    "lstm": (Tagger, words, "RMSprop", {"lr": 1e-2}),
    "attention": (Attentive, words, "Adam", {"lr": 1e-2, "amsgrad": True}),
}


class Training:
    """One training: ``step()`` takes a step, ``bits()`` tells where it is."""

    def __init__(self, kind, seed=0, clips=True, autocast=False):
        model, self.draw, optimizer, options = KINDS[kind]
        self.clips, self.autocast = clips, autocast
        with PREPARING:  # the default generator is everybody's
            torch.manual_seed(seed)
            self.model = model()
        self.generator = torch.Generator().manual_seed(seed)
        self.optimizer = getattr(torch.optim, optimizer)(self.model.parameters(), **options)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 5)

    def step(self):
        x = self.draw(self.generator)
        target = torch.randint(0, 5, (6,), generator=self.generator)
        self.optimizer.zero_grad()
        with torch.autocast("cpu", enabled=self.autocast):
            loss = F.cross_entropy(self.model(x), target)
        loss.backward()
        if self.clips:
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        return loss.item()

    def run(self, steps):
        losses = [self.step() for _ in range(steps)]
        return losses, [value.numpy().tobytes() for value in self.model.state_dict().values()]


PREPARING = threading.Lock()


@pytest.mark.parametrize("steps", [6, pytest.param(60, marks=pytest.mark.slow)])
def test_eight_threads_train_as_each_would_alone(steps):
    kinds = [*KINDS, *KINDS]
    alone = [Training(kind, seed).run(steps) for seed, kind in enumerate(kinds)]
    found, start = [None] * 8, threading.Barrier(8)

    def work(number):
        start.wait()
        found[number] = Training(kinds[number], number).run(steps)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each == other for each, other in zip(found, alone)] == [True] * 8


@pytest.mark.parametrize("kind", KINDS)
def test_no_bit_of_a_training_depends_on_the_number_of_threads(kind):
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 4):
            torch.set_num_threads(threads)
            found.append(Training(kind).run(4))
    finally:
        torch.set_num_threads(before)
    assert all(each == found[0] for each in found)


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("autocast", [False, True], ids=["", "autocast"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_step_makes_no_garbage(kind, autocast):
    training = Training(kind, autocast=autocast)
    training.run(5)  # what first uses make
    gc.collect()
    training.run(5)
    assert gc.collect() == 0


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("warm, steps", [(60, 60), pytest.param(2500, 500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_memory_stays_flat(kind, warm, steps, monkeypatch):
    monkeypatch.setattr(bundle, "WARM", 10)
    training = Training(kind)
    training.run(warm)  # what tracemalloc sees grows for some 2000 steps, and then no more
    tracemalloc.start()
    try:
        training.run(20)
        before = len(gc.get_objects()), tracemalloc.get_traced_memory()[0]
        training.run(steps)
        after = len(gc.get_objects()), tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert after[0] - before[0] < 50 and after[1] - before[1] < 60_000
