"""gloaming-1's encoder, with its parameters' names, computed with channels last in a type of choice."""
import torch
from torch.nn import functional as F

from model import Encoder
from teacher import taps


class Student(Encoder):
    """hidden gives [n, length, width] and vectors [n, length, dimension]; the weights load into model.Encoder."""

    def hidden(self, ids, mask, kind=torch.float32):
        mask = mask.unsqueeze(2).to(kind)
        x = convolve(self.embed(ids).to(kind) * mask, self.stem, 7, 1)
        for block in self.blocks:
            x = x + self.branch(x, mask, block)
        x = x.float()
        return x * torch.rsqrt(x.square().mean(2, keepdim=True) + 1e-6)

    def branch(self, x, mask, block):
        down = block.down.weight.squeeze(2).to(x.dtype)
        h = F.linear(scaled(x), down, block.down_bias.view(-1).to(x.dtype))
        h = F.relu(h) * mask
        h = F.relu(convolve(h, block.mix, 5, block.mix.dilation[0]))
        if self.training and block.dropout > 0:
            keep = torch.rand(len(h), 1, h.shape[2], device=h.device) >= block.dropout
            h = h * (keep.to(h.dtype) / (1 - block.dropout))
        return F.linear(h, block.up.weight.squeeze(2).to(x.dtype), block.up.bias.to(x.dtype))

    def vectors(self, hidden):
        return F.normalize(F.linear(hidden, self.project.weight.squeeze(2)), dim=2, eps=1e-6)

    def forward(self, ids, mask, kind=torch.float32):
        return self.vectors(self.hidden(ids, mask, kind))


def convolve(x, layer, count, dilation):
    weight = layer.weight.permute(0, 2, 1).flatten(1).to(x.dtype)
    return F.linear(taps(x, count, dilation), weight, layer.bias.to(x.dtype))


def scaled(x):
    """Root mean square of 1, as gloaming-1's blocks have it before their first bias."""
    if hasattr(F, "rms_norm"):
        return F.rms_norm(x, x.shape[-1:], eps=1e-6)
    return x * torch.rsqrt(x.float().square().mean(2, keepdim=True) + 1e-6).to(x.dtype)
