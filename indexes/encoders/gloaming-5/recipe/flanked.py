"""Batches in which a stretch of a protein stands between residues of other proteins, or alone.

A domain's vectors depend on what stands beside it. In these batches the objectives ask about the stretch as before,
and the encoder sees it with other neighbours: so it learns vectors that do not depend on them.
"""
import dataclasses

import torch

from drawing import IGNORED, UNKNOWN_LETTER, Batch, Drawer
from model import PADDING

LEAST_STRETCH = 50
WHOLE_SHARE = 0.5
FOREIGN_SHARE = 0.75


@dataclasses.dataclass
class FlankedBatch(Batch):
    """What the objectives ask about is Batch; the encoder reads `seen` and `seen_mask`.

    Residue i of a crop stands at place back[:, i] of `seen`. Residues of the crop that the encoder does not see are
    missing from `mask`. `clean` is the crop without foreign neighbours, `clean_mask` all of its residues.
    """

    seen: torch.Tensor
    seen_mask: torch.Tensor
    back: torch.Tensor
    clean: torch.Tensor
    clean_mask: torch.Tensor


class FlankedDrawer(Drawer):
    """Draws as Drawer does, with remote natural pairs as often as the others, then flanks a share of the crops."""

    def __init__(self, *arguments, share, remote_count, clean_share=0.0, **options):
        super().__init__(*arguments, **options)
        self.share, self.remote_count, self.clean_share = share, remote_count, clean_share

    def _natural_pairs(self):
        data = self.proteins
        near = data.natural_alignments - self.remote_count
        counts = torch.full((self.natural,), near, device=self.device)
        at = self.below(counts)
        if self.remote_count:
            remote = near + self.below(torch.full_like(counts, self.remote_count))
            at = torch.where(self.uniform(self.natural) < 0.5, at, remote)
        alignment = data.labelled_alignments + at
        return data.first[alignment], data.second[alignment], alignment

    def draw(self):
        drawn = super().draw()
        n, length = drawn.original.shape
        ids, masked = drawn.ids, drawn.masked
        if self.clean_share:
            clean = self.uniform(n, 1) < self.clean_share
            ids, masked = torch.where(clean, drawn.original, ids), masked & ~clean
        lengths = drawn.mask.sum(1)
        chosen = self.uniform(n) < self.share
        room = (lengths - LEAST_STRETCH).clamp(min=0)
        shorter = lengths - (self.uniform(n) * (room + 1)).long().minimum(room)
        width = torch.where(chosen & (self.uniform(n) > WHOLE_SHARE), shorter, lengths)
        first = (self.uniform(n) * (lengths - width + 1)).long().minimum(lengths - width)
        place = (self.uniform(n) * (length - width + 1)).long().minimum(length - width)
        place = torch.where(chosen, place, torch.zeros_like(place))
        foreign = chosen & (self.uniform(n) < FOREIGN_SHARE)
        at = torch.arange(length, device=self.device)[None]
        own = (at >= first[:, None]) & (at < (first + width)[:, None])
        inside = (at >= place[:, None]) & (at < (place + width)[:, None])
        moved = ids.gather(1, (at - place[:, None] + first[:, None]).clamp(0, length - 1))
        begin = (self.uniform(n).double() * (self.residues - length)).long()
        other = self.proteins.tokens[begin[:, None] + at].long()
        empty = torch.where(foreign[:, None], other, torch.full_like(other, PADDING))
        back = (at - first[:, None] + place[:, None]).clamp(0, length - 1)
        values = {field.name: getattr(drawn, field.name) for field in dataclasses.fields(Batch)}
        values.update(
            ids=ids, mask=own, masked=masked & own,
            letters=torch.where(own, drawn.letters, torch.full_like(drawn.letters, UNKNOWN_LETTER)),
            columns=seen_columns(drawn.columns, own, drawn.pairs),
        )
        seen = torch.where(inside, moved, empty)
        return FlankedBatch(
            **values, seen=seen, seen_mask=inside | foreign[:, None], back=back,
            clean=drawn.original, clean_mask=drawn.mask,
        )


def seen_columns(columns, own, pairs):
    """`columns` without those of which one residue is not seen."""
    other = own[pairs : 2 * pairs].gather(1, columns.clamp(min=0))
    kept = (columns != IGNORED) & own[:pairs] & other
    return torch.where(kept, columns, torch.full_like(columns, IGNORED))
