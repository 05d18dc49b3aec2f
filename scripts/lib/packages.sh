# shellcheck shell=bash
# install_packages GROUP...: installs the groups of scripts/packages.txt that are missing.
install_packages() {
  local list missing=() package group
  list="$(dirname "${BASH_SOURCE[0]}")/../packages.txt"
  for group in "$@"; do
    while read -r package; do
      # shellcheck disable=SC2016
      if ! dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed; then
        missing+=("$package")
      fi
    done < <(awk -v want="[$group]" '/^\[/ {on = ($0 == want); next} /^#/ {next} on && NF' "$list")
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
  echo "installing ${#missing[@]} Debian packages: ${missing[*]}" >&2
  "${sudo[@]}" apt-get update -qq >/dev/null
  # Standard error stays: it says why an installation failed.
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
