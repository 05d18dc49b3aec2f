#include "report/recordings/recording_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>
#include <utility>

#include "core/counted.h"

namespace reprise {
namespace {

using RowKey = std::tuple<std::string, std::string, std::string>;  // class, name, shape

std::string Both(const std::string& a, const std::string& b, const char* between) {
  return a == b ? a : a + between + b;
}

void AddTo(OperationSum& sum, const RecordedOperation& of, bool alone) {
  ++sum.count;
  sum.ns += of.time_ns;
  sum.device_events += of.kernels;
  sum.alone_count += alone ? 1 : 0;
  sum.alone_ns += alone ? of.time_ns : 0;
}

class RowTable {
 public:
  void Add(RowKey key, const RecordedOperation* a, const RecordedOperation* b) {
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
  Differencer(const RecordedJob& a, const RecordedJob& b)
      : a_(a), b_(b), shares_(DeviceOf(a), DeviceOf(b)) {}

  RecordingDifference Compare() {
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
    FinishTotals(out_.totals_a, true);
    FinishTotals(out_.totals_b, false);
    JoinIdleTime();
    out_.verdict = DifferenceVerdict(a_, b_, out_);
    return std::move(out_);
  }

 private:
  static std::optional<DeviceModel> DeviceOf(const RecordedJob& of) {
    return of.ranks.empty() ? std::nullopt : KnownDevice(of.ranks.front().device);
  }

  static bool HasDevices(const RecordedJob& of) {
    return std::ranges::any_of(of.ranks, &RankRecording::HasDevice);
  }

  void PairRanks() {
    for (const RankRecording& rank : a_.ranks) {
      if (const RankRecording* other = b_.Find(rank.rank)) {
        pairs_.emplace_back(&rank, other);
        out_.ranks.push_back(rank.rank);
      } else {
        out_.only_a.push_back(rank.rank);
      }
    }
    for (const RankRecording& rank : b_.ranks) {
      if (a_.Find(rank.rank) == nullptr) {
        out_.only_b.push_back(rank.rank);
      }
    }
    if (pairs_.empty() && a_.ranks.size() == 1 && b_.ranks.size() == 1) {
      pairs_.emplace_back(&a_.ranks[0], &b_.ranks[0]);
      out_.ranks = {a_.ranks[0].rank};
      out_.notes.push_back(fmt::format("rank {} of {} is compared with rank {} of {}",
                                       a_.ranks[0].rank, a_.label, b_.ranks[0].rank, b_.label));
      out_.only_a.clear();
      out_.only_b.clear();
    }
    if (a_.world_size != b_.world_size) {
      out_.notes.push_back(fmt::format("{} is a job of {}, {} one of {}", a_.label,
                                       Counted(a_.world_size, "rank"), b_.label,
                                       Counted(b_.world_size, "rank")));
    }
  }

  void CompareRanks(const RankRecording& a, const RankRecording& b, bool devices) {
    const std::int32_t steps = std::min(a.steps, b.steps);
    if (a.steps != b.steps && !steps_differ_) {
      steps_differ_ = true;
      out_.notes.push_back(fmt::format("{} has {}, {} has {}: the first {} compared", a_.label,
                                       Counted(a.steps, "step"), b_.label, Counted(b.steps, "step"),
                                       steps == 1 ? "is" : fmt::format("{} are", steps)));
    }
    std::vector<char> seen_b(b.operations.size(), 0);
    std::vector<char> seen_a(a.operations.size(), 0);
    for (const AlignedPair& pair : AlignRanks(a, b, steps)) {
      const RecordedOperation& of_a = a.operations[pair.a];
      const RecordedOperation& of_b = b.operations[pair.b];
      seen_a[pair.a] = 1;
      seen_b[pair.b] = 1;
      ++out_.aligned_by[static_cast<std::size_t>(pair.by)];
      AddRows(&of_a, &of_b);
      shares_.Add(of_a, of_b);
    }
    AddAlone(a, seen_a, steps, devices, true);
    AddAlone(b, seen_b, steps, devices, false);
    AddTotals(a, steps, out_.totals_a);
    AddTotals(b, steps, out_.totals_b);
    AddEarly(a, b);
  }

  void AddAlone(const RankRecording& rank, const std::vector<char>& seen, std::int32_t steps,
                bool devices, bool first) {
    AlignedShare& share = first ? out_.a : out_.b;
    for (std::size_t i = 0; i < rank.operations.size(); ++i) {
      const RecordedOperation& of = rank.operations[i];
      if (of.step >= steps) {
        continue;
      }
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

  void AddRows(const RecordedOperation* a, const RecordedOperation* b) {
    const RecordedOperation& first = a != nullptr ? *a : *b;
    const RecordedOperation& second = b != nullptr ? *b : *a;
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
  void AddEarly(const RankRecording& a, const RankRecording& b) {
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

  static void AddTotals(const RankRecording& rank, std::int32_t steps, SideTotals& totals) {
    ++totals.ranks;
    totals.steps = steps;
    totals.device_ns += rank.device_ns;
    totals.device_events += rank.device_events;
    totals.early_ns += rank.early_ns;
    totals.early_count += rank.early_count;
    totals.overlap_ns += rank.overlap_ns;
    totals.on_device = totals.on_device || rank.HasDevice();
    totals.device = totals.device.empty() ? rank.device : totals.device;
    for (std::size_t i = 0; i < rank.activity.size() && std::cmp_less(i, steps); ++i) {
      totals.activity += rank.activity[i];
    }
  }

  void JoinIdleTime() {
    const auto known = [](const RankActivity& of) {
      return of.unknown_launch_ns <= of.launch_wait_ns + of.latency_ns;
    };
    out_.launches_known = known(out_.totals_a.activity) && known(out_.totals_b.activity);
    for (RankActivity* const of : {&out_.totals_a.activity, &out_.totals_b.activity}) {
      if (!out_.launches_known) {
        of->other_idle_ns += of->launch_wait_ns + of->latency_ns;
        of->launch_wait_ns = of->latency_ns = of->launch_gaps = 0;
      }
    }
  }

  void FinishTotals(SideTotals& totals, bool first) const {
    std::int64_t sum = 0;
    for (std::int64_t step = 0; step < totals.steps; ++step) {
      std::int64_t longest = 0;
      for (const auto& [a, b] : pairs_) {
        const std::vector<std::int64_t>& of = (first ? a : b)->step_ns;
        longest = std::max(longest, static_cast<std::size_t>(step) < of.size()
                                        ? of[static_cast<std::size_t>(step)]
                                        : 0);
      }
      sum += longest;
    }
    totals.step_ns = totals.steps > 0 ? sum / totals.steps : 0;
  }

  const RecordedJob& a_;
  const RecordedJob& b_;
  std::vector<std::pair<const RankRecording*, const RankRecording*>> pairs_;
  RowTable classes_, operations_, shapes_, phases_, collectives_;
  ShareTable shares_;
  bool steps_differ_ = false;
  RecordingDifference out_;
};

}  // namespace

RecordingDifference CompareRecordings(const RecordedJob& a, const RecordedJob& b) {
  return Differencer(a, b).Compare();
}

}  // namespace reprise
