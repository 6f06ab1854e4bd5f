#!/usr/bin/env python3
"""Gathers proteins, aligned pairs and relatives for training: gather.py DATA WORK

WORK holds labelled-alignments.tsv, relatives.tsv, asked.fasta and background.fasta (prepare_data.sh makes them) and
receives training.npz, as gloaming-1's recipe describes it, and families.npz: by protein of training.npz its
relatives, their letters and the steps between the columns in which these stand.
"""
import collections
import pathlib
import random
import sys

import numpy as np

from encode import tokenise
from prepare import read_fasta, read_supervised, write_arrays
from profiles import MOST_RELATIVES, crop_of, read_hits, spread

LEAST_RELATIVES = 8


def main():
    data, work = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    supervised = read_supervised(data / "scope40")
    asked = dict(read_fasta(work / "asked.fasta"))
    hits = read_hits(work / "relatives.tsv", asked)
    with open(work / "labelled-alignments.tsv") as handle:
        rows = [line.rstrip("\n").split("\t") for line in handle]
    aligned = [(a, b, 0, int(i), int(j), path) for a, b, i, j, path in rows]
    found = [name for name in asked if name not in supervised and len(hits.get(name, [])) >= LEAST_RELATIVES]
    natural = {name: [asked[name], "-", "", ""] for name in found}
    print(f"{len(aligned)} labelled pairs, {len(natural)} natural proteins", flush=True)
    write_arrays(work / "training.npz", supervised, natural, aligned, [])
    sequences = [protein[0] for protein in {**supervised, **natural}.values()]
    write_families(work, list({**supervised, **natural}), sequences, hits)


def write_families(work, names, sequences, hits):
    chosen = [spread(hits.get(name, []), MOST_RELATIVES) for name in names]
    wanted = {hit[1] for found in chosen for hit in found}
    targets = {n: tokenise(s).astype(np.uint8) for n, s in read_fasta(work / "background.fasta") if n in wanted}
    kept = collections.defaultdict(list)
    for sequence, found in zip(sequences, chosen):
        crops = [crop_of(hit, targets[hit[1]], len(sequence)) for hit in found]
        kept["count"].append(len(crops))
        kept["crops"] += crops
    count = np.array(kept["count"])
    shares = f"{(count > 0).mean():.3f} with relatives, {(count >= 5).mean():.3f} with five or more"
    print(f"{shares}, mean {count.mean():.1f}")
    # Steps between columns are nearly all 1, and take a twentieth of the columns' room.
    steps = np.diff(np.concatenate([columns for _, columns in kept["crops"]]), prepend=np.int16(0))
    np.savez_compressed(
        work / "families.npz",
        first=np.cumsum([0, *count]), offsets=np.cumsum([0, *(len(codes) for codes, _ in kept["crops"])]),
        tokens=np.concatenate([codes for codes, _ in kept["crops"]]), steps=steps,
    )


if __name__ == "__main__":
    main()
