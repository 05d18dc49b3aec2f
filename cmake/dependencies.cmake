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
find_package(MPI REQUIRED COMPONENTS CXX)
find_package(OpenCL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(dnnl REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)  # only to tell oneDNN its number of threads
find_package(PkgConfig REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(httplib REQUIRED IMPORTED_TARGET cpp-httplib)
# The charts of the HTML report: one file that the report's page holds (Debian: node-d3).
find_file(D3_SCRIPT d3.min.js PATHS /usr/share/nodejs/d3/dist REQUIRED)
