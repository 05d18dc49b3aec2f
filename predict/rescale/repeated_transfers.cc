#include "predict/rescale/repeated_transfers.h"

#include <limits>

namespace reprise {
namespace {

constexpr std::int64_t kUneven = std::numeric_limits<std::int64_t>::min();

}  // namespace

RepeatedTransfers::RepeatedTransfers(const Graph& graph, const MicroBatches& found,
                                     const RepeatedPlaces& places, std::int32_t rank)
    : places_(places), rank_(rank), in_part_(found.steps.size()) {
  for (const Graph::Index i : found.order.nodes) {
    if (const CommSpec* const comm = graph.comm(i)) {
      const std::int64_t ahead = comm->sequence < 0 ? kUneven : comm->sequence - comm->index;
      const auto [at, is_new] = own_number_ahead_.try_emplace(SequenceOf(*comm, rank), ahead);
      if (!is_new && at->second != ahead) {
        at->second = kUneven;
      }
    }
  }
  for (std::size_t s = 0; s < found.steps.size(); ++s) {
    for (std::uint32_t at = found.steps[s].begin(); at < found.steps[s].end; ++at) {
      if (const CommSpec* const comm = graph.comm(found.order.NodeOf(at))) {
        ++in_part_[s][SequenceOf(*comm, rank)];
      }
    }
  }
}

void RepeatedTransfers::Move(const RepeatedPlace& one, std::int64_t shift_ns,
                             CommSpec& comm) const {
  const SequenceKey key = SequenceOf(comm, rank_);
  std::int64_t later = 0;
  const auto last = places_.StepBefore(one.place);
  for (std::size_t s = 0; last && s <= *last; ++s) {
    later += places_.more() * InPart(s, key);
  }
  if (one.copy >= 0) {
    const std::size_t s = *places_.StepOf(one.place);
    later += (one.copy + places_.SourceOf(s, one.copy).back) * InPart(s, key);
  }
  comm.index += later;
  if (later != 0) {
    const std::int64_t ahead = own_number_ahead_.at(key);
    comm.sequence = ahead == kUneven ? -1 : comm.index + ahead;
  }
  for (std::int64_t* const at : {&comm.issued_ns, &comm.noticed_start_ns, &comm.noticed_end_ns}) {
    *at += *at < 0 ? 0 : shift_ns;
  }
}

std::int64_t RepeatedTransfers::InPart(std::size_t step, const SequenceKey& key) const {
  const auto count = in_part_[step].find(key);
  return count == in_part_[step].end() ? 0 : count->second;
}

}  // namespace reprise
