// What integers may be: the largest value that each result can have, and what Python numbers that
// were wrapped into tensors must have been, for indices computed from them to be valid.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "core/value.h"

namespace reprise {

// Storages are known by their incarnation. Nothing is negative here: indices are not. Not
// thread-safe.
class IntegerValues {
 public:
  // In recorded order.
  void Note(const OpCall& call);

  // result = operand (operation) number, where the number is the only element of its storage.
  struct Step {
    enum class Operation : std::uint8_t { kAdd, kSubtract, kMultiply, kDivide, kRemainder };
    Operation operation;
    std::int64_t operand, number, result;
  };
  [[nodiscard]] static std::optional<Step> StepOf(const OpCall& call);

  // The number for which all results are below `bound`, closest to the one that changes nothing.
  [[nodiscard]] std::int64_t NumberFor(const Step& step, std::int64_t bound) const;
  [[nodiscard]] bool IsKnown(std::int64_t incarnation) const {
    return largest_.contains(incarnation);
  }

 private:
  void Know(const TensorDesc* tensor, std::int64_t largest);
  [[nodiscard]] std::int64_t Largest(const TensorDesc* tensor) const;  // -1: unknown

  std::unordered_map<std::int64_t, std::int64_t> largest_;
};

}  // namespace reprise
