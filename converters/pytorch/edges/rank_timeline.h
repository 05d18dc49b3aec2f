// What one rank's nodes will be, in time: threads as sequences without overlap, transfers beside
// them, waits where the host stood still for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converters/pytorch/rank/rank_capture.h"
#include "core/diagnostics.h"
#include "et_schema/node.h"

namespace reprise::pytorch {

struct ItemDependency {
  std::int32_t item = -1;  // index into Timeline::items
  EdgeReason reason = EdgeReason::kUnknown;
  bool inferred = false;
};

// A node to be. Times are nanoseconds since the epoch.
struct Item {
  enum class Kind : std::uint8_t {
    kOperation,  // work, metadata, or a recorded wait
    kIssue,      // a c10d call until its transfer starts
    kReturn,     // … and from there to its end
    kTransfer,
    kWait,      // no operation: the host stood still until a transfer had ended
    kStepEnd,   // the end of a ProfilerStep, so that the host's last gap counts
    kCompiled,  // a part of compiled code's own time (compiled_items.h)
    // GPU captures. An operation that launches is cut where each launching call begins.
    kHead,      // its first piece
    kRest,      // a later one
    kCall,      // a runtime call in a frame: up to where it begins, and the rest of it
    kHostWait,  // a runtime call (cudaStreamSynchronize): what is left of it after what it waits
                // for
    kDevice,    // a kernel, memcpy or memset; also a transfer if it is NCCL's
  };
  Kind kind = Kind::kOperation;
  bool inferred = false;        // kWait: concluded from the host's quiet
  std::int32_t operation = -1;  // kWait: the call of the transfer
  std::int32_t transfer = -1;   // kIssue, kReturn, kTransfer, kWait, kDevice: index of the transfer
  std::int32_t thread = -1;     // -1: transfers and device events
  std::int32_t call = -1;   // index into DeviceTrace::calls: launches at this item's end, or waits
  std::int32_t event = -1;  // kDevice: index into DeviceTrace::events
  std::int64_t start_ns = 0, end_ns = 0;
  // What tracing took of it, and of the gap before it on its thread (tracing_cost.h).
  std::int64_t tracing_ns = 0, tracing_before_ns = 0;
  std::vector<ItemDependency> deps;
};

struct Timeline {
  std::vector<Item> items;  // by start; ties: shorter first, then thread order
  // By transfer: its item, and the item that waits for it (-1: none).
  std::vector<std::int32_t> transfer_item;
  std::vector<std::int32_t> wait_item;

  [[nodiscard]] std::int32_t Count() const { return static_cast<std::int32_t>(items.size()); }
  [[nodiscard]] Item& At(std::int32_t i) { return items[static_cast<std::size_t>(i)]; }
  // Unless `to` waits for `from` already.
  void AddEdge(std::int32_t from, std::int32_t to, EdgeReason reason, bool inferred = false);
};

// Needs MatchTransfers. Shortens transfers that were recorded to end after a wait for them had
// returned (`transfer_end_late`), and counts calls that say they block but did not
// (`blocking_call_returned`).
[[nodiscard]] Timeline BuildTimeline(RankCapture& rank);

// Of the step in which the host launched or issued it, or began it; −1: outside the steps.
[[nodiscard]] std::int32_t StepOf(const RankCapture& rank, const Item& item);

// Gives marked steps their true begins and ends (core/timing/steps.h): devices and transfers may go
// on when the program has marked the next step.
void FrameSteps(RankCapture& rank, const Timeline& timeline);

// Whether an item reads and writes the data of its tensors (views and allocations do not).
[[nodiscard]] bool UsesData(const RankCapture& rank, const Item& item);

}  // namespace reprise::pytorch
