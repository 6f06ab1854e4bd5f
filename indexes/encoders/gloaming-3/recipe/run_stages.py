#!/usr/bin/env python3
"""Trains a teacher, then students of gloaming-1's kind, within a time: run_stages.py PACKED OUT [--minutes M] [...]

PACKED holds what pack.py wrote, gloaming-1.pt and, if dev figures are wanted at the end, domains.npz and
families.npz of pack_domains.py. OUT receives few files: teacher-0.pt and teacher-1.pt (halves of its weights), one
file a student with some states of it, and figures.json. A stage that fails leaves what the others made.
"""
import argparse
import pathlib
import threading
import time
import traceback

import torch

from dev_figures import DevFigures
from drawing import Proteins
from outputs import Outputs
from retrieval import encode_all
from stages import CONTROL_WEIGHTS, TAUGHT_WEIGHTS, StudentStage, TeacherStage, Trained, set_up, timer
from student import Student
from teacher import Heads, Teacher
from unpack import read_arrays


def main():
    args = read_arguments()
    clock = timer()
    device, kind = set_up(args.seed)
    warm = threading.Thread(target=lambda: torch.randn(8, 8, device=device) @ torch.randn(8, 8, device=device))
    warm.start()
    proteins = Proteins(read_arrays(args.packed), device)
    warm.join()
    out = Outputs(args.out)
    training_seconds = args.minutes * 60
    residues, columns = len(proteins.tokens), len(proteins.keys)
    print(f"[{clock():6.1f}s] {device} {torch.__version__} {residues} residues, {columns} columns", flush=True)
    groups, held_out = int((proteins.group_weights > 0).sum()), int(proteins.held_out.sum())
    print(f"{groups} fold groups, {held_out} proteins held out", flush=True)
    first = load_student(args.packed / "gloaming-1.pt", device)
    taught = clock() + (training_seconds - clock()) * args.teacher_share
    teacher = survive(train_teacher, proteins, args, clock, kind, out, taught)
    survive(train_students, proteins, args, clock, kind, out, teacher, first, training_seconds)
    print(f"[{clock():6.1f}s] training is over", flush=True)
    survive(measure, args, clock, kind, out, teacher, first, device, training_seconds + args.dev_minutes * 60)
    out.write_figures()


def read_arguments():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("packed", type=pathlib.Path)
    ap.add_argument("out", type=pathlib.Path)
    ap.add_argument("--minutes", type=float, default=6, help="of training, start-up included")
    ap.add_argument("--dev-minutes", type=float, default=1.5, help="of dev figures after training, at most")
    ap.add_argument("--teacher-share", type=float, default=0.53, help="of the training time")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--crop", type=int, default=192)
    ap.add_argument("--width", type=int, default=384, help="of the teacher")
    ap.add_argument("--teacher-batch", default="40,96,24,160", help="labelled, natural pairs, singles, plain")
    ap.add_argument("--student-batch", default="24,64,16,96")
    ap.add_argument("--ask-every", type=float, default=25, help="seconds between held-out figures")
    ap.add_argument("--tiny", action="store_true", help="few queries for dev figures, to try the script")
    return ap.parse_args()


def survive(stage, *arguments):
    try:
        return stage(*arguments)
    except Exception:
        traceback.print_exc()
        print(f"{stage.__name__} failed", flush=True)
        return None


def load_student(path, device):
    state = torch.load(path, map_location="cpu")
    student = Student(**state["settings"])
    student.load_state_dict({key: value.float() for key, value in state["weights"].items()})
    return student.to(device).eval()


def train_teacher(proteins, args, clock, kind, out, seconds):
    """Tries again with half of each kind of crop if the device's memory does not suffice."""
    batch = [int(count) for count in args.teacher_batch.split(",")]
    for attempt in range(3):
        try:
            model = Teacher(width=args.width).to(proteins.device)
            print(f"teacher: {sum(p.numel() for p in model.parameters())} parameters, batch {batch}", flush=True)
            return TeacherStage(proteins, args, clock, kind, out).run(model, seconds, batch)[0]
        except RuntimeError as error:
            if "out of memory" not in str(error):
                raise
            batch = [max(1, count // 2) for count in batch]
        torch.cuda.empty_cache()
    return None


def train_students(proteins, args, clock, kind, out, teacher, first, seconds):
    device = proteins.device
    rotation = torch.eye(64, device=device)
    if teacher is not None:
        rotation = axes(teacher, first, proteins, kind, 10 if args.tiny else 400)
    deep = Student(256, 128, (1, 2, 4, 8, 16, 1, 2, 4, 8, 16, 4, 1), dropout=0.03).to(device)
    plain, control = copy_of(first, 0.03), copy_of(first, 0.1)
    students = [
        Trained("deep", deep, Heads(256).to(device), TAUGHT_WEIGHTS, 0.02, 2e-3, 0.01, 0.08),
        Trained("plain", plain, Heads(256).to(device), TAUGHT_WEIGHTS, 0.012, 1.2e-3, 0.01, 0.08),
        Trained("control", control, Heads(256).to(device), CONTROL_WEIGHTS, 0.006, 6e-4, 0.01, 0.08),
    ]
    if teacher is None:
        students = students[2:]
    batch = [int(count) for count in args.student_batch.split(",")]
    StudentStage(proteins, args, clock, kind, out).run(teacher, rotation, students, seconds, batch)


def copy_of(student, dropout):
    copy = Student(**{**student.settings, "dropout": dropout}).to(next(student.parameters()).device)
    copy.load_state_dict(student.state_dict())
    return copy


def natural_sequences(proteins, count):
    """Tokens of `count` natural proteins, the same ones in every run."""
    generator = torch.Generator().manual_seed(2)
    at = torch.randint(proteins.labelled_count, proteins.clean_end, (count,), generator=generator)
    bounds = [(int(proteins.offsets[place]), int(proteins.offsets[place + 1])) for place in at.tolist()]
    return [proteins.tokens[begin:end].cpu().numpy() for begin, end in bounds]


@torch.no_grad()
def axes(teacher, first, proteins, kind, count):
    """The rotation that brings the teacher's vectors nearest to gloaming-1's, by `count` natural proteins."""
    sequences = natural_sequences(proteins, count)
    ours = torch.cat(encode_all(teacher, sequences, proteins.device, kind)).double().cpu()
    theirs = torch.cat(encode_all(first, sequences, proteins.device, kind)).double().cpu()
    u, _, v = torch.linalg.svd(ours.t() @ theirs)
    rotation = u @ v
    cosine = float(torch.nn.functional.cosine_similarity(ours @ rotation, theirs, dim=1).mean())
    print(f"teacher against gloaming-1 after rotation: cosine {cosine:.3f}", flush=True)
    return rotation.float().to(proteins.device)


def measure(args, clock, kind, out, teacher, first, device, seconds):
    """Dev figures, the most telling models first, until the time is over."""
    dev = DevFigures(args.packed, device, kind, args.tiny)
    models = [("gloaming-1", first), *out.last_students(device)]
    models += [("teacher", teacher)] if teacher is not None else []
    models += out.earlier_students(device)
    for families in (False, True):
        for name, model in models:
            if clock() > seconds or (families and not dev.has_families):
                return
            begin = time.monotonic()
            values = survive(dev.of, model, families)
            label = f"{name}, {'mean over relatives' if families else 'alone'}"
            out.figures[label] = values
            print(f"[{clock():6.1f}s] dev {label} ({time.monotonic() - begin:.1f} s): {values}", flush=True)
            out.write_figures()


if __name__ == "__main__":
    main()
