"""Times PyTorch on the same comparison: a bf16 matrix product of a query of 300 residues with as many random target
residues, and the two maxima over it. Prints JSON; exit code 77 without PyTorch or a GPU.

    python3 cuda_pytorch.py [GiB of int8 tokens, default 4]

All lengths are 368 (the bench has 365 on average), so that PyTorch needs no protein boundaries. The results are sums of
bf16 products, without a ranking. The score matrix is computed in pieces of about 1 GiB, in the order of memory.
"""
import json
import sys
import time

QUERY_LENGTH = 300
TARGET_LENGTH = 368
SWISS_PROT_RESIDUES = 205e6
PIECE_TARGETS = (1 << 30) // (2 * QUERY_LENGTH * TARGET_LENGTH)
NO_GPU = 77


def measure(torch, dimension, size):
    count = size // (TARGET_LENGTH * dimension)
    targets = torch.randn(count, TARGET_LENGTH, dimension, dtype=torch.bfloat16, device="cuda")
    query = torch.randn(dimension, QUERY_LENGTH, dtype=torch.bfloat16, device="cuda")
    sums = torch.empty(count, dtype=torch.float32, device="cuda")

    def search():
        for start in range(0, count, PIECE_TARGETS):
            scores = targets[start : start + PIECE_TARGETS] @ query
            closest = scores.amax(1).sum(1, dtype=torch.float32) / QUERY_LENGTH
            closest += scores.amax(2).sum(1, dtype=torch.float32) / TARGET_LENGTH
            sums[start : start + PIECE_TARGETS] = closest
        torch.cuda.synchronize()

    times = []
    for repeat in range(13):
        start = time.perf_counter()
        search()
        if repeat >= 3:
            times.append(time.perf_counter() - start)
    times.sort()
    residues, median = count * TARGET_LENGTH, times[len(times) // 2]
    return {
        "dimension": dimension,
        "residues": residues,
        "ms": round(median * 1e3, 3),
        "ms_least": round(times[0] * 1e3, 3),
        "ms_most": round(times[-1] * 1e3, 3),
        "ms_205M": round(median * 1e3 * SWISS_PROT_RESIDUES / residues, 2),
    }


def main():
    size = int(float(sys.argv[1] if len(sys.argv) > 1 else 4) * 2**30)
    try:
        import torch
    except ImportError:
        print("cuda_pytorch: PyTorch is not installed")
        return NO_GPU
    if not torch.cuda.is_available():
        print("cuda_pytorch: PyTorch finds no GPU")
        return NO_GPU
    torch.manual_seed(1)
    searches = [measure(torch, dimension, size) for dimension in (64, 128)]
    print(json.dumps({"torch": torch.__version__, "gpu": torch.cuda.get_device_name(), "searches": searches}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
