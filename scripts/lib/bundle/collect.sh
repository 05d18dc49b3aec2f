# shellcheck shell=bash
# What scripts/bundle puts together, and in part the wheel (scripts/lib/wheel_files.sh). Functions take the bundle's directory, where
# nothing else is said.

# The machine's own, always: the C library, and the loader that belongs to it.
is_glibc() {
  case $1 in
    ld-linux* | libc.so.* | libm.so.* | libmvec.so.* | libpthread.so.* | libdl.so.* | librt.so.* | \
      libutil.so.* | libresolv.so.* | libanl.so.* | libnsl.so.* | libBrokenLocale.so.*) return 0 ;;
  esac
  return 1
}

elf_files() {
  find "$1/libexec" "$1/lib" -type f \( -name '*.so*' -o -path '*/libexec/*' \)
}

# Plug-ins for one machine, TCP and Slurm. Left out: InfiniBand and Omni-Path (UCX, libfabric, verbs,
# PSM), whose libraries must be the cluster's own, OpenSHMEM, MPI-IO, one-sided, message logging.
copy_open_mpi() {
  local plugins from
  from=$(ompi_info --path pkglibdir --parsable | cut -d: -f3)
  plugins=$(OPAL_PREFIX=$1 ompi_info --path pkglibdir --parsable | cut -d: -f3)
  mkdir -p "$plugins" "$1/share/openmpi"
  cp "$from"/mca_*.so "$plugins"
  rm -f "$plugins"/mca_{atomic,memheap,scoll,spml,sshmem,io,fs,fbtl,fcoll,sharedfp,osc,vprotocol}_* \
    "$plugins"/mca_*_{ucx,ofi,openib,psm,psm2,monitoring,simulator,flux,jsm}.so "$plugins/mca_pml_cm.so"
  cp -r "$(ompi_info --path pkgdatadir --parsable | cut -d: -f3)/." "$1/share/openmpi"
  rm -f "$1"/share/openmpi/{*wrapper-data*,help-oshmem*,help-mpi-btl-openib*}
  echo 'btl_base_warn_component_unused = 0' >"$1/etc/openmpi-mca-params.conf"
  from=$(pkg-config --variable=libdir pmix)
  mkdir -p "$1/lib/pmix2/lib"
  cp -r "$from/pmix" "$1/lib/pmix2/lib/pmix"
  cp -r "$from/../share" "$1/lib/pmix2/share"
  printf 'openmpi-bin\nlibopenmpi3\nlibpmix2\n' >>"$1/share/licences/packages"
}

# What the programs and plug-ins need, and what that needs in turn. oneDNN is opened at run time.
copy_libraries() {
  local path file
  path=$(ldconfig -p | awk '$1 ~ /^libdnnl[.]so[.]/ && !found++ {print $NF}')  # reads all: a closed pipe would end this script
  cp -L "$path" "$1/lib"
  owner_of "$path" >>"$1/share/licences/packages"
  while read -r path; do
    file=$(basename "$path")
    is_glibc "$file" && continue
    case $file in
      libstdc++.so.* | libgcc_s.so.*) cp -L "$path" "$1/lib/gcc/$file" ;;
      *) cp -L "$path" "$1/lib/$file" ;;
    esac
    owner_of "$path" >>"$1/share/licences/packages"
  done < <(elf_files "$1" | xargs ldd 2>/dev/null | awk '$2 == "=>" && $3 ~ "^/" {print $3}' | sort -u)
}

# RPATH, not RUNPATH: it comes before LD_LIBRARY_PATH, which on a cluster names another Open MPI.
set_rpaths() {
  local file
  while read -r file; do
    # shellcheck disable=SC2016
    patchelf --force-rpath --set-rpath \
      '$ORIGIN/'"$(realpath --relative-to "$(dirname "$file")" "$1/lib")" "$file"
  done < <(elf_files "$1")
  # These two stay out of the way of the machine's own (bin/reprise chooses).
  for file in "$1"/lib/gcc/*; do
    # shellcheck disable=SC2016
    patchelf --force-rpath --set-rpath '$ORIGIN' "$file"
  done
}

newest_glibc() {
  elf_files "$1" | xargs objdump -T 2>/dev/null | grep -o 'GLIBC_2[0-9.]*' | sort -uV | tail -n 1 |
    cut -d_ -f2
}

# The Debian package that a file came with; libraries are listed below /lib or below /usr/lib.
owner_of() {
  local path
  path=$(readlink -f "$1")
  { dpkg-query -S "$path" "${path#/usr}" 2>/dev/null || true; } | head -n 1 | cut -d: -f1
}

# copy_licences DIRECTORY: licence texts of the packages in DIRECTORY/packages and of what is compiled in from headers, and where
# the sources are.
copy_licences() {
  local package list=$1/packages
  {
    cat "$list"
    awk '/^\[/ {on = ($0 == "[build]")} on && (/-dev$/ || /-headers$/ || /^node-/)' scripts/packages.txt
  } | sort -u | while read -r package; do
    cp -L "/usr/share/doc/$package/copyright" "$1/$package.txt"
    dpkg-query -W -f "\${Package} \${Version} (source \${source:Package} \${source:Version})\n" "$package"
  done >"$1/packages.txt"
  rm "$list"
  grep -rhoE '/usr/share/common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]' "$1" | sort -u |
    while read -r package; do
      if [ -f "$package" ]; then cp -L "$package" "$1/$(basename "$package")"; fi
    done
}

megabytes() { du -cb "$@" | awk 'END {print $1 / 1e6}'; }
