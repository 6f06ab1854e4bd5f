#!/usr/bin/env python3
"""Packs proteins, labels and alignments for a machine that has nothing else: pack.py DATA WORK OUT [RESIDUES]

WORK holds what prepare_data.sh makes. OUT receives one NAME.xz an array and index.json with their types and shapes.
Proteins stand in the order labelled, clean natural, masked only; the last are read by masked-residue modelling alone.
RESIDUES bounds the last. remote.tsv in WORK, if there is one, has further natural pairs; they follow the others.
An alignment is two starts and a path of runs, each a length and one of three kinds in a 16-bit number.
"""
import collections
import csv
import json
import lzma
import pathlib
import random
import re
import sys

import numpy as np

from prepare import LETTERS, read_fasta, read_supervised

RESIDUES = "ACDEFGHIKLMNPQRSTVWYX"
UNKNOWN_LETTER = 255
PARTS = 12
RELATIVES, NATURAL_PAIRS = 10, 6
CLEAN_MORE, MASKED_ONLY = 8_000_000, 14_000_000
KINDS = {"M": 0, "I": 1, "D": 2}
STEP = re.compile(r"(\d*)([MID])")
csv.field_size_limit(10**9)


def main():
    data, work, out = map(pathlib.Path, sys.argv[1:4])
    out.mkdir(parents=True, exist_ok=True)
    rng = random.Random(20261126)
    labelled = read_supervised(data / "scope40")
    natural = dict(read_fasta(work / "reps.fasta"))
    most_masked = int(sys.argv[4]) if len(sys.argv) > 4 else MASKED_ONLY
    more, masked_only = choose_more(data, work, rng, set(natural), most_masked)
    natural.update(more)
    names = [*labelled, *natural]
    index = {name: at for at, name in enumerate(names)}
    sequences = [*(p[0] for p in labelled.values()), *natural.values(), *masked_only]
    remote = remote_alignments(work, natural)
    near = natural_alignments(work, rng)
    alignments = [labelled_alignments(work), near + remote, relatives(work, rng, labelled, natural)]
    print(f"{len(labelled)} labelled, {len(natural)} clean, {len(masked_only)} masked only; "
          f"{sum(map(len, sequences))} residues; alignments {[len(a) for a in alignments]}", flush=True)
    arrays = dict(lengths=np.array([len(s) for s in sequences], np.uint16))
    tokens = np.concatenate([encode(s, RESIDUES, RESIDUES.index("X")) for s in sequences])
    for part, piece in enumerate(np.array_split(tokens, PARTS)):
        arrays[f"tokens{part}"] = piece
    arrays.update(labels_of(labelled), **alignment_arrays(index, sum(alignments, [])))
    arrays["counts"] = np.array([len(labelled), len(natural), len(masked_only), *map(len, alignments), len(remote)])
    total = write(out, arrays)
    print(f"{total / 2**20:.1f} MiB")


def choose_more(data, work, rng, taken, most_masked):
    """More clean clusters, without a cap for their source; and clusters that are only for masked residues."""
    clusters = {"clean": {}, "screened": {}}
    present = {}
    with open(work / "meta.tsv") as handle:
        for row in csv.DictReader(handle, delimiter="\t"):
            kind = "clean" if row["screen"] == "clean" else "screened"
            if row["id"] in taken:
                present[row["cluster50"]] = True
            if 40 <= int(row["length"]) <= 700:
                clusters[kind].setdefault(row["cluster50"], []).append((row["id"], int(row["length"])))
    chosen = {}
    for kind, most in (("clean", CLEAN_MORE), ("screened", most_masked)):
        members = [rng.choice(c) for key, c in sorted(clusters[kind].items()) if key not in present]
        rng.shuffle(members)
        ends = np.cumsum([length for _, length in members])
        chosen[kind] = {name for name, _ in members[: int(np.searchsorted(ends, most))]}
    more = {n: s for n, s in read_fasta(work / "clean.fasta") if n in chosen["clean"]}
    masked_only = []
    with lzma.open(data / "natural" / "screened-out.fasta.xz", "rt") as handle:
        for header in handle:
            sequence = next(handle).strip()
            if header[1:].split()[0] in chosen["screened"]:
                masked_only.append(sequence)
    return more, masked_only


def labelled_alignments(work):
    with open(work / "labelled-alignments.tsv") as handle:
        rows = [line.rstrip("\n").split("\t") for line in handle]
    return [(a, b, int(i), int(j), path) for a, b, i, j, path in rows]


