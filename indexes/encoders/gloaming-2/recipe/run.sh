#!/bin/sh
# Runs a script of this folder on a core, with what it shares with the recipes beside it: run.sh SCRIPT.py [arguments].
# The allocator keeps large tensors' pages instead of giving them back each step: a third of a step's time.
here=$(cd "$(dirname "$0")" && pwd)
export PYTHONPATH="$here/../../gloaming-1/recipe:$here/../../baseline-1/recipe"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 GLIBC_TUNABLES=glibc.malloc.hugetlb=1
export MALLOC_MMAP_THRESHOLD_=8589934592 MALLOC_TRIM_THRESHOLD_=17179869184 MALLOC_TOP_PAD_=268435456
script=$1
shift
exec "${PYTHON:-/usr/bin/python3}" "$here/$script" "$@"
