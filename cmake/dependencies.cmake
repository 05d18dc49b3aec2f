# Third-party libraries, all from Debian packages (scripts/packages.txt), and the least versions that have what the code uses.
# Each folder's CMakeLists.txt links only those that architecture.md lets it see.

# reprise_version(NAME VERSION MINIMUM DEBIAN): an error where VERSION, of what was found, is empty or less.
function(reprise_version name version minimum debian)
  if(version STREQUAL "")
    set(has "It was not found")
  elseif(version VERSION_LESS minimum)
    set(has "Version ${version} was found")
  else()
    return()
  endif()
  set(way_out "")
  if(name IN_LIST replay_packages)
    set(way_out "\nOnly replay needs it: -DREPRISE_REPLAY=OFF leaves replay out.")
  endif()
  message(FATAL_ERROR "Reprise needs ${name} ${minimum} or newer. ${has}. "
    "Install it (Debian: ${debian}), or name its place with -DCMAKE_PREFIX_PATH=DIR.${way_out}")
endfunction()
# reprise_package(NAME MINIMUM DEBIAN [COMPONENTS...]): the version is compared here, because many packages reject every other
# major version, newer ones too.
macro(reprise_package name minimum debian)
  find_package(${name} QUIET ${ARGN})
  set(found_version "")
  if(${name}_FOUND)
    foreach(variable ${name}_VERSION ${name}_VERSION_STRING ${name}_CXX_VERSION)
      if(NOT found_version AND ${variable})
        set(found_version "${${variable}}")
      endif()
    endforeach()
  endif()
  reprise_version(${name} "${found_version}" ${minimum} "${debian}")
endmacro()
# reprise_module(NAME MINIMUM DEBIAN MODULES...): of pkg-config, as PkgConfig::NAME.
macro(reprise_module name minimum debian)
  set(wanted ${ARGN})
  list(TRANSFORM wanted APPEND ">=${minimum}")
  pkg_check_modules(${name} QUIET IMPORTED_TARGET ${wanted})
  if(NOT ${name}_FOUND)
    pkg_check_modules(found QUIET ${ARGV3})
    reprise_version(${name} "${found_VERSION}" ${minimum} "${debian}")
    message(FATAL_ERROR "pkg-config cannot use one of: ${ARGN} (Debian: ${debian}); see `pkg-config --print-errors ${ARGN}`.")
  endif()
endmacro()

find_package(Threads REQUIRED)
reprise_package(tl-expected 1.0 libexpected-dev)
reprise_package(fmt 8.0 libfmt-dev)                       # fmt::runtime
reprise_package(spdlog 1.8 libspdlog-dev)
reprise_package(CLI11 2.0 libcli11-dev)                   # App::prefix_command, Formatter as here
reprise_package(nlohmann_json 3.9 nlohmann-json3-dev)     # ordered_json
reprise_package(simdjson 1.0 libsimdjson-dev)             # the DOM interface as here
reprise_package(Protobuf 3.12 "protobuf-compiler libprotobuf-dev")
reprise_package(ZLIB 1.2 zlib1g-dev)
reprise_package(LibArchive 3.3.3 libarchive-dev)          # tar with zstd
reprise_package(SQLite3 3.25 libsqlite3-dev)              # window functions
find_package(PkgConfig REQUIRED)
reprise_module(zstd 1.4.0 libzstd-dev libzstd)            # ZSTD_compressStream2
reprise_module(xxhash 0.8.0 libxxhash-dev libxxhash)      # XXH3 as a stable format
reprise_module(nettle 3.0 nettle-dev nettle)

set(replay_packages MPI OpenCL TBB dnnl)
if(REPRISE_REPLAY)
  reprise_package(TBB 2019 libtbb-dev)                    # global_control
  reprise_package(MPI 3.0 "libopenmpi-dev openmpi-bin" COMPONENTS CXX)  # non-blocking collectives
  # Where Debian keeps its link to the library would become a run path: 400 failed opens at each start.
  foreach(library mpi mpi_cxx)
    if(MPI_${library}_LIBRARY)
      file(REAL_PATH "${MPI_${library}_LIBRARY}" real)
      get_target_property(linked MPI::MPI_CXX INTERFACE_LINK_LIBRARIES)
      string(REPLACE "${MPI_${library}_LIBRARY}" "${real}" linked "${linked}")
      set_target_properties(MPI::MPI_CXX PROPERTIES INTERFACE_LINK_LIBRARIES "${linked}")
    endif()
  endforeach()
  reprise_package(OpenCL 1.2 "ocl-icd-opencl-dev opencl-clhpp-headers")
  find_path(OPENCL_HPP CL/opencl.hpp HINTS ${OpenCL_INCLUDE_DIRS})
  if(NOT OPENCL_HPP)
    reprise_version(OpenCL "" "1.2 with CL/opencl.hpp" opencl-clhpp-headers)
  endif()
  reprise_package(dnnl 2.0 libdnnl-dev)  # its headers; the library is opened at run time
  if(NOT dnnl_VERSION VERSION_LESS 4.0)
    message(FATAL_ERROR "oneDNN ${dnnl_VERSION} was found: kernels/cpu/onednn.h knows the interfaces of 2.x and 3.x.")
  endif()
  # By the name that the library gives itself: it has a minor version where Debian does not promise more (libdnnl.so.3.6).
  set(dnnl_library libdnnl.so.${dnnl_VERSION_MAJOR})
  get_target_property(dnnl_configurations DNNL::dnnl IMPORTED_CONFIGURATIONS)
  foreach(configuration IN LISTS dnnl_configurations)
    get_target_property(name DNNL::dnnl IMPORTED_SONAME_${configuration})
    if(name)
      set(dnnl_library ${name})
    endif()
  endforeach()
  string(REPLACE .so. "" dnnl_debian_package ${dnnl_library})
endif()

# Linked statically, and what nothing calls left out: of its eight libraries (XML, cryptography,
# compressors) zstd is all that tar takes, and every command would load them.
find_library(LIBARCHIVE_STATIC libarchive.a REQUIRED)
add_library(reprise_libarchive INTERFACE)
target_include_directories(reprise_libarchive INTERFACE ${LibArchive_INCLUDE_DIRS})
target_link_libraries(reprise_libarchive INTERFACE ${LIBARCHIVE_STATIC} PkgConfig::zstd)
target_link_options(reprise_libarchive INTERFACE -Wl,--gc-sections)
# The charts of the HTML report: one file that the report's page holds (Debian: node-d3).
find_file(D3_SCRIPT d3.min.js PATHS /usr/share/nodejs/d3/dist)
set(d3_version "")
if(D3_SCRIPT)
  file(STRINGS ${D3_SCRIPT} d3_head LIMIT_COUNT 1 LIMIT_INPUT 200)
  string(REGEX MATCH "v([0-9.]+)" unused "${d3_head}")
  set(d3_version ${CMAKE_MATCH_1})
endif()
reprise_version("D3 (d3.min.js)" "${d3_version}" 5.0 node-d3)
