#!/usr/bin/env python3
"""Writes the domains' vectors: encode_families.py GLOAMING_1 DATA FAMILIES.npz OUT.i8 [--profile MODEL] [--averaged N]

FAMILIES.npz is of dev_families.py. With --profile, proteins that have relatives are encoded by MODEL, a model.pt of
train_families.py, which sees the family's channels; or gloaming-1's, whose stem then sees mean letters. All others are
encoded by gloaming-1. Vectors are those of the protein itself, or with --averaged the mean of its and N relatives',
each of which stands under the protein's channels where it is aligned.

OUT.i8: int8 [residues x 64], step 1/173.
"""
import argparse
import dataclasses
import pathlib

import numpy as np
import torch

from encode import load_encoder, tokenise
from family_model import load_family_encoder
from model import PADDING
from prepare import read_fasta
from profiles import CHANNELS, KINDS, spread

INVERSE_STEP = 173
ONE_OF = np.eye(KINDS + 1, KINDS, dtype=np.float32)
RESIDUES_PER_BATCH = 12000


@dataclasses.dataclass
class Crop:
    """Codes, for each its residue of all the domains' or -1; the weight in the mean; whether relatives are known."""

    codes: np.ndarray
    places: np.ndarray
    weight: float
    family: bool


def main():
    args = read_arguments()
    torch.set_num_threads(1)
    alone, _ = load_encoder(args.gloaming_1)
    arrays = np.load(args.families)
    families = {key: arrays[key] for key in arrays.files}
    domains = [tokenise(s) for _, s in read_fasta(args.data / "scope40" / "domains.fasta")]
    letters = np.concatenate(domains)
    starts = np.cumsum([0, *map(len, domains)])
    sums = np.zeros((starts[-1], alone.settings["dimension"]), np.float32)
    crops = sorted(all_crops(domains, starts, families, args.averaged), key=lambda crop: len(crop.codes))
    seen = [crop for crop in crops if args.profile and crop.family]
    if seen:
        encoder, features = load_family_encoder(args.profile).eval(), families["features"]
        add(sums, seen, lambda batch, ids, mask: encoder(ids, mask, channels_of(batch, ids.shape, features, letters)))
    add(sums, [crop for crop in crops if not (args.profile and crop.family)], lambda _, *crops: alone(*crops))
    unit = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    np.clip(np.rint(unit * INVERSE_STEP), -127, 127).astype(np.int8).tofile(args.out)


def read_arguments():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("gloaming_1", "data", "families", "out"):
        ap.add_argument(name, type=pathlib.Path)
    ap.add_argument("--profile", type=pathlib.Path)
    ap.add_argument("--averaged", type=int, default=0)
    return ap.parse_args()


def all_crops(domains, starts, families, averaged):
    weight_at = 0
    for at, (own, start) in enumerate(zip(domains, starts)):
        first, end = families["first"][at : at + 2]
        weights = families["weights"][weight_at : weight_at + end - first + 1]
        weight_at += end - first + 1
        family = end > first
        yield Crop(own, np.arange(start, start + len(own)), float(weights[0]), family)
        for relative in spread(range(first, end), averaged) if averaged else ():
            stretch = slice(*families["offsets"][relative : relative + 2])
            columns = families["columns"][stretch].astype(np.int64)
            codes = families["tokens"][stretch].astype(np.int64)
            places = np.where(columns < 0, -1, columns + start)
            yield Crop(codes, places, float(weights[relative - first + 1]), family)


@torch.no_grad()
def add(sums, crops, encode):
    for batch in batches(crops):
        ids = np.full((len(batch), len(batch[-1].codes)), PADDING)
        for row, crop in enumerate(batch):
            ids[row, : len(crop.codes)] = crop.codes
        ids = torch.from_numpy(ids)
        vectors = encode(batch, ids, (ids != PADDING).long()).numpy()
        for row, crop in enumerate(batch):
            over = crop.places >= 0
            sums[crop.places[over]] += crop.weight * vectors[row, : len(over)][over]


def batches(crops):
    """Neighbours in length, as many as have RESIDUES_PER_BATCH with their padding."""
    start = 0
    while start < len(crops):
        end = start + 1
        while end < len(crops) and (end + 1 - start) * len(crops[end].codes) <= RESIDUES_PER_BATCH:
            end += 1
        yield crops[start:end]
        start = end


def channels_of(batch, shape, features, letters):
    channels = np.zeros((*shape, CHANNELS), np.float32)
    for row, crop in enumerate(batch):
        over = np.flatnonzero(crop.places >= 0)
        places = crop.places[over]
        channels[row, over] = features[places]
        # The first channels are what the family has more than the letter shown, which may be a relative's.
        channels[row, over, :KINDS] += ONE_OF[letters[places]] - ONE_OF[crop.codes[over]]
    return torch.from_numpy(channels)


if __name__ == "__main__":
    main()
