#!/usr/bin/env python3
"""Draws the natural proteins that the reference null of gloaming-1 is fitted to, and writes them as FASTA.

    null_sample.py DATA OUT.fasta
    gloaming encoder calibrate gloaming-1 OUT.fasta --sample 6000

DATA holds the developers' proteins: `uniprot-sample.fasta.gz`, `natural/clean.fasta.xz` with `natural/meta.tsv.xz`,
and `scope40/domains.fasta` with `labels.tsv`. The draw is seeded: equal data give equal bytes.

Whole proteins and domains are both in the sample, because databases of both exist. Natural sequences come from
different clusters at 50 % identity, at most 40 of one Pfam family, so that no family dominates. Domains are those of
training folds; none of a dev fold is drawn.
"""
import collections
import csv
import gzip
import lzma
import random
import sys
from pathlib import Path

SEED = 7
WHOLE, NATURAL, DOMAINS = 4500, 5500, 3000
SHORTEST, LONGEST = 30, 2000
MOST_OF_A_FAMILY = 40


def fasta(lines):
    """Yields (id, sequence) of each record."""
    name, parts = None, []
    for line in lines:
        line = line.rstrip("\n")
        if line.startswith(">"):
            if name:
                yield name, "".join(parts)
            name, parts = line[1:].split()[0], []
        else:
            parts.append(line)
    if name:
        yield name, "".join(parts)


def usable(proteins):
    return [(name, letters) for name, letters in proteins if SHORTEST <= len(letters) <= LONGEST]


def natural_ids(data, draw):
    """One id of each of NATURAL clusters of clean sequences; SCOPe's own sequences are left out."""
    members, source = collections.defaultdict(list), {}
    with lzma.open(data / "natural/meta.tsv.xz", "rt") as table:
        for row in csv.DictReader(table, delimiter="\t"):
            if row["screen"] == "clean" and "scope" not in row["source"]:
                members[row["cluster50"]].append(row["id"])
                source[row["id"]] = row["source"]
    clusters = sorted(members)
    draw.shuffle(clusters)
    chosen, of_source = [], collections.Counter()
    for cluster in clusters:
        name = draw.choice(members[cluster])
        path = source[name]
        if "balifam" in path and of_source[path] >= MOST_OF_A_FAMILY:
            continue
        of_source[path] += 1
        chosen.append(name)
        if len(chosen) >= NATURAL + 500:
            return set(chosen)
    return set(chosen)


def main(data, out):
    data, draw = Path(data), random.Random(SEED)
    with open(data / "scope40/labels.tsv") as table:
        labels = {row["id"]: row for row in csv.DictReader(table, delimiter="\t")}
    with open(data / "scope40/domains.fasta") as lines:
        domains = [entry for entry in fasta(lines) if labels[entry[0]]["split"] == "train"]
    with gzip.open(data / "uniprot-sample.fasta.gz", "rt") as lines:
        whole = [(name.split("|")[1] if "|" in name else name, letters) for name, letters in fasta(lines)]
    wanted = natural_ids(data, draw)
    with lzma.open(data / "natural/clean.fasta.xz", "rt") as lines:
        natural = [entry for entry in fasta(lines) if entry[0] in wanted]
    drawn = (
        draw.sample(usable(whole), WHOLE)
        + draw.sample(usable(natural), NATURAL)
        + draw.sample(domains, DOMAINS)
    )
    with open(out, "w") as file:
        for name, letters in drawn:
            file.write(f">{name}\n{letters}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
