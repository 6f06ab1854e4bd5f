"""Muon for the hidden matrices, all of one shape at once, AdamW for the rest, and moving averages of the weights."""
import torch


class Muon:
    """K. Jordan et al. 2024; kernels are matrices [out, in * taps], steps as long as in gloaming-1's recipe."""

    def __init__(self, params, rate, momentum=0.95, weight_decay=0.01):
        self.rate, self.momentum, self.weight_decay = rate, momentum, weight_decay
        self.groups = {}
        for param in params:
            self.groups.setdefault(tuple(param.flatten(1).shape), []).append(param)
        self.buffers = {shape: None for shape in self.groups}

    @torch.no_grad()
    def step(self, factor):
        for shape, params in self.groups.items():
            used = [p for p in params if p.grad is not None]
            if len(used) < len(params):
                continue
            gradient = torch.stack([p.grad.flatten(1) for p in params])
            if self.buffers[shape] is None:
                self.buffers[shape] = torch.zeros_like(gradient)
            buffer = self.buffers[shape].lerp_(gradient, 1 - self.momentum)
            update = orthogonalise(gradient.lerp(buffer, self.momentum))
            rate = self.rate * factor
            scale = max(1.0, shape[0] / shape[1]) ** 0.5
            torch._foreach_mul_(params, 1 - rate * self.weight_decay)
            updates = [piece.view_as(p) for piece, p in zip(update.float().unbind(0), params)]
            torch._foreach_add_(params, updates, alpha=-rate * scale)

    def zero_grad(self):
        for params in self.groups.values():
            for param in params:
                param.grad = None


def orthogonalise(matrices, rounds=5):
    """Newton-Schulz iteration with the published quintic on [n, rows, columns]."""
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.transpose(1, 2) if tall else matrices
    x = x / (x.flatten(1).norm(dim=1)[:, None, None] + 1e-7)
    x = x.to(torch.bfloat16) if x.is_cuda else x
    for _ in range(rounds):
        gram = x @ x.transpose(1, 2)
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return x.transpose(1, 2) if tall else x


class Optimizers:
    """Hidden matrices are those of `blocks` or `layers`; rates are the peaks, `factor` scales them."""

    def __init__(self, model, heads, muon_rate, adam_rate, decay):
        named = [*model.named_parameters()]
        hidden = [p for name, p in named if name.split(".")[0] in ("blocks", "layers") and "bias" not in name]
        chosen = {id(p) for p in hidden}
        self.rest = [p for p in (*model.parameters(), *heads.parameters()) if id(p) not in chosen]
        self.muon = Muon(hidden, muon_rate, weight_decay=decay)
        self.adam = torch.optim.AdamW(self.rest, adam_rate, betas=(0.9, 0.98), weight_decay=0.01)
        self.adam_rate = adam_rate

    def step(self, factor):
        torch.nn.utils.clip_grad_norm_(self.rest, 1.0)
        for group in self.adam.param_groups:
            group["lr"] = self.adam_rate * factor
        self.adam.step()
        self.muon.step(factor)

    def zero_grad(self):
        self.adam.zero_grad(set_to_none=True)
        self.muon.zero_grad()


class Average:
    """Moving averages of a model's weights over about `share` of the steps so far."""

    def __init__(self, model, share):
        self.share, self.steps = share, 0
        self.params = [p for p in model.parameters()]
        self.slow = [p.detach().clone() for p in self.params]
        self.names = [name for name, _ in model.named_parameters()]

    @torch.no_grad()
    def update(self):
        self.steps += 1
        decay = 1 - 1 / (self.share * self.steps + 5)
        torch._foreach_mul_(self.slow, decay)
        torch._foreach_add_(self.slow, [p.detach() for p in self.params], alpha=1 - decay)

    def weights(self):
        return dict(zip(self.names, (p.clone() for p in self.slow)))


def rate_factor(share, level=0.4, rise=0.03):
    """Up over the first 3 % of the run, level to `level`, then straight down to 2 % of the peak."""
    if share < rise:
        return 0.05 + 0.95 * share / rise
    return 1.0 if share < level else max(0.02, 1 - (share - level) / (1 - level))
