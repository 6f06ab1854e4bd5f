"""The teacher: residual layers of dilated convolutions, attention with rotary positions in every second one, and MLPs.

Channels come last. Weights are kept in float32 and read in the type of the activations.
"""
import torch
from torch import nn
from torch.nn import functional as F

from model import LETTER_COUNT, TOKEN_COUNT

HEAD = 64


def linear(x, layer):
    bias = None if layer.bias is None else layer.bias.to(x.dtype)
    return F.linear(x, layer.weight.to(x.dtype), bias)


def taps(x, count, dilation):
    """[n, length, count * channels]: a residue's channels beside those of its neighbours, zero beyond the ends."""
    reach, length = dilation * (count // 2), x.shape[1]
    padded = F.pad(x, (0, 0, reach, reach))
    return torch.cat([padded[:, k * dilation : k * dilation + length] for k in range(count)], 2)


def normed(x):
    return F.layer_norm(x, x.shape[-1:])


class Layer(nn.Module):
    def __init__(self, width, dilation, attention, dropout):
        super().__init__()
        self.dilation, self.dropout, self.heads = dilation, dropout, width // HEAD
        self.down = nn.Linear(width, width // 2)
        self.mix = nn.Linear(5 * (width // 2), width // 2)
        self.up = nn.Linear(width // 2, width)
        self.attention = attention
        if attention:
            self.query_key = nn.Linear(width, 2 * width, bias=False)
            self.value = nn.Linear(width, width, bias=False)
            self.out = nn.Linear(width, width)
        self.wide = nn.Linear(width, 3 * width)
        self.narrow = nn.Linear(3 * width, width)
        for last in (self.up, self.narrow, *([self.out] if attention else [])):
            nn.init.zeros_(last.weight)
            nn.init.zeros_(last.bias)

    def forward(self, x, mask, positions):
        h = F.relu(linear(normed(x), self.down)) * mask
        x = self.add(x, linear(F.relu(linear(taps(h, 5, self.dilation), self.mix)), self.up))
        if self.attention:
            x = self.add(x, linear(self.attend(normed(x), mask, positions), self.out))
        return self.add(x, linear(F.gelu(linear(normed(x), self.wide)), self.narrow))

    def add(self, x, branch):
        """Dropout takes whole channels of a crop, so that it costs no pass of its own."""
        if not self.training or self.dropout == 0:
            return x + branch
        keep = torch.rand(len(x), 1, x.shape[2], device=x.device) >= self.dropout
        return torch.addcmul(x, branch, keep.to(x.dtype) / (1 - self.dropout))

    def attend(self, x, mask, positions):
        n, length, width = x.shape
        query_key = linear(x, self.query_key).view(n, length, 2 * self.heads, HEAD).transpose(1, 2)
        value = linear(x, self.value).view(n, length, self.heads, HEAD).transpose(1, 2)
        cosine, sine = positions
        one, other = query_key.chunk(2, -1)
        turned = torch.cat([one * cosine - other * sine, other * cosine + one * sine], -1)
        query, key = turned[:, : self.heads], turned[:, self.heads :]
        seen = mask.squeeze(2)[:, None, None, :] > 0
        return dot_attention(query, key, value, seen).transpose(1, 2).reshape(n, length, width)


def dot_attention(query, key, value, seen):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(query, key, value, attn_mask=seen)
    scores = (query @ key.transpose(2, 3)) * HEAD**-0.5
    return scores.masked_fill(~seen, -1e9).softmax(-1) @ value


class Teacher(nn.Module):
    """Unit vectors per residue, [n, length, dimension] of ids [n, length]; heads read the hidden channels."""

    def __init__(self, width=384, dilations=(1, 2, 4, 8, 16, 1, 2, 4, 8, 1), dimension=64, dropout=0.1):
        super().__init__()
        self.settings = dict(width=width, dilations=tuple(dilations), dimension=dimension, dropout=dropout)
        self.embed = nn.Embedding(TOKEN_COUNT, 64)
        self.stem = nn.Linear(7 * 64, width)
        self.layers = nn.ModuleList(
            Layer(width, dilation, at % 2 == 1, dropout) for at, dilation in enumerate(dilations)
        )
        self.project = nn.Linear(width, dimension, bias=False)

    def hidden(self, ids, mask, kind=torch.float32):
        """[n, length, width] in float32; mask [n, length] of residues; `kind` is the type of the arithmetic."""
        positions = rotary(ids.shape[1], ids.device, kind)
        mask = mask.unsqueeze(2).to(kind)
        x = linear(taps(self.embed(ids).to(kind) * mask, 7, 1), self.stem)
        for layer in self.layers:
            x = layer(x, mask, positions)
        return normed(x.float())

    def vectors(self, hidden):
        return F.normalize(self.project(hidden), dim=2, eps=1e-6)

    def forward(self, ids, mask, kind=torch.float32):
        return self.vectors(self.hidden(ids, mask, kind))


def rotary(length, device, kind):
    rates = 10000.0 ** (-torch.arange(0, HEAD, 2, device=device).float() / HEAD)
    angles = torch.arange(length, device=device).float()[:, None] * rates
    return angles.cos().to(kind), angles.sin().to(kind)


class Heads(nn.Module):
    """What is asked of the hidden channels in training only, and the temperatures of both contrasts."""

    def __init__(self, width):
        super().__init__()
        self.letters = nn.Linear(width, LETTER_COUNT)
        self.masked = nn.Linear(width, 20)
        self.homolog = nn.Linear(width, 20)
        self.log_protein_scale = nn.Parameter(torch.tensor(3.0))
        self.log_residue_scale = nn.Parameter(torch.tensor(2.3))
