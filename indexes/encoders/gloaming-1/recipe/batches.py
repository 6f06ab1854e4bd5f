"""Draws training batches: crops of labelled pairs (one a fold group), natural homologs, and single chains."""
import dataclasses

import numpy as np
import torch

from model import MASKED, PADDING, UNKNOWN

IGNORED = -1
UNKNOWN_LETTER = 255
JITTER = 12
RESIDUE_COUNT = UNKNOWN
SUBSTITUTIONS_EVERY = 8


@dataclasses.dataclass
class Batch:
    """Crops: first members of all pairs, then second members, singles. Labelled pairs precede natural ones.

    columns[p, i] is the position in pair p's second crop that is aligned with position i of its first, or -1.
    """

    ids: torch.Tensor
    mask: torch.Tensor
    original: torch.Tensor
    masked: torch.Tensor
    letters: torch.Tensor
    columns: torch.Tensor
    labelled_pairs: int
    pairs: int


class Sampler:
    def __init__(self, path, labelled_pairs, natural_pairs, singles, crop, evolved):
        arrays = np.load(path)
        self.data = {key: arrays[key] for key in arrays.files}
        self.sizes = dict(labelled=labelled_pairs, natural=natural_pairs, singles=singles)
        self.crop = crop
        self.evolved = evolved
        self._index_groups()
        self.substitutes = np.cumsum(self._substitution_rates(), axis=1)

    def _index_groups(self):
        """Per fold group: its superfamilies of two or more members, and the alignments inside them."""
        data, count = self.data, int(self.data["supervised_count"])
        superfamily, group = data["superfamily"][:count], data["group"][:count]
        self.members = {s: np.flatnonzero(superfamily == s) for s in np.unique(superfamily) if s >= 0}
        self.members = {s: m for s, m in self.members.items() if len(m) > 1}
        aligned = superfamily[data["pairs"][: int(data["supervised_alignments"]), 0]]
        order = np.argsort(aligned, kind="stable")
        starts = np.searchsorted(aligned[order], np.arange(superfamily.max() + 2))
        self.alignments = {s: order[starts[s] : starts[s + 1]] for s in self.members}
        known = data["letters"][data["offsets"][:-1]] != UNKNOWN_LETTER
        both = known[data["pairs"]].all(1)
        self.structural = {s: a[both[a]] for s, a in self.alignments.items()}
        self.groups = {}
        for s, members in self.members.items():
            self.groups.setdefault(int(group[members[0]]), []).append(s)
        sizes = np.array([sum(len(self.members[s]) for s in ss) for ss in self.groups.values()], float)
        self.group_keys = list(self.groups)
        self.group_weights = np.sqrt(sizes) / np.sqrt(sizes).sum()
        self.lettered = np.flatnonzero(known[:count])

    def _substitution_rates(self):
        """[from, to]: how often natural homologs have another residue where a protein has this one."""
        data, first = self.data, int(self.data["supervised_alignments"])
        starts, pairs = data["column_offsets"], data["pairs"]
        counts = np.zeros((UNKNOWN + 1) ** 2)
        for at in range(first, len(pairs), SUBSTITUTIONS_EVERY):
            columns = data["columns"][:, starts[at] : starts[at + 1]].astype(np.int64)
            i, j = columns + data["offsets"][pairs[at]][:, None]
            aligned = data["tokens"][i] * np.int64(UNKNOWN + 1) + data["tokens"][j]
            counts += np.bincount(aligned, minlength=len(counts))
        counts = counts.reshape(UNKNOWN + 1, -1)[:RESIDUE_COUNT, :RESIDUE_COUNT]
        counts = counts + counts.T
        np.fill_diagonal(counts, 0)
        return counts / np.maximum(counts.sum(1, keepdims=True), 1)

    def draw(self, rng):
        firsts, seconds, columns = [], [], []
        chosen = rng.choice(len(self.group_keys), self.sizes["labelled"], replace=False, p=self.group_weights)
        for group in chosen:
            self._append_pair(rng, self._labelled_pair(rng, self.group_keys[group]), firsts, seconds, columns)
        natural = np.arange(int(self.data["supervised_alignments"]), len(self.data["pairs"]))
        for at in rng.choice(natural, self.sizes["natural"], replace=False):
            self._append_pair(rng, (*self.data["pairs"][at], at), firsts, seconds, columns)
        chosen = rng.choice(self.lettered, self.sizes["singles"])
        singles = [(p, self._free_start(rng, self._length(p))) for p in chosen]
        return self._assemble(rng, firsts + seconds + singles, np.stack(columns))

    def _labelled_pair(self, rng, group):
        superfamilies = self.groups[group]
        weights = np.sqrt([len(self.members[s]) for s in superfamilies])
        superfamily = superfamilies[rng.choice(len(superfamilies), p=weights / weights.sum())]
        aligned = self.structural[superfamily] if rng.random() < 0.5 else self.alignments[superfamily]
        if len(aligned) and rng.random() < 0.75:
            at = rng.choice(aligned)
            return (*self.data["pairs"][at], at)
        return (*rng.choice(self.members[superfamily], 2, replace=False), None)

    def _append_pair(self, rng, pair, firsts, seconds, columns):
        first, second, alignment = pair
        lengths = self._length(first), self._length(second)
        starts, target = self._place(rng, lengths, None if alignment is None else self._aligned_residues(alignment))
        firsts.append((first, starts[0]))
        seconds.append((second, starts[1]))
        columns.append(target)

    def _aligned_residues(self, alignment):
        offsets = self.data["column_offsets"]
        return self.data["columns"][:, offsets[alignment] : offsets[alignment + 1]].astype(np.int64)

    def _place(self, rng, lengths, aligned):
        """Starts of a pair's crops, and for each place of the first the aligned one of the second, or -1."""
        target = np.full(self.crop, IGNORED, np.int64)
        if aligned is None:
            return [self._free_start(rng, length) for length in lengths], target
        i, j = aligned
        starts = self._shared_starts(rng, lengths, i, j)
        i, j = i - starts[0], j - starts[1]
        inside = (i >= 0) & (i < self.crop) & (j >= 0) & (j < self.crop)
        target[i[inside]] = j[inside]
        return starts, target

    def _shared_starts(self, rng, lengths, i, j):
        """Starts that put one aligned column at nearly, never reliably, the same place of both crops."""
        column, place = rng.integers(len(i)), rng.integers(self.crop)
        shift = rng.integers(-JITTER, JITTER + 1)
        return self._clamp(lengths[0], i[column] - place), self._clamp(lengths[1], j[column] - place + shift)

    def _free_start(self, rng, length):
        return int(rng.integers(max(1, length - self.crop + 1)))

    def _clamp(self, length, start):
        return int(min(max(0, start), max(0, length - self.crop)))

    def _length(self, protein):
        return int(self.data["offsets"][protein + 1] - self.data["offsets"][protein])

    def _assemble(self, rng, crops, columns):
        shape = len(crops), self.crop
        original = np.full(shape, PADDING, np.int64)
        letters = np.full(shape, UNKNOWN_LETTER, np.int64)
        for row, (protein, start) in enumerate(crops):
            begin = self.data["offsets"][protein] + start
            length = min(self.crop, self._length(protein) - start)
            original[row, :length] = self.data["tokens"][begin : begin + length]
            letters[row, :length] = self.data["letters"][begin : begin + length]
        present = original != PADDING
        labelled, pairs = self.sizes["labelled"], len(columns)
        most = np.full(len(crops), self.evolved[0])
        most[labelled:pairs] = most[pairs + labelled : 2 * pairs] = self.evolved[1]
        evolved = evolve(rng, original, self.substitutes, most)
        ids, masked = corrupt(rng, evolved, present)
        return Batch(
            *map(torch.from_numpy, (ids, present, original, masked, letters, columns)),
            labelled_pairs=self.sizes["labelled"],
            pairs=len(columns),
        )


def evolve(rng, original, substitutes, most):
    """Each crop loses a share of its residues, up to `most` of it, to what homologs have in their place."""
    share = rng.random(len(original)) * most
    rows, at = np.nonzero((rng.random(original.shape) < share[:, None]) & (original < RESIDUE_COUNT))
    evolved = original.copy()
    chance = rng.random(len(rows))
    chosen = (substitutes[original[rows, at]] < chance[:, None]).sum(1)
    evolved[rows, at] = np.minimum(chosen, RESIDUE_COUNT - 1)
    return evolved


def corrupt(rng, original, present):
    """Hides 7 % of the residues behind the mask symbol, to be asked for, and replaces 4 % by random ones."""
    chance = rng.random(original.shape, dtype=np.float32)
    masked = present & (chance < 0.07) & (original != UNKNOWN)
    replaced = present & (chance > 0.96)
    ids = np.where(masked, MASKED, original)
    ids = np.where(replaced, rng.integers(20, size=original.shape), ids)
    return ids, masked
