// One iteration of a run beside its recording, as one graph of all ranks: the input of
// core/timing/. Only report/ sees this.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/timing/dry_run.h"
#include "report/nodes/measured.h"
#include "report/nodes/transfers.h"

namespace reprise {

// Node 0 is the recorded step's begin; the ranks' nodes follow, rank by rank, in the order of
// RankData::nodes. All times count from that begin.
struct RunTiming {
  TimingGraph recorded;
  std::vector<std::uint32_t> order;              // dependencies first
  std::vector<std::uint32_t> first;              // of each rank, and one past the last
  std::vector<std::int32_t> actor;               // a number for each (rank, actor)
  std::vector<std::string> actor_names;          // "rank 0, thread 1"
  std::vector<const NodeInfo*> nodes;            // null: node 0
  std::vector<const CollectiveInfo*> transfers;  // null: not one
  // As replayed: measured where there is a record. Host nodes have none: they keep their recorded
  // time, scaled as the replay did, and are squeezed where the next measured node did not wait so
  // long (the replay makes up for time that it lost).
  std::vector<std::int64_t> replayed_start_ns, replayed_end_ns;
  std::vector<std::uint8_t> measured;
  std::int32_t iteration = -1;
  // One pass over the trace, from the first step's begin to the last one's end; the longest rank's.
  std::int64_t recorded_pass_ns = 0, replayed_pass_ns = 0;  // recorded: 0 where it is not known
};

struct MedianPass {
  std::int32_t iteration = -1;
  std::int64_t pass_ns = 0;  // the longest rank's
};
// The iteration whose pass time is the median, of those that all ranks finished.
[[nodiscard]] std::optional<MedianPass> FindMedianPass(std::span<const MeasuredRank> ranks);

// That iteration of these ranks. Bad input: ranks whose clocks are not related, a run written
// before runs knew delays, edges that form a cycle.
[[nodiscard]] Result<RunTiming> TimeRun(std::span<const MeasuredRank> ranks,
                                        const TransferMatches& matches, const RunManifest& manifest,
                                        const MedianPass& pass);

}  // namespace reprise
