// What every rank has, on all of them. All ranks of a communicator must call these together.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "collectives/byte_text.h"
#include "collectives/communicator.h"
#include "core/result.h"

namespace reprise {

// By rank. `Value` is a number or a struct of numbers.
template <typename Value>
[[nodiscard]] Result<std::vector<Value>> GatherValues(Communicator& communicator,
                                                      const Value& mine) {
  ByteWriter writer;
  writer.Put(mine);
  REPRISE_ASSIGN(const auto texts, communicator.AllGather(writer.Take()));
  std::vector<Value> values;
  for (const std::string& text : texts) {
    values.push_back(ByteReader(text).Get<Value>());
  }
  return values;
}

// `Sums` has Add.
template <typename Sums>
[[nodiscard]] Result<Sums> SumOverRanks(Communicator& communicator, const Sums& mine) {
  REPRISE_ASSIGN(const auto all, GatherValues(communicator, mine));
  Sums sums;
  for (const Sums& of_rank : all) {
    sums.Add(of_rank);
  }
  return sums;
}

// The number of ranks on which `mine` is true.
[[nodiscard]] inline Result<int> CountRanks(Communicator& communicator, bool mine) {
  REPRISE_ASSIGN(const auto all, GatherValues(communicator, static_cast<char>(mine ? 1 : 0)));
  return static_cast<int>(std::count(all.begin(), all.end(), 1));
}

}  // namespace reprise
