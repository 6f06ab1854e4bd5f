#!/usr/bin/env python3
"""Packs the domains, their labels and families for dev figures: pack_domains.py DATA OUT [DEV.npz]

DEV.npz is of gloaming-2's dev_families.py. OUT receives domains.npz and, with DEV.npz, families.npz: the relatives that
are averaged, their weights, and for each of their residues the step from the last one's place among all domains'.
"""
import csv
import pathlib
import sys

import numpy as np

from encode import tokenise
from prepare import read_fasta

csv.field_size_limit(10**9)


def main():
    data, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    domains = list(read_fasta(data / "scope40" / "domains.fasta"))
    with open(data / "scope40" / "labels.tsv") as handle:
        rows = {row["id"]: row for row in csv.DictReader(handle, delimiter="\t")}
    labels = [rows[name] for name, _ in domains]
    sccs = [row["sccs"] for row in labels]
    np.savez_compressed(
        out / "domains.npz",
        tokens=np.concatenate([tokenise(s).astype(np.uint8) for _, s in domains]),
        lengths=np.array([len(s) for _, s in domains], np.uint16),
        family=numbered(sccs), superfamily=numbered([s.rsplit(".", 1)[0] for s in sccs]),
        group=numbered([row["foldgroup"] or ".".join(row["sccs"].split(".")[:2]) for row in labels]),
        catch_all=np.array([s.endswith(".0") for s in sccs]),
        dev=np.array([row["split"] == "dev" for row in labels]),
    )
    if len(sys.argv) > 3:
        pack_families(np.load(sys.argv[3]), [len(s) for _, s in domains], out)


def numbered(values):
    code = {value: at for at, value in enumerate(sorted(set(values)))}
    return np.array([code[value] for value in values], np.int16)


def pack_families(arrays, lengths, out):
    """The same order of relatives as in DEV.npz; a place is -1 where a relative stands over no residue."""
    starts = np.concatenate([[0], np.cumsum(lengths)])
    first, offsets = arrays["first"], arrays["offsets"]
    weights, columns = arrays["weights"], arrays["columns"].astype(np.int64)
    own, others, places, at = [], [], [], 0
    for domain, (begin, end) in enumerate(zip(first[:-1], first[1:])):
        own.append(weights[at])
        others.append(weights[at + 1 : at + 1 + end - begin])
        at += 1 + end - begin
        stretch = columns[offsets[begin] : offsets[end]]
        places.append(np.where(stretch < 0, -1, stretch + starts[domain]))
    places = np.concatenate(places)
    np.savez_compressed(
        out / "families.npz",
        tokens=arrays["tokens"].astype(np.uint8), lengths=np.diff(offsets).astype(np.uint16),
        steps=np.diff(places, prepend=0).astype(np.int32),
        own_weights=np.array(own, np.float32), weights=np.concatenate(others).astype(np.float32),
    )


if __name__ == "__main__":
    main()
