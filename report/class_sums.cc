#include "report/class_sums.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace reprise {

template <typename Key>
void ClassSums<Key>::Add(std::span<const MeasuredRank> ranks, const TransferSummary& transfers) {
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (std::size_t i = 0; i < ranks[r].data().nodes.size(); ++i) {
      const NodeInfo& node = ranks[r].data().nodes[i];
      if (!node.counts_for_coverage) {
        continue;
      }
      auto& [row, work] = sums_[node.*key_];
      ++row.count;
      row.recorded_ns += node.recorded_duration_ns;
      work = work || node.op_class != OpClass::kComm;
      // A transfer's time counts from the last arrival, as it does in the recording.
      const auto own_ns = transfers.MedianOwnNs(r, i);
      const auto replayed_ns = own_ns ? own_ns : ranks[r].MedianDurationNs(i);
      if (replayed_ns) {
        row.replayed_ns = row.replayed_ns.value_or(0) + *replayed_ns;
        row.flops += node.flops;
        row.bytes += node.bytes;
      }
    }
  }
}

template <typename Key>
std::vector<ClassRow> ClassSums<Key>::Finish() const {
  std::vector<ClassRow> rows;
  for (const auto& [key, sum] : sums_) {
    ClassRow& row = rows.emplace_back(sum.row);
    row.name = Name(key);
    if (row.replayed_ns.value_or(0) > 0 && sum.work) {
      row.gflop_per_s = row.flops / static_cast<double>(*row.replayed_ns);
      row.gb_per_s = row.bytes / static_cast<double>(*row.replayed_ns);
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const ClassRow& a, const ClassRow& b) {
    return a.recorded_ns > b.recorded_ns;
  });
  return rows;
}

template class ClassSums<OpClass>;
template class ClassSums<Phase>;

void WorkTimes::Add(std::span<const MeasuredRank> ranks) {
  for (const MeasuredRank& rank : ranks) {
    std::map<std::int32_t, std::int64_t> sums_ns;  // by iteration
    for (std::size_t i = 0; i < rank.data().nodes.size(); ++i) {
      const NodeInfo& node = rank.data().nodes[i];
      const auto records = rank.Records(i);
      if (!node.counts_for_coverage || node.kind == OpKind::kComm || records.empty()) {
        continue;
      }
      recorded_ns += node.recorded_duration_ns;
      tracing_ns += node.recorded_tracing_ns;
      for (const std::uint32_t record : records) {
        const NodeRecord& replayed = rank.data().records[record];
        sums_ns[replayed.iteration] += replayed.duration_ns;
      }
    }
    std::vector<std::int64_t> passes_ns;
    passes_ns.reserve(sums_ns.size());
    for (const auto& [iteration, sum_ns] : sums_ns) {
      passes_ns.push_back(sum_ns);
    }
    replayed_ns += Median(passes_ns).value_or(0);
  }
}

}  // namespace reprise
