#include "report/compare/operation_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/counted.h"

namespace reprise {
namespace {

using RowKey = std::tuple<std::string, std::string, std::string>;  // class, name, shape

std::string Both(const std::string& a, const std::string& b, const char* between) {
  return a == b ? a : a + between + b;
}

void AddTo(OperationSum& sum, const TimedOperation& of, bool alone) {
  ++sum.count;
  sum.ns += of.time_ns;
  sum.device_events += of.kernels;
  sum.alone_count += alone ? 1 : 0;
  sum.alone_ns += alone ? of.time_ns : 0;
}

class RowTable {
 public:
  void Add(RowKey key, const TimedOperation* a, const TimedOperation* b) {
    AlignedRow& row = rows_[std::move(key)];
    if (a != nullptr) {
      AddTo(row.a, *a, b == nullptr);
    }
    if (b != nullptr) {
      AddTo(row.b, *b, a == nullptr);
    }
  }
  AlignedRow& operator[](const RowKey& key) { return rows_[key]; }

  // The largest difference first, then the longest.
  std::vector<AlignedRow> Take() {
    std::vector<AlignedRow> out;
    for (auto& [key, row] : rows_) {
      row.op_class = std::get<0>(key);
      row.name = std::get<1>(key);
      row.shape = std::get<2>(key);
      out.push_back(std::move(row));
    }
    std::ranges::stable_sort(out, std::greater(), [](const AlignedRow& of) {
      return std::pair(std::abs(of.difference_ns()), std::max(of.a.ns, of.b.ns));
    });
    return out;
  }

 private:
  std::map<RowKey, AlignedRow> rows_;
};

class Differencer {
 public:
  Differencer(const JobOperations& a, const JobOperations& b)
      : a_(a), b_(b), shares_(DeviceOf(a), DeviceOf(b)) {}

  OperationDifference Compare() {
    PairRanks();
    const bool devices = HasDevices(a_) && HasDevices(b_);
    for (const auto& [a, b] : pairs_) {
      CompareRanks(*a, *b, devices);
    }
    out_.classes = classes_.Take();
    out_.operations = operations_.Take();
    out_.shapes = shapes_.Take();
    out_.phases = phases_.Take();
    out_.collectives = collectives_.Take();
    out_.shares = shares_.Take();
    if (std::string left_out = shares_.LeftOut(); !left_out.empty()) {
      out_.notes.push_back(std::move(left_out));
    }
    out_.totals_a = TotalsOf(a_);
    out_.totals_b = TotalsOf(b_);
    JoinIdleTime();
    out_.verdict = DifferenceVerdict(a_, b_, out_);
    return std::move(out_);
  }

 private:
  static std::optional<DeviceModel> DeviceOf(const JobOperations& of) {
    return of.ranks.empty() ? std::nullopt : KnownDevice(of.ranks.front().device);
  }

  static bool HasDevices(const JobOperations& of) {
    return std::ranges::any_of(of.ranks, &RankOperations::HasDevice);
  }

  void PairRanks() {
    for (const RankOperations& rank : a_.ranks) {
      if (const RankOperations* other = b_.Find(rank.rank)) {
        pairs_.emplace_back(&rank, other);
        out_.ranks.push_back(rank.rank);
      }
    }
    if (pairs_.empty() && a_.ranks.size() == 1 && b_.ranks.size() == 1) {
      pairs_.emplace_back(&a_.ranks[0], &b_.ranks[0]);
      out_.ranks = {a_.ranks[0].rank};
      out_.notes.push_back(fmt::format("rank {} of {} is compared with rank {} of {}",
                                       a_.ranks[0].rank, a_.label, b_.ranks[0].rank, b_.label));
    }
    if (a_.world_size != b_.world_size) {
      out_.notes.push_back(fmt::format("{} is a job of {}, {} one of {}", a_.label,
                                       Counted(a_.world_size, "rank"), b_.label,
                                       Counted(b_.world_size, "rank")));
    }
  }

  void CompareRanks(const RankOperations& a, const RankOperations& b, bool devices) {
    std::vector<char> seen_b(b.operations.size(), 0);
    std::vector<char> seen_a(a.operations.size(), 0);
    for (const AlignedPair& pair : AlignRanks(a, b)) {
      const TimedOperation& of_a = a.operations[pair.a];
      const TimedOperation& of_b = b.operations[pair.b];
      seen_a[pair.a] = 1;
      seen_b[pair.b] = 1;
      ++out_.aligned_by[static_cast<std::size_t>(pair.by)];
      AddRows(&of_a, &of_b);
      shares_.Add(of_a, of_b);
    }
    AddAlone(a, seen_a, devices, true);
    AddAlone(b, seen_b, devices, false);
    AddEarly(a, b);
  }

