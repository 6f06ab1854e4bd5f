#!/bin/sh
# Starts (or resumes) a training on a core: run_training.sh TRAINING.npz FOLDER STEPS [options of train.py].
# The allocator keeps large tensors' pages instead of giving them back each step: a third of a step's time.
here=$(dirname "$0")
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 GLIBC_TUNABLES=glibc.malloc.hugetlb=1
export MALLOC_MMAP_THRESHOLD_=8589934592 MALLOC_TRIM_THRESHOLD_=17179869184 MALLOC_TOP_PAD_=268435456
data=$1 folder=$2 steps=$3
shift 3
exec /usr/bin/python3 "$here/train.py" "$data" "$folder" --steps "$steps" "$@"
