"""Draws batches on the device that trains: crops of labelled pairs, natural pairs, single chains and plain proteins.

Nothing here loops over crops, so that a batch costs some hundred small operations of the device and no processor time.
"""
import dataclasses

import torch

from model import MASKED, PADDING, UNKNOWN

IGNORED = -1
UNKNOWN_LETTER = 255
JITTER = 12
LONGEST = 32768
LEAST_COVERED = 30
HELD_OUT_SHARE, HELD_OUT_SEED = 0.06, 17


@dataclasses.dataclass
class Batch:
    """Crops: first members of all pairs, second members, singles, plain ones. Labelled pairs precede natural ones.

    columns[p, i] is the position in pair p's second crop that is aligned with position i of its first, or -1.
    ids are what the encoder sees, original what stands there; masked residues are asked for.
    """

    ids: torch.Tensor
    original: torch.Tensor
    mask: torch.Tensor
    masked: torch.Tensor
    letters: torch.Tensor
    columns: torch.Tensor
    labelled: int
    pairs: int


class Proteins:
    """All arrays of unpack.py as tensors of the device, and the tables that drawing needs."""

    def __init__(self, arrays, device):
        self.device = device
        for key in ("tokens", "letters", "offsets", "column_offsets", "first", "second", "group", "superfamily"):
            setattr(self, key, torch.from_numpy(arrays[key].copy()).to(device))
        self.offsets, self.first, self.second = self.offsets.long(), self.first.long(), self.second.long()
        self.group, self.superfamily = self.group.long(), self.superfamily.long()
        self.family = torch.from_numpy(arrays["family"].copy()).to(device).long()
        self.catch_all = torch.from_numpy(arrays["catch_all"].copy()).to(device).bool()
        self.lengths = self.offsets[1:] - self.offsets[:-1]
        self.column_first = torch.from_numpy(arrays["column_first"].copy()).to(device)
        self.column_second = torch.from_numpy(arrays["column_second"].copy()).to(device)
        labelled, clean, masked_only, *alignments = (int(count) for count in arrays["counts"])
        self.labelled_count, self.clean_end = labelled, labelled + clean
        self.count = labelled + clean + masked_only
        self.labelled_alignments, self.natural_alignments = alignments[0], alignments[1]
        per_pair = self.column_offsets[1:] - self.column_offsets[:-1]
        owner = torch.repeat_interleave(torch.arange(len(per_pair), device=device), per_pair)
        self.keys = owner * LONGEST + self.column_first
        self._hold_out()
        self._index_labels()
        self._index_relatives()

    def _hold_out(self):
        """A share of the fold groups is never trained on as labelled; the same ones in every run."""
        groups = int(self.group.max()) + 1
        chance = torch.rand(groups, generator=torch.Generator().manual_seed(HELD_OUT_SEED)).to(self.device)
        held = (chance < HELD_OUT_SHARE)[self.group.clamp(min=0)] & (self.group >= 0)
        self.trained = (self.group >= 0) & ~held
        self.held_out = held

    def _index_labels(self):
        """By superfamily: its members and alignments, each as a stretch of a list."""
        count = int(self.superfamily.max()) + 1
        labels = torch.where(self.trained, self.superfamily, torch.full_like(self.superfamily, -1))
        self.member_order, self.member_start, self.member_count = stretches(labels, count)
        at = torch.arange(self.labelled_alignments, device=self.device)
        self.aligned_order, self.aligned_start, self.aligned_count = stretches(labels[self.first[at]], count)
        known = self.letters[self.offsets[: self.labelled_count]] != UNKNOWN_LETTER
        both = known[self.first[at]] & known[self.second[at]]
        lettered = torch.where(both, labels[self.first[at]], torch.full_like(at, -1))
        self.lettered_order, self.lettered_start, self.lettered_count = stretches(lettered, count)
        usable = self.member_count > 1
        representative = self.member_order[self.member_start.clamp(max=len(self.member_order) - 1)]
        self.group_of = torch.where(usable, self.group[representative], torch.full_like(self.member_count, -1))
        sizes = torch.zeros(int(self.group.max()) + 1, device=self.device)
        sizes.index_add_(0, self.group_of[usable], self.member_count[usable].float())
        self.group_weights = sizes.sqrt()
        self.with_letters = (known & (self.trained | (self.group < 0))).nonzero()[:, 0]

    def _index_relatives(self):
        first = self.labelled_alignments + self.natural_alignments
        owner = self.first[first:]
        counts = torch.bincount(owner, minlength=self.labelled_count)
        self.relative_start = first + torch.cumsum(counts, 0) - counts
        self.relative_count = counts

    def crops(self, proteins, starts, length):
        """Tokens [n, length], with padding after a protein's end."""
        at = starts[:, None] + torch.arange(length, device=self.device)
        inside = at < self.lengths[proteins][:, None]
        tokens = self.tokens[(self.offsets[proteins][:, None] + at).clamp(max=len(self.tokens) - 1)].long()
        return torch.where(inside, tokens, torch.full_like(tokens, PADDING))

    def letters_of(self, proteins, starts, length):
        """Structural letters [n, length], UNKNOWN_LETTER where there are none."""
        at = starts[:, None] + torch.arange(length, device=self.device)
        inside = (at < self.lengths[proteins][:, None]) & (proteins < self.labelled_count)[:, None]
        places = (self.offsets[proteins][:, None] + at).clamp(max=len(self.letters) - 1)
        letters = self.letters[places].long()
        return torch.where(inside, letters, torch.full_like(letters, UNKNOWN_LETTER))

    def aligned(self, alignments, starts, length):
        """Columns whose first place lies in [start, start + length): it less start, second place, whether any."""
        safe = alignments.clamp(min=0)
        low = safe * LONGEST + starts
        begin = torch.searchsorted(self.keys, low)
        at = begin[:, None] + torch.arange(length, device=self.device)
        inside = at < len(self.keys)
        at = at.clamp(max=len(self.keys) - 1)
        inside &= (self.keys[at] < (low + length)[:, None]) & (alignments >= 0)[:, None]
        return self.column_first[at].long() - starts[:, None], self.column_second[at].long(), inside


