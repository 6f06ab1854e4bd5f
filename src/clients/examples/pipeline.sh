#!/bin/sh
# A FASTA file to a table of hits, with curl, jq and sha256sum.
set -eu

usage() {
  cat <<'EOT'
usage: pipeline.sh PROTEINS.fasta HITS.tsv [DATABASE]

Searches every protein of a FASTA file and writes the hits as BLAST's tabular output (outfmt 6). A rerun within a day
waits for the run of the first attempt.

environment:
  GLOAMING_URL      address of the appliance, http://127.0.0.1:8080 by default
  GLOAMING_API_KEY  API key
  GLOAMING_LIMIT    candidates of each protein, 100 by default

exit codes:
  0  the file is complete
  1  anything else
  2  the command line is wrong, or a file cannot be read
  3  the appliance refuses the request; a retry of the same request is refused, too
  4  the run failed or was cancelled; a rerun makes a new one
  5  the appliance cannot be reached or has no capacity; a rerun may succeed
EOT
}

if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then usage && exit 0; fi
if [ $# -lt 2 ] || [ $# -gt 3 ]; then usage >&2 && exit 2; fi
proteins=$1
hits=$2
database=${3:-}
url=${GLOAMING_URL:-http://127.0.0.1:8080}
limit=${GLOAMING_LIMIT:-100}
if [ -z "${GLOAMING_API_KEY:-}" ]; then echo "pipeline.sh: GLOAMING_API_KEY is not set" >&2 && exit 2; fi
if ! [ -r "$proteins" ]; then echo "pipeline.sh: $proteins cannot be read" >&2 && exit 2; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The key is in a private file, because process listings show arguments.
(umask 077 && printf 'header = "Authorization: Bearer %s"\n' "$GLOAMING_API_KEY" >"$work/key")

# Sends a request and retries it if the appliance says that a retry may succeed; the response body is in $work/answer.
request() {
  for attempt in 1 2 3 4 5; do
    status=$(curl -sS -K "$work/key" -o "$work/answer" -D "$work/headers" -w '%{http_code}' "$@") || status=000
    case $status in
    2*) return 0 ;;
    esac
    if [ "$status" != 000 ] && ! grep -qi '^service-retryable: true' "$work/headers"; then break; fi
    pause=$(sed -n 's/^[Rr]etry-[Aa]fter: *\([0-9][0-9]*\).*/\1/p' "$work/headers" 2>/dev/null | head -n 1)
    if [ "$attempt" -lt 5 ]; then sleep "${pause:-$attempt}"; fi
  done
  jq -r '.error.message // .detail // "no answer"' "$work/answer" >&2 2>/dev/null || echo "pipeline.sh: no answer" >&2
  case $status in
  000 | 429 | 5*) exit 5 ;;
  *) exit 3 ;;
  esac
}

# Creates a run from the JSON in $work/body with an Idempotency-Key that equal steps share; its id is in $run.
create_run() {
  for attempt in 1 2 3 4 5 6 7 8; do
    key=$({ echo "pipeline.sh $attempt" && cat "$work/body"; } | sha256sum | cut -c 1-64)
    request "$url/v1/runs" -H "Idempotency-Key: $key" -H 'Content-Type: application/json' \
      -H 'Prefer: respond-async' --data-binary "@$work/body"
    run=$(jq -r .data.id "$work/answer")
    if ! grep -qi '^idempotent-replayed' "$work/headers"; then return 0; fi
    # An earlier request created the run. If that run has failed, the next attempt creates another.
    request "$url/v1/runs/$run"
    case $(jq -r .data.status "$work/answer") in
    failed | cancelled) ;;
    *) return 0 ;;
    esac
  done
  echo "pipeline.sh: 8 runs of this step have failed within a day" >&2
  exit 4
}

wait_for_run() {
  while :; do
    request "$url/v1/runs/$run" -H 'Prefer: wait=20'
    case $(jq -r .data.status "$work/answer") in
    completed) return 0 ;;
    failed | cancelled)
      jq -r '"the run \(.data.id) was \(.data.status): \(.data.error.message // "")"' "$work/answer" >&2
      exit 4
      ;;
    esac
  done
}

jq -n --rawfile fasta "$proteins" --arg database "$database" --argjson limit "$limit" '{
  endpoint: "homology.batch_search",
  input: ({$fasta, $limit, evidence: "pairwise_sequence_alignment"} + if $database == "" then {} else {$database} end)
}' >"$work/body"
create_run
echo "$run" >&2
wait_for_run

jq -n --arg run "$run" '{endpoint: "homology.export", input: {run_id: $run, format: "m8"}}' >"$work/body"
create_run
wait_for_run
file=$(jq -r .data.result.summary.file.url "$work/answer")
checksum=$(jq -r .data.result.summary.file.checksum "$work/answer")

request "$file"
echo "$checksum  $work/answer" | sha256sum --check --status
mv "$work/answer" "$hits"
