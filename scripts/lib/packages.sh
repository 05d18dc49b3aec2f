# shellcheck shell=bash
# list_packages GROUP: the lines of a group of scripts/packages.txt.
list_packages() {
  awk -v want="[$1]" '/^\[/ {on = ($0 == want); next} /^#/ {next} on && NF' \
    "$(dirname "${BASH_SOURCE[0]}")/../packages.txt"
}
# install_pypi GROUP DIRECTORY [--prefix]: a group of PyPI's packages, below DIRECTORY (--prefix: with what a wheel has
# beside Python modules, as libraries). Exit code 4 where they cannot be had.
install_pypi() {
  local wanted
  wanted="$(list_packages "$1")"
  [ "$(cat "$2/installed.txt" 2>/dev/null)" = "$wanted" ] && return 0
  rm -rf "$2"
  # shellcheck disable=SC2086
  if python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --retries 1 --timeout 20 --no-deps \
      --only-binary :all: "${3:---target}" "$2" $wanted; then
    echo "$wanted" > "$2/installed.txt"
  else
    echo "could not install from PyPI: ${wanted//$'\n'/ }" >&2
    return 4
  fi
}
# install_packages GROUP...: installs the groups of scripts/packages.txt that are missing.
install_packages() {
  local missing=() package group
  for group in "$@"; do
    while read -r package; do
      # shellcheck disable=SC2016
      if ! dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed; then
        missing+=("$package")
      fi
    done < <(list_packages "$group")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "missing Debian packages: ${missing[*]}; install them, or run this as root" >&2
      return 4
    fi
    sudo=(sudo)
  fi
  echo "installing ${#missing[@]} Debian packages: ${missing[*]}" | fold -s -w 98 >&2
  "${sudo[@]}" apt-get update -qq >/dev/null
  # Standard error stays: it says why an installation failed.
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
