"""A training step as few launches: model and objectives are recorded as CUDA graphs, where there is a GPU."""
import torch
from torch import nn

import objectives
from drawing import Batch

PARTS = ("protein", "natural", "hit", "natural_hit", "residue", "letters", "masked", "homolog")
TAUGHT_PARTS = ("cosine", "partner", "similar")


class Trunk(nn.Module):
    """The hidden channels [n, length, width] of what the encoder sees, brought back to the residues' own places."""

    def __init__(self, model, kind):
        super().__init__()
        self.model, self.kind = model, kind

    def forward(self, seen, seen_mask, back):
        hidden = self.model.hidden(seen, seen_mask, self.kind)
        return hidden.gather(1, back[:, :, None].expand(-1, -1, hidden.shape[2]))


class Objectives(nn.Module):
    """All objectives of a batch as one vector, in the order of `names`."""

    def __init__(self, model, heads, labelled, pairs, is_taught):
        super().__init__()
        self.model, self.heads = model, heads
        self.labelled, self.pairs, self.is_taught = labelled, pairs, is_taught
        self.names = PARTS + (TAUGHT_PARTS if is_taught else ())

    def forward(self, hidden, original, mask, masked, letters, columns, taught=None):
        batch = Batch(None, original, mask, masked, letters, columns, self.labelled, self.pairs)
        vectors = self.model.vectors(hidden)
        parts = objectives.supervised(self.model, self.heads, batch, hidden, vectors[: 2 * self.pairs])
        if self.is_taught:
            inverse = objectives.invert(columns)
            parts["cosine"] = objectives.cosine_distillation(vectors, taught, mask)
            parts["partner"] = objectives.partner_distillation(vectors, taught, columns, inverse, self.pairs)
            parts["similar"] = objectives.residue_distillation(vectors, taught, self.pairs, mask)
        return torch.stack([parts[name].float() for name in self.names])


def fields_of(drawn):
    return drawn.original, drawn.mask, drawn.masked, drawn.letters, drawn.columns


def recorded(modules, examples):
    """The modules as CUDA graphs, or themselves where that fails or there is no GPU."""
    if not examples[0][0].is_cuda:
        return modules
    try:
        return torch.cuda.make_graphed_callables(modules, examples, allow_unused_input=True)
    except Exception as error:  # A slower step is better than none.
        print(f"not recorded: {type(error).__name__}: {error}", flush=True)
        torch.cuda.synchronize()
        return modules


class Teaching:
    """The teacher's vectors, [n, length, 64], by one launch where there is a GPU."""

    def __init__(self, teacher, kind, clean, clean_mask):
        self.teacher, self.kind = teacher, kind
        self.graph = None
        if not clean.is_cuda:
            return
        try:
            self.clean, self.mask = clean.clone(), clean_mask.clone()
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    self.compute(self.clean, self.mask)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.out = self.compute(self.clean, self.mask)
            self.graph = graph
        except Exception as error:
            print(f"teacher not recorded: {type(error).__name__}: {error}", flush=True)
            torch.cuda.synchronize()

    @torch.no_grad()
    def compute(self, clean, mask):
        return self.teacher(clean, mask, self.kind)

    def __call__(self, clean, mask):
        if self.graph is None:
            return self.compute(clean, mask)
        self.clean.copy_(clean)
        self.mask.copy_(mask)
        self.graph.replay()
        return self.out
