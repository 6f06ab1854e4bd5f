"""Reads what pack.py wrote and lays the alignments' columns out."""
import concurrent.futures
import json
import lzma
import pathlib

import numpy as np


def read_arrays(folder):
    folder = pathlib.Path(folder)
    described = json.loads((folder / "index.json").read_text())
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        packed = {key: pool.submit(read_one, folder / f"{key}.xz") for key in described}
        raw = {key: future.result() for key, future in packed.items()}
    arrays = {key: np.frombuffer(raw[key], kind).reshape(shape) for key, (kind, shape) in described.items()}
    parts = sorted((key for key in arrays if key.startswith("tokens")), key=lambda key: int(key[6:]))
    arrays["tokens"] = np.concatenate([arrays.pop(key) for key in parts])
    arrays["offsets"] = np.concatenate([[0], np.cumsum(arrays["lengths"].astype(np.int64))])
    arrays.update(columns_of(arrays))
    return arrays


def read_one(path):
    return lzma.decompress(path.read_bytes())


def columns_of(arrays):
    """column_first, column_second: places of the aligned residues, pair after pair; column_offsets of the pairs."""
    length, kind = (arrays["runs"] >> 2).astype(np.int64), arrays["runs"] & 3
    counts = arrays["run_counts"].astype(np.int64)
    owner = np.repeat(np.arange(len(counts)), counts)
    first_run = np.concatenate([[0], np.cumsum(counts)])[:-1]
    places = {}
    for side, skipped in (("first", 2), ("second", 1)):
        advance = np.where(kind == skipped, 0, length)
        before = np.concatenate([[0], np.cumsum(advance)])[:-1]
        base = before[np.minimum(first_run, max(0, len(before) - 1))]
        places[side] = before - base[owner] + arrays[f"start_{side}"].astype(np.int64)[owner]
    matched = kind == 0
    lengths = length[matched]
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    per_pair = np.bincount(owner[matched], lengths, len(counts)).astype(np.int64)
    return dict(
        column_first=(np.repeat(places["first"][matched], lengths) + within).astype(np.int16),
        column_second=(np.repeat(places["second"][matched], lengths) + within).astype(np.int16),
        column_offsets=np.concatenate([[0], np.cumsum(per_pair)]),
    )
