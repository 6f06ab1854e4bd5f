"""Batches of gloaming-1's recipe with what is known of each crop's family, and what a teacher shall say of it.

A protein's family is what mmseqs found for it. Any member may stand for it: a relative inherits label, letters and
aligned columns of the protein over which it stands. Natural pairs are two far members of one family, each of which is
shown the half of the family that is nearer to it: what both halves have in common is what a profile has to tell.
"""
import dataclasses

import numpy as np
import torch

from batches import IGNORED, UNKNOWN_LETTER, Batch, Sampler, corrupt
from model import PADDING
from profiles import CHANNELS, KINDS, MOST_RELATIVES, NOTHING, features, lay_over, observed, row_weights

ALONE = 0.15
RELATIVE_INSTEAD = 0.5
LEAST_TO_SPLIT, LEAST_SHARED = 8, 40
TEACHER_FLANK = 8
HELD_OUT_EVERY = 25


@dataclasses.dataclass
class FamilyBatch:
    """known: crops of which relatives are shown; the tensors below have one row for each of these.

    profile: what the encoder sees, float32 [known, CHANNELS, crop]; frequencies: of the whole family, for all crops,
    zeros where nothing is known; teacher_ids: a member of each crop's family with its surroundings, int64
    [known, crop + 2 * TEACHER_FLANK]; teacher_columns: the crop's place that each of its residues stands over, or -1.
    """

    crops: Batch
    known: torch.Tensor
    profile: torch.Tensor
    frequencies: torch.Tensor
    teacher_ids: torch.Tensor
    teacher_columns: torch.Tensor

    def to(self, device):
        crops = {name: moved(value, device) for name, value in vars(self.crops).items()}
        rest = {name: moved(value, device) for name, value in vars(self).items() if name != "crops"}
        return FamilyBatch(Batch(**crops), **rest)


@dataclasses.dataclass
class View:
    """A member of a protein's family: its codes, for each the protein's residue or -1, and the rows shown beside it."""

    protein: int
    row: int
    codes: np.ndarray
    over: np.ndarray
    shown: np.ndarray
    start: int = 0

    def places(self, residues):
        """The member's residues that stand over these of the protein, or -1."""
        inverse = np.full(int(self.over.max()) + 2, -1)
        inverse[self.over[self.over >= 0]] = np.flatnonzero(self.over >= 0)
        return inverse[np.minimum(residues, len(inverse) - 1)]


def moved(value, device):
    return value.to(device) if isinstance(value, torch.Tensor) else value


