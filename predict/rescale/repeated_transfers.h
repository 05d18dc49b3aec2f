// Transfers' places in their sequences once parts of the program are more or fewer.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/comm.h"
#include "et_schema/graph.h"
#include "predict/rescale/repetition.h"

namespace reprise {

class RepeatedTransfers {
 public:
  // `rank`: whose trace it is. The others must outlive it.
  RepeatedTransfers(const Graph& graph, const Repetition& places, std::int32_t rank);

  // Of a node as it was recorded. The capture's own number moves with the index where both count
  // the same, else it is not known.
  void Move(const RepeatedPlace& one, std::int64_t shift_ns, CommSpec& comm) const;

 private:
  // Of a part how many are of a sequence, and of one of each earlier parts.
  struct InPart {
    std::int64_t own = 0, before = 0;
  };

  const Repetition& places_;
  std::int32_t rank_;
  // By parts, of those that have some, with what comes after them all at last.
  std::map<SequenceKey, std::map<std::size_t, InPart>> in_part_;
  // What CommSpec::sequence is beyond index; kUneven: not the same for all of a sequence.
  std::map<SequenceKey, std::int64_t> own_number_ahead_;
};

}  // namespace reprise
