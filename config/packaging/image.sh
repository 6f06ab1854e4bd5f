#!/usr/bin/env bash
# Builds the container of the packages and writes it beside them as one file, which `podman load` and `docker load` take:
# gloaming-<version>-linux-x64.docker.tar.gz, with a line in SHA256SUMS.
#
#   config/packaging/image.sh [folder [options of buildah build]]          default: build/packages
set -euo pipefail
cd "$(dirname "$0")/../.."
packages=${1:-build/packages}
shift $(($# > 0 ? 1 : 0))
version=$(jq -r .version package.json)
file=gloaming-$version-linux-x64.docker.tar.gz
image=gloaming-image-$$
work=$(mktemp -d)
finish() { buildah rmi --force "$image" >/dev/null 2>&1 || true; rm -rf "$work"; }
trap finish EXIT

buildah build --quiet --format docker --no-cache --timestamp "$(git log -1 --format=%ct)" "$@" \
  --iidfile "$work/id" --file config/packaging/Containerfile --tag "$image" "$packages" >"$work/build.log" 2>&1 ||
  { cat "$work/build.log"; exit 1; }
# By its id: a push by name would add that name, which differs between two builds, to the file.
buildah push --quiet "$(cat "$work/id")" "docker-archive:$work/image.tar:gloaming:$version"
gzip --no-name -6 <"$work/image.tar" >"$packages/$file"
{ grep -v "  $file\$" "$packages/SHA256SUMS" || true; (cd "$packages" && sha256sum "$file"); } >"$work/sums"
cp "$work/sums" "$packages/SHA256SUMS"
du -m "$packages/$file" | awk -v file="$file" '{ print file ": " $1 " MB" }'
