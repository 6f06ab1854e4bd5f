#!/usr/bin/env python3
"""Ranks all domains for dev queries by families' vectors.

usage: evaluate_families.py DATA FAMILIES.npz WORK RANK_DEV NAME.i8[+NAME.i8] ... [--queries N [--seed S | --spaced]]

Tokens are the vectors, or the sums of two files' unit vectors, with the profile's log odds beside them, as
src/families makes them (rank_dev is built with -DDIMENSION=96). MaxSim ranks all targets, the alignment with the
profiles' logarithms the best RESCORED of them. Prints evaluate.py's figures for each file of vectors and the mean
difference per query of the superfamily figure from the first file, with its standard error; and the superfamily figure
by how many relatives the queries have.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import threading

import numpy as np

from evaluate_dev import read_rows, write_labels
from prepare import read_fasta
from profiles import SHARES

DIMENSION, VECTOR, WIDTH = 96, 64, 84
PROFILE_SHARE = 0.25
INVERSE_STEP = 173
KEPT, RESCORED = 1000, 400
# As src/release/profile-affine.ts has it for gloaming-1's multiplier.
AFFINE = "175", "46", "52", "5"
SHOWN = (
    "to1stFP_family", "to1stFP_superfamily", "to1stFP_fold", "cR@1", "cR@10", "cR@100",
    "sf2_SEPQ0.1", "sf2_SEPQ1", "sf2_SEPQ10",
)
BINS = ((0, 0), (1, 4), (5, 19), (20, 10**9))


def main():
    args = read_arguments()
    args.work.mkdir(parents=True, exist_ok=True)
    domains = list(read_fasta(args.data / "scope40" / "domains.fasta"))
    names = [name for name, _ in domains]
    labels = read_rows(args.data / "scope40" / "labels.tsv")
    queries = choose(names, {row["id"] for row in labels if row["split"] == "dev"}, args)
    arrays = np.load(args.families)
    relatives = dict(zip(names, arrays["relatives"]))
    profile = arrays["profile"].astype(np.float32)
    (args.work / "queries.txt").write_text("".join(f"{at}\n" for at in queries))
    (args.work / "names.txt").write_text("".join(f"{name}\n" for name in names))
    (args.work / "lengths.txt").write_text("".join(f"{len(sequence)}\n" for _, sequence in domains))
    write_labels(labels, {names[at] for at in queries}, args.work / "labels.tsv")
    print("\t".join(["", *SHOWN, "superfamily, difference", *(f"{low}+" for low, _ in BINS)]))
    first = {}
    for given in args.vectors:
        paths = [pathlib.Path(name) for name in given.split("+")]
        name = "+".join(path.stem for path in paths)
        rank(args, name, sum(unit(np.fromfile(path, np.int8).reshape(-1, VECTOR)) for path in paths), profile)
        for score in ("maxsim", "affine0"):
            hits = args.work / f"{name}.{score}"
            found = superfamily_by_query(hits, labels, [names[at] for at in queries])
            report(args, hits, found, first.setdefault(score, found), relatives)


def read_arguments():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("data", "families", "work", "rank_dev"):
        ap.add_argument(name, type=pathlib.Path)
    ap.add_argument("vectors", nargs="+")
    ap.add_argument("--queries", type=int, default=400)
    ap.add_argument("--spaced", action="store_true", help="evenly spaced instead of drawn")
    ap.add_argument("--candidates", type=pathlib.Path, help="query, target, ...: only these are ranked")
    ap.add_argument("--seed", type=int, default=7)
    return ap.parse_args()


def choose(names, dev, args):
    places = [at for at, name in enumerate(names) if name in dev]
    if args.spaced:
        return [places[k * len(places) // args.queries] for k in range(args.queries)]
    return sorted(np.random.default_rng(args.seed).choice(places, args.queries, replace=False))


def unit(rows):
    rows = rows.astype(np.float32)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def rank(args, name, vectors, profile):
    """Hands vectors and profiles over through pipes: they are as large as the memory, and read once."""
    odds = np.log(profile / SHARES) * np.sqrt(SHARES)
    tokens = np.zeros((len(vectors), DIMENSION), np.float32)
    tokens[:, :VECTOR] = unit(vectors) * np.sqrt(1 - PROFILE_SHARE)
    tokens[:, VECTOR:WIDTH] = unit(odds) * np.sqrt(PROFILE_SHARE)
    tokens = np.clip(np.rint(tokens * INVERSE_STEP), -127, 127)
    pipes = [args.work / pipe for pipe in ("tokens.pipe", "profiles.pipe")]
    for pipe in pipes:
        pipe.unlink(missing_ok=True)
        os.mkfifo(pipe)
    files = [args.work / file for file in ("lengths.txt", "names.txt", "queries.txt", name)]
    candidates = ["-c", args.candidates] if args.candidates else []
    inputs = ["-p", pipes[1], *candidates, pipes[0]]
    command = [args.rank_dev.resolve(), *inputs, *files, str(KEPT), str(RESCORED), *AFFINE]
    running = subprocess.Popen(command)
    overlap = (profile / np.sqrt(SHARES)).astype(np.float32)
    writers = [threading.Thread(target=write, args=pair) for pair in zip(pipes, (tokens, overlap))]
    for writer in writers:
        writer.start()
    if running.wait() != 0:
        sys.exit("evaluate_families: rank_dev failed")
    for pipe in pipes:
        pipe.unlink()


def write(pipe, array):
    with open(pipe, "wb") as out:
        out.write(array.tobytes())


def superfamily_by_query(hits, labels, queries):
    """evaluate.py's to1stFP_superfamily of each query that counts there."""
    sccs = {row["id"]: row["sccs"] for row in labels}
    groups = {row["id"]: row["foldgroup"] or ".".join(row["sccs"].split(".")[:2]) for row in labels}
    members, families = collections.Counter(), collections.Counter()
    for name in sccs.values():
        if not name.endswith(".0"):
            members[name.rsplit(".", 1)[0]] += 1
            families[name] += 1
    ranked = collections.defaultdict(list)
    with open(hits) as handle:
        for line in handle:
            query, target, score = line.split()
            if query != target:
                ranked[query].append((-float(score), query, target))
    found = {}
    for query in queries:
        own = sccs[query]
        superfamily = own.rsplit(".", 1)[0]
        wanted = members[superfamily] - families[own]
        if own.endswith(".0") or not wanted:
            continue
        count = 0
        for _, _, target in sorted(ranked[query]):
            if groups[target] != groups[query]:
                break
            other = sccs[target]
            count += other != own and other.rsplit(".", 1)[0] == superfamily and not other.endswith(".0")
        found[query] = count / wanted
    return found


def report(args, hits, found, first, relatives):
    files = [args.data / "evaluate.py", args.work / "labels.tsv", hits]
    command = [sys.executable, *files, "--split", "chosen", "--json"]
    figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    differences = [found[query] - first[query] for query in found]
    error = np.std(differences) / np.sqrt(len(differences))
    cells = [f"{np.mean(differences):+.4f} ± {error:.4f} of {len(differences)}"]
    for low, high in BINS:
        values = [found[query] for query in found if low <= relatives[query] <= high]
        cells.append(f"{np.mean(values):.4f} ({len(values)})" if values else "-")
    print("\t".join([hits.name, *(f"{figures[key]:.4f}" for key in SHOWN), *cells]), flush=True)


if __name__ == "__main__":
    main()
