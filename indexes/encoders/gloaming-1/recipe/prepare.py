#!/usr/bin/env python3
"""Gathers all training data into one file of arrays: sequences, letters, labels and aligned pairs.

usage: prepare.py DATA WORK

DATA the folder with scope40/; WORK holds natural-alignments.tsv and reps.fasta (prepare_data.sh makes
      them) and receives training.npz.

Only the `train` split of the domains and the `clean` part of the natural sequences are read. Pairs of one
superfamily are aligned by BLOSUM62 first, to learn log-odds of the structural letters from them; then by
letters and residues together. What random pairs of different fold groups reach is the bar that an
alignment must clear to be trusted.
"""
import collections
import csv
import itertools
import pathlib
import random
import re
import subprocess
import sys

import numpy as np

RESIDUES = "ACDEFGHIKLMNPQRSTVWYX"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghij"
UNKNOWN_LETTER = 255
PAIRS_PER_SUPERFAMILY = 2500
NATURAL_PAIRS_PER_QUERY = 6
# Weights of letters and residues, gap open, gap extend. Of eight settings JOINT found most superfamily
# pairs at 1 % of random pairs.
RESIDUES_ONLY, JOINT = (0, 1, 11, 1), (0.4, 1, 11, 1)
ONE_DOMAIN = re.compile(r"[a-z]\.\d+\.\d+\.\d+")
PATH_STEP = re.compile(r"(\d+)([MID])")
csv.field_size_limit(10**9)


def main():
    data, work = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    rng = random.Random(20261121)
    proteins = read_supervised(data / "scope40")
    aligned = align_supervised(proteins, work, rng)
    print(f"{len(proteins)} labelled proteins, {len(aligned)} alignments between them", flush=True)
    natural, more = read_natural(work, rng)
    print(f"{len(natural)} natural proteins, {len(more)} alignments between them", flush=True)
    write_arrays(work / "training.npz", proteins, natural, aligned, more)


def read_supervised(folder):
    """By id: sequence, letters or "-", sccs, fold group. Whole chains of several domains have no label."""
    proteins, groups = {}, {}
    with open(folder / "labels.tsv") as handle:
        rows = [row for row in csv.DictReader(handle, delimiter="\t") if row["split"] == "train"]
    sequences = dict(read_fasta(folder / "domains.fasta"))
    for row in rows:
        fold = ".".join(row["sccs"].split(".")[:2])
        groups[fold] = row["foldgroup"]
        proteins[row["id"]] = [sequences[row["id"]], "-", row["sccs"], row["foldgroup"]]
    with open(folder / "structure-letters.tsv") as handle:
        for row in csv.DictReader(handle, delimiter="\t"):
            if row["id"] in proteins:
                proteins[row["id"]][0:2] = row["sequence"], row["letters"]
            else:
                fold = ".".join(row["sccs"].split(".")[:2])
                labelled = ONE_DOMAIN.fullmatch(row["sccs"]) and fold in groups
                label = (row["sccs"], groups[fold]) if labelled else ("", "")
                proteins[row["id"]] = [row["sequence"], row["letters"], *label]
    with open(folder / "uniprot-train.tsv") as handle:
        for row in csv.DictReader(handle, delimiter="\t"):
            fold = ".".join(row["sccs"].split(".")[:2])
            if fold in groups:
                proteins[row["id"]] = [row["sequence"], "-", row["sccs"], groups[fold]]
    return proteins


def align_supervised(proteins, work, rng):
    with open(work / "supervised.tsv", "w") as out:
        for name, (sequence, letters, _, _) in proteins.items():
            out.write(f"{name}\t{sequence}\t{letters}\n")
    pairs = homologous_pairs(proteins, rng)
    structural = [p for p in pairs if all(proteins[name][1] != "-" for name in p)]
    random_pairs = unrelated_pairs(proteins, rng, 20000)
    np.savetxt(work / "letters.txt", np.zeros((36, 36)))
    same_family = [p for p in structural if proteins[p[0]][2] == proteins[p[1]][2]]
    first = run_aligner(work, draw(rng, same_family, 20000), *RESIDUES_ONLY)
    np.savetxt(work / "letters.txt", letter_log_odds(proteins, [a for a in first if a[2] >= 600]))
    second = run_aligner(work, draw(rng, structural, 20000), *JOINT)
    np.savetxt(work / "letters.txt", letter_log_odds(proteins, [a for a in second if a[2] >= 1000]))

    by_kind = collections.defaultdict(list)
    for score in run_aligner(work, random_pairs, *JOINT):
        by_kind[both_have_letters(proteins, score)].append(score[2])
    bars = {kind: np.quantile(scores, 0.985) for kind, scores in by_kind.items()}
    print("bars (sequence only, with letters):", bars, flush=True)
    found = run_aligner(work, pairs, *JOINT)
    kept = [a for a in found if a[2] > bars[both_have_letters(proteins, a)]]
    print(f"{len(found)} pairs aligned, {len(kept)} above the bar", flush=True)
    return kept


def draw(rng, items, count):
    return rng.sample(items, min(count, len(items)))


def both_have_letters(proteins, alignment):
    return proteins[alignment[0]][1] != "-" and proteins[alignment[1]][1] != "-"


