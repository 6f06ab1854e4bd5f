#!/usr/bin/env python3
"""Writes the domains' vectors: encode_families.py MODEL DATA FAMILIES.npz OUT.i8 [--profile] [--averaged N]

MODEL is a model.pt of train_families.py, or gloaming-1's, whose stem then sees mean letters; FAMILIES.npz is of
dev_families.py. The encoder sees a protein alone, or with --profile its family's channels. Vectors are those of
the protein itself, or with --averaged the mean of its and N relatives', each of which stands under the protein's
channels where it is aligned.

OUT.i8: int8 [residues x 64], step 1/173.
"""
import argparse
import pathlib

import numpy as np
import torch

from encode import tokenise
from family_model import load_family_encoder
from model import PADDING
from prepare import read_fasta
from profiles import CHANNELS, KINDS, spread

INVERSE_STEP = 173
ONE_OF = np.eye(KINDS + 1, KINDS, dtype=np.float32)
RESIDUES_PER_BATCH = 12000


def main():
    args = read_arguments()
    torch.set_num_threads(1)
    encoder = load_family_encoder(args.model).eval()
    arrays = np.load(args.families)
    families = {key: arrays[key] for key in arrays.files}
    domains = [tokenise(s) for _, s in read_fasta(args.data / "scope40" / "domains.fasta")]
    letters = np.concatenate(domains)
    starts = np.cumsum([0, *map(len, domains)])
    sums = np.zeros((starts[-1], encoder.settings["dimension"]), np.float32)
    crops = list(all_crops(domains, starts, families, args.averaged))
    crops.sort(key=lambda crop: len(crop[0]))
    for batch in batches(crops):
        vectors = run(encoder, batch, families["features"] if args.profile else None, letters)
        for row, (_, places, weight) in enumerate(batch):
            over = places >= 0
            sums[places[over]] += weight * vectors[row, : len(places)][over]
    unit = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    np.clip(np.rint(unit * INVERSE_STEP), -127, 127).astype(np.int8).tofile(args.out)


def read_arguments():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("model", "data", "families", "out"):
        ap.add_argument(name, type=pathlib.Path)
    ap.add_argument("--profile", action="store_true")
    ap.add_argument("--averaged", type=int, default=0)
    return ap.parse_args()


def all_crops(domains, starts, families, averaged):
    """Codes, for each its residue of all the domains' or -1, weight."""
    weight_at = 0
    for at, (own, start) in enumerate(zip(domains, starts)):
        first, end = families["first"][at : at + 2]
        weights = families["weights"][weight_at : weight_at + end - first + 1]
        weight_at += end - first + 1
        yield own, np.arange(start, start + len(own)), float(weights[0])
        for relative in spread(range(first, end), averaged) if averaged else ():
            stretch = slice(*families["offsets"][relative : relative + 2])
            columns = families["columns"][stretch].astype(np.int64)
            codes = families["tokens"][stretch].astype(np.int64)
            yield codes, np.where(columns < 0, -1, columns + start), float(weights[relative - first + 1])


def batches(crops):
    """Neighbours in length, as many as have RESIDUES_PER_BATCH with their padding."""
    start = 0
    while start < len(crops):
        end = start + 1
        while end < len(crops) and (end + 1 - start) * len(crops[end][0]) <= RESIDUES_PER_BATCH:
            end += 1
        yield crops[start:end]
        start = end


@torch.no_grad()
def run(encoder, batch, features, letters):
    ids = np.full((len(batch), len(batch[-1][0])), PADDING)
    channels = np.zeros((*ids.shape, CHANNELS), np.float32)
    for row, (codes, places, _) in enumerate(batch):
        ids[row, : len(codes)] = codes
        if features is not None:
            over = np.flatnonzero(places >= 0)
            channels[row, over] = features[places[over]]
            # The first channels are what the family has more than the letter shown, which may be a relative's.
            channels[row, over, :KINDS] += ONE_OF[letters[places[over]]] - ONE_OF[codes[over]]
    ids = torch.from_numpy(ids)
    return encoder(ids, (ids != PADDING).long(), torch.from_numpy(channels)).numpy()


if __name__ == "__main__":
    main()
