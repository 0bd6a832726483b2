"""Teach an LSTM to continue a sine wave from its past.

    python examples/lstm_sequence.py --steps 120

With `import torch` in place of the import of Rushlight, PyTorch runs it and prints the same numbers.
"""

from common import Progress, draw, options, point_lines, side_by_side

import rushlight as torch

nn = torch.nn


class Forecaster(nn.Module):
    """Reads a sequence of numbers and predicts, at each place, the next one."""

    def __init__(self, hidden):
        super().__init__()
        self.lstm = nn.LSTM(input_size=1, hidden_size=hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, sequence, state=None):
        hidden, state = self.lstm(sequence, state)
        return self.head(hidden), state

    @torch.no_grad()
    def go_on(self, past, count):
        """``count`` further numbers (count,) after a sequence (1, length, 1), each predicted from those before."""
        predicted, state = self(past)
        values = [predicted[:, -1:]]
        while len(values) < count:
            predicted, state = self(values[-1], state)
            values.append(predicted)
        return torch.cat(values).flatten()


def main(arguments=None):
    chosen = options(__doc__, steps=120, batch=32, hidden=24).parse_args(arguments)
    torch.manual_seed(chosen.seed)
    phases = 2 * torch.pi * torch.rand(chosen.batch, 1)
    waves = torch.sin(torch.arange(61) * 0.3 + phases).unsqueeze(-1)
    model = Forecaster(chosen.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in (progress := Progress(chosen.steps)):
        predicted, _ = model(waves[:, :40])
        loss = nn.functional.mse_loss(predicted, waves[:, 1:41])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        progress.show(loss=loss.item())

    draw(loss, model, chosen.draw)
    found, true = model.go_on(waves[:1, :20], 40), waves[0, 20:60, 0]
    error = (found - true).abs()
    print(f"\non its own predictions, mean error of 10 steps {error[:10].mean():.3f}, of 40 steps {error.mean():.3f}:")
    places = torch.linspace(-1.2, 1.15, 40)
    side_by_side(point_lines(torch.stack([places, found], 1), -1.2, 1.2, 80, 12))
    return loss.item()


if __name__ == "__main__":
    main()
