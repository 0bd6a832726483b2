"""Invent family names: a recurrent network writes them letter by letter, in the language that it is asked for.

    python examples/name_writer.py --steps 200

With `import torch` in place of the import of Rushlight, PyTorch runs it and prints the same numbers.
"""

from common import Progress, draw, options
from names import LETTERS, NAMES, labelled_names

import rushlight as torch

nn = torch.nn
END = len(LETTERS)  # the sign before the first letter and after the last one
IGNORED = -100  # cross-entropy leaves out the places with this label


class NameWriter(nn.Module):
    """Scores each next letter, given the language and the letters so far."""

    def __init__(self, hidden):
        super().__init__()
        self.letters = nn.Embedding(len(LETTERS) + 1, 32)
        self.languages = nn.Embedding(len(NAMES), 32)
        self.lstm = nn.LSTM(64, hidden, batch_first=True)
        self.head = nn.Linear(hidden, len(LETTERS) + 1)

    def forward(self, letters, languages, state=None):
        """Scores (names, letters, kinds) after each of ``letters`` (names, letters), and the state to go on from."""
        language = self.languages(languages)[:, None].expand(-1, letters.shape[1], -1)
        hidden, state = self.lstm(torch.cat([self.letters(letters), language], dim=2), state)
        return self.head(hidden), state

    @torch.no_grad()
    def write(self, language, temperature):
        """A new name: each letter is drawn from its probabilities."""
        name, state = "", None
        letter = torch.tensor([[END]])
        while len(name) < 14:
            scores, state = self(letter, torch.tensor([language]), state)
            letter = torch.multinomial((scores[0, -1] / temperature).softmax(0), 1)[None]
            if letter.item() == END:
                break
            name += LETTERS[letter.item()]
        return name.capitalize()


def spelled(names):
    """Letters (names, longest) that go in, and those that shall come out, one place later."""
    codes = [torch.tensor([END, *map(LETTERS.index, name), END]) for name, _ in names]
    inputs = nn.utils.rnn.pad_sequence([code[:-1] for code in codes], batch_first=True)
    targets = nn.utils.rnn.pad_sequence([code[1:] for code in codes], batch_first=True, padding_value=IGNORED)
    return inputs, targets


def main(arguments=None):
    parser = options(__doc__, steps=200, batch=32, hidden=96, temperature=0.8)
    chosen = parser.parse_args(arguments)
    torch.manual_seed(chosen.seed)
    names = labelled_names()
    model = NameWriter(chosen.hidden)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.003)
    for _ in (progress := Progress(chosen.steps)):
        batch = [names[place] for place in torch.randint(len(names), (chosen.batch,)).tolist()]
        inputs, targets = spelled(batch)
        scores, _ = model(inputs, torch.tensor([language for _, language in batch]))
        loss = nn.functional.cross_entropy(scores.transpose(1, 2), targets, ignore_index=IGNORED)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        progress.show(loss=loss.item())

    draw(loss, model, chosen.draw)
    known = {name.capitalize() for name, _ in names}
    print("\ninvented names (* is one that it has read):")
    for number, language in enumerate(NAMES):
        written = [model.write(number, chosen.temperature) for _ in range(6)]
        print(f"{language:>9}: " + ", ".join(name + "*" * (name in known) for name in written))
    return loss.item()


if __name__ == "__main__":
    main()
