// The items that GPU captures add to a timeline: operations cut where they launch and wait, runtime
// calls in frames, what ran on streams.
#pragma once

#include <cstdint>
#include <vector>

#include "converters/pytorch/edges/rank_timeline.h"
#include "converters/pytorch/rank/rank_capture.h"

namespace reprise::pytorch {

// Reads a rank's links; in CPU captures there is nothing to add. `rank` must outlive it.
class DeviceItems {
 public:
  using Cuts = std::vector<std::vector<std::int32_t>>;  // by operation: the calls that cut it

  explicit DeviceItems(const RankCapture& rank) : rank_(rank) {}

  // What was called in frames goes to its thread's items; the other calls cut operations.
  [[nodiscard]] Cuts AddFrameCalls(std::vector<std::vector<Item>>& threads) const;
  // An operation cut where each of its calls launches, and where it waits.
  void AddPieces(std::int32_t operation, const std::vector<std::int32_t>& calls,
                 std::vector<Item>& items) const;
  // In GPU captures an operation that launches nothing is work of the host only if its tensors say
  // so: the launch may be missing, or there was nothing to compute.
  [[nodiscard]] bool OnHost(std::int32_t operation) const;
  // One item for every device event, with its transfer if it is NCCL's.
  void AddEvents(std::vector<Item>& items) const;

 private:
  [[nodiscard]] const CallLink& Link(std::int32_t c) const {
    return rank_.links.calls[static_cast<std::size_t>(c)];
  }
  [[nodiscard]] bool Waits(std::int32_t c) const {
    return IsHostWait(rank_.Call(c).kind) || !Link(c).sources.empty();
  }
  // What remains of the call after what it waits for has ended.
  [[nodiscard]] Item HostWait(std::int32_t c) const;

  const RankCapture& rank_;
};

// Files with whole microseconds round calls into what surrounds them: shortens items that run into
// the next of their thread (`thread_overlap`). Nothing to do in CPU captures.
void SeparateItems(RankCapture& rank, std::vector<std::vector<Item>>& threads);

// Whatever was cut or left out on the way: counts streams whose kernels, copies or fills take other
// time in all than the file says, by over 0.1 % (`stream_time_differs`).
void CompareDeviceTime(RankCapture& rank, const Timeline& timeline);

}  // namespace reprise::pytorch
