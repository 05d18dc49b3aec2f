#include "report/nodes/measured.h"

#include <algorithm>
#include <set>

#include "core/median.h"

namespace reprise {

std::int64_t RanksAlike(const RankData& data) {
  return std::max<std::int64_t>(data.facts.class_ranks.value_or(1), 1);
}

bool IsOnRecordedMachine(const RankFacts& facts) {
  const auto may_be_equal = []<typename T>(const T& a, const T& b) {
    return a == T() || b == T() || a == b;
  };
  const std::string recorded_on = facts.recorded_device.empty() ? "cpu" : facts.recorded_device;
  return !facts.recorded_processor.empty() && facts.recorded_processor == facts.processor &&
         may_be_equal(recorded_on, facts.computes_on) &&
         may_be_equal(facts.recorded_threads, facts.compute_threads);
}

MeasuredRank::MeasuredRank(const RankData& data)
    : data_(&data), node_index_(data.nodes), alike_(RanksAlike(data)) {
  ChooseSteps();
  FindNodes();
  FindTransfers();
  IndexRecords();
  FindMedians();
  ChooseModes();
}

void MeasuredRank::ChooseSteps() {
  std::set<std::int32_t> iterations;
  for (const StepRecord& step : data_->steps) {
    if (step.warmup) {
      continue;
    }
    const std::int64_t end_ns = step.start_ns + step.duration_ns;
    begin_ns_ = steps_.empty() ? step.start_ns : std::min(begin_ns_, step.start_ns);
    end_ns_ = steps_.empty() ? end_ns : std::max(end_ns_, end_ns);
    steps_.push_back(step);
    iterations.insert(step.iteration);
  }
  iterations_ = static_cast<std::int32_t>(iterations.size());
  if (!steps_.empty() && !data_->samples.empty() && IsModelled(*data_)) {
    begin_ns_ = data_->facts.idle_end_ns.value_or(begin_ns_);
    for (const Sample& sample : data_->samples) {
      end_ns_ = std::max(end_ns_, sample.time_ns);
    }
  }
}

void MeasuredRank::FindNodes() {
  node_of_record_.reserve(data_->records.size());
  for (const NodeRecord& record : data_->records) {
    node_of_record_.push_back(FindNode(record.node_id).value_or(kNoNode));
  }
}

void MeasuredRank::FindTransfers() {
  is_transfer_.resize(data_->nodes.size());
  for (const CollectiveInfo& info : data_->collectives) {
    const auto node = FindNode(info.node_id);
    if (node && !is_transfer_[*node]) {
      is_transfer_[*node] = true;
      transfer_nodes_.push_back(*node);
    }
  }
  if (!std::ranges::is_sorted(transfer_nodes_)) {
    std::ranges::sort(transfer_nodes_);
  }
}

// Counting sort by node: a run may have tens of millions of records.
void MeasuredRank::IndexRecords() {
  std::set<std::int32_t> finished;
  for (const StepRecord& step : steps_) {
    finished.insert(step.iteration);
  }
  std::optional<std::int32_t> last;  // records of one iteration mostly stand together
  bool last_counts = false;
  const auto counts = [&](std::size_t record) {
    const std::int32_t iteration = data_->records[record].iteration;
    if (iteration != last) {
      last = iteration;
      last_counts = finished.contains(iteration);
    }
    return last_counts && node_of_record_[record] != kNoNode;
  };
  offsets_.assign(data_->nodes.size() + 1, 0);
  for (std::size_t k = 0; k < node_of_record_.size(); ++k) {
    if (counts(k)) {
      ++offsets_[node_of_record_[k] + 1];
    }
  }
  for (std::size_t i = 1; i < offsets_.size(); ++i) {
    offsets_[i] += offsets_[i - 1];
  }
  records_.resize(offsets_.back());
  std::vector<std::uint32_t> next(offsets_);
  for (std::size_t k = 0; k < node_of_record_.size(); ++k) {
    if (counts(k)) {
      records_[next[node_of_record_[k]]++] = static_cast<std::uint32_t>(k);
    }
  }
}

void MeasuredRank::FindMedians() {
  medians_ns_.assign(data_->nodes.size(), 0);
  std::vector<std::int64_t> durations_ns;
  for (std::size_t i = 0; i < medians_ns_.size(); ++i) {
    durations_ns.clear();
    for (const std::uint32_t k : Records(i)) {
      durations_ns.push_back(data_->records[k].duration_ns);
    }
    medians_ns_[i] = Median(durations_ns).value_or(0);
  }
}

void MeasuredRank::ChooseModes() {
  constexpr std::uint32_t kNoRecord = UINT32_MAX;
  std::vector<std::uint32_t> last_record(data_->nodes.size(), kNoRecord);
  for (std::size_t k = 0; k < node_of_record_.size(); ++k) {
    if (node_of_record_[k] != kNoNode) {
      last_record[node_of_record_[k]] = static_cast<std::uint32_t>(k);
    }
  }
  modes_.reserve(data_->nodes.size());
  for (std::size_t i = 0; i < data_->nodes.size(); ++i) {
    const NodeInfo& node = data_->nodes[i];
    const bool ran = last_record[i] != kNoRecord;
    ReplayMode mode = ran ? data_->records[last_record[i]].mode : node.mode;
    const bool should_run = Executes(mode);
    if (!ran && should_run && node.counts_for_coverage) {
      mode = ReplayMode::kSkip;
      ++never_ran_;
    }
    modes_.push_back(mode);
  }
}

}  // namespace reprise
