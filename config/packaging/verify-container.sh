#!/usr/bin/env bash
# Builds the container twice from the packages, compares the bytes, and serves in it, where there is a buildah that may run
# something. No registry is asked: a clean Debian 12 comes as a tar file.
#
#   config/packaging/verify-container.sh <packages> <debian.tar>
set -euo pipefail
cd "$(dirname "$0")/../.."
packages=$1 debian=$2
name=gloaming-verify-$$ container=gloaming-verify-$$-run base=gloaming-verify-$$-base port=18091
work=$(mktemp -d)
server= loaded=
finish() {
  if [ -n "$server" ]; then kill -- "-$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi
  buildah rm "$container" "$base" >/dev/null 2>&1 || true
  # shellcheck disable=SC2086 -- a list of images
  buildah rmi --force $loaded "$base" >/dev/null 2>&1 || true
  rm -rf "$work"
}
fail() { echo "FAILED: $1" >&2; exit 1; }
skip() {
  if [ "${GLOAMING_VERIFY:-}" = required ]; then fail "$1"; fi
  echo "SKIPPED, the container was not built: $1"
  exit 0
}
if ! command -v buildah >/dev/null; then skip 'buildah is not installed'; fi
trap finish EXIT

# Isolation by chroot runs where namespaces and control groups may not be made, as in other containers.
buildah from --name "$base" scratch >/dev/null 2>&1 || skip 'buildah makes no container here'
buildah add "$base" "$debian" / >/dev/null
buildah run --isolation chroot "$base" -- true 2>/dev/null || skip 'buildah runs nothing here'
buildah commit --quiet "$base" "$base" >/dev/null
# A copy, because the image of this base is not the one that is released.
mkdir "$work/packages"
cp "$packages"/gloaming_*_amd64.deb "$packages/SHA256SUMS" "$work/packages"
image() { config/packaging/image.sh "$work/packages" --isolation chroot --build-arg BASE="localhost/$base" "$@"; }
file=$(basename "$packages"/gloaming-*-linux-x64.tar.zst .tar.zst).docker.tar.gz

echo '== the container, twice'
image
layers() { gunzip <"$work/packages/$file" | tar -xO manifest.json | jq -c '.[0].Layers'; }
once=$(layers)
image
[ "$once" = "$(layers)" ] || fail "two builds have other layers: $once, $(layers)"
(cd "$work/packages" && sha256sum --quiet --check --ignore-missing SHA256SUMS)
load() { # name that the image in the file gets
  gunzip <"$work/packages/$file" >"$work/image.tar"
  id=$(buildah pull --quiet "docker-archive:$work/image.tar")
  loaded="$loaded $id"
  buildah tag "$id" "$1"
}
load "$name"
told='{{.Docker.Config.User}} {{.Docker.Config.Volumes}} {{.Docker.Config.Healthcheck.Test}}'
echo "$(buildah inspect --type image --format "$told" "$name")"

echo '== serve in it'
buildah from --name "$container" --pull-never "localhost/$name" >/dev/null
in_container() {
  buildah run --isolation chroot --env GLOAMING_PORT=$port --env GLOAMING_HOST=127.0.0.1 --env GLOAMING_ENCODER=baseline-1 \
    "$container" -- "$@"
}
[ "$(in_container id -un)" = gloaming ] || fail 'it is not run by its own user'
[ -z "$(in_container find /var/lib/gloaming -type f)" ] || fail 'a layer holds data'
in_container gloaming doctor --server 2>/dev/null && fail 'it is healthy before it serves'
export -f in_container
export container port
setsid --wait bash -c 'in_container gloaming start' >"$work/start.log" 2>&1 &
server=$!
for _ in $(seq 240); do
  if grep -q Documentation "$work/start.log"; then break; fi
  kill -0 "$server" 2>/dev/null || break
  sleep 0.5
done
grep Self-check "$work/start.log" || { cat "$work/start.log"; fail 'gloaming start'; }
in_container gloaming doctor --server
key=$(in_container gloaming keys create container 2>/dev/null)
found=$(curl -fsS "http://127.0.0.1:$port/v1/homology/databases" -H "Authorization: Bearer $key" | jq -r '.data[].slug')
[ "$found" = demo ] || fail 'the demo is not served'
kill -- "-$server"
wait "$server" || true
server=

echo '== the variant for GPUs'
image --target cuda
load "$name-cuda"
buildah rm "$container" >/dev/null
buildah from --name "$container" --pull-never "localhost/$name-cuda" >/dev/null
if in_container gloaming serve >"$work/serve.log" 2>&1; then fail 'it served, and nobody stopped it'; fi
grep '^gloaming: The device is cuda, but ' "$work/serve.log" || fail 'it does not say why no GPU serves'
echo 'built, run, compared'
