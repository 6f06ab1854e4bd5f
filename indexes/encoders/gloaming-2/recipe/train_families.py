#!/usr/bin/env python3
"""Goes on from gloaming-1 with profiles beside the letters.

usage: train_families.py TRAINING.npz FOLDER --steps N --families FAMILIES.npz --init gloaming-1.pt [...]

All else is as in gloaming-1's train.py. Crops of which no relatives are shown have gloaming-1's vectors, and nothing
is learned from them but to be found by the others. A teacher, gloaming-1 itself, is shown one member of the family,
each as likely as it weighs: what the encoder comes nearest to is the mean of the vectors over the whole family.
"""
import pathlib

import torch
from torch.nn import functional as F

import losses
from batches import IGNORED
from encode import load_encoder
from family_batches import FamilySampler
from family_model import load_family_encoder
from model import PADDING
from muon import Muon
from train import Run, make_parser, start

WEIGHTS = dict(teacher=4.0, protein=0.1, natural=0.5, residue=1.0, letters=0.5, profile=0.5)


class FamilyRun(Run):
    def __init__(self, args):
        super().__init__(args)
        given = (pair.split("=") for pair in args.weights.split(",") if pair)
        self.weights = {**WEIGHTS, **{key: float(value) for key, value in given}}

    def make_sampler(self):
        args = self.args
        return FamilySampler(args.data, args.families, args.labelled, args.natural, args.singles, args.crop)

    def make_encoder(self):
        teacher, _ = load_encoder(self.args.init)
        self.teacher = teacher.to(self.device)
        return load_family_encoder(self.args.init)

    def make_optimizers(self):
        """New weights learn at the full rate, gloaming-1's at those that are given."""
        args, encoder = self.args, self.encoder
        matrices = [p for name, p in encoder.blocks.named_parameters() if p.dim() == 3 and "bias" not in name]
        new = [*encoder.new_parameters(), *self.heads.parameters()]
        known = {id(p) for p in [*matrices, *new]}
        rest = [p for p in encoder.parameters() if id(p) not in known]
        groups = [dict(params=new, lr=args.new_rate), dict(params=rest, lr=args.adam_rate)]
        optimizers = [
            Muon(matrices, args.muon_rate, weight_decay=0.0),
            torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.0),
        ]
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["peak"] = group["lr"]
        return optimizers

    def objectives(self, drawn):
        drawn = drawn.to(self.device)
        batch, heads, generator = drawn.crops, self.heads, self.generator
        n, labelled, mask = batch.pairs, batch.labelled_pairs, batch.mask
        hidden, vectors = read_crops(self.encoder, self.teacher, drawn, self.args.half)
        sides = vectors[:n], vectors[n : 2 * n], mask[:n], mask[n : 2 * n]
        protein_scale = heads.log_protein_scale.exp().clamp(max=100)
        residue_scale = heads.log_residue_scale.exp().clamp(max=50)
        protein, hit = losses.protein_contrast(*(side[:labelled] for side in sides), protein_scale)
        natural, _ = losses.protein_contrast(*(side[labelled:] for side in sides), protein_scale)
        return dict(
            teacher=teacher_loss(vectors[drawn.known], drawn, self.teacher, self.args.half),
            protein=protein, hit=hit, natural=natural,
            residue=losses.residue_contrast(*sides, batch.columns, residue_scale, generator),
            letters=losses.letter_loss(hidden, heads, batch.letters),
            profile=profile_loss(hidden, heads, drawn.frequencies, batch.columns),
            protein_scale=protein_scale, residue_scale=residue_scale,
        )


def read_crops(encoder, teacher, drawn, half):
    """Hidden channels and vectors of all crops: the teacher's where no relatives are shown."""
    ids, mask, known = drawn.crops.ids, drawn.crops.mask, drawn.known
    left = torch.ones(len(ids), dtype=torch.bool, device=ids.device)
    left[known] = False
    alone = left.nonzero()[:, 0]
    weights = mask.unsqueeze(1).float()
    with torch.autocast(ids.device.type, torch.bfloat16, enabled=half):
        seen = encoder.hidden(ids[known], weights[known], drawn.profile)
        with torch.no_grad():
            unseen = teacher.hidden(ids[alone], weights[alone])
    seen, unseen = seen.float(), unseen.float()
    hidden = seen.new_zeros(len(ids), *seen.shape[1:]).index_copy(0, known, seen).index_copy(0, alone, unseen)
    vectors = encoder.vectors(hidden)
    return hidden, vectors.index_copy(0, alone, teacher.vectors(unseen).detach())


def teacher_loss(vectors, drawn, teacher, half):
    """1 - cosine with what the teacher says of the family's member that stands there."""
    ids, columns = drawn.teacher_ids, drawn.teacher_columns
    with torch.no_grad():
        with torch.autocast(ids.device.type, torch.bfloat16, enabled=half):
            hidden = teacher.hidden(ids, (ids != PADDING).unsqueeze(1).float())
        wanted = teacher.vectors(hidden.float())
    rows, at = (columns != IGNORED).nonzero(as_tuple=True)
    return 1 - (vectors[rows, :, columns[rows, at]] * wanted[rows, :, at]).sum(1).mean()


def profile_loss(hidden, heads, frequencies, columns):
    """Cross-entropy of what the aligned column of the partner's whole family holds."""
    pairs = len(columns)
    total, asked = 0.0, 0
    for own, partner, places in (
        (slice(0, pairs), slice(pairs, 2 * pairs), columns),
        (slice(pairs, 2 * pairs), slice(0, pairs), losses.invert(columns, columns.shape[1])),
    ):
        rows, at = (places != IGNORED).nonzero(as_tuple=True)
        logs = F.log_softmax(heads.homolog(hidden[own]), 1)[rows, :, at]
        total = total - (frequencies[partner][rows, places[rows, at]] * logs).sum()
        asked += len(rows)
    return total / asked


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--families", type=pathlib.Path, required=True)
    parser.add_argument("--new-rate", type=float, default=2e-3, help="AdamW's, of the profile's weights and the heads")
    parser.add_argument("--weights", default="", help="of objectives, where others than usual: teacher=8,protein=0")
    parser.set_defaults(adam_rate=2e-4, muon_rate=2e-3)
    start(FamilyRun, parser.parse_args())


if __name__ == "__main__":
    main()
