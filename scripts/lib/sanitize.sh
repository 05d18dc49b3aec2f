#!/usr/bin/env bash
# Builds the unit tests with AddressSanitizer and UBSan and runs those that need no OpenCL driver
# (drivers and MPI keep memory until exit, so leaks are not looked for).
# clang without optimisation builds them in 6 minutes, g++ took 27; CI has 90 for all its steps.
set -euo pipefail
cd "$(dirname "$0")/../.."
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
tests=(core costs timing et_schema converters share workload telemetry run machine simulator transform calibration)
cmake --preset asan >/dev/null
ninja -C build-asan --quiet "${tests[@]/#/test_}"
# Left out: what generates the same kinds of layouts again, in the largest numbers, and what reads all real captures once more (the
# suites Bundled/ read each). 50 times slower here, these took 6 minutes.
again=('Kinds/ContextForms.*/0' 'Kinds/ContextForms.*/1' 'Families/ClosedForms.*/2' 'ContextParallel.*' 'ZeroBubble.*'
  'ExpertTensorParallel.*' 'Documents.Flops*' 'VShaped.*Bubble*' 'PlainNodesTest.RealCaptures' 'InferResults.AgreeWithEveryResult*'
  'RealCapture.ConvertingTwice*' 'PerfettoText.ATextRepeated*' 'RankClasses.AMillionRanks*')
GTEST_FILTER="-$(IFS=':' && echo "${again[*]}")"
export GTEST_FILTER
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
ctest --test-dir build-asan -j "$(nproc)" -R "^($(IFS='|' && echo "${tests[*]}"))\$" --no-tests=error --output-on-failure
