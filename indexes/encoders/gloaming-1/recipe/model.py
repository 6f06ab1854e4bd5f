"""The residue encoder: residual dilated convolutions over one-letter sequences, channels first throughout.

A block is 1x1 down, dilated 5-tap convolution, 1x1 up. Its RMS norm has no weights and is applied after
the first 1x1 (which is linear), where half as many channels need scaling. Dropout takes whole channels.
Convolutions with one tap stand in for linear layers because oneDNN runs them several times faster on a CPU.
"""
import torch
from torch import nn
from torch.nn import functional as F

RESIDUES = "ACDEFGHIKLMNPQRSTVWYX"
UNKNOWN = RESIDUES.index("X")
PADDING = len(RESIDUES)
MASKED = PADDING + 1
TOKEN_COUNT = MASKED + 1
LETTER_COUNT = 36


class Block(nn.Module):
    def __init__(self, width, inner, dilation, dropout):
        super().__init__()
        self.dropout = dropout
        self.down = nn.Conv1d(width, inner, 1, bias=False)
        self.down_bias = nn.Parameter(torch.zeros(1, inner, 1))
        self.mix = nn.Conv1d(inner, inner, 5, dilation=dilation, padding=2 * dilation)
        self.up = nn.Conv1d(inner, width, 1)

    def forward(self, x, mask):
        h = F.relu(self.down(x) * inverse_rms(x) + self.down_bias) * mask
        return x + self.up(F.dropout1d(F.relu(self.mix(h)), self.dropout, self.training))


class Encoder(nn.Module):
    """Unit vectors per residue; the training heads read the hidden channels and are not exported."""

    def __init__(self, width, inner, dilations, dimension=64, symbols=64, dropout=0.0):
        super().__init__()
        self.settings = dict(
            width=width, inner=inner, dilations=tuple(dilations), dimension=dimension, symbols=symbols,
            dropout=dropout,
        )
        self.embed = nn.Embedding(TOKEN_COUNT, symbols)
        self.stem = nn.Conv1d(symbols, width, 7, padding=3)
        self.blocks = nn.ModuleList(Block(width, inner, dilation, dropout) for dilation in dilations)
        self.project = nn.Conv1d(width, dimension, 1, bias=False)

    def hidden(self, ids, mask):
        return self.trunk(self.stem(self.embed(ids).transpose(1, 2) * mask), mask)

    def trunk(self, x, mask):
        for block in self.blocks:
            x = block(x, mask)
        return x * inverse_rms(x)

    def vectors(self, hidden):
        return F.normalize(self.project(hidden), dim=1, eps=1e-6)

    def forward(self, input_ids, attention_mask):
        mask = attention_mask.unsqueeze(1).to(self.project.weight.dtype)
        return self.vectors(self.hidden(input_ids, mask)).transpose(1, 2)


class Heads(nn.Module):
    """What is asked of the hidden channels in training only, and the temperatures of both contrasts."""

    def __init__(self, width):
        super().__init__()
        self.letters = nn.Conv1d(width, LETTER_COUNT, 1)
        self.masked = nn.Conv1d(width, 20, 1)
        self.homolog = nn.Conv1d(width, 20, 1)
        self.log_protein_scale = nn.Parameter(torch.tensor(3.0))
        self.log_residue_scale = nn.Parameter(torch.tensor(2.3))


def inverse_rms(x):
    return torch.rsqrt(x.square().mean(1, keepdim=True) + 1e-6)


def parameter_count(module):
    return sum(p.numel() for p in module.parameters())