def read_table(path, least, most, least_columns=60):
    """By query: (identity, alignment) of hits of `least` to `most` identity over so many columns or more."""
    found = collections.defaultdict(list)
    with open(path) as handle:
        for line in handle:
            query, target, identity, columns, start, _, other, _, _, cigar = line.rstrip("\n").split("\t")
            if query != target and int(columns) >= least_columns and least <= float(identity) <= most:
                alignment = query, target, int(start) - 1, int(other) - 1, cigar
                found[query].append((float(identity), alignment))
    return found


def natural_alignments(work, rng):
    """Up to NATURAL_PAIRS a query; a hit of low identity is drawn more often."""
    kept = []
    for table in ("natural-alignments.tsv", "natural2-alignments.tsv"):
        if not (work / table).exists():
            continue
        for hits in read_table(work / table, 0.15, 0.60).values():
            order = sorted(hits, key=lambda hit: rng.random() ** (1 / (1.1 - hit[0]) ** 2), reverse=True)
            kept += [alignment for _, alignment in order[:NATURAL_PAIRS]]
    return kept


def remote_alignments(work, natural):
    """Pairs of ../../gloaming-5/recipe/remote_pairs.py, each as often as it stands there."""
    if not (work / "remote.tsv").exists():
        return []
    found = read_table(work / "remote.tsv", 0.0, 1.0, least_columns=0).values()
    return [alignment for hits in found for _, alignment in hits if alignment[0] in natural and alignment[1] in natural]


def relatives(work, rng, labelled, natural):
    """Up to RELATIVES natural relatives of each labelled protein, those of one protein one after the other."""
    kept = []
    table = read_table(work / "relatives.tsv", 0.0, 0.90)
    same = collections.defaultdict(list)
    for name, protein in labelled.items():
        same[protein[0]].append(name)
    asked = {names[0]: names for names in same.values()}
    for first, hits in table.items():
        names = next((n for n in (asked.get(first), same[labelled[first][0]]) if n), [first])
        drawn = [a for _, a in rng.sample(hits, min(RELATIVES, len(hits))) if a[1] in natural]
        for name in names:
            kept += [(name, *alignment[1:]) for alignment in drawn]
    order = {name: at for at, name in enumerate(labelled)}
    return sorted(kept, key=lambda alignment: order[alignment[0]])


def encode(text, alphabet, other):
    code = np.full(128, other, np.uint8)
    code[np.frombuffer(alphabet.encode(), np.uint8)] = range(len(alphabet))
    return code[np.frombuffer(text.encode(), np.uint8)]


def labels_of(labelled):
    """Letters of all residues; fold group, superfamily and family of each protein, -1 where it has none."""
    letters = [encode(p[1] if p[1] != "-" else "-" * len(p[0]), LETTERS, UNKNOWN_LETTER) for p in labelled.values()]
    columns = dict(
        group=[p[3] for p in labelled.values()],
        superfamily=[p[2].rsplit(".", 1)[0] if p[3] else "" for p in labelled.values()],
        family=[p[2] if p[3] else "" for p in labelled.values()],
    )
    arrays = dict(letters=np.concatenate(letters))
    for key, values in columns.items():
        code = {value: at for at, value in enumerate(sorted(set(values) - {""}))}
        arrays[key] = np.array([code.get(value, -1) for value in values], np.int16)
    catch_all = [p[2].endswith(".0") for p in labelled.values()]
    arrays["catch_all"] = np.array(catch_all, np.uint8)
    return arrays


def alignment_arrays(index, alignments):
    runs, counts = [], []
    for *_, path in alignments:
        steps = STEP.findall(path)
        counts.append(len(steps))
        runs += [int(length or 1) << 2 | KINDS[kind] for length, kind in steps]
    return dict(
        first=np.array([index[a[0]] for a in alignments], np.int32),
        second=np.array([index[a[1]] for a in alignments], np.int32),
        start_first=np.array([a[2] for a in alignments], np.int16),
        start_second=np.array([a[3] for a in alignments], np.int16),
        runs=np.array(runs, np.uint16), run_counts=np.array(counts, np.uint16),
    )


def write(out, arrays):
    """Literal coding without context of the bytes before suits letters of proteins; returns the bytes written."""
    total = 0
    for key, array in arrays.items():
        context = dict(lc=0, lp=0, pb=0) if array.itemsize == 1 else dict(lc=0, lp=1, pb=1)
        filters = [dict(id=lzma.FILTER_LZMA2, preset=6, **context)]
        packed = lzma.compress(array.tobytes(), lzma.FORMAT_XZ, filters=filters)
        (out / f"{key}.xz").write_bytes(packed)
        total += len(packed)
    described = {key: [array.dtype.name, list(array.shape)] for key, array in arrays.items()}
    (out / "index.json").write_text(json.dumps(described))
    return total


if __name__ == "__main__":
    main()
