"""A training step of T-TA in PyTorch, written plainly, for benchmarks/training_step.py."""

import os

import torch
from torch import nn
from torch.nn import functional

from benchmarks import ROOT
from benchmarks.semfit.cases import word_ids
from benchmarks.timing import Case
from benchmarks.training_cases import LENGTH, SENTENCES, step_flops
from tta.modeling.config.base import read_config


class Block(nn.Module):
    """One layer: attention of the query to a fixed stream, feed-forward, two LayerNorms."""

    def __init__(self, config):
        super().__init__()
        size, width = config.hidden_size, config.intermediate_size
        self.attention = nn.MultiheadAttention(size, config.num_attention_heads, batch_first=True)
        self.feed_forward = nn.Sequential(nn.Linear(size, width), nn.GELU(), nn.Linear(width, size))
        self.attention_norm, self.norm = nn.LayerNorm(size), nn.LayerNorm(size)

    def forward(self, query, stream, mask):
        attended, _ = self.attention(query, stream, stream, attn_mask=mask, need_weights=False)
        hidden = self.attention_norm(query + attended)
        return self.norm(hidden + self.feed_forward(hidden))


class Model(nn.Module):
    """T-TA with the loss of all tokens."""

    def __init__(self, config):
        super().__init__()
        size = config.hidden_size
        self.table = nn.Parameter(torch.randn(config.vocab_size, size) * 0.02)
        self.positions = nn.Parameter(torch.randn(LENGTH, size) * 0.02)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.norm = nn.LayerNorm(size)
        self.transform = nn.Sequential(nn.Linear(size, size), nn.GELU(), nn.LayerNorm(size))
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_hidden_layers))

    def forward(self, ids):
        mask = torch.eye(LENGTH, dtype=torch.bool)  # True: not attended
        stream = self.norm(functional.embedding(ids, self.table) + self.positions)
        query = self.norm(self.positions).expand_as(stream)
        for block in self.blocks:
            query = block(query, stream, mask)
        logits = functional.linear(self.transform(query), self.table, self.bias)
        return functional.cross_entropy(logits.float().flatten(0, 1), ids.flatten())


def step(size, vocab_size, precision):
    """A training step with AdamW, as many threads as TensorFlow has."""
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    config = read_config(ROOT / "configs" / f"{size}.json", vocab_size=vocab_size)
    ids = torch.tensor(word_ids(vocab_size, SENTENCES, LENGTH)[0], dtype=torch.long)
    model = Model(config)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-6, fused=True)

    def call():
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            loss = model(ids)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    return Case("torch", call, step_flops(config, "exact"))
