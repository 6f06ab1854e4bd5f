#!/usr/bin/env bash
# Makes what a release holds and installs it in a clean Debian: package, archive, wheel, bill of materials, checksums.
# CI and .github/workflows/release.yml run this script. image.sh adds the container.
#
#   npm ci && config/packaging/release.sh [folder]          default: build/packages
#
# GLOAMING_VERIFY=required  fails where a check cannot be made on this machine; without it, such a check is skipped
set -euo pipefail
cd "$(dirname "$0")/../.."
packages=${1:-build/packages}
if [ "${GITHUB_REF_TYPE:-}" = tag ] && [ "$GITHUB_REF_NAME" != "v$(jq -r .version package.json)" ]; then
  echo "The tag $GITHUB_REF_NAME is not the version of package.json." >&2
  exit 1
fi
rm -f "$packages"/gloaming[-_]* "$packages/SHA256SUMS"
node config/packaging/build.mjs "$packages"
config/packaging/verify.sh "$packages"
