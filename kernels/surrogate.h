// Work without a kernel of its own, as passes over memory.
#pragma once

#include <cstdint>

namespace reprise {

// Each of `passes` reads and writes `words` floats once, with that many multiply-adds on each.
struct SurrogatePlan {
  std::int64_t words = 0;
  std::int64_t passes = 1;
  std::int32_t fma_per_word = 0;
};

}  // namespace reprise
