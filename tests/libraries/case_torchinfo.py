"""torchinfo: its tables of a convolutional, a recurrent and a transformer model are equal to the letter."""

import torch
from report import say
from torch import nn
from torchinfo import summary


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, 5)
        self.conv2 = nn.Conv2d(10, 20, 5)
        self.drop = nn.Dropout2d(0.3)
        self.fc1 = nn.Linear(320, 50)
        self.fc2 = nn.Linear(50, 10)

    def forward(self, x):
        x = torch.relu(torch.max_pool2d(self.conv1(x), 2))
        x = torch.relu(torch.max_pool2d(self.drop(self.conv2(x)), 2)).view(-1, 320)
        return torch.log_softmax(self.fc2(torch.relu(self.fc1(x))), 1)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 30)
        self.encoder = nn.LSTM(30, 60, num_layers=2, bidirectional=True)
        self.decoder = nn.Linear(120, 20)

    def forward(self, x):
        hidden, state = self.encoder(self.embedding(x))
        return self.decoder(hidden), state


COLUMNS = ("input_size", "output_size", "num_params", "kernel_size", "mult_adds", "trainable", "params_percent")


def table(name, model, **options):
    say(name, str(summary(model, verbose=0, **options)).split("\n"))


table("plain", Digits(), input_size=(16, 1, 28, 28))
table("columns", Digits(), input_size=(16, 1, 28, 28), col_names=COLUMNS, row_settings=("var_names", "depth"))
table("data", Digits(), input_data=torch.zeros(2, 1, 28, 28), col_width=16)
table("recurrent", Tagger(), input_size=(1, 100), dtypes=[torch.long], row_settings=["var_names"])
table("frozen", nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 1))).requires_grad_(False))
table("transformer", nn.TransformerEncoderLayer(16, 4, batch_first=True), input_size=(2, 5, 16))
