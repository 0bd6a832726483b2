"""``Trainer.fit`` with a checkpoint, and another that goes on from it: lightning."""

import logging
import shutil
import warnings
from pathlib import Path

import lightning
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

warnings.simplefilter("ignore")
logging.getLogger("lightning.pytorch").setLevel("ERROR")
PLACE = Path("checkpoints")
shutil.rmtree(PLACE, ignore_errors=True)
QUIET = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu"}


class AutoEncoder(lightning.LightningModule):
    def __init__(self, hidden=8):
        super().__init__()
        self.save_hyperparameters()
        self.encoder = nn.Sequential(nn.Linear(28, hidden), nn.ReLU(), nn.Linear(hidden, 3))
        self.decoder = nn.Sequential(nn.Linear(3, hidden), nn.ReLU(), nn.Linear(hidden, 28))
        self.losses = []

    def loss(self, batch):
        return F.mse_loss(self.decoder(self.encoder(batch[0])), batch[0])

    def training_step(self, batch, index):
        loss = self.loss(batch)
        self.log("train_loss", loss, on_step=True, on_epoch=True)
        self.losses.append(loss.item())
        return loss

    def validation_step(self, batch, index):
        self.log("val_loss", self.loss(batch))

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-2)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)}


lightning.seed_everything(7)
training, held_out = random_split(TensorDataset(torch.randn(64, 28)), [48, 16])
first, kept = (
    AutoEncoder(),
    ModelCheckpoint(PLACE, save_top_k=2, monitor="val_loss", save_last=True, filename="{epoch}"),
)
trainer = lightning.Trainer(max_epochs=3, callbacks=[kept, EarlyStopping("val_loss")], gradient_clip_val=0.5, **QUIET)
trainer.fit(first, DataLoader(training, batch_size=8, shuffle=True), DataLoader(held_out, batch_size=8))
print(first.losses)
print({name: value.item() for name, value in trainer.callback_metrics.items()})
print(sorted(file.name for file in PLACE.iterdir()), Path(kept.best_model_path).name)
second = AutoEncoder()
trainer = lightning.Trainer(max_epochs=5, enable_checkpointing=False, **QUIET)
trainer.fit(
    second,
    DataLoader(training, batch_size=8, shuffle=True),
    DataLoader(held_out, batch_size=8),
    ckpt_path=PLACE / "last.ckpt",
)
print(second.losses, trainer.current_epoch, trainer.global_step)
print(AutoEncoder.load_from_checkpoint(kept.best_model_path, weights_only=False).encoder(training[0][0]))
