"""Batches of gloaming-1's recipe with what is known of each crop's family, and what a teacher shall say of it."""
import dataclasses

import numpy as np
import torch

from batches import Batch, Sampler
from model import PADDING
from profiles import CHANNELS, KINDS, MOST_RELATIVES, features, lay_over, observed, row_weights

ALONE = 1 / 3
TEACHER_FLANK = 8


@dataclasses.dataclass
class FamilyBatch:
    """profile: what the encoder sees, float32 [crops, CHANNELS, crop]; frequencies: of the whole family.

    teacher_ids: a member of each crop's family with its surroundings, int64 [crops, crop + 2 * TEACHER_FLANK];
    teacher_columns: the crop's place that each of its residues stands over, or -1.
    """

    crops: Batch
    profile: torch.Tensor
    frequencies: torch.Tensor
    teacher_ids: torch.Tensor
    teacher_columns: torch.Tensor

    def to(self, device):
        crops = {name: moved(value, device) for name, value in vars(self.crops).items()}
        rest = {name: moved(value, device) for name, value in vars(self).items() if name != "crops"}
        return FamilyBatch(Batch(**crops), **rest)


def moved(value, device):
    return value.to(device) if isinstance(value, torch.Tensor) else value


class FamilySampler(Sampler):
    def __init__(self, path, families, *sizes):
        super().__init__(path, *sizes, evolved=(0, 0))
        arrays = np.load(families)
        self.families = {key: arrays[key] for key in arrays.files}
        self.families["columns"] = np.cumsum(self.families.pop("steps"), dtype=np.int16)
        self._weigh()

    def _weigh(self):
        """Weights of each family's rows, the protein's own first, and what all of them say of each residue."""
        frequencies, weights = [], []
        for protein in range(len(self.data["offsets"]) - 1):
            own = self.data["tokens"][slice(*self.data["offsets"][protein : protein + 2])]
            relatives = range(*self.families["first"][protein : protein + 2])
            rows = lay_over(own, [self._relative(relative) for relative in relatives])
            weights.append(row_weights(rows))
            frequencies.append(observed(rows, weights[-1])[0].astype(np.float16))
        self.families["weights"] = np.concatenate(weights)
        self.families["frequencies"] = np.concatenate(frequencies)

    def _assemble(self, rng, crops, columns):
        batch = super()._assemble(rng, crops, columns)
        count = len(crops)
        profile = np.zeros((count, CHANNELS, self.crop), np.float32)
        frequencies = np.zeros((count, self.crop, KINDS), np.float32)
        taught = np.full((count, self.crop + 2 * TEACHER_FLANK), PADDING, np.int64)
        over = np.full(taught.shape, -1, np.int64)
        for row, (protein, start) in enumerate(crops):
            end = min(start + self.crop, self._length(protein))
            place = self.data["offsets"][protein]
            own = self.data["tokens"][place + start : place + end]
            frequencies[row, : end - start] = self.families["frequencies"][place + start : place + end]
            relatives = np.arange(*self.families["first"][protein : protein + 2])
            if len(relatives) and rng.random() > ALONE:
                shown = rng.choice(relatives, min(len(relatives), log_uniform(rng)), replace=False)
                rows = lay_over(own, [self._crop_of(relative, start, end) for relative in shown])
                profile[row, :, : end - start] = features(rows[(rows < KINDS).any(1)])
                teacher = self._member(rng, protein, relatives)
            else:
                teacher = None
            self._teach(protein, teacher, start, end, taught[row], over[row])
        return FamilyBatch(batch, *map(torch.from_numpy, (profile, frequencies, taught, over)))

    def _crop_of(self, relative, start, end):
        codes, columns = self._relative(relative)
        inside = (columns >= start) & (columns < end)
        return codes[inside], columns[inside] - start

    def _relative(self, relative):
        at = slice(*self.families["offsets"][relative : relative + 2])
        return self.families["tokens"][at], self.families["columns"][at]

    def _member(self, rng, protein, relatives):
        """A relative as likely as it weighs in the mean of the vectors, so that this mean is what is learned."""
        first = self.families["first"][protein] + protein
        weights = self.families["weights"][first : first + len(relatives) + 1]
        at = rng.choice(len(weights), p=weights)
        return None if at == 0 else relatives[at - 1]

    def _teach(self, protein, teacher, start, end, ids, over):
        if teacher is None:
            place, length = self.data["offsets"][protein], self._length(protein)
            codes, columns = self.data["tokens"][place : place + length], np.arange(length)
        else:
            codes, columns = self._relative(teacher)
        inside = np.flatnonzero((columns >= start) & (columns < end))
        if not len(inside):
            return
        begin = max(0, inside[0] - TEACHER_FLANK)
        stretch = slice(begin, begin + len(ids))
        ids[: len(codes[stretch])] = codes[stretch]
        columns = columns[stretch].astype(np.int64)
        over[: len(columns)] = np.where((columns >= start) & (columns < end), columns - start, -1)


def log_uniform(rng):
    """1 to MOST_RELATIVES, each octave as often as the others."""
    return int(np.exp(rng.random() * np.log(MOST_RELATIVES + 1)))
