"""peft: LoRA on a small GPT-2, trained, saved, loaded, merged; its relatives IA3 and DoRA."""

import peft
import torch
from report import norms, say
from transformers import GPT2Config, GPT2LMHeadModel

tokens = torch.arange(24).reshape(2, 12) % 50


def base():
    torch.manual_seed(0)
    return GPT2LMHeadModel(
        GPT2Config(vocab_size=50, n_positions=64, n_embd=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=49)
    )


def train(name, config):
    model = peft.get_peft_model(base(), config)
    say(f"{name}.size", list(model.get_nb_trainable_parameters()))
    optimizer = torch.optim.AdamW([parameter for parameter in model.parameters() if parameter.requires_grad], lr=1e-2)
    losses = []
    for _ in range(4):
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    say(f"{name}.losses", losses)
    return model.eval()


lora = {"r": 4, "lora_alpha": 8, "target_modules": ["c_attn"], "fan_in_fan_out": True}
model = train("lora", peft.LoraConfig(lora_dropout=0.1, **lora))
with torch.no_grad():
    expected = model(tokens).logits
    say("lora.logits", norms(expected))
    with model.disable_adapter():
        say("lora.disabled", torch.equal(model(tokens).logits, base().eval()(tokens).logits))
    model.save_pretrained("lora")
    again = peft.PeftModel.from_pretrained(base(), "lora").eval()
    say("lora.kept", torch.equal(again(tokens).logits, expected))
    say("lora.generate", again.generate(input_ids=tokens[:, :4], max_new_tokens=6, do_sample=False, pad_token_id=49))
    merged = model.merge_and_unload()
    say("lora.merged", norms(merged(tokens).logits))
    say("lora.type", type(merged).__name__)
train("dora", peft.LoraConfig(use_dora=True, **lora))
train(
    "ia3",
    peft.IA3Config(target_modules=["c_attn", "mlp.c_proj"], feedforward_modules=["mlp.c_proj"], fan_in_fan_out=True),
)
