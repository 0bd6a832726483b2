"""Training steps of networks of vectors: multilayer perceptrons, embeddings, a graph."""

from __future__ import annotations

from networks import adam, labels, mlp, model, of, training


@model
def mlp_batch_1(torch):
    return training(torch, mlp(torch, 784, 512, 512, 10), torch.rand(1, 784), labels(torch, 1))


@model
def mlp_tiny_batch_1(torch):
    return training(torch, mlp(torch, 100, 64, 64, 10), torch.rand(1, 100), labels(torch, 1))


@model
def mlp_batch_1024(torch):
    return training(torch, mlp(torch, 784, 512, 512, 10), torch.rand(1024, 784), labels(torch, 1024))


@model
def mlp_odd_widths(torch):
    network = mlp(torch, 333, 417, 251, 7)
    return training(torch, network, torch.rand(57, 333), labels(torch, 57, 7), adam(torch, network))


@model
def mlp_batch_norm(torch):
    network = mlp(torch, 256, 512, 512, 10, between=torch.nn.BatchNorm1d)
    return training(torch, network, torch.rand(128, 256), labels(torch, 128), adam(torch, network, "AdamW"))


@model
def mlp_dropout(torch):
    network = mlp(torch, 784, 512, 512, 10, between=lambda width: torch.nn.Dropout(0.2))
    return training(torch, network, torch.rand(64, 784), labels(torch, 64))


@model
def mlp_float64(torch):
    network = mlp(torch, 100, 256, 256, 10).double()
    return training(torch, network, torch.rand(64, 100).double(), labels(torch, 64))


@model
def tiny_regression(torch):
    network = mlp(torch, 8, 16, 1, activation="Tanh")
    return training(torch, network, torch.rand(16, 8), torch.rand(16, 1), adam(torch, network), torch.nn.MSELoss())


@model
def average_and_clip(torch):
    """Label smoothing, clipped gradients, AdamW and a moving average of the parameters."""
    functional, network = torch.nn.functional, mlp(torch, 256, 512, 512, 10)
    optimizer, x, y = adam(torch, network, "AdamW"), torch.rand(32, 256), labels(torch, 32)
    averages = [parameter.detach().clone() for parameter in network.parameters()]

    def step():
        loss = functional.cross_entropy(network(x), y, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        with torch.no_grad():
            for average, parameter in zip(averages, network.parameters()):
                average.lerp_(parameter, 0.01)

    return step


@model
def physics_informed(torch):
    """A residual of second derivatives, and its gradient: third order."""
    network = mlp(torch, 2, 32, 32, 32, 1, activation="Tanh")
    optimizer, x = adam(torch, network), torch.rand(256, 2, requires_grad=True)

    def step():
        first = torch.autograd.grad(network(x).sum(), x, create_graph=True)[0]
        second = torch.autograd.grad(first[:, 0].sum(), x, create_graph=True)[0][:, 0]
        loss = ((first[:, 1] - 0.1 * second) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


@model
def lbfgs(torch):
    network = mlp(torch, 1, 32, 1, activation="Tanh")
    x = torch.linspace(-1, 1, 100).unsqueeze(1)
    optimizer = torch.optim.LBFGS(network.parameters(), max_iter=5)

    def closure():
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(network(x), x**2)
        loss.backward()
        return loss

    return lambda: optimizer.step(closure)


@model
def q_learning(torch):
    """A step of DQN with a slowly following target network."""
    functional, network, target = torch.nn.functional, mlp(torch, 4, 128, 128, 2), mlp(torch, 4, 128, 128, 2)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, amsgrad=True)
    states, following, rewards = torch.rand(128, 4), torch.rand(128, 4), torch.rand(128)
    actions = torch.randint(0, 2, (128, 1))

    def step():
        values = network(states).gather(1, actions)
        with torch.no_grad():
            expected = target(following).max(1).values * 0.99 + rewards
        loss = functional.smooth_l1_loss(values, expected.unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(network.parameters(), 100)
        optimizer.step()
        with torch.no_grad():
            for old, new in zip(target.parameters(), network.parameters()):
                old.copy_(new * 0.005 + old * 0.995)

    return step


@model
def variational_autoencoder(torch):
    nn, functional = torch.nn, torch.nn.functional

    def forward(m, x):
        hidden = functional.relu(m.enter(x))
        mean, log_variance = m.mean(hidden), m.log_variance(hidden)
        drawn = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        return torch.sigmoid(m.leave(functional.relu(m.widen(drawn)))), mean, log_variance

    def loss_function(found, x):
        image, mean, log_variance = found
        divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
        return functional.binary_cross_entropy(image, x, reduction="sum") + divergence

    sizes = {"enter": (784, 400), "mean": (400, 20), "log_variance": (400, 20), "widen": (20, 400), "leave": (400, 784)}
    network = of(torch, forward, **{name: nn.Linear(*size) for name, size in sizes.items()})
    x = torch.rand(128, 784)
    return training(torch, network, x, x, adam(torch, network), loss_function)


@model
def embedding_bag(torch):
    nn = torch.nn
    network = nn.Sequential(nn.EmbeddingBag(5000, 64), nn.Linear(64, 4))
    return training(torch, network, torch.randint(0, 5000, (64, 30)), labels(torch, 64, 4))


@model
def large_vocabulary(torch):
    nn = torch.nn
    network = nn.Sequential(nn.Embedding(30000, 64), nn.Flatten(), nn.Linear(128, 30000))
    return training(torch, network, torch.randint(0, 30000, (64, 2)), labels(torch, 64, 30000))


@model
def recommender(torch):
    nn = torch.nn

    def forward(m, pairs):
        users, items = pairs[:, 0], pairs[:, 1]
        biases = m.user_bias(users).squeeze(1) + m.item_bias(items).squeeze(1)
        return (m.users(users) * m.items(items)).sum(1) + biases

    network = of(
        torch,
        forward,
        users=nn.Embedding(5000, 32),
        items=nn.Embedding(3000, 32),
        user_bias=nn.Embedding(5000, 1),
        item_bias=nn.Embedding(3000, 1),
    )
    pairs = torch.stack([torch.randint(0, 5000, (1024,)), torch.randint(0, 3000, (1024,))], 1)
    return training(torch, network, pairs, torch.rand(1024), adam(torch, network), nn.MSELoss())


@model
def graph_convolution(torch):
    nn, links = torch.nn, torch.rand(1000, 1000)
    links = links / links.sum(1, keepdim=True)
    layers = {"first": nn.Linear(64, 32), "second": nn.Linear(32, 7)}
    network = of(torch, lambda m, x: m.second(links @ torch.relu(m.first(links @ x))), **layers)
    return training(torch, network, torch.rand(1000, 64), labels(torch, 1000, 7), adam(torch, network))
