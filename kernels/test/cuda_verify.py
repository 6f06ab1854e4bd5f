"""Verifies the CUDA kernels on a GPU, as CUDA_IS_VERIFIED requires, in one command and under eight minutes. It builds
the plain executables, compares every kernel with the reference bit for bit, times them, and compares the figures with
the project's performance targets. Needs CMake, a C++17 compiler and nvcc 12 or 13; no Node, no network. It times
PyTorch, too, if that is installed.

    python3 kernels/test/cuda_verify.py OUT.json [GiB of tokens, default 8]
    python3 kernels/test/cuda_verify.py OUT.json --emulated       tests this program on emulated GPUs, without targets
    GLOAMING_CUDA_BUILD=FOLDER python3 …    runs executables of that folder, built elsewhere, instead of building them

OUT.json is rewritten after each step, so an interrupted run keeps its results so far. Exit code: 0 if all results are
equal and all targets are met, 1 if a result differs or a step failed, 2 if only a target is missed, 77 without a GPU.
"""
import glob
import json
import os
import subprocess
import sys
import time

KERNELS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILT = os.environ.get("GLOAMING_CUDA_BUILD")
BUILD = BUILT or os.path.join(os.path.dirname(KERNELS), "build", "cuda-verify")
NO_GPU = 77
# Milliseconds for 300 residues against 205 million, on an H100 or H200, by kernel and dimension.
BARS_MS = {("hopper", 128): 16, ("hopper", 64): 10, ("portable", 128): 30, ("portable", 64): 18}
# The same for affine scores of a thousand targets of such a search.
AFFINE_BAR_MS = 2
HOPPER_CUBLASLT_SHARE = 0.5
PYTORCH_RATIO = 4
SEEDS = ["1", "2"]
# Time limit of all steps together.
LIMIT_S = 470


def find_cublaslt():
    """Folders of cuBLASLt outside the loader's search path: CUDA's own, and those of Python packages."""
    roots = [os.environ.get("CUDA_HOME", "/usr/local/cuda"), *(os.path.join(path, "nvidia") for path in sys.path)]
    found = [name for root in roots for name in glob.glob(os.path.join(root, "**", "libcublasLt.so*"), recursive=True)]
    return sorted({os.path.dirname(name) for name in found})


LIBRARIES = [*find_cublaslt(), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
ENVIRONMENT = {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(LIBRARIES)}


def main():
    if len(sys.argv) < 2:
        print(__doc__)
        return 1
    path, size = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "8"
    emulated = [size] if size == "--emulated" else []
    started_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    deadline = time.monotonic() + LIMIT_S
    report = {"started_at": started_at, "machine": describe_machine(), "steps": {}}

    def step(name, command, limit_s):
        report["steps"][name] = outcome = run(command, min(limit_s, deadline - time.monotonic()))
        print(f"{name}: exit code {outcome['exit_code']} after {outcome['seconds']} s", flush=True)
        write(path, report)
        return outcome

    report["verdict"] = verify(step, size, emulated, report)
    write(path, report)
    print(json.dumps(report["verdict"], indent=2))
    return report["verdict"]["exit_code"]


def verify(step, size, emulated, report):
    if BUILT is None and not build(step):
        return {"exit_code": 1, "failed": ["the build"]}
    program = lambda name: os.path.join(BUILD, name)
    test = [program("kernels-cuda-equality"), *emulated]
    equality = [step(f"equality, seed {seed}", [*test, seed], 120) for seed in SEEDS]
    if equality[0]["exit_code"] == NO_GPU:
        return {"exit_code": NO_GPU, "failed": [equality[0]["output"]]}
    bench = step("bench", [program("kernels-cuda-bench"), size], 180)
    peer = [sys.executable, os.path.join(KERNELS, "test", "cuda_pytorch.py")]
    pytorch = step("pytorch", peer if emulated else [*peer, size], 60)
    report["bench"], report["pytorch"] = parsed(bench), parsed(pytorch)
    verdict = judge(equality, report["bench"], report["pytorch"])
    if emulated and verdict["exit_code"] != 1:
        return {"exit_code": NO_GPU, "failed": [], "missed": [], "unmeasured": [bar["bar"] for bar in verdict["bars"]]}
    return verdict


def build(step):
    definitions = ["-DGLOAMING_TESTS=ON", "-DGLOAMING_CUDA=ON"]
    targets = ["kernels-cuda-equality", "kernels-cuda-bench"]
    configured = step("configure", ["cmake", "-S", KERNELS, "-B", BUILD, *definitions], 60)
    built = step("build", ["cmake", "--build", BUILD, "--parallel", "--target", *targets], 200)
    return configured["exit_code"] == 0 and built["exit_code"] == 0


def judge(equality, bench, pytorch):
    failed = []
    if any(one["exit_code"] != 0 for one in equality):
        failed.append("a kernel differs from the reference, or failed")
    if bench is None:
        failed.append("the bench has no figures")
    bars = [bar for search in (bench or {}).get("searches", []) for bar in bars_of(search, pytorch)]
    missed = [bar["bar"] for bar in bars if bar["is_met"] is False]
    unmeasured = [bar["bar"] for bar in bars if bar["is_met"] is None]
    code = 1 if failed else 2 if missed else 0
    return {"exit_code": code, "failed": failed, "missed": missed, "unmeasured": unmeasured, "bars": bars}


def bars_of(search, pytorch):
    kernel, dimension = search["kernel"], search["dimension"]
    name = f"{kernel}, dimension {dimension}"
    most = BARS_MS[(kernel, dimension)]
    yield bar(f"{name}: at most {most} ms for 205 million residues", search["ms_205M"], search["ms_205M"] <= most)
    if kernel != "hopper":
        return
    affine = search["affine_ms_of_1000"]
    yield bar(f"{name}: at most {AFFINE_BAR_MS} ms for a thousand affine scores", affine, affine <= AFFINE_BAR_MS)
    share = search["cublaslt_share"] or None
    is_met = None if share is None else share >= HOPPER_CUBLASLT_SHARE
    yield bar(f"{name}: at least {HOPPER_CUBLASLT_SHARE:.0%} of cuBLASLt's int8 rate", share, is_met)
    peers = [peer["ms_205M"] for peer in (pytorch or {}).get("searches", []) if peer["dimension"] == dimension]
    ratio = round(peers[0] / search["ms_205M"], 2) if peers else None
    is_met = None if ratio is None else ratio >= PYTORCH_RATIO
    yield bar(f"{name}: at least {PYTORCH_RATIO} × as fast as PyTorch in bf16", ratio, is_met)


def bar(text, value, is_met):
    return {"bar": text, "measured": value, "is_met": is_met}


def run(command, limit_s):
    start = time.monotonic()
    try:
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        done = subprocess.run(command, env=ENVIRONMENT, timeout=limit_s, **streams)
        code, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        printed = late.stdout or b""
        code, output = 124, printed if isinstance(printed, str) else printed.decode(errors="replace")
    except OSError as error:
        code, output = 127, str(error)
    return {"exit_code": code, "seconds": round(time.monotonic() - start, 1), "output": output[-20_000:].strip()}


def parsed(outcome):
    """The JSON that a step printed; None if the step failed."""
    lines = [line for line in outcome["output"].splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if outcome["exit_code"] == 0 and lines else None


def describe_machine():
    asked = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,memory.free,clocks.max.sm", "--format=csv"]
    return {"gpus": run(asked, 30)["output"], "nvcc": run(["nvcc", "--version"], 30)["output"].split("\n")[-1]}


def write(path, report):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=2)
        file.write("\n")


if __name__ == "__main__":
    sys.exit(main())
