#!/usr/bin/env bash
# Runs a command in a bare Debian 12 root (--suite: another release's): what scripts/packages.txt lacks is missing there, whatever this machine has installed.
#   scripts/lib/bare_root.sh [--suite trixie] [--with-build] COMMAND...   e.g. scripts/test, scripts/quickstart
#   scripts/lib/bare_root.sh --possible                  exit code 0, or 4 and the reason on standard error
# The checkout is mounted at /reprise, with empty build directories (--with-build: at its own path, with its own). The root is removed at the end.
# Needs the right to mount; installs debootstrap.
# The bare system, downloaded packages and, while it is used, the root are in ~/.cache/reprise/bare_root (REPRISE_BARE_ROOT_CACHE).
# PyTorch's library stays in ~/.cache/reprise/pytorch (scripts/pytorch_library), compiled objects and kernels in the user's ccache and PoCL
# cache: their keys hold compilers and every header, so a missing package still fails, and the path, so checkouts share them at /reprise.
set -euo pipefail
cd "$(dirname "$0")/../.."
checkout=$PWD
# shellcheck source=scripts/lib/packages.sh
. scripts/lib/packages.sh
user_cache=${XDG_CACHE_HOME:-$HOME/.cache}
cache=${REPRISE_BARE_ROOT_CACHE:-$user_cache/reprise/bare_root}
fail() { echo "no bare root: $*" >&2; exit 4; }

# Namespaces of its own: the kernel ends what the command started, and unmounts everything.
namespaces=(unshare --mount --pid --fork --kill-child)
possible() {
  [ "$(id -u)" -eq 0 ] || fail "needs root"
  command -v apt-get >/dev/null || fail "needs apt-get, for the mirror and debootstrap"
  local denied
  denied=$("${namespaces[@]}" mount -t tmpfs tmpfs /mnt 2>&1) || fail "may not mount: $denied"
}

# What the machine needs to reach packages: mirror, name servers, proxies, certificates.
copy_network_settings() {
  local file
  for file in /etc/resolv.conf /etc/hosts /etc/pip.conf; do
    [ -e "$file" ] && cp -L "$file" "$1$file"
  done
  [ -e "$certificates" ] && cp -L "$certificates" "$1/etc/machine-certificates.crt"
  apt-config dump | grep -E '^Acquire::(https?::|Retries|Check-)' |
    sed "s|$certificates|/etc/machine-certificates.crt|" >"$1/etc/apt/apt.conf.d/50machine" || true
}

make_template() {
  local mirror
  install_packages bare_root
  # shellcheck disable=SC2016
  mirror=$(apt-get indextargets --format '$(CODENAME) $(COMPONENT) $(REPO_URI)' | awk '$1 " " $2 == "bookworm main" && !found++ {print $3}')
  rm -rf "$template.new"
  mkdir -p "$cache/archives/partial"
  debootstrap --variant=minbase "$suite" "$template.new" ${mirror:+"$mirror"} >"$cache/debootstrap.log" ||
    fail "debootstrap failed: $(tail -n 3 "$cache/debootstrap.log")"
  # No services, and no waiting for the disk: the root is thrown away.
  printf '#!/bin/sh\nexit 101\n' >"$template.new/usr/sbin/policy-rc.d"
  chmod 755 "$template.new/usr/sbin/policy-rc.d"
  echo force-unsafe-io >"$template.new/etc/dpkg/dpkg.cfg.d/unsafe-io"
  printf '[safe]\n\tdirectory = *\n' >"$template.new/etc/gitconfig"
  mv "$template.new" "$template"
}

# In the namespaces: mounts what the root needs and becomes the command.
enter() {
  local root=$1 directory
  shift
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  for directory in /dev /sys; do mount --rbind "$directory" "$root$directory"; done
  mount --bind "$cache/archives" "$root/var/cache/apt/archives"
  for directory in reprise/pytorch ccache pocl; do
    mkdir -p "$user_cache/$directory" "$root/root/.cache/$directory"
    mount --bind "$user_cache/$directory" "$root/root/.cache/$directory"
  done
  # A worktree's history lies beside the main checkout.
  directory=$(git rev-parse --path-format=absolute --git-common-dir)
  mkdir -p "$root$directory" "$root$inside"
  mount --bind "$directory" "$root$directory"
  mount --bind "$checkout" "$root$inside"
  for directory in $hidden; do
    mkdir -p "$root/$directory" "$root$inside/$directory"
    mount --bind "$root/$directory" "$root$inside/$directory"
  done
  cd "$root"
  pivot_root . .
  umount -l .
  local passed
  mapfile -t passed < <(env | grep -E '^(TERM|https?_proxy|no_proxy|REPRISE_(REQUIRE|PYTORCH_SECONDS|TIDY_[A-Z]+))=')
  exec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin PIP_CERT=/etc/machine-certificates.crt "${passed[@]}" \
    bash -c "cd '$inside' && \"\$@\"; exit \$?" bash "$@"  # which stays, and waits for what is orphaned
}

certificates=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
suite=bookworm
export inside=${inside:-/reprise} hidden=${hidden-build build-asan build-without-replay}
if [ "${1:-}" = --suite ]; then
  suite=${2:-}
  shift 2 || { echo "--suite needs a name" >&2; exit 2; }
fi
template=$cache/template
[ "$suite" = bookworm ] || template=$cache/template-$suite
case ${1:-} in
  '') sed -n '2,9s/^# //p' "$0" >&2; exit 2 ;;
  --possible) possible; exit 0 ;;
  --enter) shift; enter "$@" ;;
  --with-build) shift; export inside=$checkout hidden='' ;;
esac
possible
mkdir -p "$cache"
(
  flock 9  # one makes the template, others wait for it
  [ -d "$template" ] || make_template
) 9>"$cache/lock"
root=$(mktemp -d "$cache/root.XXXXXX")
trap 'rm -rf --one-file-system "$root"' EXIT
cp -a "$template/." "$root"
copy_network_settings "$root"
"${namespaces[@]}" "$0" --enter "$root" "$@"
