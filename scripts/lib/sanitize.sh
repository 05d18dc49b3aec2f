#!/usr/bin/env bash
# Builds the unit tests with AddressSanitizer and UBSan and runs those that need no OpenCL driver
# (drivers and MPI keep memory until exit, so leaks are not looked for).
set -euo pipefail
cd "$(dirname "$0")/../.."
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
targets=(test_core test_costs test_timing test_et_schema test_converters test_share test_workload test_telemetry test_run test_machine test_simulator)
cmake --preset asan >/dev/null
ninja -C build-asan --quiet "${targets[@]}"
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
for target in "${targets[@]}"; do
  printf '%s: ' "$target"
  "build-asan/tests/$target" --gtest_brief=1 | tail -n 2
done
