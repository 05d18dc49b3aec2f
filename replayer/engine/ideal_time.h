// Where a host thread should be by now: the equation of docs/definitions.md with measured instead
// of recorded durations. Kept gaps become deadlines; what the engine itself costs is deducted,
// because time is only ever waited for up to the ideal position.
#pragma once

#include <algorithm>
#include <cstdint>

namespace reprise {

// A plain value, used by the thread that runs the current node (nodes of a thread are ordered).
class IdealTime {
 public:
  void Restart(std::int64_t now_ns) {
    ideal_ns_ = now_ns;
    pending_ns_ = 0;
  }
  // Host time that passes before whatever comes next: delays, host nodes, timed nodes.
  void AddHostTime(std::int64_t ns) { pending_ns_ += ns; }
  // Measured device time of what was enqueued since the last settling.
  void AddDeviceTime(std::int64_t ns) { ideal_ns_ += ns; }
  // Something on another actor ended: the thread can't be earlier than that.
  void JoinAt(std::int64_t end_ns) { ideal_ns_ = std::max(ideal_ns_, end_ns); }
  // The deadline to wait for now; pending time is spent.
  std::int64_t Settle() {
    ideal_ns_ += pending_ns_;
    pending_ns_ = 0;
    return ideal_ns_;
  }
  [[nodiscard]] std::int64_t pending_ns() const { return pending_ns_; }
  [[nodiscard]] std::int64_t ideal_ns() const { return ideal_ns_; }

 private:
  std::int64_t ideal_ns_ = 0;
  std::int64_t pending_ns_ = 0;
};

}  // namespace reprise
