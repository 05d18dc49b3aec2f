// A rank's records, ordered for analysis: which iterations count, and each node's times in them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "run/run.h"

namespace reprise {

// Median; the mean of the middle two of an even number. Empty: nothing. Reorders `values`.
[[nodiscard]] std::optional<std::int64_t> Median(std::vector<std::int64_t>& values);

// A fact that is a whole number.
[[nodiscard]] std::optional<std::int64_t> NumberFact(const RankData& data, const std::string& name);

// Views into a RankData, which must outlive it.
class MeasuredRank {
 public:
  explicit MeasuredRank(const RankData& data);

  [[nodiscard]] const RankData& data() const { return *data_; }
  // Records of data().nodes[node] in finished iterations that are not warm-up.
  [[nodiscard]] std::span<const NodeRecord* const> Records(std::size_t node) const;
  [[nodiscard]] std::optional<std::size_t> FindNode(std::uint64_t node_id) const;
  [[nodiscard]] std::optional<std::int64_t> MedianDurationNs(std::size_t node) const;
  // How the node was replayed: as recorded, else as planned; what should have run and has no record
  // in any iteration, finished or not, was skipped.
  [[nodiscard]] ReplayMode Mode(std::size_t node) const { return modes_[node]; }
  // Planned to run, but without a record.
  [[nodiscard]] std::int64_t never_ran() const { return never_ran_; }
  // Finished steps that are not warm-up.
  [[nodiscard]] const std::vector<StepRecord>& steps() const { return steps_; }
  [[nodiscard]] std::int32_t iterations() const { return iterations_; }
  // From the first such step's start to the last one's end; empty if there is none.
  [[nodiscard]] std::int64_t begin_ns() const { return begin_ns_; }
  [[nodiscard]] std::int64_t end_ns() const { return end_ns_; }

 private:
  void ChooseSteps();
  void IndexRecords();
  void ChooseModes(const std::vector<const NodeRecord*>& any_record);

  const RankData* data_;
  std::unordered_map<std::uint64_t, std::size_t> node_of_id_;
  std::vector<std::size_t> offsets_;  // records of node i: [offsets_[i], offsets_[i + 1])
  std::vector<const NodeRecord*> records_;
  std::vector<ReplayMode> modes_;
  std::vector<StepRecord> steps_;
  std::int64_t never_ran_ = 0;
  std::int32_t iterations_ = 0;
  std::int64_t begin_ns_ = 0, end_ns_ = 0;
};

}  // namespace reprise
