"""Training steps of recurrent networks and Transformers; inferences of single samples."""

from __future__ import annotations

import networks
from networks import adam, classifier, convolved, labels, mlp, model, of, recurrent, training


def _sequences(torch, kind, inputs, size, samples, steps, **options):
    network = recurrent(torch, kind, inputs, size, **options)
    return training(torch, network, torch.randn(samples, steps, inputs), labels(torch, samples), adam(torch, network))


@model
def lstm(torch):
    return _sequences(torch, "LSTM", 64, 128, 32, 32)


@model
def lstm_2_layers(torch):
    return _sequences(torch, "LSTM", 64, 128, 32, 32, num_layers=2)


@model
def lstm_both_directions(torch):
    return _sequences(torch, "LSTM", 64, 256, 32, 32, bidirectional=True)


@model
def lstm_batch_1(torch):
    return _sequences(torch, "LSTM", 32, 64, 1, 50)


@model
def lstm_512_units(torch):
    return _sequences(torch, "LSTM", 128, 512, 32, 16)


@model
def lstm_200_steps(torch):
    return _sequences(torch, "LSTM", 16, 96, 16, 200)


@model
def gru(torch):
    return _sequences(torch, "GRU", 64, 128, 32, 32)


@model
def rnn(torch):
    return _sequences(torch, "RNN", 64, 128, 32, 32)


@model
def lstm_language_model(torch):
    nn = torch.nn
    parts = {"tokens": nn.Embedding(10000, 100), "layer": nn.LSTM(100, 200, batch_first=True)}
    network = of(
        torch, lambda m, x: m.head(m.layer(m.tokens(x))[0]).reshape(-1, 10000), **parts, head=nn.Linear(200, 10000)
    )
    return training(torch, network, torch.randint(0, 10000, (8, 20)), labels(torch, 160, 10000))


@model
def lstm_cell_loop(torch):
    nn = torch.nn

    def forward(m, tokens):
        hidden = cell = torch.zeros(tokens.shape[0], 64)
        found = []
        for step in range(tokens.shape[1]):
            hidden, cell = m.cell(m.tokens(tokens[:, step]), (hidden, cell))
            found.append(m.head(hidden))
        return torch.stack(found, 1).reshape(-1, 60)

    network = of(torch, forward, tokens=nn.Embedding(60, 32), cell=nn.LSTMCell(32, 64), head=nn.Linear(64, 60))
    return training(torch, network, torch.randint(0, 60, (16, 25)), labels(torch, 400, 60), adam(torch, network))


@model
def gru_cell_loop(torch):
    nn = torch.nn

    def forward(m, x):
        hidden = torch.zeros(x.shape[0], 64)
        for step in range(x.shape[1]):
            hidden = m.cell(x[:, step], hidden)
        return m.head(hidden)

    network = of(torch, forward, cell=nn.GRUCell(32, 64), head=nn.Linear(64, 5))
    return training(torch, network, torch.rand(16, 20, 32), labels(torch, 16, 5))


def _decoder(torch, length, samples):
    network, tokens = networks.decoder(torch, length), torch.randint(0, 256, (samples, length))
    return training(torch, network, tokens, labels(torch, samples * length, 256), adam(torch, network, "AdamW"))


@model
def gpt_256_tokens(torch):
    return _decoder(torch, 256, 4)


@model
def gpt_1024_tokens(torch):
    return _decoder(torch, 1024, 1)


@model
def vision_transformer(torch):
    nn = torch.nn

    def forward(m, x):
        return m.head(m.encoder(m.patches(x).flatten(2).transpose(1, 2) + m.places).mean(1))

    parts = {"patches": nn.Conv2d(3, 96, 4, 4), "places": nn.Parameter(torch.zeros(64, 96)), "head": nn.Linear(96, 10)}
    encoder = networks.encoder(torch, 96, 3, 384, 2, norm_first=True)
    network = of(torch, forward, **parts, encoder=encoder)
    return training(torch, network, torch.rand(16, 3, 32, 32), labels(torch, 16), adam(torch, network, "AdamW"))


@model
def transformer_seq2seq(torch):
    nn = torch.nn
    mask = nn.Transformer.generate_square_subsequent_mask(24)

    def forward(m, tokens):
        return m.head(m.transformer(m.source(tokens), m.target(tokens), tgt_mask=mask)).reshape(-1, 1000)

    parts = {"source": nn.Embedding(1000, 64), "target": nn.Embedding(1000, 64), "head": nn.Linear(64, 1000)}
    transformer = nn.Transformer(64, 4, 1, 1, 128, dropout=0.0, batch_first=True)
    network = of(torch, forward, **parts, transformer=transformer)
    return training(torch, network, torch.randint(0, 1000, (8, 24)), labels(torch, 192, 1000), adam(torch, network))


def _inference(torch, network, x):
    network.eval()

    def step():
        with torch.no_grad():
            network(x)

    return step


@model
def infer_mlp(torch):
    return _inference(torch, mlp(torch, 784, 512, 512, 10), torch.rand(1, 784))


@model
def infer_cnn(torch):
    nn = torch.nn
    layers = convolved(nn, 3, 32, padding=1), convolved(nn, 32, 64, stride=2, padding=1)
    return _inference(torch, classifier(torch, *layers, features=64), torch.rand(1, 3, 64, 64))


@model
def infer_transformer(torch):
    return _inference(torch, networks.encoder(torch, 128, 4, 512, 2), torch.rand(1, 32, 128))


@model
def infer_lstm_step(torch):
    return _inference(torch, torch.nn.LSTM(64, 128), torch.rand(1, 1, 64))


@model
def act(torch):
    """One decision of a stochastic policy."""
    network, observed = mlp(torch, 4, 64, 2), torch.rand(1, 4)

    def step():
        with torch.no_grad():
            torch.multinomial(torch.softmax(network(observed), 1), 1).item()

    return step
