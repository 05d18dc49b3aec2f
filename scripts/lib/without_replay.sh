#!/usr/bin/env bash
# Builds the program without replay, as where none of replay's packages is installed, and runs some of its tests.
set -euo pipefail
cd "$(dirname "$0")/../.."
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
hidden=()
for package in MPI OpenCL TBB dnnl; do
  hidden+=("-DCMAKE_DISABLE_FIND_PACKAGE_$package=ON")
done
cmake --preset without-replay "${hidden[@]}" >/dev/null
ninja -C build-without-replay --quiet reprise
ctest --test-dir build-without-replay -R '^e2e_(parts|formats|export|validate)_test$' --output-on-failure
