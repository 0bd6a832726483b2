"""Tell the language of a family name from its letters with a recurrent network.

    python examples/name_languages.py --steps 300

With `import torch` in place of the import of Rushlight, PyTorch runs it and prints the same numbers.
"""

from common import Progress, draw, options
from names import LETTERS, NAMES, labelled_names

import rushlight as torch

nn = torch.nn


class NameReader(nn.Module):
    """Reads names of different lengths, letter by letter, and scores each language."""

    def __init__(self, hidden):
        super().__init__()
        self.letters = nn.Embedding(len(LETTERS), 24)
        self.rnn = nn.RNN(24, hidden, batch_first=True)
        self.head = nn.Linear(hidden, len(NAMES))

    def forward(self, names):
        """Scores (names, languages) of a list of strings."""
        spelled = [torch.tensor([LETTERS.index(letter) for letter in name]) for name in names]
        lengths = torch.tensor([len(name) for name in spelled])
        padded = nn.utils.rnn.pad_sequence(spelled, batch_first=True)
        packed = nn.utils.rnn.pack_padded_sequence(
            self.letters(padded), lengths, batch_first=True, enforce_sorted=False
        )
        _, last = self.rnn(packed)  # the state after each name's own last letter
        return self.head(last[0])


def print_confusions(model, names):
    """How often a name of one language (a row) was taken for one of another (a column)."""
    found = model([name for name, _ in names]).argmax(1).tolist()
    counts = [[0] * len(NAMES) for _ in NAMES]
    for (_, language), taken in zip(names, found):
        counts[language][taken] += 1
    print("\nnames that were not learnt from, and what they were taken for:")
    print(" " * 10 + "".join(f"{language:>10}" for language in NAMES))
    for language, row in zip(NAMES, counts):
        print(f"{language:10}" + "".join(f"{count or '.':>10}" for count in row))


def main(arguments=None):
    parser = options(__doc__, steps=300, batch=32, hidden=64)
    chosen = parser.parse_args(arguments)
    torch.manual_seed(chosen.seed)
    names = labelled_names()
    order = torch.randperm(len(names)).tolist()
    train, test = [names[place] for place in order[40:]], [names[place] for place in order[:40]]

    model = NameReader(chosen.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    for _ in (progress := Progress(chosen.steps)):
        batch = [train[place] for place in torch.randint(len(train), (chosen.batch,)).tolist()]
        scores = model([name for name, _ in batch])
        languages = torch.tensor([language for _, language in batch])
        loss = nn.functional.cross_entropy(scores, languages)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        progress.show(loss=loss.item(), right=(scores.argmax(1) == languages).float().mean().item())

    draw(loss, model, chosen.draw)
    with torch.no_grad():
        print_confusions(model, test)
        print("\nand names of nobody:")
        for name in ("kowalinen", "fujimori", "brandolini", "schwarzberger"):
            shares = model([name]).softmax(1)[0]
            print(f"{name:>14}: {list(NAMES)[shares.argmax()]} ({shares.max():.0%})")
    return loss.item()


if __name__ == "__main__":
    main()
