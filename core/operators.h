// The operator table: all facts about each recorded operator, one row each in operators.def.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/enum_names.h"

namespace reprise {

// Kinds as docs/definitions.md has them.
enum class OpKind : std::uint8_t {
  kWork,       // it computes; children that it calls are part of it
  kComposite,  // its children compute; it is only a frame
  kMetadata,   // views, allocation, shape queries: no device work
  kWait,       // it waits for something else
  kComm,       // a transfer
};
REPRISE_NAMES(OpKind, "work", "composite", "metadata", "wait", "comm");

// Classes: the unit in which time and energy are reported and modes (--ops) are chosen.
enum class OpClass : std::uint8_t {
  kOther,
  kGemm,
  kAttention,
  kConv,
  kNorm,
  kElementwise,
  kReduction,
  kSoftmax,
  kLoss,
  kEmbedding,
  kIndex,
  kSort,
  kCopy,
  kFill,
  kMemcpy,  // copies and fills of memory that are nodes themselves, not operators
  kRandom,
  kPool,
  kOptimizer,
  kMetadata,
  kComm,
  kHost,
};
REPRISE_NAMES(OpClass, "other", "gemm", "attention", "conv", "norm", "elementwise", "reduction",
              "softmax", "loss", "embedding", "index", "sort", "copy", "fill", "memcpy", "random",
              "pool", "optimizer", "metadata", "comm", "host");
inline constexpr std::size_t kOpClassCount = kNamesOf<OpClass>.size();

struct OpInfo {
  OpClass op_class = OpClass::kOther;
  OpKind kind = OpKind::kComposite;
};

// A row of operators.def, which says what the columns mean. The folders that own the rules include
// the file themselves; here rules are names. No rule: "None".
struct OperatorRow {
  std::string_view name;  // with the trailing `*` of a row that matches by prefix
  OpInfo info;
  std::string_view kernels;
  std::string_view arguments;
  std::string_view cost, result, bounds;
  std::string_view signature;
};
[[nodiscard]] std::span<const OperatorRow> OperatorRows();

// The row of an operator: exact name, else longest listed prefix, else nullptr.
[[nodiscard]] const OperatorRow* FindOperatorRow(std::string_view name);
// Its class and kind. Nothing: the converter then decides by self time and children, and counts it.
[[nodiscard]] std::optional<OpInfo> FindOperator(std::string_view name);

}  // namespace reprise
