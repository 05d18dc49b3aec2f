// Sums over the ranks of a replay. All ranks must call these together.
#pragma once

#include <algorithm>
#include <string>

#include "collectives/communicator.h"
#include "core/result.h"

namespace reprise {

// `Sums` has Encode, Decode and Add.
template <typename Sums>
[[nodiscard]] Result<Sums> SumOverRanks(Communicator& communicator, const Sums& mine) {
  REPRISE_ASSIGN(const auto rows, communicator.AllGather(mine.Encode()));
  Sums sums;
  for (const std::string& row : rows) {
    sums.Add(Sums::Decode(row));
  }
  return sums;
}

// The number of ranks on which `mine` is true.
[[nodiscard]] inline Result<int> CountRanks(Communicator& communicator, bool mine) {
  REPRISE_ASSIGN(const auto rows, communicator.AllGather(mine ? "1" : ""));
  return static_cast<int>(std::count(rows.begin(), rows.end(), "1"));
}

}  // namespace reprise
