"""Translate dates such as `march 27 1994` to 1994-03-27: sequence to sequence, with attention that shows where it reads.

    python examples/date_translation.py --steps 400

With `import torch` in place of the import of Rushlight, PyTorch runs it and prints the same numbers.
"""

from common import SHADES, Progress, draw, options

import rushlight as torch

nn, F = torch.nn, torch.nn.functional
MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
SIGNS = " abcdefghijklmnopqrstuvwxyz0123456789.-"
DIGITS = "0123456789-"
PADDING, START = len(SIGNS), len(DIGITS)
LENGTH = len("1994-03-27")


def random_dates(count):
    """(as somebody wrote it, as ISO 8601 has it) of ``count`` random days."""
    found = []
    for year, month, day, form in torch.randint(0, 10000, (count, 4)).tolist():
        year, month, day = 1950 + year % 100, month % 12, 1 + day % 28
        forms = (
            f"{day} {MONTHS[month]} {year}",
            f"{MONTHS[month]} {day} {year}",
            f"{day}.{month + 1}.{year}",
            f"{MONTHS[month][:3]} {day} {year}",
        )
        found.append((forms[form % 4], f"{year}-{month + 1:02}-{day:02}"))
    return found


def read(texts):
    """Numbers of signs (texts, longest), padded at the end."""
    codes = [torch.tensor([SIGNS.index(sign) for sign in text]) for text in texts]
    return nn.utils.rnn.pad_sequence(codes, batch_first=True, padding_value=PADDING)


class Translator(nn.Module):
    """Reads with a GRU in both directions; writes with a GRU cell that looks back at what was read before each sign."""

    def __init__(self, hidden):
        super().__init__()
        self.signs = nn.Embedding(len(SIGNS) + 1, 32, padding_idx=PADDING)
        self.reader = nn.GRU(32, hidden // 2, batch_first=True, bidirectional=True)
        self.digits = nn.Embedding(len(DIGITS) + 1, 32)
        self.writer = nn.GRUCell(32 + hidden, hidden)
        self.query, self.key = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden, bias=False)
        self.weight = nn.Linear(hidden, 1, bias=False)
        self.head = nn.Linear(2 * hidden, len(DIGITS))

    def forward(self, texts, targets=None):
        """Scores (texts, LENGTH, digits) and where it looked (texts, LENGTH, longest).

        The sign before each one is that of ``targets`` (texts, LENGTH), or without them the model's own.
        """
        read, state = self.reader(self.signs(texts))
        keys, outside = self.key(read), texts == PADDING
        state = state.transpose(0, 1).flatten(1)
        last = torch.full((len(texts),), START)
        scores, looks = [], []
        for place in range(LENGTH):
            match = self.weight(torch.tanh(self.query(state)[:, None] + keys)).squeeze(2)
            look = match.masked_fill(outside, -torch.inf).softmax(1)
            seen = torch.bmm(look[:, None], read).squeeze(1)
            state = self.writer(torch.cat([self.digits(last), seen], 1), state)
            scores.append(self.head(torch.cat([state, seen], 1)))
            looks.append(look)
            last = scores[-1].argmax(1) if targets is None else targets[:, place]
        return torch.stack(scores, 1), torch.stack(looks, 1)


def show_looks(text, written, looks):
    """Draw where the model looked (across) when it wrote each sign (down)."""
    print("\nwhere it looked: " + "  ".join(text))
    for sign, row in zip(written, looks.tolist()):
        shades = (SHADES[round(share * (len(SHADES) - 1))] for share in row)
        print(f"{sign:>15}  " + "".join(shade * 2 + " " for shade in shades).rstrip())


def main(arguments=None):
    chosen = options(__doc__, steps=400, batch=64, hidden=96).parse_args(arguments)
    torch.manual_seed(chosen.seed)
    model = Translator(chosen.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    for _ in (progress := Progress(chosen.steps)):
        texts, dates = zip(*random_dates(chosen.batch))
        targets = torch.tensor([[DIGITS.index(sign) for sign in date] for date in dates])
        scores, _ = model(read(texts), targets)
        loss = F.cross_entropy(scores.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        progress.show(loss=loss.item())

    draw(loss, model, chosen.draw)
    examples = random_dates(100)
    with torch.no_grad():
        scores, looks = model(read([text for text, _ in examples]))
    written = ["".join(DIGITS[code] for code in codes) for codes in scores.argmax(2).tolist()]
    right = sum(found == date for found, (_, date) in zip(written, examples))
    print(f"\n{right} of 100 new dates are right, such as:")
    for (text, _), found in list(zip(examples, written))[:5]:
        print(f"{text:>20} -> {found}")
    text = examples[0][0]
    show_looks(text, written[0], looks[0, :, : len(text)])
    return loss.item()


if __name__ == "__main__":
    main()
