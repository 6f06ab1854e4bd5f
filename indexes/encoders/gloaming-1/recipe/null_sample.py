#!/usr/bin/env python3
"""Draws the natural proteins that the reference nulls of gloaming-1 are fitted to, and writes them as FASTA.

    null_sample.py DATA OUT.fasta
    gloaming encoder calibrate gloaming-1 OUT.fasta --sample 6000

The null of databases with homologs takes a part of the sample. One sequence of each natural cluster at 50 % identity
is its homolog source.

    null_sample.py DATA PART.fasta --share .32 --source SOURCE.fasta
    gloaming homolog-source add SOURCE.fasta --name natural
    gloaming encoder calibrate gloaming-1 PART.fasta --sample 4000 --homologs natural

DATA holds the developers' proteins: `uniprot-sample.fasta.gz`, `natural/clean.fasta.xz` with `natural/meta.tsv.xz`,
and `scope40/domains.fasta` with `labels.tsv`. The draw is seeded: equal data give equal bytes.

Whole proteins and domains are both in the sample, because databases of both exist. Natural sequences come from
different clusters at 50 % identity, at most 40 of one Pfam family, so that no family dominates. Domains are those of
training folds; none of a dev fold is drawn.
"""
import argparse
import collections
import csv
import gzip
import lzma
import random
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


def write_source(data, path):
    """Writes the sequence with the smallest id of each cluster of the natural sequences."""
    first = {}
    with lzma.open(data / "natural/meta.tsv.xz", "rt") as table:
        for row in csv.DictReader(table, delimiter="\t"):
            cluster, name = row["cluster50"], row["id"]
            first[cluster] = min(first.get(cluster, name), name)
    wanted = set(first.values())
    with open(path, "w") as file:
        for name in ("clean", "screened-out"):
            with lzma.open(data / f"natural/{name}.fasta.xz", "rt") as lines:
                for identifier, letters in fasta(lines):
                    if identifier in wanted:
                        file.write(f">{identifier}\n{letters}\n")


def main(data, out, share, source):
    if source:
        write_source(Path(data), source)
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
    drawn = [
        protein
        for proteins, count in ((usable(whole), WHOLE), (usable(natural), NATURAL), (domains, DOMAINS))
        for protein in draw.sample(proteins, count)[: round(count * share)]
    ]
    with open(out, "w") as file:
        for name, letters in drawn:
            file.write(f">{name}\n{letters}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("out")
    parser.add_argument("--share", type=float, default=1, help="part of the sample, 0..1")
    parser.add_argument("--source", help="FASTA of the homolog source to write")
    parsed = parser.parse_args()
    main(parsed.data, parsed.out, parsed.share, parsed.source)
