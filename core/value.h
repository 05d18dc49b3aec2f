// Arguments of a recorded operation, as plain values: tensors, scalars, lists.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/dtype.h"

namespace reprise {

// A tensor as the capture saw it. Offsets and strides count elements, not bytes.
struct TensorDesc {
  std::int64_t tensor_id = 0;
  std::int64_t storage_id = 0;  // 0: undefined tensor or unknown
  // Storage incarnation: storage ids are reused after free; (this) is unique within a rank's trace.
  // Data flow, lifetimes and memory are by incarnation. -1: none (undefined tensor).
  std::int64_t incarnation = -1;
  std::int64_t offset = 0;
  std::int64_t elements = 0;
  DType dtype = DType::kUnknown;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // same length as shape; contiguous if the capture had none
  std::string device;                 // "cpu", "cuda:0"

  [[nodiscard]] bool IsDefined() const { return incarnation >= 0; }
  bool operator==(const TensorDesc&) const = default;
};

// A value on the heap. Most arguments are numbers: a tensor stored inline would make each of them
// take 136 bytes instead of 16. Null only after a move.
template <typename T>
class Boxed {
 public:
  template <std::convertible_to<T> From>
  Boxed(From value)  // NOLINT(google-explicit-constructor): a tensor or a list is a value
      : value_(std::make_unique<T>(std::move(value))) {}
  Boxed(const Boxed& other) : Boxed(*other.value_) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(const Boxed& other) { return *this = Boxed(other); }
  Boxed& operator=(Boxed&&) noexcept = default;
  ~Boxed() = default;

  [[nodiscard]] T* get() { return value_.get(); }
  [[nodiscard]] const T* get() const { return value_.get(); }
  bool operator==(const Boxed& other) const { return *value_ == *other.value_; }

 private:
  std::unique_ptr<T> value_;
};

// The T in a variant of boxes, null if it holds something else.
template <typename T>
auto Unbox(auto& data) {
  auto* boxed = std::get_if<Boxed<T>>(&data);
  return boxed == nullptr ? nullptr : boxed->get();
}

struct Value;
using ValueList = std::vector<Value>;
struct NoneValue {
  bool operator==(const NoneValue&) const = default;
};

// NoneValue also stands for <None>, <Object>, <Generator>, <Storage>: nothing replayable.
struct Value {
  std::variant<NoneValue, bool, std::int64_t, double, Boxed<std::string>, Boxed<TensorDesc>,
               Boxed<ValueList>>
      data;

  [[nodiscard]] bool IsNone() const { return std::holds_alternative<NoneValue>(data); }
  // Null if it is something else.
  [[nodiscard]] const TensorDesc* AsTensor() const { return Unbox<TensorDesc>(data); }
  [[nodiscard]] TensorDesc* AsTensor() { return Unbox<TensorDesc>(data); }
  [[nodiscard]] const ValueList* AsList() const { return Unbox<ValueList>(data); }
  [[nodiscard]] ValueList* AsList() { return Unbox<ValueList>(data); }
  [[nodiscard]] const std::string* AsString() const { return Unbox<std::string>(data); }
  // Bool, integer or double as T; fallback if it is none of these.
  template <typename T>
  [[nodiscard]] T AsNumber(T fallback) const {
    if (const auto* b = std::get_if<bool>(&data)) return static_cast<T>(*b);
    if (const auto* i = std::get_if<std::int64_t>(&data)) return static_cast<T>(*i);
    if (const auto* d = std::get_if<double>(&data)) return static_cast<T>(*d);
    return fallback;
  }
  bool operator==(const Value&) const = default;
};

// One recorded operation: name, arguments in schema order, results.
struct OpCall {
  std::string name;  // "aten::mm"
  ValueList inputs;
  ValueList outputs;

  // The i-th input/output if it is a defined tensor, else nullptr.
  [[nodiscard]] const TensorDesc* InputTensor(std::size_t i) const;
  [[nodiscard]] const TensorDesc* OutputTensor(std::size_t i) const;
  // The i-th input, None where the capture has fewer.
  [[nodiscard]] const Value& Argument(std::size_t i) const;
  // The tensors of the i-th input, a list; empty if it is none.
  [[nodiscard]] std::vector<const TensorDesc*> InputTensors(std::size_t i) const;
  // The i-th input as integers (a list, or one integer), empty if absent.
  [[nodiscard]] std::vector<std::int64_t> InputInts(std::size_t i) const;
};

// Every defined tensor in a value, lists flattened in order. Pointers live as long as `values`.
[[nodiscard]] std::vector<const TensorDesc*> TensorsIn(const ValueList& values);
// Of the elements that an operation computes with: its first floating tensor's, else its first's.
[[nodiscard]] DType ElementType(const OpCall& call);
// Strides of a dense row-major tensor of that shape.
[[nodiscard]] std::vector<std::int64_t> ContiguousStrides(const std::vector<std::int64_t>& shape);
[[nodiscard]] std::int64_t ElementCount(const std::vector<std::int64_t>& shape);
// Row-major dense (dimensions of size 1 ignored).
[[nodiscard]] bool IsContiguous(const TensorDesc& tensor);
// Elements from the tensor's offset to one past its last addressed element.
[[nodiscard]] std::int64_t ExtentElements(const TensorDesc& tensor);

}  // namespace reprise
