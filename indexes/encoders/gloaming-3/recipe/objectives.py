"""The training objectives, in nats. Shapes are fixed, so that the device is never waited for.

Vectors are [n, length, dimension], masks [n, length]; columns as in drawing.Batch.
"""
import torch
from torch.nn import functional as F

from drawing import IGNORED, UNKNOWN_LETTER
from losses import BestCosines
from model import PADDING, UNKNOWN

NEVER = -1e4
SAMPLED_PER_CROP = 6
NATURAL_GROUP = 32
DISTIL_SCALE = 12.0


def cross_entropy(logits, wanted, asked):
    """Mean over the asked places; 0 if there is none."""
    values = F.cross_entropy(logits.flatten(0, -2), wanted.clamp(min=0).flatten(), reduction="none")
    asked = asked.flatten().to(values.dtype)
    return (values * asked).sum() / asked.sum().clamp(min=1)


def protein_contrast(first, second, first_mask, second_mask, scale):
    """Symmetric InfoNCE over bidirectional MaxSim; the other pairs are the negatives. Share of hits beside it."""
    logits = maxsim(first, second, first_mask, second_mask) * scale
    truth = torch.arange(len(logits), device=logits.device)
    hit = (logits.detach().argmax(1) == truth).float().mean()
    return 0.5 * (F.cross_entropy(logits, truth) + F.cross_entropy(logits.t(), truth)), hit


def natural_contrast(first, second, first_mask, second_mask, scale):
    """The same in groups of NATURAL_GROUP: the fewer others, the fewer of them are homologs by chance."""
    values = [
        protein_contrast(*(side[at : at + NATURAL_GROUP] for side in (first, second, first_mask, second_mask)), scale)
        for at in range(0, len(first), NATURAL_GROUP)
    ]
    return sum(value for value, _ in values) / len(values), sum(hit for _, hit in values) / len(values)


def maxsim(first, second, first_mask, second_mask):
    """Mean over both directions of the mean best cosine: [p, i, d] and [q, j, d] give [p, q]."""
    a, b = with_padding_terms(first, first_mask, 0), with_padding_terms(second, second_mask, 1)
    forward, backward = BestCosines.apply(a, b)
    forward = (forward * first_mask[:, :, None]).sum(1) / first_mask.sum(1)[:, None]
    backward = (backward * second_mask[None]).sum(2) / second_mask.sum(1)[None]
    return 0.5 * (forward + backward)


def with_padding_terms(vectors, mask, own):
    """Two more components lower every dot product with padding by 4, below any cosine; two of 0 align the rows."""
    terms = torch.zeros(*mask.shape, 4, device=mask.device)
    terms[:, :, own] = (~mask) * -4.0
    terms[:, :, 1 - own] = 1.0
    return torch.cat([vectors, terms], 2)


def residue_logits(queries, keys, key_mask, scale, sampled):
    """Cosines times scale of each query residue with its partner's residues and `sampled` ones of the other pairs."""
    pairs, _, dimension = keys.shape
    within = (torch.bmm(queries, keys.transpose(1, 2)) * scale).masked_fill(~key_mask[:, None], NEVER)
    others = keys.gather(1, sampled[:, :, None].expand(-1, -1, dimension)).reshape(-1, dimension)
    usable = key_mask.gather(1, sampled).view(-1)
    between = torch.matmul(queries, others.t()) * scale
    owner = torch.arange(pairs, device=keys.device).repeat_interleave(sampled.shape[1])
    own = owner[None] == torch.arange(pairs, device=keys.device)[:, None]
    return torch.cat([within, between.masked_fill((own | ~usable[None])[:, None], NEVER)], 2)


def residue_contrast(first, second, first_mask, second_mask, columns, inverse, scale):
    """Aligned residues against other residues of the partner and a sample of the other pairs'; both ways."""
    total = 0
    for queries, keys, mask, wanted in ((first, second, second_mask, columns), (second, first, first_mask, inverse)):
        sampled = torch.randint(keys.shape[1], (len(keys), SAMPLED_PER_CROP), device=keys.device)
        logits = residue_logits(queries, keys, mask, scale, sampled)
        total = total + 0.5 * cross_entropy(logits, wanted, wanted != IGNORED)
    return total


