#!/usr/bin/env python3
"""Writes what is known of the families of all domains: dev_families.py DATA TABLE BACKGROUND.fasta FAMILIES.npz

TABLE: mmseqs' hits of the domains in BACKGROUND, columns query, target, evalue, fident, qstart, qend, qlen, tstart,
tend, tlen, cigar. Relatives are selected as src/families does it. For each residue, in the order of the domains: the
encoder's channels and the profile; for each domain its AVERAGED relatives with their weights.
"""
import collections
import pathlib
import sys

import numpy as np

from encode import tokenise
from prepare import read_fasta
from profiles import (
    MOST_RELATIVES, crop_of, features, lay_over, observed, profile_of, read_hits, row_weights, spread, without_copies,
)

AVERAGED = 16


def main():
    data, table, background, out = map(pathlib.Path, sys.argv[1:5])
    domains = list(read_fasta(data / "scope40" / "domains.fasta"))
    hits = read_hits(table, {name for name, _ in domains})
    wanted = {hit[1] for found in hits.values() for hit in found}
    targets = {n: tokenise(s).astype(np.uint8) for n, s in read_fasta(background) if n in wanted}
    kept = collections.defaultdict(list)
    for name, sequence in domains:
        own = tokenise(sequence).astype(np.uint8)
        crops = [crop_of(hit, targets[hit[1]], len(own)) for hit in hits.get(name, [])]
        crops = [crops[at - 1] for at in spread(without_copies(lay_over(own, crops)), MOST_RELATIVES)]
        rows = lay_over(own, crops)
        averaged = spread(crops, AVERAGED)
        # Channels of zero say that no relatives are known.
        kept["features"].append((features(rows) * (len(crops) > 0)).T.astype(np.float16))
        kept["profile"].append(profile_of(observed(rows, row_weights(rows))[0]).astype(np.float16))
        kept["weights"].append(row_weights(lay_over(own, averaged)))
        kept["relatives"].append(len(crops))
        kept["count"].append(len(averaged))
        kept["crops"] += averaged
    np.savez(
        out,
        features=np.concatenate(kept["features"]), profile=np.concatenate(kept["profile"]),
        weights=np.concatenate(kept["weights"]).astype(np.float32), relatives=np.array(kept["relatives"]),
        first=np.cumsum([0, *kept["count"]]), offsets=np.cumsum([0, *(len(codes) for codes, _ in kept["crops"])]),
        tokens=np.concatenate([codes for codes, _ in kept["crops"]]),
        columns=np.concatenate([columns for _, columns in kept["crops"]]),
    )


if __name__ == "__main__":
    main()
