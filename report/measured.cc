#include "report/measured.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace reprise {

std::optional<std::int64_t> Median(std::vector<std::int64_t>& values) {
  if (values.empty()) {
    return std::nullopt;
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) {
    return *middle;
  }
  const std::int64_t below = *std::max_element(values.begin(), middle);
  return below + (*middle - below) / 2;
}

std::optional<std::int64_t> NumberFact(const RankData& data, const std::string& name) {
  const auto found = data.facts.find(name);
  if (found == data.facts.end()) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const std::string& text = found->second;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() ? std::optional(value) : std::nullopt;
}

MeasuredRank::MeasuredRank(const RankData& data) : data_(&data) {
  node_of_id_.reserve(data.nodes.size());
  for (std::size_t i = 0; i < data.nodes.size(); ++i) {
    node_of_id_.emplace(data.nodes[i].node_id, i);
  }
  ChooseSteps();
  IndexRecords();
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
}

// Counting sort by node: a run may have tens of millions of records.
void MeasuredRank::IndexRecords() {
  std::set<std::int32_t> counted;
  for (const StepRecord& step : steps_) {
    counted.insert(step.iteration);
  }
  std::vector<const NodeRecord*> any_record(data_->nodes.size(), nullptr);
  std::vector<std::pair<std::size_t, const NodeRecord*>> kept;
  offsets_.assign(data_->nodes.size() + 1, 0);
  for (const NodeRecord& record : data_->records) {
    const auto node = FindNode(record.node_id);
    if (!node) {
      continue;
    }
    any_record[*node] = &record;
    if (counted.contains(record.iteration)) {
      kept.emplace_back(*node, &record);
      ++offsets_[*node + 1];
    }
  }
  for (std::size_t i = 1; i < offsets_.size(); ++i) {
    offsets_[i] += offsets_[i - 1];
  }
  records_.resize(kept.size());
  std::vector<std::size_t> next(offsets_.begin(), offsets_.end());
  for (const auto& [node, record] : kept) {
    records_[next[node]++] = record;
  }
  ChooseModes(any_record);
}

void MeasuredRank::ChooseModes(const std::vector<const NodeRecord*>& any_record) {
  modes_.reserve(data_->nodes.size());
  for (std::size_t i = 0; i < data_->nodes.size(); ++i) {
    const NodeInfo& node = data_->nodes[i];
    ReplayMode mode = any_record[i] != nullptr ? any_record[i]->mode : node.mode;
    const bool should_run = mode == ReplayMode::kReal || mode == ReplayMode::kSurrogate;
    if (any_record[i] == nullptr && should_run && node.counts_for_coverage) {
      mode = ReplayMode::kSkip;
      ++never_ran_;
    }
    modes_.push_back(mode);
  }
}

std::span<const NodeRecord* const> MeasuredRank::Records(std::size_t node) const {
  return {records_.data() + offsets_[node], offsets_[node + 1] - offsets_[node]};
}

std::optional<std::size_t> MeasuredRank::FindNode(std::uint64_t node_id) const {
  const auto found = node_of_id_.find(node_id);
  return found == node_of_id_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::int64_t> MeasuredRank::MedianDurationNs(std::size_t node) const {
  std::vector<std::int64_t> durations_ns;
  for (const NodeRecord* record : Records(node)) {
    durations_ns.push_back(record->duration_ns);
  }
  return Median(durations_ns);
}

}  // namespace reprise