def residue_distillation(student, taught, n, mask):
    """How a residue's similarities with the partner's and other residues differ from the teacher's; both ways."""
    total = 0
    for own, other in ((slice(0, n), slice(n, 2 * n)), (slice(n, 2 * n), slice(0, n))):
        sampled = torch.randint(mask.shape[1], (n, SAMPLED_PER_CROP), device=mask.device)
        wanted = residue_logits(taught[own], taught[other], mask[other], DISTIL_SCALE, sampled).log_softmax(2)
        given = residue_logits(student[own], student[other], mask[other], DISTIL_SCALE, sampled).log_softmax(2)
        divergence = (wanted.exp() * (wanted - given)).sum(2)
        total = total + 0.5 * (divergence * mask[own]).sum() / mask[own].sum()
    return total


def cosine_distillation(student, taught, mask):
    return 1 - ((student * taught).sum(2) * mask).sum() / mask.sum()


def partner_distillation(student, taught, columns, inverse, n):
    """1 - cosine with the teacher's vector of the aligned residue: the best answer is the mean over homologs."""
    total, asked = 0, 0
    for own, other, wanted in ((student[:n], taught[n : 2 * n], columns), (student[n : 2 * n], taught[:n], inverse)):
        place = wanted.clamp(min=0)[:, :, None].expand(-1, -1, other.shape[2])
        cosines = (own * other.gather(1, place)).sum(2)
        known = (wanted != IGNORED).float()
        total, asked = total + ((1 - cosines) * known).sum(), asked + known.sum()
    return total / asked.clamp(min=1)


def invert(columns):
    """columns[p, i] = j turned into inverse[p, j] = i."""
    length = columns.shape[1]
    inverse = torch.full((len(columns), length + 1), IGNORED, dtype=torch.long, device=columns.device)
    at = torch.arange(length, device=columns.device).expand_as(columns)
    inverse.scatter_(1, torch.where(columns == IGNORED, torch.full_like(columns, length), columns), at)
    return inverse[:, :length]


def letter_loss(hidden, heads, letters):
    known = letters != UNKNOWN_LETTER
    return cross_entropy(heads.letters(hidden), torch.where(known, letters, torch.zeros_like(letters)), known)


def masked_loss(hidden, heads, original, masked):
    return cross_entropy(heads.masked(hidden), original.clamp(max=19), masked)


def homolog_loss(hidden, heads, original, columns, inverse):
    """What residue the homolog has in the aligned column: one draw from the family's profile."""
    n = len(columns)
    wanted = torch.cat([partner(original[n : 2 * n], columns), partner(original[:n], inverse)])
    asked = (wanted != IGNORED) & (wanted != UNKNOWN) & (wanted != PADDING)
    return cross_entropy(heads.homolog(hidden[: 2 * n]), wanted.clamp(min=0, max=19), asked)


def partner(original, columns):
    return torch.where(columns == IGNORED, columns, original.gather(1, columns.clamp(min=0)))


def supervised(model, heads, batch, hidden, vectors):
    """All objectives of gloaming-1's recipe, by name."""
    n, labelled, mask = batch.pairs, batch.labelled, batch.mask
    inverse = invert(batch.columns)
    sides = vectors[:n], vectors[n : 2 * n], mask[:n], mask[n : 2 * n]
    protein_scale = heads.log_protein_scale.exp().clamp(max=100)
    residue_scale = heads.log_residue_scale.exp().clamp(max=50)
    protein, hit = protein_contrast(*(side[:labelled] for side in sides), protein_scale)
    natural, natural_hit = natural_contrast(*(side[labelled:] for side in sides), protein_scale)
    return dict(
        protein=protein, natural=natural, hit=hit, natural_hit=natural_hit,
        residue=residue_contrast(*sides, batch.columns, inverse, residue_scale),
        letters=letter_loss(hidden, heads, batch.letters[: len(hidden)]),
        masked=masked_loss(hidden, heads, batch.original[: len(hidden)], batch.masked[: len(hidden)]),
        homolog=homolog_loss(hidden, heads, batch.original, batch.columns, inverse),
    )
