#!/bin/sh
# Stands in for a structure predictor: the first line of the alignment says what it does.
#   stand-in-predictor.sh INPUT OUTPUT ARGUMENT
input=$1
output=$2
read -r behaviour <"$input"
echo "behaviour $behaviour, argument $3"
echo "working in $(pwd)" >&2
echo "pid $$"
case $behaviour in
*fail*)
  echo 'half' >"$output/half.pdb"
  echo 'the model did not converge' >&2
  exit 3
  ;;
*hang*)
  sleep 1000 &
  echo "pid $!"
  wait
  ;;
*stubborn*)
  trap '' TERM
  sleep 1000 &
  echo "pid $!"
  while :; do sleep 1; done
  ;;
*flood*)
  yes >"$output/flood.txt"
  ;;
*chatter*)
  yes 'a line of the log' | head -c 6000000
  ;;
*many*)
  for at in 1 2 3 4 5 6 7 8 9 10; do : >"$output/$at.pdb"; done
  ;;
*link*)
  ln -s /etc/passwd "$output/link.pdb"
  ;;
*swap*)
  rm -r "$output"
  ln -s /etc "$output"
  exit 0
  ;;
*nested*)
  ln -s /etc "$output/folder"
  ;;
*log-theft*)
  rm predictor.log
  ln -s /etc/passwd predictor.log
  exit 3
  ;;
*archive*)
  printf 'x' >"$output/..%2f..%2fescaped.pdb"
  ;;
*backslash*)
  printf 'x' >"$output/..\\..\\escaped.pdb"
  ;;
*packed*)
  mkdir -p tmp/a && printf 'escaped\n' >escaped.pdb
  tar -C tmp/a -P -cf "$output/models.tar" ../../escaped.pdb
  ;;
*pipe*)
  mkfifo "$output/pipe.pdb"
  ;;
*leaves*)
  sleep 1000 &
  echo "pid $!"
  ;;
esac
mkdir -p "$output/ranked"
cp "$input" "$output/ranked/input-as-it-came.a3m"
env | sort >"$output/environment.txt"
printf 'ATOM\n' >"$output/ranked/model_1.pdb"
