"""A training step of T-TA in PyTorch, written plainly, for benchmarks/training_step.py."""

import math
import os

import torch
from torch import nn
from torch.nn import functional

from benchmarks import ROOT
from benchmarks.timing import Case
from benchmarks.training_cases import LENGTH, SAMPLED_PIECES, sentences, step_flops
from tta.modeling.config.base import read_config


class Block(nn.Module):
    """One layer: attention of the query to a fixed stream, feed-forward, two LayerNorms."""

    def __init__(self, config):
        super().__init__()
        size, width = config.hidden_size, config.intermediate_size
        self.heads = config.num_attention_heads
        self.query, self.key, self.value, self.output = (nn.Linear(size, size) for _ in range(4))
        self.up, self.down = nn.Linear(size, width), nn.Linear(width, size)
        self.attention_norm, self.norm = nn.LayerNorm(size), nn.LayerNorm(size)

    def forward(self, query, stream, mask):
        def split(x):
            return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        q, k, v = split(self.query(query)), split(self.key(stream)), split(self.value(stream))
        q = q.expand(len(k), -1, -1, -1)
        attended = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        attended = self.output(attended.transpose(1, 2).flatten(2))
        hidden = self.attention_norm(query + attended)
        return self.norm(hidden + self.down(functional.gelu(self.up(hidden))))


class Model(nn.Module):
    """T-TA with the loss of all tokens; with `sampled`, over a sample of the vocabulary."""

    def __init__(self, config, sampled):
        super().__init__()
        size, self.sampled, self.vocab_size = config.hidden_size, sampled, config.vocab_size
        self.table = nn.Parameter(torch.randn(config.vocab_size, size) * 0.02)
        self.positions = nn.Parameter(torch.randn(LENGTH, size) * 0.02)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.norm, self.transform_norm = nn.LayerNorm(size), nn.LayerNorm(size)
        self.transform = nn.Linear(size, size)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_hidden_layers))

    def forward(self, ids):
        mask = ~torch.eye(LENGTH, dtype=torch.bool)
        stream = self.norm(functional.embedding(ids, self.table) + self.positions)
        query = self.norm(self.positions)[None]
        for block in self.blocks:
            query = block(query, stream, mask)
        features = self.transform_norm(functional.gelu(self.transform(query))).flatten(0, 1)
        targets = ids.flatten()
        if not self.sampled:
            logits = functional.linear(features, self.table, self.bias)
            return functional.cross_entropy(logits.float(), targets)
        num_drawn = SAMPLED_PIECES // 3
        num_frequent = SAMPLED_PIECES - num_drawn
        others = self.vocab_size - num_frequent
        drawn = torch.randperm(others)[:num_drawn] + num_frequent
        pieces = torch.cat([torch.arange(num_frequent), drawn])
        logits = functional.linear(features, self.table[pieces], self.bias[pieces]).float()
        logits[:, num_frequent:] += math.log(others / num_drawn)
        # The target is a column of its own, and left out of the others.
        logits = logits.masked_fill(pieces == targets[:, None], -torch.inf)
        own = (features * self.table[targets]).sum(-1).float() + self.bias[targets]
        logits = torch.cat([own[:, None], logits], dim=1)
        return functional.cross_entropy(logits, torch.zeros_like(targets))


def steps(size, vocab_size, precision, heads):
    """Training steps with AdamW, as many threads as TensorFlow has. Names: `torch sampled`."""
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    config = read_config(ROOT / "configs" / f"{size}.json", vocab_size=vocab_size)
    ids = torch.tensor(sentences(vocab_size), dtype=torch.long)

    def case(head):
        model = Model(config, head == "sampled")
        optimizer = torch.optim.AdamW(model.parameters(), 1e-6, fused=True)

        def step():
            with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
                loss = model(ids)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            return loss.item()

        return Case(f"torch {head}", step, step_flops(config, head))

    return [case(head) for head in heads]
