"""Muon: momentum replaced by its nearest orthogonal matrix (K. Jordan et al. 2024), for hidden weights."""
import torch


class Muon(torch.optim.Optimizer):
    """Kernels are matrices [out, in * taps]; a step has spectral norm lr * sqrt(max(1, rows / columns))."""

    def __init__(self, params, lr, momentum=0.95, weight_decay=0.0):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                state = self.state[weight]
                if not state:
                    state["momentum"] = torch.zeros_like(weight)
                state["momentum"].lerp_(weight.grad, 1 - group["momentum"])
                blend = weight.grad.lerp(state["momentum"], group["momentum"])
                update = orthogonalise(blend.flatten(1))
                scale = max(1.0, update.shape[0] / update.shape[1]) ** 0.5
                weight.mul_(1 - group["lr"] * group["weight_decay"])
                weight.add_(update.view_as(weight), alpha=-group["lr"] * scale)


def orthogonalise(matrix, rounds=5):
    """Newton-Schulz iteration with the published quintic; singular values end near 1, not at it."""
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.t() if tall else matrix
    x = x / (x.norm() + 1e-7)
    for _ in range(rounds):
        gram = x @ x.t()
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.t() if tall else x
