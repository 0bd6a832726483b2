"""lightning: an autoencoder fitted with validation, callbacks, checkpoint and resume; manual optimization; Fabric."""

import os
import warnings

import lightning
import torch
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint, StochasticWeightAveraging
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.utilities.model_summary import ModelSummary
from report import norms, say
from torch import nn
from torch.nn.functional import mse_loss
from torch.utils.data import DataLoader, TensorDataset, random_split

warnings.simplefilter("ignore")  # its advice on workers and on short epochs
QUIET = {"accelerator": "cpu", "logger": False, "enable_progress_bar": False, "enable_model_summary": False}


class AutoEncoder(lightning.LightningModule):
    def __init__(self, width=8):
        super().__init__()
        self.save_hyperparameters()
        self.encoder = nn.Sequential(nn.Linear(28, width), nn.ReLU(), nn.Linear(width, 3))
        self.decoder = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, 28))
        self.losses = []

    def loss(self, batch):
        return mse_loss(self.decoder(self.encoder(batch[0])), batch[0])

    def training_step(self, batch, index):
        loss = self.loss(batch)
        self.log("train_loss", loss, on_step=True, on_epoch=True)
        self.losses.append(loss.item())
        return loss

    def validation_step(self, batch, index):
        self.log("val_loss", self.loss(batch), prog_bar=True)

    def test_step(self, batch, index):
        self.log("test_loss", self.loss(batch))

    def predict_step(self, batch, index):
        return self.encoder(batch[0])

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-2)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)}


class Manual(AutoEncoder):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False

    def training_step(self, batch, index):
        optimizer = self.optimizers()
        loss = self.loss(batch)
        optimizer.zero_grad()
        self.manual_backward(loss)
        optimizer.step()
        self.losses.append(loss.item())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


lightning.seed_everything(7)
data = TensorDataset(torch.randn(64, 28), torch.randint(0, 3, (64,)))
training, validation = (
    DataLoader(part, batch_size=8, shuffle=not index) for index, part in enumerate(random_split(data, [48, 16]))
)

model = AutoEncoder()
checkpoint = ModelCheckpoint(dirpath="kept", save_top_k=2, monitor="val_loss", save_last=True, filename="{epoch}")
trainer = lightning.Trainer(
    accelerator="cpu",
    max_epochs=3,
    callbacks=[checkpoint, EarlyStopping("val_loss", patience=5), LearningRateMonitor()],
    logger=CSVLogger("kept"),
    enable_progress_bar=False,
    log_every_n_steps=1,
    gradient_clip_val=0.5,
    accumulate_grad_batches=2,
)
trainer.fit(model, training, validation)
say("fit.losses", model.losses)
say("fit.metrics", {name: value.item() for name, value in trainer.callback_metrics.items()})
say("fit.files", sorted(os.listdir("kept")))
say("best", [os.path.basename(checkpoint.best_model_path), checkpoint.best_model_score.item()])
say("test", trainer.test(model, validation, verbose=False))
say("predict", norms(torch.cat(trainer.predict(model, validation))))
with open("kept/lightning_logs/version_0/metrics.csv") as log:
    say("log.lines", len(log.readlines()))

model = AutoEncoder()
trainer = lightning.Trainer(max_epochs=5, enable_checkpointing=False, accumulate_grad_batches=2, **QUIET)
trainer.fit(model, training, validation, ckpt_path="kept/last.ckpt")
say("resume.losses", model.losses)
say("resume.steps", [trainer.current_epoch, trainer.global_step])
loaded = AutoEncoder.load_from_checkpoint(checkpoint.best_model_path)
say("loaded", [dict(loaded.hparams), norms(loaded.encoder(data.tensors[0][:4]))])

model = AutoEncoder()
lightning.Trainer(max_steps=4, precision="bf16-mixed", enable_checkpointing=False, **QUIET).fit(model, training)
say("bfloat16", model.losses, within=1e-3)

lightning.seed_everything(3)
model = Manual()
lightning.Trainer(max_epochs=1, enable_checkpointing=False, **QUIET).fit(model, training)
say("manual", model.losses)

model = AutoEncoder()
averaging = StochasticWeightAveraging(1e-2, swa_epoch_start=2)
lightning.Trainer(max_epochs=4, callbacks=[averaging], enable_checkpointing=False, **QUIET).fit(model, training)
say("averaged", norms(model.encoder[0].weight))
lightning.Trainer(fast_dev_run=True, **QUIET).fit(AutoEncoder(), training, validation)
say("summary", str(ModelSummary(AutoEncoder(), max_depth=2)).split("\n"))

fabric = lightning.Fabric(accelerator="cpu", devices=1)
fabric.launch()
fabric.seed_everything(0)
layer = nn.Linear(4, 2)
layer, optimizer = fabric.setup(layer, torch.optim.SGD(layer.parameters(), lr=0.1))
losses = []
for _ in range(3):
    optimizer.zero_grad()
    loss = layer(torch.ones(2, 4)).square().mean()
    fabric.backward(loss)
    optimizer.step()
    losses.append(loss.item())
say("fabric", losses)
