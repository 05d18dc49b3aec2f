#include "predict/rescale/repeated_transfers.h"

#include <limits>
#include <utility>

namespace reprise {
namespace {

constexpr std::int64_t kUneven = std::numeric_limits<std::int64_t>::min();

}  // namespace

RepeatedTransfers::RepeatedTransfers(const Graph& graph, const Repetition& places,
                                     std::int32_t rank)
    : places_(places), rank_(rank) {
  const ProgramOrder& order = places.order();
  for (const Graph::Index i : order.nodes) {
    if (const CommSpec* const comm = graph.comm(i)) {
      const std::int64_t ahead = comm->sequence < 0 ? kUneven : comm->sequence - comm->index;
      const auto [at, is_new] = own_number_ahead_.try_emplace(SequenceOf(*comm, rank), ahead);
      if (!is_new && at->second != ahead) {
        at->second = kUneven;
      }
    }
  }
  for (std::size_t s = 0; s < places.parts().size(); ++s) {
    for (std::uint32_t at = places.parts()[s].begin(); at < places.parts()[s].end; ++at) {
      if (const CommSpec* const comm = graph.comm(order.NodeOf(at))) {
        ++in_part_[SequenceOf(*comm, rank)][s].own;
      }
    }
  }
  for (auto& [key, by_parts] : in_part_) {
    std::int64_t before = 0;
    for (auto& [parts, count] : by_parts) {
      count.before = std::exchange(before, before + count.own);
    }
    by_parts[places.parts().size()].before = before;
  }
}

void RepeatedTransfers::Move(const RepeatedPlace& one, std::int64_t shift_ns,
                             CommSpec& comm) const {
  const SequenceKey key = SequenceOf(comm, rank_);
  std::int64_t later = 0;
  if (const auto counts = in_part_.find(key); counts != in_part_.end()) {
    const std::size_t before =
        one.copy >= 0 ? *places_.PartsOf(one.place) : places_.PartsBefore(one.place);
    const auto next = counts->second.lower_bound(before);
    later = places_.more() * next->second.before;
    if (one.copy >= 0 && next->first == before) {
      later += (one.copy + places_.SourceOf(before, one.copy).back) * next->second.own;
    }
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

}  // namespace reprise
