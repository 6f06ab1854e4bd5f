#!/bin/sh
# Runs a script of this folder with what it shares with the recipes beside it: run.sh SCRIPT.py [arguments].
here=$(cd "$(dirname "$0")" && pwd)
encoders=${ENCODERS:-$here/../..}
export PYTHONPATH="$here:$encoders/gloaming-1/recipe:$encoders/baseline-1/recipe:$encoders/gloaming-2/recipe"
script=$1
shift
exec "${PYTHON:-/usr/bin/python3}" "$here/$script" "$@"
