"""Ranks proteins by MaxSim on the device that trains, and the figures of evaluate.py that follow from all scores."""
import numpy as np
import torch

from model import PADDING
from objectives import with_padding_terms

INVERSE_STEP = 173
ROUNDED = 32


@torch.no_grad()
def encode_all(model, sequences, device, kind, per_batch=60000):
    """float32 [residues, dimension] on the device, int8-quantised: whole numbers over 173."""
    order = sorted(range(len(sequences)), key=lambda at: len(sequences[at]))
    found, start = [None] * len(order), 0
    while start < len(order):
        end = start + 1
        while end < len(order) and (end + 1 - start) * len(sequences[order[end]]) <= per_batch:
            end += 1
        rows = order[start:end]
        ids = np.full((len(rows), len(sequences[rows[-1]])), PADDING, np.int64)
        for row, at in enumerate(rows):
            ids[row, : len(sequences[at])] = sequences[at]
        ids = torch.from_numpy(ids).to(device)
        vectors = quantised(model(ids, ids != PADDING, kind))
        for row, at in enumerate(rows):
            found[at] = vectors[row, : len(sequences[at])]
        start = end
    return found


def quantised(vectors):
    return (vectors.float() * INVERSE_STEP).round().clamp(-127, 127) / INVERSE_STEP


def blocks_of(vectors, residues):
    """Proteins of like length side by side: (places, vectors [n, length, d], mask)."""
    order = sorted(range(len(vectors)), key=lambda at: len(vectors[at]))
    start = 0
    while start < len(order):
        length = -(-len(vectors[order[start]]) // ROUNDED) * ROUNDED
        end = start
        while end < len(order) and len(vectors[order[end]]) <= length and (end + 1 - start) * length <= residues:
            end += 1
        end = max(end, start + 1)
        rows = order[start:end]
        width = vectors[0].shape[1]
        block = torch.zeros(len(rows), length, width, device=vectors[0].device)
        mask = torch.zeros(len(rows), length, device=vectors[0].device, dtype=torch.bool)
        for row, at in enumerate(rows):
            block[row, : len(vectors[at])] = vectors[at]
            mask[row, : len(vectors[at])] = True
        yield torch.tensor(rows, device=block.device), block, mask
        start = end


@torch.no_grad()
def all_maxsim(queries, targets, target_residues=65536, query_residues=4096):
    """[queries, targets] of bidirectional MaxSim; both are lists of [length, dimension]."""
    device = queries[0].device
    scores = torch.zeros(len(queries), len(targets), device=device)
    blocks = blocks_of(targets, target_residues)
    kept = [(places, with_padding_terms(block, mask, 1), mask) for places, block, mask in blocks]
    for places, block, mask in blocks_of(queries, query_residues):
        a = with_padding_terms(block, mask, 0)
        p, rows, d = a.shape
        for others, b, other_mask in kept:
            q, columns, _ = b.shape
            dots = (a.reshape(-1, d) @ b.reshape(-1, d).t()).view(p, rows, q, columns)
            forward = (dots.amax(3) * mask[:, :, None]).sum(1) / mask.sum(1)[:, None]
            backward = (dots.amax(1) * other_mask[None]).sum(2) / other_mask.sum(1)[None]
            scores[places[:, None], others[None]] = 0.5 * (forward + backward)
    return scores


def figures(scores, queries, labels):
    """to1stFP at three levels, cR@10, cR@100 and sf2 SEPQ1 of scores [queries, targets]; queries are targets too.

    labels: tensors `family`, `superfamily`, `group` of numbers and `catch_all` of all targets.
    """
    scores = scores.clone()
    scores[torch.arange(len(queries), device=scores.device), queries] = -1e9
    same = {key: labels[key][queries][:, None] == labels[key][None] for key in ("family", "superfamily", "group")}
    own = torch.zeros_like(scores, dtype=torch.bool)
    own[torch.arange(len(queries), device=scores.device), queries] = True
    first_false = scores.masked_fill(same["group"], -1e9).amax(1, keepdim=True)
    found = scores > first_false
    is_family, query_is_family = ~labels["catch_all"][None], ~labels["catch_all"][queries][:, None]
    wanted = dict(
        family=same["family"] & query_is_family,
        superfamily=same["superfamily"] & ~same["family"] & query_is_family & is_family,
        fold=same["group"] & ~same["superfamily"],
    )
    result = {}
    for level, true in wanted.items():
        true = true & ~own
        total = true.sum(1)
        counts = total > 0
        result[level] = float(((true & found).sum(1)[counts] / total[counts]).mean()) if counts.any() else 0.0
    relatives = same["superfamily"] & ~own
    total = relatives.sum(1)
    order = scores.topk(min(1000, scores.shape[1]), 1)
    hits = relatives.gather(1, order.indices)
    for k in (10, 100):
        share = hits[:, :k].sum(1) / total.clamp(min=1, max=k)
        result[f"cR@{k}"] = float(share[total > 0].mean())
    flat, pooled = torch.sort(order.values.flatten(), descending=True)
    pooled = hits.flatten()[pooled]
    within = (~pooled).cumsum(0) < len(queries)
    result["SEPQ1"] = float((pooled & within).sum() / total.sum())
    return result


def held_out_figures(model, proteins, device, kind, longest=256, most=800):
    """Figures of labelled proteins of the fold groups that no objective saw, among themselves."""
    lengths = proteins.lengths[: proteins.labelled_count]
    usable = proteins.held_out & (proteins.superfamily >= 0) & (lengths <= longest) & (lengths >= 40)
    chosen = usable.nonzero()[:, 0]
    if len(chosen) > most:
        order = torch.randperm(len(chosen), generator=torch.Generator().manual_seed(3))[:most]
        chosen = chosen[order.to(chosen.device)]
    tokens = proteins.tokens.cpu().numpy() if device.type == "cpu" else None
    sequences = []
    for at in chosen.tolist():
        begin, end = int(proteins.offsets[at]), int(proteins.offsets[at + 1])
        piece = tokens[begin:end] if tokens is not None else proteins.tokens[begin:end].cpu().numpy()
        sequences.append(piece)
    vectors = encode_all(model, sequences, device, kind)
    scores = all_maxsim(vectors, vectors)
    labels = {key: getattr(proteins, key)[chosen] for key in ("family", "superfamily", "group", "catch_all")}
    return figures(scores, torch.arange(len(chosen), device=device), labels), len(chosen)
