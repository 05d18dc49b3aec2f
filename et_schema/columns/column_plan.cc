#include <algorithm>
#include <numeric>
#include <string_view>

#include "et_schema/columns/block_coding.h"
#include "et_schema/columns/coding.h"

namespace reprise::columns {
namespace {

constexpr std::size_t kSample = 4096;
// Columns beside which others are tried. Traces have some fifty; a file with a thousand ends, too.
constexpr std::size_t kMaxTried = 96;

// Tags of nodes (et_def.proto).
constexpr std::uint32_t kIdTag = 1 << 3, kCtrlDepsTag = 4 << 3 | 2, kDepsTag = 5 << 3 | 2,
                        kStartMicrosTag = 6 << 3, kDurationMicrosTag = 7 << 3;

std::uint32_t FieldOfMessages(const Block& block, std::uint32_t tag, FieldKind kind) {
  for (const Shape& shape : block.shapes) {
    for (const std::uint32_t field : shape) {
      if (block.fields[field].tag == tag && block.fields[field].kind == kind) {
        return field;
      }
    }
  }
  return ColumnPlan::kNone;
}

std::uint32_t ColumnOfAttribute(const Block& block, std::string_view name) {
  for (const Shape& part : block.parts) {
    if (part.size() == 2 && block.fields[part[0]].kind == FieldKind::kConstant &&
        block.texts[block.fields[part[0]].argument] == name &&
        block.fields[part[1]].kind == FieldKind::kVarint) {
      return First(part[1]);
    }
  }
  return ColumnPlan::kNone;
}

class Chooser {
 public:
  Chooser(Block& block, std::uint32_t index)
      : block_(block), index_(index), plan_(block.columns[index].plan) {
    size_ = std::min(block.columns[index].values.size(), kSample);
    cost_ = CostOf(plan_);
  }
  void Try(ColumnPlan plan) {
    constexpr std::uint64_t kWorthIt = 24 * Cost::kBit;  // what a plan costs
    const std::uint64_t cost = CostOf(plan);
    if (cost + kWorthIt < cost_) {
      cost_ = cost;
      plan_ = plan;
    }
  }
  void TryBase(Base base, std::uint32_t reference = ColumnPlan::kNone, std::uint32_t lag = 1) {
    ColumnPlan plan = plan_;
    plan.base = base;
    plan.reference = reference;
    plan.lag = lag;
    Try(plan);
  }
  void TryContext(std::uint32_t context) {
    ColumnPlan plan = plan_;
    plan.context = context;
    Try(plan);
  }
  [[nodiscard]] const ColumnPlan& plan() const { return plan_; }

