// The coded part of a block, in the order in which it is written: one description for writing and
// reading (docs/package_format.md, "Columns"). Only et_schema/columns sees this.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "et_schema/columns/block.h"
#include "et_schema/columns/number_model.h"
#include "et_schema/columns/predict.h"
#include "et_schema/wire.h"

namespace reprise::columns {

// The uses of numbers outside of long columns: each has a model of its own.
enum class Use : std::uint8_t {
  kCount,
  kFieldKind,
  kFieldTag,
  kFieldArgument,
  kShapeLength,
  kShapeField,
  kTextLength,
  kPlanBase,
  kPlanDetail,
  kShortIndex,   // columns with fewer than kShortColumn values: indices,
  kShortNumber,  // and all other numbers
};
inline constexpr std::size_t kUses = 11;
inline constexpr std::size_t kShortColumn = 32;

template <typename Coder>
class Numbers {
 public:
  explicit Numbers(Coder& coder) : coder_(coder) {}
  std::uint64_t operator()(Use use, std::uint64_t value, std::uint64_t context = 0) {
    std::optional<NumberModel>& model = models_[static_cast<std::size_t>(use)];
    if (!model) {
      model.emplace(kTable);
    }
    return model->Code(coder_, value, context);
  }
  [[nodiscard]] Coder& coder() { return coder_; }

 private:
  static constexpr std::size_t kTable = 1 << 10;
  Coder& coder_;
  std::array<std::optional<NumberModel>, kUses> models_;
};

// Indices into a list whose entries are first used in their order: 0 is the next one, n + 1 is n.
class NewIndex {
 public:
  explicit NewIndex(std::uint64_t next) : next_(next) {}
  [[nodiscard]] std::uint64_t ToCode(std::uint64_t index) {
    return index == next_ ? (++next_, 0) : index + 1;
  }
  [[nodiscard]] std::uint64_t FromCode(std::uint64_t code) {
    return code == 0 ? next_++ : code - 1;
  }

 private:
  std::uint64_t next_;
};

// Between a number and what is coded of it.
[[nodiscard]] inline std::uint64_t ToCode(const ColumnPlan& plan, std::uint64_t value,
                                          std::uint64_t predicted) {
  if (plan.base == Base::kZero) {
    return value / plan.unit;
  }
  const std::uint64_t difference = value - predicted;
  if (plan.unit == 1) {
    return ZigZagEncode(static_cast<std::int64_t>(difference));
  }
  return ZigZagEncode(static_cast<std::int64_t>(difference) / static_cast<std::int64_t>(plan.unit));
}
[[nodiscard]] inline std::uint64_t FromCode(const ColumnPlan& plan, std::uint64_t code,
                                            std::uint64_t predicted) {
  return plan.base == Base::kZero
             ? code * plan.unit
             : predicted + static_cast<std::uint64_t>(ZigZagDecode(code)) * plan.unit;
}

// Codes the values of block.columns[index], whose places in messages are known; a decoder fills
// them in, `size` of them at most. False: a decoder ran out of bytes.
template <typename Coder>
bool CodeColumn(Numbers<Coder>& numbers, Block& block, std::uint32_t index, NewIndex& news,
                std::size_t size) {
  Column& column = block.columns[index];
  const bool by_index = column.plan.base == Base::kNew;
  const bool alone = size >= kShortColumn;
  std::optional<NumberModel> own;
  if (alone) {
    own.emplace(size);
  }
  Predictor predictor(block, column, size);
  for (std::size_t i = 0; i < size; ++i) {
    if constexpr (Coder::kDecodes) {
      if (numbers.coder().starved()) {
        return false;
      }
      column.values.push_back(0);
    }
    const std::uint64_t predicted = predictor.Predict(i);
    std::uint64_t code = 0;
    if constexpr (!Coder::kDecodes) {
      code = by_index ? news.ToCode(column.values[i])
                      : ToCode(column.plan, column.values[i], predicted);
    }
    code = alone ? own->Code(numbers.coder(), code, predictor.Context())
                 : numbers(by_index ? Use::kShortIndex : Use::kShortNumber, code,
                           Mix(predictor.Context(), index));
    if constexpr (Coder::kDecodes) {
      column.values[i] = by_index ? news.FromCode(code) : FromCode(column.plan, code, predicted);
    }
    predictor.Learn(i);
  }
  return true;
}

template <typename Coder>
void CodePlan(Numbers<Coder>& numbers, ColumnPlan& plan) {
  const auto code = [&numbers](Use use, auto& value, std::uint64_t context) {
    value = static_cast<std::remove_reference_t<decltype(value)>>(
        numbers(use, static_cast<std::uint64_t>(value), context));
  };
  const auto optional = [&numbers](std::uint32_t& column, std::uint64_t context) {
    const std::uint64_t code = numbers(
        Use::kPlanDetail, column == ColumnPlan::kNone ? 0 : std::uint64_t{column} + 1, context);
    column =
        code == 0 || code > UINT32_MAX ? ColumnPlan::kNone : static_cast<std::uint32_t>(code - 1);
  };
  code(Use::kPlanBase, plan.base, 0);
  code(Use::kPlanDetail, plan.stage, 1);
  code(Use::kPlanDetail, plan.lag, 2);
  code(Use::kPlanDetail, plan.unit, 3);
  optional(plan.context, 4);
  optional(plan.reference, 5);
}

}  // namespace reprise::columns