  void AddAlone(const RankOperations& rank, const std::vector<char>& seen, bool devices,
                bool first) {
    AlignedShare& share = first ? out_.a : out_.b;
    for (std::size_t i = 0; i < rank.operations.size(); ++i) {
      const TimedOperation& of = rank.operations[i];
      if (!devices || of.on_device) {
        ++share.operations;
        share.ns += of.time_ns;
        share.aligned += seen[i];
        share.aligned_ns += seen[i] != 0 ? of.time_ns : 0;
      }
      if (seen[i] == 0) {
        AddRows(first ? &of : nullptr, first ? nullptr : &of);
      }
    }
  }

  void AddRows(const TimedOperation* a, const TimedOperation* b) {
    const TimedOperation& first = a != nullptr ? *a : *b;
    const TimedOperation& second = b != nullptr ? *b : *a;
    const std::string op_class(Name(first.op_class));
    const std::string name = Both(first.name, second.name, " / ");
    classes_.Add({op_class, op_class, ""}, a, b);
    operations_.Add({op_class, name, ""}, a, b);
    shapes_.Add({op_class, name, Both(first.shape, second.shape, " to ")}, a, b);
    const std::string phase(Name(first.phase));
    phases_.Add({"", phase, ""}, a, b);
    if (first.transfer) {
      // Shapes of transfers begin with their kind.
      collectives_.Add({"", first.shape.substr(0, first.shape.find(' ')), ""}, a, b);
    }
  }

  // Device work of no call has a row of its own, so that rows add up to the files' sums.
  void AddEarly(const RankOperations& a, const RankOperations& b) {
    const auto add = [this](const char* name, std::int64_t a_count, std::int64_t a_ns,
                            std::int64_t b_count, std::int64_t b_ns) {
      if (a_count + b_count + a_ns + b_ns == 0) {
        return;
      }
      AlignedRow& row = classes_[{"", name, ""}];
      row.a.count += a_count;
      row.a.ns += a_ns;
      row.b.count += b_count;
      row.b.ns += b_ns;
    };
    add("launched before", a.early_count, a.early_ns, b.early_count, b.early_ns);
    add("overlap on a stream", 0, a.overlap_ns, 0, b.overlap_ns);
  }

  void JoinIdleTime() {
    out_.launches_known = out_.totals_a.LaunchesKnown() && out_.totals_b.LaunchesKnown();
    for (RankActivity* const of : {&out_.totals_a.activity, &out_.totals_b.activity}) {
      if (!out_.launches_known) {
        of->other_idle_ns += of->launch_wait_ns + of->latency_ns;
        of->launch_wait_ns = of->latency_ns = of->launch_gaps = 0;
      }
    }
  }

  const JobOperations& a_;
  const JobOperations& b_;
  std::vector<std::pair<const RankOperations*, const RankOperations*>> pairs_;
  RowTable classes_, operations_, shapes_, phases_, collectives_;
  ShareTable shares_;
  OperationDifference out_;
};

}  // namespace

SideTotals TotalsOf(const JobOperations& job) {
  SideTotals totals;
  std::vector<std::int64_t> longest_ns;  // by step
  for (const RankOperations& rank : job.ranks) {
    ++totals.ranks;
    totals.steps = std::max<std::int64_t>(totals.steps, rank.steps);
    totals.device_ns += rank.device_ns;
    totals.device_events += rank.device_events;
    totals.early_ns += rank.early_ns;
    totals.early_count += rank.early_count;
    totals.overlap_ns += rank.overlap_ns;
    totals.on_device = totals.on_device || rank.HasDevice();
    totals.device = totals.device.empty() ? rank.device : totals.device;
    for (const RankActivity& of : rank.activity) {
      totals.activity += of;
    }
    longest_ns.resize(std::max(longest_ns.size(), rank.step_ns.size()));
    for (std::size_t step = 0; step < rank.step_ns.size(); ++step) {
      longest_ns[step] = std::max(longest_ns[step], rank.step_ns[step]);
    }
  }
  const std::int64_t sum_ns =
      std::accumulate(longest_ns.begin(), longest_ns.end(), std::int64_t{0});
  totals.step_ns = totals.steps > 0 ? sum_ns / totals.steps : 0;
  return totals;
}

OperationDifference CompareOperations(const JobOperations& a, const JobOperations& b) {
  return Differencer(a, b).Compare();
}

}  // namespace reprise
