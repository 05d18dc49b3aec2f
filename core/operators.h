// Kinds and classes of operators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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
  kCompiled,  // code that a compiler made: a capture has its time, but not its operators
  kMetadata,
  kComm,
  kHost,
};
REPRISE_NAMES(OpClass, "other", "gemm", "attention", "conv", "norm", "elementwise", "reduction",
              "softmax", "loss", "embedding", "index", "sort", "copy", "fill", "memcpy", "random",
              "pool", "optimizer", "compiled", "metadata", "comm", "host");
inline constexpr std::size_t kOpClassCount = kNamesOf<OpClass>.size();

struct OpInfo {
  OpClass op_class = OpClass::kOther;
  OpKind kind = OpKind::kComposite;
};

// The class and kind of an operator, by the operator table (core/operator_table.h): exact name,
// else longest listed prefix. Nothing: the converter then decides by self time and children, and
// counts it.
[[nodiscard]] std::optional<OpInfo> FindOperator(std::string_view name);

}  // namespace reprise
