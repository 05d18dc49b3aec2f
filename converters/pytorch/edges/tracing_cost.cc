#include "converters/pytorch/edges/tracing_cost.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "core/median.h"

namespace reprise::pytorch {
namespace {

constexpr std::size_t kFewestSamples = 20;
constexpr double kMaxScale = 2;
// Of what a call costs within its times, this much comes before its own calls (captures of
// PyTorch 2.15: 5 to 8 of 16 to 20 us).
constexpr double kAtBegin = 1.0 / 3;

bool IsNested(const OperationList& list, std::size_t i) {
  return i < static_cast<std::size_t>(list.loose);
}

// C++ calls C++ there, without Python in between.
bool IsAten(const Operation& op) { return op.name->starts_with("aten::"); }

struct Callees {
  std::int64_t total_ns = 0, last_end_ns = -1;
  std::int32_t count = 0;
};

// The untraced step is a median, so the traced one is too.
std::int64_t MedianStepNs(const std::vector<Step>& steps) {
  std::vector<std::int64_t> durations_ns;
  durations_ns.reserve(steps.size());
  for (const Step& step : steps) {
    durations_ns.push_back(step.duration_ns);
  }
  return Median(durations_ns).value_or(0);
}

double Scale(const RankCapture& rank, double cost_per_call_ns) {
  if (rank.meta.untraced_step_ns <= 0 || rank.steps.empty()) {
    return 1;
  }
  const double calls =
      static_cast<double>(rank.list.operations.size()) / static_cast<double>(rank.steps.size());
  const double scale = static_cast<double>(MedianStepNs(rank.steps) - rank.meta.untraced_step_ns) /
                       (cost_per_call_ns * calls);
  return scale >= 1 / kMaxScale && scale <= kMaxScale ? scale : 1;
}

// Costs at points in time → items of one thread. Points come in order, but for those of one moment.
class Spreader {
 public:
  Spreader(std::vector<Item>& items, const std::vector<std::int32_t>& own)
      : items_(items), own_(own), inside_(own.size()), before_(own.size() + 1) {}

  // Just before (-1) or just after (+1) a moment.
  void Add(std::int64_t moment_ns, int side, double cost_ns) {
    const std::int64_t at = 2 * moment_ns + side;
    while (next_ < own_.size() && 2 * At(next_).end_ns < at) {
      ++next_;
    }
    const bool inside = next_ < own_.size() && at > 2 * At(next_).start_ns;
    (inside ? inside_ : before_)[next_] += cost_ns;
  }

  // The first gap begins with the recording. What an item is too short for is taken from the next
  // gaps: from the next operation, it would make a long one too short. Only what no gap can give is
  // taken from operations, in proportion to what is left of each.
  void Store(std::int64_t begin_ns) {
    double owed_ns = 0, left_ns = 0;
    const auto take = [&owed_ns](double cost_ns, std::int64_t room_ns) {
      const std::int64_t taken_ns =
          std::clamp<std::int64_t>(std::llround(cost_ns), 0, std::max<std::int64_t>(room_ns, 0));
      owed_ns += cost_ns - static_cast<double>(taken_ns);
      return taken_ns;
    };
    for (std::size_t k = 0; k < own_.size(); ++k) {
      Item& item = At(k);
      const std::int64_t gap_ns = item.start_ns - (k == 0 ? begin_ns : At(k - 1).end_ns);
      item.tracing_before_ns = take(std::exchange(owed_ns, 0) + before_[k], gap_ns);
      item.tracing_ns = take(inside_[k], item.end_ns - item.start_ns);
      left_ns += static_cast<double>(LeftNs(item));
    }
    const double share = left_ns > 0 ? std::clamp(owed_ns / left_ns, 0.0, 1.0) : 0;
    for (std::size_t k = 0; k < own_.size(); ++k) {
      At(k).tracing_ns += std::llround(share * static_cast<double>(LeftNs(At(k))));
    }
  }

