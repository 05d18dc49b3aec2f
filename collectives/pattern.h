// The data that checked transfers carry: small integers that every dtype holds exactly, repeating
// with a period that divides no usual block size, so that filling and checking cost a memcpy and a
// memcmp and what must come out is known in closed form.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/comm.h"

namespace reprise {

inline constexpr int kPatternPeriod = 61;
using PatternValues = std::array<std::int64_t, kPatternPeriod>;

// What `source` has for `destination`: 0 <= value < 113 (bool keeps the lowest bit, float8 and
// unknown types are bytes).
[[nodiscard]] PatternValues MovedValues(int source, int destination);

// A rank's contribution to a reduction, and what all of them give together. Any order of
// combination is exact: partial results stay below the dtype's largest exact integer.
[[nodiscard]] PatternValues ReductionInput(DType dtype, ReduceOp op, int rank, int size);
[[nodiscard]] PatternValues ReductionResult(DType dtype, ReduceOp op, int size);

struct CheckResult {
  std::int64_t wrong = 0;  // elements
  std::string first;       // "element 17 is 3, expected 5"
};

// Element i of `data` is values[(i + phase) % kPatternPeriod].
void WritePattern(DType dtype, const PatternValues& values, std::int64_t phase,
                  std::span<std::byte> data);
// Adds to `result`; `first_index` is what the message calls the first element of `data`.
void CheckPattern(DType dtype, const PatternValues& values, std::int64_t phase,
                  std::int64_t first_index, std::span<const std::byte> data, CheckResult& result);

}  // namespace reprise