class FamilySampler(Sampler):
    def __init__(self, path, families, *sizes):
        super().__init__(path, *sizes, evolved=(0, 0))
        arrays = np.load(families)
        self.families = {key: arrays[key] for key in arrays.files}
        self.families["columns"] = np.cumsum(self.families.pop("steps"), dtype=np.int16)
        self._lay_all()
        divisible = np.flatnonzero(np.diff(self.families["first"]) >= LEAST_TO_SPLIT)
        held_out = (divisible >= int(self.data["supervised_count"])) & (divisible % HELD_OUT_EVERY == 0)
        self.divisible, self.held_out = divisible[~held_out], divisible[held_out]

    def _lay_all(self):
        """Rows of each family, the protein's own first, their weights, and what all of them say of each residue."""
        self.rows, self.row_weights, self.frequencies = [], [], []
        for protein in range(len(self.data["offsets"]) - 1):
            relatives = range(*self.families["first"][protein : protein + 2])
            rows = lay_over(self._own(protein), [self._relative(relative) for relative in relatives])
            weights = row_weights(rows)
            self.rows.append(rows)
            self.row_weights.append(weights)
            self.frequencies.append(observed(rows, weights)[0].astype(np.float16))

    def _own(self, protein):
        return self.data["tokens"][slice(*self.data["offsets"][protein : protein + 2])]

    def _relative(self, relative):
        at = slice(*self.families["offsets"][relative : relative + 2])
        return self.families["tokens"][at], self.families["columns"][at]

    def _member(self, protein, row):
        """Codes of a row of the family with its surroundings, and the protein's residues they stand over."""
        if row == 0:
            own = self._own(protein)
            return own, np.arange(len(own))
        codes, columns = self._relative(self.families["first"][protein] + row - 1)
        return codes, columns.astype(np.int64)

    def draw(self, rng):
        pairs, columns = [], []
        chosen = rng.choice(len(self.group_keys), self.sizes["labelled"], replace=False, p=self.group_weights)
        for group in chosen:
            first, second, alignment = self._labelled_pair(rng, self.group_keys[group])
            sides = self._any_view(rng, first), self._any_view(rng, second)
            pairs.append((sides, self._aligned(sides, alignment)))
        for protein in rng.choice(self.divisible, self.sizes["natural"], replace=False):
            pairs.append(self._halves(rng, protein))
        for (first, second), aligned in pairs:
            lengths = len(first.codes), len(second.codes)
            (first.start, second.start), target = self._place(rng, lengths, aligned)
            columns.append(target)
        views = [sides[0] for sides, _ in pairs] + [sides[1] for sides, _ in pairs]
        for protein in rng.choice(self.lettered, self.sizes["singles"]):
            view = self._any_view(rng, protein)
            view.start = self._free_start(rng, len(view.codes))
            views.append(view)
        return self._lay_out(rng, views, np.stack(columns))

    def _any_view(self, rng, protein):
        """The protein or a relative of it, beside 1 to 64 of the others or, in a share of the views, alone."""
        count = len(self.rows[protein])
        row = int(rng.integers(1, count)) if count > 1 and rng.random() < RELATIVE_INSTEAD else 0
        others = np.delete(np.arange(count), row)
        if rng.random() < ALONE:
            others = others[:0]
        shown = rng.choice(others, min(len(others), log_uniform(rng)), replace=False)
        return View(protein, row, *self._member(protein, row), shown)

    def _aligned(self, sides, alignment):
        """The pair's aligned residues as both members count them, or None."""
        if alignment is None:
            return None
        return in_both(sides, self._aligned_residues(alignment))

    def _halves(self, rng, protein):
        """Two members that are unlike each other; each is shown relatives that are more like it than like the other."""
        rows = self.rows[protein]
        one = int(rng.integers(len(rows)))
        known = rows != NOTHING
        shared = (known & known[one]).sum(1)
        alike = ((rows == rows[one]) & known).sum(1) / np.maximum(shared, 1)
        alike[shared < LEAST_SHARED] = 1
        other = int(rng.choice(np.argsort(alike, kind="stable")[: max(2, len(rows) // 4)]))
        if other == one:
            other = int(np.argmin(alike))
        also = (known & known[other]).sum(1)
        nearer = alike - ((rows == rows[other]) & known).sum(1) / np.maximum(also, 1)
        order = np.argsort(-nearer, kind="stable")
        order = order[(order != one) & (order != other)]
        sides = []
        for row, half in ((one, order[: len(order) // 2]), (other, order[len(order) // 2 :])):
            half = half[:0] if rng.random() < ALONE else half
            shown = rng.choice(half, min(len(half), log_uniform(rng)), replace=False)
            sides.append(View(protein, row, *self._member(protein, row), shown))
        both = np.flatnonzero(known[one] & known[other])
        return tuple(sides), in_both(sides, (both, both))

    def _lay_out(self, rng, views, columns):
        shape = len(views), self.crop
        original = np.full(shape, PADDING, np.int64)
        letters = np.full(shape, UNKNOWN_LETTER, np.int64)
        frequencies = np.zeros((*shape, KINDS), np.float32)
        profiles, taught, over, known = [], [], [], []
        for row, view in enumerate(views):
            crop = slice(view.start, view.start + self.crop)
            codes, cols = view.codes[crop], view.over[crop]
            stands = cols >= 0
            original[row, : len(codes)] = codes
            of_protein = self.data["letters"][slice(*self.data["offsets"][view.protein : view.protein + 2])]
            letters[row, : len(codes)][stands] = of_protein[cols[stands]]
            frequencies[row, : len(codes)][stands] = self.frequencies[view.protein][cols[stands]]
            rows = np.full((1 + len(view.shown), len(codes)), NOTHING, np.uint8)
            rows[0] = codes
            rows[1:, stands] = self.rows[view.protein][view.shown][:, cols[stands]]
            rows = rows[(rows < KINDS).any(1)]
            if len(rows) > 1:
                channels = np.zeros((CHANNELS, self.crop), np.float32)
                channels[:, : len(codes)] = features(rows)
                profiles.append(channels)
                for kept, made in zip((taught, over), self._teach(rng, view.protein, cols)):
                    kept.append(made)
                known.append(row)
        present = original != PADDING
        ids, masked = corrupt(rng, original, present)
        alone = np.setdiff1d(np.arange(len(views)), known)
        ids[alone] = original[alone]
        arrays = ids, present, original, masked, letters, columns
        batch = Batch(
            *map(torch.from_numpy, arrays), labelled_pairs=self.sizes["labelled"], pairs=len(columns),
        )
        more = np.array(known), np.stack(profiles), frequencies, np.stack(taught), np.stack(over)
        return FamilyBatch(batch, *map(torch.from_numpy, more))

    def _teach(self, rng, protein, cols):
        """A row as likely as it weighs in the mean of the vectors, so that this mean is what is learned."""
        ids = np.full(self.crop + 2 * TEACHER_FLANK, PADDING, np.int64)
        over = np.full(ids.shape, IGNORED, np.int64)
        weights = self.row_weights[protein]
        codes, columns = self._member(protein, rng.choice(len(weights), p=weights))
        inverse = np.full(self.rows[protein].shape[1] + 1, IGNORED)
        inverse[cols[cols >= 0]] = np.flatnonzero(cols >= 0)
        places = inverse[columns]
        inside = np.flatnonzero(places >= 0)
        if len(inside):
            begin = max(0, inside[0] - TEACHER_FLANK)
            stretch = slice(begin, begin + len(ids))
            ids[: len(codes[stretch])] = codes[stretch]
            over[: len(codes[stretch])] = places[stretch]
        return ids, over


def in_both(sides, residues):
    """Aligned residues of two proteins as members of their families count them, or None where there are none."""
    places = np.stack([side.places(own) for side, own in zip(sides, residues)])
    places = places[:, (places >= 0).all(0)]
    return places if places.shape[1] else None


def log_uniform(rng):
    """1 to MOST_RELATIVES, each octave as often as the others."""
    return int(np.exp(rng.random() * np.log(MOST_RELATIVES + 1)))
