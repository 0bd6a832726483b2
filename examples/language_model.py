"""Learn a small language from text with a transformer: verbs must agree with nouns some words before them.

    python examples/language_model.py --steps 600

With `import torch` in place of the import of Rushlight, PyTorch runs it and prints the same numbers.
"""

import re

from common import Progress, draw, options

import rushlight as torch

nn, F = torch.nn, torch.nn.functional
NOUNS = ("fox", "hen", "owl", "goat", "child"), ("foxes", "hens", "owls", "goats", "children")
VERBS = ("sees", "likes", "follows", "calls"), ("see", "like", "follow", "call")
GOES = ("sings", "sleeps", "waits"), ("sing", "sleep", "wait")
ADJECTIVES = ("old", "small", "red", "shy")
WORDS = [".", "the", "that", *ADJECTIVES, *sum((*NOUNS, *VERBS, *GOES), ())]
CODES = {word: code for code, word in enumerate(WORDS)}


def pick(words):
    return words[torch.randint(len(words), ()).item()]


def thing(number, clauses):
    """A noun in singular (0) or plural (1) with what is said of it, as a list of words."""
    words = ["the", *([pick(ADJECTIVES)] if pick((True, False)) else []), pick(NOUNS[number])]
    if clauses and pick((True, False, False)):
        other = pick((0, 1))
        if pick((True, False)):  # the fox that sees the hens
            words += ["that", pick(VERBS[number]), *thing(other, clauses - 1)]
        else:  # the fox that the hens see
            words += ["that", *thing(other, clauses - 1), pick(VERBS[other])]
    return words


def sentence():
    number = pick((0, 1))
    end = [pick(VERBS[number]), *thing(pick((0, 1)), 1)] if pick((True, False)) else [pick(GOES[number])]
    return [*thing(number, 1), *end, "."]


def text(length):
    """The codes of sentences, one after another: a tensor (length,)."""
    words = []
    while len(words) < length:
        words += sentence()
    return torch.tensor([CODES[word] for word in words[:length]])


class LanguageModel(nn.Module):
    """Scores each next word, given those before it."""

    def __init__(self, width, longest):
        super().__init__()
        self.words, self.places = nn.Embedding(len(WORDS), width), nn.Embedding(longest, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, 0.1, "gelu", batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = nn.Linear(width, len(WORDS))
        self.longest = longest

    def forward(self, codes):
        """From codes (texts, length) to scores (texts, length, words)."""
        length = codes.shape[1]
        hidden = self.words(codes) + self.places(torch.arange(length))
        mask = nn.Transformer.generate_square_subsequent_mask(length)  # no word sees those after it
        return self.head(self.layers(hidden, mask, is_causal=True))

    @torch.no_grad()
    def write(self, count):
        """A list of ``count`` sentences, each word drawn from its probabilities."""
        codes, sentences = torch.tensor([CODES["."]]), [[]]
        while len(sentences) <= count:
            scores = self(codes[None, -self.longest :])[0, -1]
            codes = torch.cat([codes, torch.multinomial(scores.softmax(0), 1)])
            sentences[-1].append(WORDS[codes[-1]])
            if sentences[-1][-1] == "." or len(sentences[-1]) == 30:
                sentences.append([])
        return sentences[:count]


def is_right(words):
    """Whether a sentence follows the rules: its words by kinds, the plural ones in capitals, match a pattern."""
    kinds = {".": ".", "the": "t", "that": "w", **dict.fromkeys(ADJECTIVES, "a")}
    for letter, (singular, plural) in (("n", NOUNS), ("v", VERBS), ("g", GOES)):
        kinds |= dict.fromkeys(singular, letter) | dict.fromkeys(plural, letter.upper())
    one, many = (f"ta?{noun}(w({verb}ta?[nN]|ta?nv|ta?NV))?" for noun, verb in ("nv", "NV"))
    some = f"({one}|{many})"
    return re.fullmatch(rf"({one}(g|v{some})|{many}(G|V{some}))\.", "".join(kinds[word] for word in words)) is not None


def main(arguments=None):
    chosen = options(__doc__, steps=600, batch=32, length=32, width=64, sentences=40).parse_args(arguments)
    torch.manual_seed(chosen.seed)
    model = LanguageModel(chosen.width, chosen.length)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.005, total_steps=chosen.steps)
    for _ in (progress := Progress(chosen.steps)):
        codes = text(chosen.batch * (chosen.length + 1)).view(chosen.batch, -1)
        loss = F.cross_entropy(model(codes[:, :-1]).flatten(0, 1), codes[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        progress.show(loss=loss.item())

    draw(loss, model, chosen.draw)
    model.eval()
    sentences = model.write(chosen.sentences)
    print(f"\nof {len(sentences)} sentences of its own, {sum(map(is_right, sentences))} are right, such as:")
    for words in sentences[:10]:
        print("  " + " ".join(words[:-1]) + words[-1] + ("" if is_right(words) else "  (wrong)"))
    return loss.item()


if __name__ == "__main__":
    main()
