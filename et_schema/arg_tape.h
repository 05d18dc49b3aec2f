// Writing the tape of et_schema/args.h element by element. Only et_schema sees this.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "et_schema/args.h"

namespace reprise {

enum class TapeTag : char {
  kNone = 'n',
  kFalse = 'f',
  kTrue = 't',
  kInt = 'i',     // zigzag varint
  kDouble = 'd',  // 8 bytes
  kText = 's',    // length, bytes
  kTensor = 'x',  // see TapeWriter::Tensor
  kList = '[',
  kEnd = ']',  // of a list, and of the inputs and outputs
};

// What tensors of the same shape and dtype share.
struct TensorForm {
  std::string bytes;  // as on the tape: dtype, rank, extents
  std::int64_t elements = 1;
  void Set(DType dtype, std::span<const std::int64_t> shape);
};

struct TensorView {
  std::int64_t tensor_id = 0;
  std::int64_t storage_id = 0;
  std::int64_t incarnation = -1;
  std::int64_t offset = 0;
  std::int64_t elements = 0;
  std::string_view device;
  std::span<const std::int64_t> strides;
  bool contiguous = true;  // `strides` are then not looked at
};

class TapeWriter {
 public:
  explicit TapeWriter(ArgTape& tape) : tape_(tape) {}
  void Mark(TapeTag tag) { tape_.form.Byte(static_cast<char>(tag)); }
  void Bool(bool value) { Mark(value ? TapeTag::kTrue : TapeTag::kFalse); }
  void Int(std::int64_t value);
  void Double(double value);
  void Text(std::string_view value);
  // flags, form, device, [elements], [count, strides]; ids apart.
  void Tensor(const TensorForm& form, const TensorView& tensor);

 private:
  ArgTape& tape_;
};

// Bits of a tensor's flags.
inline constexpr char kExplicitElements = 1;
inline constexpr char kExplicitStrides = 2;

// Like core's ContiguousStrides and ElementCount, but defined (wrapping) for absurd shapes, which
// damaged files may hold.
[[nodiscard]] std::vector<std::int64_t> WrappingStrides(std::span<const std::int64_t> shape);
[[nodiscard]] std::int64_t WrappingElements(std::span<const std::int64_t> shape);
[[nodiscard]] bool HasContiguousStrides(std::span<const std::int64_t> shape,
                                        std::span<const std::int64_t> strides);

}  // namespace reprise
