// Any bytes as constraints over the full range of times: the fit ends, and its clocks map every
// time without overflow.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

#include "core/timing/clock_fit.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::int32_t kRanks = 8;
  constexpr std::size_t kMaxConstraints = 256;
  constexpr std::size_t kRecordBytes = 1 + 2 * sizeof(std::int64_t);
  std::vector<reprise::ClockConstraint> constraints;
  for (; size >= kRecordBytes && constraints.size() < kMaxConstraints;
       data += kRecordBytes, size -= kRecordBytes) {
    reprise::ClockConstraint one{.rank_a = data[0] % kRanks, .rank_b = data[0] / 16 % kRanks};
    std::memcpy(&one.end_ns_a, data + 1, sizeof(one.end_ns_a));
    std::memcpy(&one.start_ns_b, data + 1 + sizeof(one.end_ns_a), sizeof(one.start_ns_b));
    constraints.push_back(one);
  }
  const auto fit = reprise::FitClocks(kRanks, constraints);
  if (!fit) {
    std::abort();
  }
  for (std::int32_t rank = 0; rank < kRanks; ++rank) {
    for (const std::int64_t time : {std::numeric_limits<std::int64_t>::min(), std::int64_t{0},
                                    std::numeric_limits<std::int64_t>::max()}) {
      (void)fit->ToRank0(rank, time);
    }
    if (fit->clocks[static_cast<std::size_t>(rank)].uncertainty_ns < 0) {
      std::abort();
    }
  }
  return 0;
}
