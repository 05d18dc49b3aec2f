// A rank's records, ordered for analysis: which iterations count, and each node's times in them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "report/nodes/node_index.h"
#include "report/run/run.h"

namespace reprise {

// Whether the rank's times come from a simulated clock, so that timed operations are what its
// device did.
[[nodiscard]] inline bool IsModelled(const RankData& data) { return data.facts.modelled; }
// The same processor, which must be known. A device or thread count counts only where both are
// known; a capture that names the processor and no device is a CPU's.
[[nodiscard]] bool IsOnRecordedMachine(const RankFacts& facts);
// How many equal ranks, each with a device of its own, the rank stands for (class_ranks).
[[nodiscard]] std::int64_t RanksAlike(const RankData& data);

// Views into a RankData, which must outlive it. Nodes and records are named by their positions in
// data().nodes and data().records.
class MeasuredRank {
 public:
  explicit MeasuredRank(const RankData& data);

  [[nodiscard]] const RankData& data() const { return *data_; }
  // Records of the node in finished iterations that are not warm-up.
  [[nodiscard]] std::span<const std::uint32_t> Records(std::size_t node) const {
    return {records_.data() + offsets_[node], offsets_[node + 1] - offsets_[node]};
  }
  [[nodiscard]] std::optional<std::uint32_t> FindNode(std::uint64_t node_id) const {
    return node_index_.Find(node_id);
  }
  // Of any record; kNoNode: of a node that the rank does not have.
  static constexpr std::uint32_t kNoNode = UINT32_MAX;
  [[nodiscard]] std::uint32_t NodeOfRecord(std::size_t record) const {
    return node_of_record_[record];
  }
  // Over the records of Records(node).
  [[nodiscard]] std::optional<std::int64_t> MedianDurationNs(std::size_t node) const {
    return offsets_[node] == offsets_[node + 1] ? std::nullopt : std::optional(medians_ns_[node]);
  }
  // How the node was replayed: as recorded, else as planned; what should have run and has no record
  // in any iteration, finished or not, was skipped.
  [[nodiscard]] ReplayMode Mode(std::size_t node) const { return modes_[node]; }
  // Whether data().collectives has the node, and all that it has, each once and ascending.
  [[nodiscard]] bool IsTransfer(std::size_t node) const { return is_transfer_[node]; }
  [[nodiscard]] const std::vector<std::uint32_t>& transfer_nodes() const { return transfer_nodes_; }
  // Planned to run, but without a record.
  [[nodiscard]] std::int64_t never_ran() const { return never_ran_; }
  // Finished steps that are not warm-up.
  [[nodiscard]] const std::vector<StepRecord>& steps() const { return steps_; }
  [[nodiscard]] std::int32_t iterations() const { return iterations_; }
  // For how many equal ranks this one stands, itself included: sums over ranks multiply by it.
  [[nodiscard]] std::int64_t alike() const { return alike_; }
  // From the first such step's start to the last one's end; empty if there is none. Of a simulated
  // run with samples: all that was simulated, since devices that wait for others take power, too.
  [[nodiscard]] std::int64_t begin_ns() const { return begin_ns_; }
  [[nodiscard]] std::int64_t end_ns() const { return end_ns_; }

 private:
  void ChooseSteps();
  void FindNodes();
  void FindTransfers();
  void IndexRecords();
  void FindMedians();
  void ChooseModes();

  const RankData* data_;
  NodeIndex node_index_;
  std::vector<std::uint32_t> node_of_record_;
  std::vector<std::uint32_t> offsets_;  // records of node i: [offsets_[i], offsets_[i + 1])
  std::vector<std::uint32_t> records_;
  std::vector<std::int64_t> medians_ns_;  // 0 where there are no records
  std::vector<ReplayMode> modes_;
  std::vector<bool> is_transfer_;
  std::vector<std::uint32_t> transfer_nodes_;
  std::vector<StepRecord> steps_;
  std::int64_t never_ran_ = 0;
  std::int64_t alike_ = 1;
  std::int32_t iterations_ = 0;
  std::int64_t begin_ns_ = 0, end_ns_ = 0;
};

}  // namespace reprise
