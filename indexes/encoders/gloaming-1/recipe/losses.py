"""The training objectives; each returns one number in nats."""
import torch
from torch.nn import functional as F

from batches import IGNORED, UNKNOWN_LETTER
from model import UNKNOWN

NEVER = -1e4
SAMPLED_PER_CROP = 6


def protein_contrast(first, second, first_mask, second_mask, scale):
    """Symmetric InfoNCE over bidirectional MaxSim; the other pairs of the batch are the negatives."""
    scores = maxsim(first, second, first_mask, second_mask)
    logits = scores * scale
    truth = torch.arange(len(logits), device=logits.device)
    hit = (logits.argmax(1) == truth).float().mean()
    return 0.5 * (F.cross_entropy(logits, truth) + F.cross_entropy(logits.t(), truth)), hit


def maxsim(first, second, first_mask, second_mask):
    """Mean over both directions of the mean best cosine: [p, d, i] and [q, d, j] give [p, q]."""
    a = with_padding_terms(first, first_mask, 0)
    b = with_padding_terms(second, second_mask, 1)
    forward, backward = BestCosines.apply(a, b)
    forward = (forward * first_mask[:, :, None]).sum(1) / first_mask.sum(1)[:, None]
    backward = (backward * second_mask[None]).sum(2) / second_mask.sum(1)[None]
    return 0.5 * (forward + backward)


def with_padding_terms(vectors, mask, own):
    """[n, length, d + 2]: two more components lower every dot product with padding by 4, below any cosine."""
    terms = torch.ones(len(mask), mask.shape[1], 2, device=mask.device)
    terms[:, :, own] = (~mask) * -4.0
    return torch.cat([vectors.transpose(1, 2), terms], 2)


class BestCosines(torch.autograd.Function):
    """Row and column maxima of all dot products.

    Only the winners get a gradient, so the backward pass is a sparse matrix product written densely;
    autograd's own way through amax takes five more passes over the largest tensor.
    """

    @staticmethod
    def forward(context, a, b):
        (p, rows, d), (q, columns, _) = a.shape, b.shape
        dots = (a.reshape(-1, d) @ b.reshape(-1, d).t()).view(p, rows, q, columns)
        forward, best_column = dots.max(3)
        backward, best_row = dots.max(1)
        context.save_for_backward(a, b, best_column, best_row)
        return forward, backward

    @staticmethod
    def backward(context, forward_gradient, backward_gradient):
        a, b, best_column, best_row = context.saved_tensors
        (p, rows, d), (q, columns, _) = a.shape, b.shape
        gradient = torch.zeros(p, rows, q, columns, device=a.device)
        gradient.scatter_(3, best_column[..., None], forward_gradient[..., None])
        gradient.scatter_add_(1, best_row[:, None], backward_gradient[:, None])
        flat = gradient.view(p * rows, q * columns)
        return (flat @ b.reshape(-1, d)).view_as(a), (flat.t() @ a.reshape(-1, d)).view_as(b)


def residue_contrast(first, second, first_mask, second_mask, columns, scale, generator):
    """Aligned residues against other residues of the partner and a sample of the other pairs' residues."""
    inverse = invert(columns, second.shape[2])
    one = one_way(first, second, second_mask, columns, scale, generator)
    other = one_way(second, first, first_mask, inverse, scale, generator)
    return 0.5 * (one + other)


def one_way(queries, keys, key_mask, columns, scale, generator):
    pairs, dimension, length = keys.shape
    within = torch.bmm(queries.transpose(1, 2), keys) * scale
    within = within.masked_fill(~key_mask[:, None], NEVER)
    sampled = torch.randint(length, (pairs, SAMPLED_PER_CROP), generator=generator).to(keys.device)
    others = keys.gather(2, sampled[:, None].expand(-1, dimension, -1))
    usable = key_mask.gather(1, sampled).view(-1)
    others = others.transpose(1, 2).reshape(-1, dimension)
    between = torch.matmul(queries.transpose(1, 2), others.t()) * scale
    owner = torch.arange(pairs, device=keys.device).repeat_interleave(SAMPLED_PER_CROP)
    own = owner[None] == torch.arange(pairs, device=keys.device)[:, None]
    between = between.masked_fill((own | ~usable[None])[:, None], NEVER)
    logits = torch.cat([within, between], 2)
    asked = columns != IGNORED
    return F.cross_entropy(logits[asked], columns[asked])


def invert(columns, length):
    """columns[p, i] = j turned into inverse[p, j] = i."""
    inverse = torch.full((len(columns), length), IGNORED, dtype=torch.long, device=columns.device)
    rows, at = (columns != IGNORED).nonzero(as_tuple=True)
    inverse[rows, columns[rows, at]] = at
    return inverse


def letter_loss(hidden, heads, letters):
    known = letters != UNKNOWN_LETTER
    logits = heads.letters(hidden).transpose(1, 2)
    return F.cross_entropy(logits[known], letters[known])


def masked_loss(hidden, heads, original, masked):
    return F.cross_entropy(heads.masked(hidden).transpose(1, 2)[masked], original[masked])


def homolog_loss(hidden, heads, original, columns):
    """What residue the homolog has in the aligned column: one draw from the family's profile."""
    pairs = len(columns)
    inverse = invert(columns, original.shape[1])
    wanted = torch.cat([partner(original[pairs : 2 * pairs], columns), partner(original[:pairs], inverse)])
    asked = (wanted != IGNORED) & (wanted != UNKNOWN)
    logits = heads.homolog(hidden[: 2 * pairs]).transpose(1, 2)
    return F.cross_entropy(logits[asked], wanted[asked])


def partner(original, columns):
    return torch.where(columns == IGNORED, columns, original.gather(1, columns.clamp(min=0)))
