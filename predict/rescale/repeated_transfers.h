// Transfers' places in their sequences once micro-batches are more or fewer.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/comm.h"
#include "et_schema/graph.h"
#include "predict/rescale/micro_batches.h"
#include "predict/rescale/repeated_places.h"

namespace reprise {

class RepeatedTransfers {
 public:
  // `rank`: whose trace it is. The others must outlive it.
  RepeatedTransfers(const Graph& graph, const MicroBatches& found, const RepeatedPlaces& places,
                    std::int32_t rank);

  // Of a node as it was recorded. The capture's own number moves with the index where both count
  // the same, else it is not known.
  void Move(const RepeatedPlace& one, std::int64_t shift_ns, CommSpec& comm) const;

 private:
  [[nodiscard]] std::int64_t InPart(std::size_t step, const SequenceKey& key) const;

  const RepeatedPlaces& places_;
  std::int32_t rank_;
  std::vector<std::map<SequenceKey, std::int64_t>> in_part_;  // by step
  // What CommSpec::sequence is beyond index; kUneven: not the same for all of a sequence.
  std::map<SequenceKey, std::int64_t> own_number_ahead_;
};

}  // namespace reprise
