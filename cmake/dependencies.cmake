# Third-party libraries, all from Debian packages (scripts/packages.txt). Each folder's
# CMakeLists.txt links only those that architecture.md lets it see.
find_package(Threads REQUIRED)
find_package(tl-expected REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(simdjson REQUIRED)
find_package(TBB REQUIRED)
find_package(Protobuf REQUIRED)
find_package(ZLIB REQUIRED)
find_package(LibArchive REQUIRED)
find_package(MPI REQUIRED COMPONENTS CXX)
find_package(OpenCL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(dnnl REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)  # only to tell oneDNN its number of threads
find_package(PkgConfig REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(nettle REQUIRED IMPORTED_TARGET nettle)
pkg_check_modules(libevent REQUIRED IMPORTED_TARGET libevent_extra libevent_core)
# Linked statically, and what nothing calls left out: of its eight libraries (XML, cryptography,
# compressors) zstd is all that tar takes, and every command would load them.
find_library(LIBARCHIVE_STATIC libarchive.a REQUIRED)
add_library(reprise_libarchive INTERFACE)
target_include_directories(reprise_libarchive INTERFACE ${LibArchive_INCLUDE_DIRS})
target_link_libraries(reprise_libarchive INTERFACE ${LIBARCHIVE_STATIC} PkgConfig::zstd)
target_link_options(reprise_libarchive INTERFACE -Wl,--gc-sections)
# The charts of the HTML report: one file that the report's page holds (Debian: node-d3).
find_file(D3_SCRIPT d3.min.js PATHS /usr/share/nodejs/d3/dist REQUIRED)
