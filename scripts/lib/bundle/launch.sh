#!/bin/sh
# Runs libexec/<name of this file> of a Reprise bundle, wherever the bundle lies. Says plainly when
# the machine's C library is too old, and tells Open MPI where its own files are. Shell built-ins
# only, for there may be nothing else.
self=$0
[ -L "$self" ] && self=$(readlink -f "$self")
case $self in
  */*) directory=${self%/*} ;;
  *) directory=. ;;
esac
name=${self##*/}
root=$(cd "$directory/.." && pwd -P) || exit 4

# Written in by scripts/bundle: the newest version that a file of the bundle asks for.
needed=@GLIBC@
found=$("$root/libexec/glibc_version" 2>/dev/null)
if [ -z "$found" ]; then
  echo "$name: cannot run programs of this bundle: it needs x86-64 Linux with glibc $needed or newer" \
    "(there is none here, or $root is on a file system mounted noexec)" >&2
  exit 4
fi
minor=${found#*.}
if [ "${found%%.*}" -lt "${needed%%.*}" ] ||
  { [ "${found%%.*}" -eq "${needed%%.*}" ] && [ "${minor%%.*}" -lt "${needed#*.}" ]; }; then
  echo "$name: this bundle needs glibc $needed or newer, this machine has glibc $found; run it" \
    "in a container that has one, or build from source here (README.md of the bundle)" >&2
  exit 4
fi

export OPAL_PREFIX="$root"
# Not the machine's: settings and plug-ins of another Open MPI, PMIx or hwloc do not fit this one.
export OPAL_SYSCONFDIR="$root/etc" HWLOC_PLUGINS_PATH="$root/lib/none"
pmix=$root/lib/pmix2
export PMIX_PREFIX="$pmix" PMIX_LIBDIR="$pmix/lib" PMIX_PKGDATADIR="$pmix/share/pmix" PMIX_SYSCONFDIR="$root/etc"
# Where a user has no home, Open MPI crashes.
[ -n "${HOME:-}" ] || export HOME="${TMPDIR:-/tmp}"
# Without /sys, every process would say that it can't see the processors' topology.
[ -d /sys/devices ] || export HWLOC_HIDE_ERRORS=2
export OMPI_MCA_orte_launch_agent="$root/bin/orted"
case $name in
  mpirun | orted)
    PATH="$root/bin${PATH:+:$PATH}"
    export PATH
    ;;
  *)
    # The machine's libstdc++ where it will do: a GPU vendor's driver may need one newer than ours.
    if ! "$root/libexec/$name" --help >/dev/null 2>&1; then
      export LD_LIBRARY_PATH="$root/lib/gcc${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    fi
    ;;
esac
if [ "$name" = mpirun ]; then
  # What a user would have to guess; what is set already stays, and mpirun's options override it.
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  export OMPI_MCA_rmaps_base_oversubscribe="${OMPI_MCA_rmaps_base_oversubscribe-1}"
  # Bound to cores, ranks that share one wait milliseconds for each other.
  export OMPI_MCA_hwloc_base_binding_policy="${OMPI_MCA_hwloc_base_binding_policy-none}"
  # Without a remote shell there is one host; Open MPI would end for want of one.
  if ! command -v "${OMPI_MCA_plm_rsh_agent:-ssh}" >/dev/null && ! command -v rsh >/dev/null; then
    export OMPI_MCA_plm="${OMPI_MCA_plm-^rsh}"
  fi
  # Containers filter the kernel's cross-memory attach; Open MPI would warn once a rank.
  while read -r key value; do
    if [ "$key" = Seccomp: ] && [ "$value" != 0 ]; then
      export OMPI_MCA_btl_vader_single_copy_mechanism="${OMPI_MCA_btl_vader_single_copy_mechanism-none}"
    fi
  done </proc/self/status
fi
exec "$root/libexec/$name" "$@"
