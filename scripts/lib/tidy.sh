#!/usr/bin/env bash
# clang-tidy over the sources that changed since REPRISE_TIDY_BASE (default: the last 10 commits),
# newest first and bounded in time; says how many were left out.
set -euo pipefail
cd "$(dirname "$0")/../.."
limit_s=${REPRISE_TIDY_SECONDS:-200}
base=${REPRISE_TIDY_BASE:-$(git rev-list --max-count=11 HEAD | tail -n 1)}
mapfile -t files < <(git log --name-only --format= "$base..HEAD" -- '*.cc' ':!tests/fuzz' | awk 'NF && !seen[$0]++')
# The analysis needs the command of each file, which batches do not have. Generated headers are those of the build.
cmake -S . -B build/tidy -G Ninja -DREPRISE_BATCH=1 -DREPRISE_TESTS=ON -DREPRISE_BENCH=ON >/dev/null
sed -i "s|$PWD/build/tidy|$PWD/build|g" build/tidy/compile_commands.json
begin=$SECONDS checked=0 unbuilt=0
for file in "${files[@]}"; do
  [ -f "$file" ] || continue
  # A program that is built beside somebody else's sources (bench/peers) has no command here.
  if ! grep -qF "\"file\": \"$PWD/$file\"" build/tidy/compile_commands.json; then
    unbuilt=$((unbuilt + 1))
    continue
  fi
  if [ $((SECONDS - begin)) -ge "$limit_s" ]; then
    echo "clang-tidy: time is up; $checked of ${#files[@]} changed files analysed"
    exit 0
  fi
  clang-tidy-14 --quiet -p build/tidy "$file" 2>/dev/null
  checked=$((checked + 1))
done
echo "clang-tidy: $checked changed files analysed, no findings; $unbuilt are not part of the build"