 private:
  // The greatest number that divides all differences.
  std::uint64_t UnitOf() {
    const Column& column = block_.columns[index_];
    Predictor predictor(block_, column, column.values.size());
    std::uint64_t unit = 0;
    for (std::size_t i = 0; i < column.values.size() && unit != 1; ++i) {
      const std::uint64_t difference = column.values[i] - predictor.Predict(i);
      predictor.Learn(i);
      unit = std::gcd(
          unit, column.plan.base == Base::kZero
                    ? difference
                    : ZigZagEncode(static_cast<std::int64_t>(difference)) / 2 + (difference >> 63));
    }
    constexpr std::uint64_t kMaxUnit = std::uint64_t{1} << 32;
    return unit == 0 || unit > kMaxUnit ? 1 : unit;
  }
  std::uint64_t CostOf(ColumnPlan& plan) {
    block_.columns[index_].plan = plan;
    if (plan.base != Base::kNew) {
      block_.columns[index_].plan.unit = plan.unit = UnitOf();
    }
    Cost cost;
    Numbers<Cost> numbers(cost);
    NewIndex news(0);
    CodeColumn(numbers, block_, index_, news, size_);
    return cost.cost();
  }
  Block& block_;
  std::uint32_t index_;
  ColumnPlan plan_;
  std::size_t size_ = 0;
  std::uint64_t cost_ = 0;
};

bool IsList(std::uint32_t column) { return column != kShapeColumn && column % 2 == 0; }

ColumnPlan Choose(Block& block, std::uint32_t index, const std::vector<std::uint32_t>& before) {
  constexpr std::uint32_t kMaxLag = 6;
  Chooser chooser(block, index);
  const ColumnPlan given = chooser.plan();
  const bool indices = given.base == Base::kNew;
  const auto try_bases = [&] {
    if (indices) {
      return;
    }
    if (given.base != Base::kZero) {
      chooser.TryBase(given.base, given.reference);
    }
    chooser.TryBase(Base::kZero);
    chooser.TryBase(Base::kBefore);
    chooser.TryBase(Base::kContext);
    if (block.time.deps == index && block.time.id != ColumnPlan::kNone) {
      chooser.TryBase(Base::kActor);
      chooser.TryBase(Base::kBeside, block.time.id);
    }
    for (std::uint32_t lag = 2; IsList(index) && lag <= kMaxLag; ++lag) {
      chooser.TryBase(Base::kBefore, ColumnPlan::kNone, lag);
    }
  };
  try_bases();
  for (const std::uint32_t other : before) {
    chooser.TryContext(other);
  }
  try_bases();
  for (const std::uint32_t other : before) {
    if (!indices && block.columns[other].values.size() >= block.columns[index].values.size() / 2) {
      chooser.TryBase(Base::kBeside, other);
    }
  }
  return chooser.plan();
}

}  // namespace

bool HoldsTexts(const Field& field) {
  return field.kind == FieldKind::kText || field.kind == FieldKind::kWhole;
}

std::vector<std::uint32_t> CodingOrder(const Block& block) {
  std::vector<std::uint32_t> order(block.columns.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return block.columns[a].plan.stage < block.columns[b].plan.stage;
  });
  return order;
}

void FindTimes(Block& block) {
  const auto plan = [&](std::uint32_t column) -> ColumnPlan& { return block.columns[column].plan; };
  const auto first = [](std::uint32_t field) {
    return field == ColumnPlan::kNone ? field : First(field);
  };
  const std::uint32_t deps = FieldOfMessages(block, kDepsTag, FieldKind::kNumbers);
  TimeColumns& time = block.time;
  time = {.id = first(FieldOfMessages(block, kIdTag, FieldKind::kVarint)),
          .deps = deps == ColumnPlan::kNone ? deps : Second(deps),
          .duration = ColumnOfAttribute(block, "duration_ns"),
          .delay = ColumnOfAttribute(block, "delay_ns"),
          .stream = ColumnOfAttribute(block, "stream"),
          .thread = ColumnOfAttribute(block, "tid")};
  if (deps != ColumnPlan::kNone) {
    plan(time.deps).stage = 1;
    // Mostly the same nodes once more.
    const std::uint32_t ctrl = FieldOfMessages(block, kCtrlDepsTag, FieldKind::kNumbers);
    if (ctrl != ColumnPlan::kNone) {
      plan(Second(ctrl)) = {.base = Base::kBeside, .stage = 2, .reference = time.deps};
    }
  }
  const std::uint32_t start = ColumnOfAttribute(block, "start_ns");
  if (start != ColumnPlan::kNone) {
    plan(start).stage = 2;
    if (time.deps != ColumnPlan::kNone && time.id != ColumnPlan::kNone) {
      plan(start).base = Base::kEnds;
    }
  }
  const auto micros = [&](std::uint32_t tag, std::uint32_t ns) {
    const std::uint32_t column = first(FieldOfMessages(block, tag, FieldKind::kVarint));
    if (column != ColumnPlan::kNone && ns != ColumnPlan::kNone) {
      plan(column) = {.base = Base::kThousandth, .stage = 3, .reference = ns};
    }
  };
  micros(kStartMicrosTag, start);
  micros(kDurationMicrosTag, time.duration);
}

void ChoosePlans(Block& block) {
  std::vector<std::uint32_t> before;
  for (const std::uint32_t index : CodingOrder(block)) {
    Column& column = block.columns[index];
    if (column.values.size() >= kShortColumn) {
      const ColumnPlan chosen = Choose(block, index, before);
      block.columns[index].plan = chosen;
      if (before.size() < kMaxTried) {
        before.push_back(index);
      }
    }
  }
}

}  // namespace reprise::columns
