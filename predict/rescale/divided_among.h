// How many ranks divide something, before and after.
#pragma once

#include <cstdint>

namespace reprise {

// A buffer is divided among `from` ranks in the source, among `to` in the result.
struct DividedAmong {
  std::int64_t from = 1, to = 1;
  bool operator==(const DividedAmong&) const = default;
};

}  // namespace reprise
