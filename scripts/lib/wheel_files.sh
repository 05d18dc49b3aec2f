#!/usr/bin/env bash
# Puts the files of the Python wheel together: scripts/lib/wheel_files.sh BUILD_DIRECTORY PREFIX. pyproject.toml runs it, by way of
# cmake/wheel.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=scripts/lib/bundle/collect.sh
. scripts/lib/bundle/collect.sh
build=$1 prefix=$2
[ -f "$build/build.ninja" ] || cmake -S . -B "$build" -G Ninja -DREPRISE_TESTS=OFF
cmake --build "$build" --target wheel_programs
cmake --install "$build" --prefix "$prefix" --component wheel --strip
cmake --install "$build" --prefix "$prefix" --component common

# What a wheel may count on (auditwheel's policies), and what replay takes from the machine.
of_machine() {
  case $1 in libstdc++.so.* | libgcc_s.so.*) return 0 ;; esac
  is_glibc "$1" || grep -q "^LIBRARY(\"$1\"," cli/without_replay/replay_libraries.def
}
libraries=$prefix/lib/reprise licences=$prefix/share/doc/reprise/licences
mkdir -p "$licences"
# shellcheck disable=SC2016
patchelf --force-rpath --set-rpath '$ORIGIN' "$libraries/libreprise_trace.so"
strip --strip-unneeded "$libraries/libreprise_trace.so"
files=("$prefix/bin/reprise" "$libraries/reprise-replay" "$libraries/libreprise_trace.so")
for ((i = 0; i < ${#files[@]}; ++i)); do  # files grow by what each needs
  while read -r name; do
    if of_machine "$name" || [ -e "$libraries/$name" ]; then continue; fi
    path=$(ldconfig -p | awk -v name="$name" '$1 == name && /x86-64/ && !found++ {print $NF}')
    cp -L "$path" "$libraries/$name"
    # shellcheck disable=SC2016
    patchelf --force-rpath --set-rpath '$ORIGIN' "$libraries/$name"
    owner_of "$path" >>"$licences/packages"
    files+=("$libraries/$name")
  done < <(objdump -p "${files[i]}" | awk '$1 == "NEEDED" {print $2}')
done
copy_licences "$licences"
