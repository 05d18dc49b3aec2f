#include "report/classes/class_sums.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "report/classes/coverage.h"

namespace reprise {
namespace {

void AddPasses(const MeasuredRank& rank, std::span<const std::uint32_t> records, PassSums& passes) {
  for (const std::uint32_t record : records) {
    const NodeRecord& replayed = rank.data().records[record];
    passes.Add(replayed.iteration, replayed.duration_ns);
  }
}

void AddNode(const NodeInfo& node, std::int64_t alike, WorkTimes::Sum& sum) {
  sum.recorded_ns += alike * node.recorded_duration_ns;
  sum.tracing_ns += alike * node.recorded_tracing_ns;
}

void AddSum(const WorkTimes::Sum& other, WorkTimes::Sum& sum) {
  sum.recorded_ns += other.recorded_ns;
  sum.replayed_ns += other.replayed_ns;
  sum.tracing_ns += other.tracing_ns;
}

// As the replay does: what is executed on a host thread.
bool CanStretch(const NodeInfo& node) { return IsOfHostThread(node) && Executes(node.mode); }

}  // namespace

template <typename Key>
ClassSums<Key>::ClassSums(Key NodeInfo::*key, const MeasuredRank& rank)
    : key_(key), alike_(rank.alike()) {
  const RankData& data = rank.data();
  Key last_key{};  // of the node before
  Sum* last = nullptr;
  PassSums* times = nullptr;
  for (std::size_t i = 0; i < data.nodes.size(); ++i) {
    const NodeInfo& node = data.nodes[i];
    if (!node.counts_for_coverage) {
      continue;
    }
    if (last == nullptr || node.*key_ != last_key) {
      last_key = node.*key_;
      last = &sums_[last_key];
      times = &passes_[last_key];
    }
    auto& [row, work] = *last;
    row.count += alike_;
    row.recorded_ns += alike_ * node.recorded_duration_ns;
    row.tracing_ns += alike_ * node.recorded_tracing_ns;
    work = work || node.op_class != OpClass::kComm;
    const auto records = rank.Records(i);
    if (records.empty()) {
      continue;
    }
    row.flops += static_cast<double>(alike_) * node.flops;
    row.bytes += static_cast<double>(alike_) * node.bytes;
    for (const std::uint32_t k : rank.IsTransfer(i) ? std::span<const std::uint32_t>() : records) {
      const NodeRecord& record = data.records[k];
      times->Add(record.iteration, record.duration_ns);
      row.from_ns[static_cast<std::size_t>(node.time_from)] += alike_ * record.duration_ns;
    }
  }
}

template <typename Key>
void ClassSums<Key>::Add(const ClassSums& other) {
  for (const auto& [key, sum] : other.sums_) {
    auto& [row, work] = sums_[key];
    work = work || sum.work;
    row.count += sum.row.count;
    row.recorded_ns += sum.row.recorded_ns;
    row.tracing_ns += sum.row.tracing_ns;
    row.flops += sum.row.flops;
    row.bytes += sum.row.bytes;
    AddTimes(sum.row.from_ns, row.from_ns);
  }
  for (const auto& [key, times] : other.passes_) {
    if (!times.empty()) {
      ClassRow& row = sums_[key].row;
      row.replayed_ns = row.replayed_ns.value_or(0) + other.alike_ * times.MedianNs();
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
  std::ranges::stable_sort(rows, std::greater{}, &ClassRow::recorded_ns);
  return rows;
}

template class ClassSums<OpClass>;
template class ClassSums<Phase>;

WorkTimes::WorkTimes(const MeasuredRank& rank) {
  PassSums passes;
  std::map<OpClass, PassSums> class_passes;
  for (std::size_t i = 0; i < rank.data().nodes.size(); ++i) {
    const NodeInfo& node = rank.data().nodes[i];
    const auto records = rank.Records(i);
    if (!node.counts_for_coverage || node.kind == OpKind::kComm || records.empty()) {
      continue;
    }
    AddNode(node, rank.alike(), all_);
    AddPasses(rank, records, passes);
    if (CanStretch(node)) {
      AddNode(node, rank.alike(), by_class_[node.op_class]);
      AddPasses(rank, records, class_passes[node.op_class]);
    }
  }
  all_.replayed_ns += rank.alike() * passes.MedianNs();
  for (const auto& [op_class, times] : class_passes) {
    by_class_[op_class].replayed_ns += rank.alike() * times.MedianNs();
  }
}

void WorkTimes::Add(const WorkTimes& others) {
  AddSum(others.all_, all_);
  for (const auto& [op_class, sum] : others.by_class_) {
    AddSum(sum, by_class_[op_class]);
  }
}

std::vector<ClassFactor> WorkTimes::Stretches() const {
  constexpr double kMinShare = 0.005, kMinFactor = 1.005;
  std::vector<std::pair<std::int64_t, ClassFactor>> found;  // recorded time first
  const auto work_ns = static_cast<double>(all_.recorded_ns - all_.tracing_ns);
  for (const auto& [op_class, sum] : by_class_) {
    const std::int64_t recorded_ns = sum.recorded_ns - sum.tracing_ns;
    const double factor = static_cast<double>(recorded_ns) / static_cast<double>(sum.replayed_ns);
    if (sum.replayed_ns > 0 && factor >= kMinFactor &&
        static_cast<double>(recorded_ns) >= kMinShare * work_ns) {
      found.push_back({recorded_ns, {std::string(Name(op_class)), factor}});
    }
  }
  std::ranges::stable_sort(found, std::greater{}, [](const auto& row) { return row.first; });
  std::vector<ClassFactor> factors;
  factors.reserve(found.size());
  for (auto& [recorded_ns, factor] : found) {
    factors.push_back(std::move(factor));
  }
  return factors;
}

}  // namespace reprise
