"""Several encoders as one teacher: its cosines are near the mean of theirs."""
import torch
from torch import nn
from torch.nn import functional as F

from retrieval import encode_all


class Ensemble(nn.Module):
    """Unit vectors per residue, [n, length, 64] of ids [n, length], on the axes of `reference`.

    The members' vectors stand side by side, and the 64 directions in which they vary most are kept. No other 64 are
    nearer to the mean of the members' cosines. `sequences`, tokens of some natural proteins, choose the directions.
    """

    def __init__(self, members, reference, sequences, device, kind):
        super().__init__()
        self.members = nn.ModuleList(members)
        beside = torch.cat(
            [torch.cat(encode_all(member, sequences, device, kind)).double().cpu() for member in members], 1
        )
        wanted = torch.cat(encode_all(reference, sequences, device, kind)).double().cpu()
        variances, directions = torch.linalg.eigh(beside.t() @ beside)
        kept = directions[:, -wanted.shape[1] :]
        self.share = float(variances[-wanted.shape[1] :].sum() / variances.sum())
        u, _, v = torch.linalg.svd(F.normalize(beside @ kept, dim=1).t() @ wanted)
        self.register_buffer("axes", (kept @ u @ v).float().to(device))

    def forward(self, ids, mask, kind=torch.float32):
        beside = torch.cat([member(ids, mask, kind) for member in self.members], 2)
        return F.normalize(beside @ self.axes, dim=2, eps=1e-6)
