"""Learn to balance a pole on a cart: an actor pushes left or right, a critic says how long the pole will stand.

    python examples/actor_critic.py --steps 200

With `import torch` in place of the import of Rushlight, PyTorch runs it and prints the same numbers.
"""

import math

from common import Progress, draw, options

import rushlight as torch

nn, F = torch.nn, torch.nn.functional


class CartPole:
    """A cart on a rail with a pole on a hinge: the equations of Barto, Sutton and Anderson (1983), without friction."""

    GRAVITY, CART, POLE, HALF_LENGTH, PUSH, SECONDS = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
    LONGEST = 200

    def reset(self):
        """Begin near the middle, at rest: returns [place, its speed, angle, its speed]."""
        self.state, self.age = (0.1 * torch.rand(4) - 0.05).tolist(), 0
        return self.state

    def step(self, action):
        """Push to the left (0) or right (1) for a moment: returns the new state, and whether the episode is over."""
        _, speed, angle, turn = self.state
        push, mass = self.PUSH * (2 * action - 1), self.CART + self.POLE
        swing = (push + self.POLE * self.HALF_LENGTH * turn**2 * math.sin(angle)) / mass
        fall = self.GRAVITY * math.sin(angle) - math.cos(angle) * swing
        fall /= self.HALF_LENGTH * (4 / 3 - self.POLE * math.cos(angle) ** 2 / mass)
        pull = swing - self.POLE * self.HALF_LENGTH * fall * math.cos(angle) / mass
        moves = (speed, pull, turn, fall)
        self.state, self.age = [old + self.SECONDS * move for old, move in zip(self.state, moves)], self.age + 1
        fallen = abs(self.state[0]) > 2.4 or abs(self.state[2]) > math.radians(12)
        return self.state, fallen or self.age == self.LONGEST


class ActorCritic(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, hidden), nn.ReLU())
        self.actor, self.critic = nn.Linear(hidden, 2), nn.Linear(hidden, 1)

    def forward(self, state):
        """The actor's scores of both actions, and the critic's value of the state."""
        hidden = self.body(state)
        return self.actor(hidden), self.critic(hidden).squeeze(-1)


def episode(model, world):
    """Play until the pole falls: logarithms of the actions' probabilities, values, and states, one for each moment."""
    chances, values, states, over = [], [], [world.reset()], False
    while not over:
        scores, value = model(torch.tensor(states[-1]))
        choice = torch.distributions.Categorical(logits=scores)
        action = choice.sample()
        state, over = world.step(action.item())
        chances.append(choice.log_prob(action))
        values.append(value)
        states.append(state)
    return torch.stack(chances), torch.stack(values), states


def returns(length, discount=0.99):
    """What each moment was worth: a reward of 1 for it and all later ones, those far away counted less."""
    worth = torch.tensor([(1 - discount ** (length - moment)) / (1 - discount) for moment in range(length)])
    return (worth - worth.mean()) / (worth.std() + 1e-6)


def show(states):
    """Draw some moments of an episode, each a line with the cart's place and the pole's lean."""
    for state in states[:: max(1, len(states) // 12)]:
        lean = "\\" if state[2] < -0.02 else "/" if state[2] > 0.02 else "|"
        print(f"  [{' ' * round(12 * (2.4 + state[0]))}{lean}".ljust(61) + f"]  {math.degrees(state[2]):6.2f} degrees")


def main(arguments=None):
    chosen = options(__doc__, steps=200, hidden=128).parse_args(arguments)
    torch.manual_seed(chosen.seed)
    world, model = CartPole(), ActorCritic(chosen.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    mean = 10.0
    for _ in (progress := Progress(chosen.steps)):  # a step is an episode
        chances, values, states = episode(model, world)
        worth = returns(len(values))
        advantage = worth - values.detach()
        loss = -(chances * advantage).sum() + F.smooth_l1_loss(values, worth, reduction="sum")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean += 0.05 * (len(values) - mean)
        progress.show(loss=loss.item(), moments=len(values), mean=mean)

    draw(loss, model, chosen.draw)
    with torch.no_grad():
        states = episode(model, world)[2]
    print(f"\nan episode of {len(states) - 1} moments:")
    show(states)
    return loss.item()


if __name__ == "__main__":
    main()
