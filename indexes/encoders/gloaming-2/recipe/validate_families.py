#!/usr/bin/env python3
"""Asks models about natural families that none was trained on: validate_families.py TRAINING.npz FAMILIES.npz
gloaming-1.pt MODEL.pt ...

Prints for gloaming-1 without profiles and for each model, which sees them (gloaming-1's stem sees mean letters): how
often the residue of the other half of the family that has the nearest vector is the aligned one; residue and protein
contrast at fixed temperatures; 1 - cosine with gloaming-1's vectors of the whole family's members.
"""
import sys

import numpy as np
import torch

import losses
from encode import load_encoder
from family_batches import FamilySampler
from family_model import load_family_encoder
from train_families import read_crops, teacher_loss

BATCHES, PAIRS, CROP = 8, 48, 144
RESIDUE_SCALE, PROTEIN_SCALE = 12.0, 25.0


def main():
    training, families, first, *models = sys.argv[1:]
    torch.set_num_threads(1)
    sampler = FamilySampler(training, families, 0, PAIRS, 0, CROP)
    sampler.divisible = sampler.held_out
    print(f"{len(sampler.held_out)} families\tcolumns\tresidue\tprotein\tteacher")
    teacher, _ = load_encoder(first)
    for name, encoder in [("without profiles", None), *((path, load_family_encoder(path).eval()) for path in models)]:
        rng, generator = np.random.default_rng(5), torch.Generator().manual_seed(5)
        figures = [ask(sampler.draw(rng), encoder, teacher, generator) for _ in range(BATCHES)]
        print("\t".join([name, *(f"{value:.4f}" for value in np.mean(figures, 0))]), flush=True)


@torch.no_grad()
def ask(drawn, encoder, teacher, generator):
    batch, n = drawn.crops, drawn.crops.pairs
    if encoder is None:
        vectors = teacher(batch.ids, batch.mask.long()).transpose(1, 2)
    else:
        _, vectors = read_crops(encoder, teacher, drawn, half=False)
    sides = vectors[:n], vectors[n : 2 * n], batch.mask[:n], batch.mask[n : 2 * n]
    cosines = torch.bmm(sides[0].transpose(1, 2), sides[1]).masked_fill(~sides[3][:, None], -2)
    asked = batch.columns >= 0
    found = (cosines.argmax(2) == batch.columns)[asked].float().mean()
    residue = losses.residue_contrast(*sides, batch.columns, RESIDUE_SCALE, generator)
    protein, _ = losses.protein_contrast(*sides, PROTEIN_SCALE)
    taught = teacher_loss(vectors[drawn.known], drawn, teacher, half=False)
    return [float(value) for value in (found, residue, protein, taught)]


if __name__ == "__main__":
    main()
