// What operations reach of their device's peaks, on both sides, so that a slower device and one
// that is less well used are distinguished. Peaks are those of predict/machine/ (dense, the
// vendors'); FLOPs and bytes are those of the trace (core/costs/cost.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "predict/machine/machine.h"
#include "report/operations/job_operations.h"

namespace reprise {

// Of aligned operations whose work is known on both sides.
struct AchievedUse {
  double flops = 0, bytes = 0;
  double ns = 0;
  // The least that the peaks allow: of each operation the longer of FLOPs / rate and bytes /
  // bandwidth (the roofline: Williams et al., CACM 52/4, 2009).
  double ideal_ns = 0;
  double flops_ns = 0, bytes_ns = 0;  // of each bound alone
  bool rate_known = true;             // the machine has a rate for the type of all of them
  // Shares of the peaks, 0 to 1; above 1 where a cache serves what the count reads from memory.
  [[nodiscard]] double of_rate() const { return ns > 0 ? flops_ns / ns : 0; }
  [[nodiscard]] double of_bandwidth() const { return ns > 0 ? bytes_ns / ns : 0; }
  [[nodiscard]] double of_roofline() const { return ns > 0 ? ideal_ns / ns : 0; }
};

struct ShareRow {
  std::string op_class;
  std::int64_t count = 0;
  AchievedUse a, b;
  // b's time / a's = device_factor × use_factor: what b's peaks alone would make of it, and how
  // much less of them b reaches.
  [[nodiscard]] double device_factor() const { return b.ideal_ns / a.ideal_ns; }
  [[nodiscard]] double use_factor() const { return a.of_roofline() / b.of_roofline(); }
};

// The built-in machine's device that a recording names; nothing if there is none.
[[nodiscard]] std::optional<DeviceModel> KnownDevice(std::string_view recorded_device);

class ShareTable {
 public:
  ShareTable(std::optional<DeviceModel> a, std::optional<DeviceModel> b)
      : a_(std::move(a)), b_(std::move(b)) {}

  [[nodiscard]] bool BothKnown() const { return a_ && b_; }
  // What runs on the device, with work that is known, of a type that both devices have a rate for.
  // Runs keep no types: an operation has that of its counterpart then.
  void Add(const TimedOperation& a, const TimedOperation& b);
  // Which products no rate is known for, in a sentence; empty: none. In no row.
  [[nodiscard]] std::string LeftOut() const;
  // Most time of the first side first.
  [[nodiscard]] std::vector<ShareRow> Take();

 private:
  std::optional<DeviceModel> a_, b_;
  std::map<OpClass, ShareRow> rows_;
  std::map<OpClass, std::int64_t> without_rate_;
  std::set<DType> types_without_rate_;
};

}  // namespace reprise