 private:
  static std::int64_t LeftNs(const Item& item) {
    return std::max<std::int64_t>(item.end_ns - item.start_ns - item.tracing_ns, 0);
  }
  [[nodiscard]] Item& At(std::size_t k) const { return items_[static_cast<std::size_t>(own_[k])]; }

  std::vector<Item>& items_;
  const std::vector<std::int32_t>& own_;
  std::vector<double> inside_, before_;
  std::size_t next_ = 0;
};

}  // namespace

TracingCost EstimateTracingCost(const RankCapture& rank) {
  const OperationList& list = rank.list;
  if (rank.kineto.untimed) {
    return {};
  }
  std::vector<Callees> callees(list.operations.size());
  std::vector<std::int64_t> between_ns, own_ns;
  for (std::size_t i = 0; i < list.operations.size() && IsNested(list, i); ++i) {
    const Operation& op = list.operations[i];
    if (op.parent < 0) {
      continue;
    }
    const auto parent = static_cast<std::size_t>(op.parent);
    Callees& siblings = callees[parent];
    if (siblings.count > 0 && IsAten(list.operations[parent])) {
      between_ns.push_back(op.start_ns - siblings.last_end_ns);
    }
    siblings.total_ns += op.end_ns - op.start_ns;
    siblings.last_end_ns = op.end_ns;
    ++siblings.count;
  }
  if (between_ns.size() < kFewestSamples) {
    return {};
  }
  TracingCost cost;
  cost.outside_ns = static_cast<double>(Median(between_ns).value_or(0));
  for (std::size_t i = 0; i < list.operations.size() && IsNested(list, i); ++i) {
    const Operation& op = list.operations[i];
    const OpKind kind = rank.roles[i].info.kind;
    if (IsAten(op) && (kind == OpKind::kMetadata || kind == OpKind::kComposite)) {
      const double callees_ns =
          static_cast<double>(callees[i].total_ns) + callees[i].count * cost.outside_ns;
      own_ns.push_back(
          std::max<std::int64_t>(0, op.end_ns - op.start_ns - std::llround(callees_ns)));
    }
  }
  if (own_ns.size() < kFewestSamples) {
    return {};
  }
  cost.within_ns = static_cast<double>(Median(own_ns).value_or(0));
  const double scale = cost.PerCall() > 0 ? Scale(rank, cost.PerCall()) : 1;
  cost.within_ns *= scale;
  cost.outside_ns *= scale;
  return cost;
}

void SpreadTracingCost(const RankCapture& rank, const TracingCost& cost, Timeline& timeline) {
  if (cost.PerCall() <= 0) {
    return;
  }
  std::vector<std::vector<std::int32_t>> items(rank.list.threads.size());
  for (std::size_t i = 0; i < timeline.items.size(); ++i) {
    if (const std::int32_t thread = timeline.items[i].thread; thread >= 0) {
      items[static_cast<std::size_t>(thread)].push_back(static_cast<std::int32_t>(i));
    }
  }
  for (std::size_t t = 0; t < items.size(); ++t) {
    const OperationThread& thread = rank.list.threads[t];
    Spreader spreader(timeline.items, items[t]);
    std::vector<std::int32_t> open;
    const auto leave = [&](const Operation& op) {
      spreader.Add(op.end_ns, -1, (1 - kAtBegin) * cost.within_ns);
      spreader.Add(op.end_ns, +1, cost.outside_ns / 2);
      open.pop_back();
    };
    for (std::int32_t i = thread.first; i < thread.last; ++i) {
      while (!open.empty() && open.back() != rank.Op(i).parent) {
        leave(rank.Op(open.back()));
      }
      spreader.Add(rank.Op(i).start_ns, -1, cost.outside_ns / 2);
      spreader.Add(rank.Op(i).start_ns, +1, kAtBegin * cost.within_ns);
      open.push_back(i);
    }
    while (!open.empty()) {
      leave(rank.Op(open.back()));
    }
    spreader.Store(rank.base_ns);
  }
}

}  // namespace reprise::pytorch