def homologous_pairs(proteins, rng):
    """Pairs of one superfamily, the lettered ones among themselves too, as they align best."""
    members = collections.defaultdict(list)
    for name, (_, letters, sccs, _) in proteins.items():
        if sccs:
            superfamily = sccs.rsplit(".", 1)[0]
            members[superfamily, "all"].append(name)
            if letters != "-":
                members[superfamily, "lettered"].append(name)
    pairs = set()
    for names in members.values():
        possible = len(names) * (len(names) - 1) // 2
        limit = min(PAIRS_PER_SUPERFAMILY, 20 * len(names))
        if possible <= limit:
            pairs.update(itertools.combinations(names, 2))
        else:
            pairs.update(tuple(sorted(rng.sample(names, 2))) for _ in range(limit))
    return sorted(pairs)


def unrelated_pairs(proteins, rng, count):
    names = [name for name in proteins if proteins[name][3]]
    pairs = (rng.sample(names, 2) for _ in range(count))
    return [tuple(p) for p in pairs if proteins[p[0]][3] != proteins[p[1]][3]]


def run_aligner(work, pairs, *settings):
    with open(work / "pairs.tsv", "w") as out:
        out.writelines(f"{a}\t{b}\n" for a, b in pairs)
    files = [work / name for name in ("align_pairs", "supervised.tsv", "pairs.tsv", "letters.txt")]
    command = [*files, *map(str, settings)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = (line.split("\t") for line in text.splitlines())
    return [(r[0], r[1], int(r[2]), int(r[3]), int(r[4]), r[5]) for r in rows if len(r) == 6 and r[5]]


def letter_log_odds(proteins, alignments):
    """Half-bit log-odds of aligned letters against their product of frequencies, one pseudo-count a cell."""
    counts = np.ones((36, 36))
    code = {letter: state for state, letter in enumerate(LETTERS)}
    for first, second, _, start, other, path in alignments:
        for i, j in zip(*aligned_positions(start, other, path)):
            counts[code[proteins[first][1][i]], code[proteins[second][1][j]]] += 1
    counts = counts + counts.T
    joint = counts / counts.sum()
    marginal = joint.sum(0)
    return np.clip(2 * np.log2(joint / np.outer(marginal, marginal)), -6, 12)


def aligned_positions(first, second, path):
    """Positions of both proteins in the columns where both have a residue (M of the run-length path)."""
    left, right = [], []
    for length, kind in PATH_STEP.findall(path):
        length = int(length)
        if kind == "M":
            left += range(first, first + length)
            right += range(second, second + length)
        first += length if kind != "D" else 0
        second += length if kind != "I" else 0
    return left, right


def read_natural(work, rng):
    """Pairs of natural homologs, 18 to 60 % identical over 60 or more columns; their proteins."""
    by_query = collections.defaultdict(list)
    with open(work / "natural-alignments.tsv") as handle:
        for line in handle:
            row = line.rstrip("\n").split("\t")
            if row[0] != row[1] and int(row[3]) >= 60 and 0.18 <= float(row[2]) <= 0.60:
                by_query[row[0]].append((row[0], row[1], 0, int(row[4]) - 1, int(row[6]) - 1, row[9]))
    pairs = []
    for hits in by_query.values():
        pairs += draw(rng, hits, NATURAL_PAIRS_PER_QUERY)
    wanted = {name for pair in pairs for name in pair[:2]}
    proteins = {n: [s, "-", "", ""] for n, s in read_fasta(work / "reps.fasta") if n in wanted}
    return proteins, pairs


def read_fasta(path):
    name, parts = None, []
    with open(path) as handle:
        for line in handle:
            if line.startswith(">"):
                if name:
                    yield name, "".join(parts)
                name, parts = line[1:].split()[0], []
            else:
                parts.append(line.strip())
    yield name, "".join(parts)


def write_arrays(path, supervised, natural, aligned, more):
    proteins = {**supervised, **natural}
    index = {name: at for at, name in enumerate(proteins)}
    residue_code = np.full(128, RESIDUES.index("X"), np.uint8)
    letter_code = np.full(128, UNKNOWN_LETTER, np.uint8)
    residue_code[np.frombuffer(RESIDUES.encode(), np.uint8)] = range(len(RESIDUES))
    letter_code[np.frombuffer(LETTERS.encode(), np.uint8)] = range(len(LETTERS))
    tokens = [residue_code[np.frombuffer(p[0].upper().encode(), np.uint8)] for p in proteins.values()]
    lettered = [p[1] if p[1] != "-" else "-" * len(p[0]) for p in proteins.values()]
    letters = [letter_code[np.frombuffer(text.encode(), np.uint8)] for text in lettered]
    names = {key: at for at, key in enumerate(sorted({p[3] for p in proteins.values() if p[3]}))}
    superfamilies = [p[2].rsplit(".", 1)[0] if p[2] else "" for p in proteins.values()]
    family = {key: at for at, key in enumerate(sorted(set(superfamilies) - {""}))}
    columns = [aligned_positions(*a[3:]) for a in aligned + more]
    np.savez(
        path,
        tokens=np.concatenate(tokens), letters=np.concatenate(letters),
        offsets=np.cumsum([0] + [len(t) for t in tokens]),
        group=np.array([names.get(p[3], -1) for p in proteins.values()]),
        superfamily=np.array([family.get(s, -1) for s in superfamilies]),
        supervised_count=len(supervised), supervised_alignments=len(aligned),
        pairs=np.array([(index[a[0]], index[a[1]]) for a in aligned + more]),
        column_offsets=np.cumsum([0] + [len(c[0]) for c in columns]),
        columns=np.concatenate([np.array(c, np.int16) for c in columns], axis=1),
    )


if __name__ == "__main__":
    main()
