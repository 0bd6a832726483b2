"""Summaries of a convolutional and a recurrent network: torchinfo."""

import torch
from torch import nn
from torchinfo import summary


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 10, 5), nn.Conv2d(10, 20, 5)
        self.drop, self.fc1, self.fc2 = nn.Dropout2d(0.3), nn.Linear(320, 50), nn.Linear(50, 10)

    def forward(self, x):
        x = torch.relu(torch.max_pool2d(self.conv1(x), 2))
        x = torch.relu(torch.max_pool2d(self.drop(self.conv2(x)), 2))
        return torch.log_softmax(self.fc2(torch.relu(self.fc1(x.view(-1, 320)))), 1)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 30)
        self.encoder = nn.LSTM(30, 60, num_layers=2, bidirectional=True)
        self.decoder = nn.Linear(120, 20)

    def forward(self, x):
        return self.decoder(self.encoder(self.words(x))[0])


COLUMNS = ("input_size", "output_size", "num_params", "kernel_size", "mult_adds", "trainable", "params_percent")
print(summary(Convolutional(), input_size=(16, 1, 28, 28), verbose=0))
print(
    summary(
        Convolutional(), input_size=(2, 1, 28, 28), col_names=COLUMNS, row_settings=("var_names", "depth"), verbose=0
    )
)
print(summary(Recurrent(), input_size=(1, 100), dtypes=[torch.long], col_names=COLUMNS, verbose=0))
print(summary(nn.TransformerEncoderLayer(16, 4, batch_first=True), input_size=(2, 5, 16), verbose=0))
print(
    summary(nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 1))).requires_grad_(False), verbose=0)
)
print(summary(torch.jit.script(nn.Sequential(nn.Linear(2, 3))), verbose=0))
