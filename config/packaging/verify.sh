#!/usr/bin/env bash
# Installs the .deb in a clean Debian 12, searches, serves, upgrades, removes and purges it, and does the same with the
# archive that needs no installation and with the container. Needs root, debootstrap and Debian's packages.
#
#   config/packaging/verify.sh [folder]          default: build/packages
set -euo pipefail
cd "$(dirname "$0")/../.."
packages=${1:-build/packages}
(cd "$packages" && sha256sum --quiet --check SHA256SUMS)
deb=$(ls "$packages"/gloaming_*_amd64.deb)
archive=$(ls "$packages"/gloaming-*-linux-x64.tar.zst)

work=$(mktemp -d)
root="$work/root"
server=
finish() {
  if [ -n "$server" ]; then kill -- "-$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi
  for place in proc dev; do if mountpoint -q "$root/$place"; then umount -l "$root/$place"; fi; done
  rm -rf "$work"
}
trap finish EXIT
fail() { echo "FAILED: $1" >&2; exit 1; }
skip() {
  if [ "${GLOAMING_VERIFY:-}" = required ]; then fail "$1"; fi
  echo "SKIPPED, the packages were built and not installed: $1"
  exit 0
}
if [ "$(id -u)" != 0 ]; then skip 'only root may make a clean Debian'; fi
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
as_gloaming() { # everything that the unit gives it, too
  chroot "$root" /usr/bin/env -i PATH=/usr/bin:/bin setpriv --reuid gloaming --regid gloaming --clear-groups env HOME=/var/lib/gloaming \
    GLOAMING_CONFIG=/etc/gloaming/appliance.json GLOAMING_PORT="$port" "$@"
}
export root port=18090

echo '== a clean Debian 12'
mirror=$(apt-get indextargets --format '$(REPO_URI) $(COMPONENT)' | awk '$2 == "main" && /\/debian\/?( |$)/ { print $1; exit }')
if ! debootstrap --variant=minbase --include=adduser,systemd bookworm "$root" "$mirror" >"$work/debootstrap.log" 2>&1; then
  tail -3 "$work/debootstrap.log"
  skip 'debootstrap made no clean Debian here'
fi
tar --numeric-owner -C "$root" -cf "$work/debian.tar" .
mount -t proc proc "$root/proc" || skip 'nothing may be mounted here'
mount --rbind --make-rslave /dev "$root/dev"

echo '== install'
cp "$deb" "$root/tmp/gloaming.deb"
inside dpkg --install /tmp/gloaming.deb >"$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log"; fail 'dpkg --install'; }
[ "$(stat -c '%U %a' "$root/var/lib/gloaming" 2>/dev/null | cut -d' ' -f2)" = 700 ] || fail 'the data folder is not 0700'
inside systemd-analyze verify --man=no gloaming.service gloaming-backup.timer gloaming-fsck.timer gloaming-refresh@demo.timer
inside systemd-analyze security --offline=true gloaming.service | tail -1
as_gloaming gloaming --version
as_gloaming gloaming doctor >"$work/doctor.txt" || { cat "$work/doctor.txt"; fail doctor; }

echo '== build, search, serve'
serve() { # command, last words of its greeting
  # What an earlier server said must not pass for the greeting of this one.
  : >"$work/$1.log"
  setsid --wait bash -c "$(declare -f as_gloaming); as_gloaming gloaming $1" >"$work/$1.log" 2>&1 &
  server=$!
  for _ in $(seq 240); do
    if grep -q "$2" "$work/$1.log"; then return; fi
    if ! kill -0 "$server" 2>/dev/null; then break; fi
    sleep 0.5
  done
  cat "$work/$1.log"
  fail "gloaming $1"
}
stop() {
  kill -- "-$server"
  wait "$server" || true
  server=
  # The shell that started it is gone before it is.
  for _ in $(seq 60); do if ! pgrep -f '^/opt/gloaming/node/bin/' >/dev/null; then return; fi; sleep 0.5; done
  fail 'the server did not end'
}
serve start Documentation
grep 'Self-check' "$work/start.log"
stop
key=$(as_gloaming gloaming keys create packaging 2>/dev/null)
serve serve 'serves on'
databases() { curl -fsS "http://127.0.0.1:$port/v1/homology/databases" -H "Authorization: Bearer $key" | jq -r '.data[].slug'; }
[ "$(databases)" = demo ] || fail 'the demo is not served'

echo '== upgrade: settings and data stay, also where the settings name no folders'
echo '{ "host": "127.0.0.1", "port": 8080, "log_level": "warn" }' >"$root/etc/gloaming/appliance.json"
stop
dpkg-deb --raw-extract "$deb" "$work/newer"
sed -i 's/^Version: .*/&+next1/' "$work/newer/DEBIAN/control"
dpkg-deb --root-owner-group -Zgzip -z1 --build "$work/newer" "$root/tmp/newer.deb" >/dev/null
rm -rf "$work/newer"
inside dpkg --install /tmp/newer.deb >"$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log"; fail upgrade; }
grep -q '"warn"' "$root/etc/gloaming/appliance.json" || fail 'the settings were lost'
serve serve 'serves on'
[ "$(databases)" = demo ] || fail 'the demo was lost'
stop

echo '== remove and purge: only data stay'
inside dpkg --remove gloaming >/dev/null
inside dpkg --purge gloaming | tail -1
[ ! -e "$root/opt/gloaming" ] || fail "/opt/gloaming is left: $(find "$root/opt/gloaming" | head -3)"
[ ! -e "$root/etc/gloaming" ] || fail '/etc/gloaming is left'
[ -d "$root/var/lib/gloaming/indexes/demo" ] || fail 'a database was deleted'

echo '== the archive, unpacked anywhere'
mkdir "$root/srv/anywhere"
tar -xf "$archive" -C "$root/srv/anywhere"
inside env GLOAMING_DATA=/tmp/d GLOAMING_INDEXES=/var/lib/gloaming/indexes /srv/anywhere/gloaming/bin/gloaming index list
echo 'installed, searched, upgraded, removed and purged'

config/packaging/verify-container.sh "$packages" "$work/debian.tar"
