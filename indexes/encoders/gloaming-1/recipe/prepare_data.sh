#!/bin/sh
# Makes training.npz: prepare_data.sh DATA WORK. Needs xz, g++, mmseqs2, python3-numpy; six minutes.
set -eu
data=$1 work=$2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$work/search"
xz -dkc "$data/natural/clean.fasta.xz" > "$work/clean.fasta"
xz -dkc "$data/natural/meta.tsv.xz" > "$work/meta.tsv"
/usr/bin/python3 "$here/select_natural.py" "$work"
g++ -O3 -march=native -o "$work/align_pairs" "$here/align_pairs.cpp"

cd "$work"
mmseqs createdb reps.fasta targets -v 1
mmseqs createdb queries.fasta queries -v 1
mmseqs search queries targets hits search -s 5 -e 1e-5 --max-seqs 150 -a --threads 2 -v 2
mmseqs convertalis queries targets hits natural-alignments.tsv --threads 1 -v 1 \
    --format-output query,target,fident,alnlen,qstart,qend,tstart,tend,evalue,cigar
/usr/bin/python3 "$here/prepare.py" "$data" "$work"
