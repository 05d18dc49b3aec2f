#include "report/classes/shape_sums.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <utility>

#include "report/classes/pass_sums.h"
#include "report/nodes/found_by_texts.h"

namespace reprise {

ShapeSums::ShapeSums(const MeasuredRank& rank) {
  std::map<ShapeRow*, PassSums> passes;
  FoundByTexts<std::pair<ShapeRow* const, PassSums>> by_texts;
  for (std::size_t i = 0; i < rank.data().nodes.size(); ++i) {
    const NodeInfo& node = rank.data().nodes[i];
    const auto records = rank.Records(i);
    if (!node.counts_for_coverage || node.op_class == OpClass::kComm || records.empty()) {
      continue;
    }
    auto& [row_of, times] = by_texts.Of(
        node.name, node.shape, 0, [&]() -> auto& {
          return *passes.try_emplace(&rows_[{node.name, node.shape}]).first;
        });
    ShapeRow& row = *row_of;
    row.op_class = Name(node.op_class);
    row.count += rank.alike();
    row.recorded_ns += rank.alike() * node.recorded_duration_ns;
    row.tracing_ns += rank.alike() * node.recorded_tracing_ns;
    for (const std::uint32_t k : records) {
      const NodeRecord& record = rank.data().records[k];
      times.Add(record.iteration, record.duration_ns);
      row.from_ns[static_cast<std::size_t>(node.time_from)] += rank.alike() * record.duration_ns;
    }
  }
  for (const auto& [row, times] : passes) {
    row->replayed_ns += rank.alike() * times.MedianNs();
  }
}

void ShapeSums::Add(ShapeSums&& others) {
  rows_.merge(others.rows_);  // leaves those that are there
  for (const auto& [key, other] : others.rows_) {
    ShapeRow& row = rows_.find(key)->second;
    row.op_class = other.op_class;
    row.count += other.count;
    row.recorded_ns += other.recorded_ns;
    row.tracing_ns += other.tracing_ns;
    row.replayed_ns += other.replayed_ns;
    AddTimes(other.from_ns, row.from_ns);
  }
}

std::vector<ShapeRow> ShapeSums::Finish() const {
  std::vector<ShapeRow> rows;
  rows.reserve(rows_.size());
  for (const auto& [key, sum] : rows_) {
    rows.push_back(sum);
    rows.back().name = key.first;
    rows.back().shape = key.second;
  }
  // Of a trace set both times are the recorded one.
  std::ranges::stable_sort(rows, std::greater{}, [](const ShapeRow& a) {
    return std::pair(std::abs(a.replayed_ns - a.recorded_ns), a.replayed_ns);
  });
  return rows;
}

}  // namespace reprise
