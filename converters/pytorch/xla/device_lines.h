// The lines of one device of XLA, event by event.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "converters/pytorch/xla/async_runs.h"
#include "converters/pytorch/xla/operation_events.h"
#include "converters/pytorch/xla/xspace_reader.h"

namespace reprise::pytorch {

// A step that a device's lines show.
struct DeviceSpan {
  std::string name;
  std::int64_t start_ns = 0, end_ns = 0;
};

// - Streams of GPUs: each event is work, caused by its launch.
// - Operations of TPUs, and of the CPU back end: an event that encloses others (a loop, a call) is
//   left out and counted. The end of an asynchronous operation ("-done") is a wait: what comes next
//   waits for it.
// - Modules and steps are no work; they mark spans.
class DeviceLines {
 public:
  DeviceLines(const XlaProfile& profile, XlaDevice device, DeviceRanks ranks, EventList& events,
              XlaCounts& counts);

  // First all events of the device are noted, then all are added, in the same order.
  [[nodiscard]] bool NeedsNotes() const { return !streams_; }
  [[nodiscard]] Status Note(const XSpaceReader& reader, const XSpaceField& field);
  void EndNotes() { operations_.SetNextItem(runs_.Settle()); }
  [[nodiscard]] Status Add(const XSpaceReader& reader, const XSpaceField& field);
  void EndLine();

  // Of all that was added: what the host's calls may have launched.
  [[nodiscard]] const std::unordered_set<std::int64_t>& correlations() const {
    return correlations_;
  }
  [[nodiscard]] const std::vector<DeviceSpan>& steps() const { return steps_; }
  [[nodiscard]] const std::vector<DeviceSpan>& modules() const { return modules_; }

 private:
  enum class LineKind : std::uint8_t { kStream, kOperations, kAsync, kSteps, kModules, kOther };
  // An event that is added when the next one of its line shows that it encloses none.
  struct Pending {
    std::string message;
    XEvent event;
    std::int64_t line = -1;
  };
  [[nodiscard]] LineKind KindOf(const XLineInfo& line) const;
  [[nodiscard]] Status ReadTimes(const XSpaceReader& reader, const XSpaceField& field,
                                 std::optional<XEvent>& out) const;
  [[nodiscard]] const XPlane& plane() const { return profile_.Plane(device_.plane); }
  [[nodiscard]] bool IsOwn(std::string_view message) const;
  void AddPending();
  void AddOperation(const OperationFacts& facts, OperationPlace place);
  void AddAsync(const OperationFacts& facts, OperationPlace place);
  [[nodiscard]] std::int64_t Lane(std::int64_t start_ns, std::int64_t end_ns);

  const XlaProfile& profile_;
  XlaDevice device_;
  XlaCounts& counts_;
  OperationEvents operations_;
  bool streams_ = false;  // the device has lines of streams
  AsyncRuns runs_;
  std::optional<Pending> pending_;
  std::vector<std::int64_t> waits_;  // of the next operation, by number
  std::int64_t last_item_ = -1;      // of the line
  std::vector<std::int64_t> lanes_;  // ends, of operations beside others
  std::unordered_set<std::int64_t> correlations_;
  std::vector<DeviceSpan> steps_, modules_;
};

}  // namespace reprise::pytorch
