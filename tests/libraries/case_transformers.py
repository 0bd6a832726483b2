"""transformers: small GPT-2, BERT, LLaMA, T5 and ViT: loss, gradients, text, files; some steps of its Trainer."""

import torch
from report import gradient_norm, norms, say
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
    Trainer,
    TrainingArguments,
    ViTConfig,
    ViTForImageClassification,
)

tokens = torch.arange(24).reshape(2, 12) % 50
size = {"vocab_size": 50, "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32, "intermediate_size": 64}
ends = {"bos_token_id": 0, "eos_token_id": 49, "pad_token_id": 49}


def made(kind, config):
    torch.manual_seed(0)
    return kind(config).eval()


def gpt2(layers=2, **options):
    return made(
        GPT2LMHeadModel,
        GPT2Config(vocab_size=50, n_positions=64, n_embd=32, n_layer=layers, n_head=4, **ends, **options),
    )


def learn(name, model, **inputs):
    output = model(**inputs)
    output.loss.backward()
    say(f"{name}.loss", output.loss)
    say(f"{name}.logits", norms(output.logits))
    say(f"{name}.gradient", gradient_norm(model))
    model.train()  # with dropout
    torch.manual_seed(5)
    say(f"{name}.training_loss", model(**inputs).loss)
    model.eval()


def write(name, model, start):
    say(f"{name}.greedy", model.generate(start, max_new_tokens=8, do_sample=False))
    torch.manual_seed(3)
    say(
        f"{name}.sampled",
        model.generate(start, max_new_tokens=8, do_sample=True, top_k=20, top_p=0.95, temperature=1.3),
    )
    say(f"{name}.beams", model.generate(start, max_new_tokens=6, num_beams=3, do_sample=False))


def keep(name, model, **inputs):
    model.save_pretrained(name)
    again = type(model).from_pretrained(name)
    with torch.no_grad():
        say(f"{name}.kept", torch.equal(again(**inputs).logits, model(**inputs).logits))


model = gpt2()
learn("gpt2", model, input_ids=tokens, labels=tokens)
write("gpt2", model, tokens[:, :4])
keep("gpt2", model, input_ids=tokens)

model = made(BertForSequenceClassification, BertConfig(**size))
mask = (tokens < 10).long()
learn("bert", model, input_ids=tokens, attention_mask=mask, labels=torch.tensor([0, 1]))
keep("bert", model, input_ids=tokens)

model = made(LlamaForCausalLM, LlamaConfig(num_key_value_heads=2, **size, **ends))
learn("llama", model, input_ids=tokens, labels=tokens)
write("llama", model, tokens[:, :4])
keep("llama", model, input_ids=tokens)

model = made(
    T5ForConditionalGeneration,
    T5Config(vocab_size=50, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0),
)
learn("t5", model, input_ids=tokens, labels=tokens)
write("t5", model, tokens)
keep("t5", model, input_ids=tokens, decoder_input_ids=tokens)

image = {**size, "image_size": 32, "patch_size": 8, "num_labels": 3}
del image["vocab_size"]
model = made(ViTForImageClassification, ViTConfig(**image))
pictures = torch.randn(2, 3, 32, 32)
learn("vit", model, pixel_values=pictures, labels=torch.tensor([0, 2]))
keep("vit", model, pixel_values=pictures)

rows = [(torch.arange(8) + start) % 50 for start in range(40)]
arguments = TrainingArguments(
    "trained",
    max_steps=10,
    per_device_train_batch_size=4,
    logging_steps=2,
    save_steps=5,
    report_to=[],
    disable_tqdm=True,
    seed=0,
    use_cpu=True,
)
data = [{"input_ids": row, "labels": row} for row in rows]
trainer = Trainer(gpt2(layers=1), arguments, train_dataset=data, eval_dataset=data[:8])
say("trainer.loss", trainer.train().training_loss)
say("trainer.losses", [entry["loss"] for entry in trainer.state.log_history if "loss" in entry])
say("trainer.evaluation", trainer.evaluate()["eval_loss"])
say("trainer.predictions", norms(torch.as_tensor(trainer.predict(data[:4]).predictions)))
again = Trainer(gpt2(layers=1), arguments, train_dataset=data, eval_dataset=data[:8])
say("trainer.resumed", again.train(resume_from_checkpoint="trained/checkpoint-5").global_step)
say("trainer.resumed_evaluation", again.evaluate()["eval_loss"])