def stretches(labels, count):
    """The places of all labels, sorted by label, and each label's start and count; -1 is left out."""
    order = torch.sort(labels, stable=True)[1]
    counts = torch.bincount(labels[labels >= 0], minlength=count)
    starts = int((labels < 0).sum()) + torch.cumsum(counts, 0) - counts
    return order, starts, counts


class Drawer:
    def __init__(self, proteins, labelled, natural, singles, plain, crop, plain_end=None, seed=1):
        self.proteins, self.crop = proteins, crop
        self.labelled, self.natural, self.singles, self.plain = labelled, natural, singles, plain
        self.device = proteins.device
        self.generator = torch.Generator(self.device).manual_seed(seed)
        self.residues = int(proteins.offsets[proteins.count if plain_end is None else plain_end])

    def uniform(self, *shape):
        return torch.rand(*shape, device=self.device, generator=self.generator)

    def below(self, counts):
        """A whole number below each of the counts; 0 where a count is 0."""
        return (self.uniform(*counts.shape) * counts).long().minimum((counts - 1).clamp(min=0))

    def draw(self):
        data, length = self.proteins, self.crop
        first, second, alignments = (torch.cat(sides) for sides in zip(self._labelled_pairs(), self._natural_pairs()))
        start_first, start_second = self._starts(first, second, alignments)
        columns = self._columns(alignments, start_first, start_second)
        first, start_first, letters_first, columns = self._replace(first, start_first, columns, True)
        second, start_second, letters_second, columns = self._replace(second, start_second, columns, False)
        lone, lone_starts = self._lone()
        proteins = torch.cat([first, second, lone])
        original = data.crops(proteins, torch.cat([start_first, start_second, lone_starts]), length)
        letters = torch.cat([letters_first, letters_second, data.letters_of(lone, lone_starts, length)])
        hidden = torch.full((len(proteins), 1), 0.07, device=self.device)
        hidden[len(proteins) - self.plain :] = 0.15
        ids, masked = self._corrupt(original, hidden)
        return Batch(ids, original, original != PADDING, masked, letters, columns, self.labelled, len(first))

    def _labelled_pairs(self):
        """One pair a fold group; three of four have an alignment if there is any, half of these with letters."""
        data = self.proteins
        groups = torch.multinomial(data.group_weights, self.labelled, generator=self.generator)
        noise = -torch.log(-torch.log(self.uniform(len(groups), len(data.group_of)).clamp(1e-9, 1 - 1e-7)))
        weight = 0.5 * torch.log(data.member_count.clamp(min=1).float())
        mine = data.group_of[None] == groups[:, None]
        chosen = (noise + weight).masked_fill(~mine, -1e9).argmax(1)
        structural = (self.uniform(len(groups)) < 0.5) & (data.lettered_count[chosen] > 0)
        lettered = self._one_of(data.lettered_order, data.lettered_start[chosen], data.lettered_count[chosen])
        anyhow = self._one_of(data.aligned_order, data.aligned_start[chosen], data.aligned_count[chosen])
        alignment = torch.where(structural, lettered, anyhow)
        aligned = (self.uniform(len(groups)) < 0.75) & (data.aligned_count[chosen] > 0)
        alignment = torch.where(aligned, alignment, torch.full_like(alignment, -1))
        count = data.member_count[chosen]
        one, other = self.below(count), self.below(count - 1)
        other = other + (other >= one)
        members, start, safe = data.member_order, data.member_start[chosen], alignment.clamp(min=0)
        first = torch.where(aligned, data.first[safe], members[start + one])
        second = torch.where(aligned, data.second[safe], members[start + other])
        return first, second, alignment

    def _one_of(self, order, starts, counts):
        """A member of each stretch of `order`; of an empty one any number."""
        return order[(starts + self.below(counts)).clamp(max=len(order) - 1)]

    def _natural_pairs(self):
        data = self.proteins
        count = torch.full((self.natural,), data.natural_alignments, device=self.device)
        alignment = data.labelled_alignments + self.below(count)
        return data.first[alignment], data.second[alignment], alignment

    def _starts(self, first, second, alignments):
        """Starts that put one aligned column at nearly, never reliably, the same place of both crops; or any starts."""
        data, length = self.proteins, self.crop
        safe = alignments.clamp(min=0)
        begin, end = data.column_offsets[safe], data.column_offsets[safe + 1]
        at = (begin + self.below(end - begin)).clamp(max=len(data.keys) - 1)
        place = (self.uniform(len(first)) * length).long()
        shift = (self.uniform(len(first)) * (2 * JITTER + 1)).long() - JITTER
        starts = []
        for proteins, column, moved in ((first, data.column_first, 0), (second, data.column_second, shift)):
            room = (data.lengths[proteins] - length).clamp(min=0)
            shared = (column[at].long() - place + moved).clamp(min=0).minimum(room)
            starts.append(torch.where(alignments >= 0, shared, self.below(room + 1)))
        return starts

    def _columns(self, alignments, start_first, start_second):
        """[pairs, crop]: for each place of the first crop the aligned one of the second, or -1."""
        at, other, inside = self.proteins.aligned(alignments, start_first, self.crop)
        other = other - start_second[:, None]
        inside = inside & (other >= 0) & (other < self.crop)
        return scattered(at, other, inside, self.crop, IGNORED)

    def _replace(self, proteins, starts, columns, is_first):
        """Half of the labelled members become a natural relative, which inherits letters and aligned columns."""
        data, length = self.proteins, self.crop
        letters = data.letters_of(proteins, starts, length)
        labelled = proteins.clamp(max=data.labelled_count - 1)
        count = torch.where(proteins < data.labelled_count, data.relative_count[labelled], torch.zeros_like(labelled))
        alignment = (data.relative_start[labelled] + self.below(count)).clamp(max=len(data.first) - 1)
        replaced = (self.uniform(len(proteins)) < 0.5) & (count > 0)
        at, other, inside = data.aligned(alignment, starts, length)
        replaced = replaced & (inside.sum(1) >= LEAST_COVERED)
        relative = data.second[alignment]
        room = (data.lengths[relative] - length).clamp(min=0)
        start = (other[:, 0] - at[:, 0]).clamp(min=0).minimum(room)
        other = other - start[:, None]
        inside = inside & (other >= 0) & (other < length)
        moved = scattered(at, other, inside, length, IGNORED)
        inherited = scattered(moved, letters, moved >= 0, length, UNKNOWN_LETTER)
        if is_first:
            new = scattered(moved, columns, (moved >= 0) & (columns >= 0), length, IGNORED)
        else:
            new = torch.where(columns >= 0, moved.gather(1, columns.clamp(min=0)), columns)
        rows = replaced[:, None]
        return (
            torch.where(replaced, relative, proteins), torch.where(replaced, start, starts),
            torch.where(rows, inherited, letters), torch.where(rows, new, columns),
        )

    def _lone(self):
        """Chains with letters, then plain proteins, each residue of which is as likely."""
        data = self.proteins
        singles = data.with_letters[self.below(torch.full((self.singles,), len(data.with_letters), device=self.device))]
        starts = self.below((data.lengths[singles] - self.crop).clamp(min=0) + 1)
        residue = (self.uniform(self.plain).double() * self.residues).long()
        plain = (torch.searchsorted(data.offsets, residue, right=True) - 1).clamp(min=0, max=data.count - 1)
        room = (data.lengths[plain] - self.crop).clamp(min=0)
        inside = residue - data.offsets[plain] - (self.uniform(self.plain) * self.crop).long()
        return torch.cat([singles, plain]), torch.cat([starts, inside.clamp(min=0).minimum(room)])

    def _corrupt(self, original, hidden):
        """Hides a share of the residues behind the mask symbol and replaces 4 % by random ones."""
        chance = self.uniform(*original.shape)
        present = original != PADDING
        masked = present & (chance < hidden) & (original != UNKNOWN)
        ids = torch.where(masked, torch.full_like(original, MASKED), original)
        random = (self.uniform(*original.shape) * 20).long().clamp(max=19)
        return torch.where(present & (chance > 0.96), random, ids), masked


def scattered(places, values, inside, length, empty):
    """[n, length] with values at the places that are inside, `empty` elsewhere."""
    out = torch.full((len(places), length + 1), empty, dtype=torch.long, device=places.device)
    out.scatter_(1, torch.where(inside, places, torch.full_like(places, length)), values)
    return out[:, :length]
