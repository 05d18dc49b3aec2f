// Element types of tensors and messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace reprise {

enum class DType : std::uint8_t {
  kUnknown,
  kFloat32,
  kFloat64,
  kFloat16,
  kBFloat16,
  kInt8,
  kUInt8,
  kInt16,
  kInt32,
  kInt64,
  kBool,
  kComplex64,
  kComplex128,
  kFloat8E4M3,
  kFloat8E5M2,
  kFloat4E2M1x2,  // an element is a byte of two values, along the innermost dimension
};

// Bytes of one element; 0 for kUnknown.
[[nodiscard]] int SizeOf(DType dtype);
// Numbers in an element: 2 where they are packed, else 1. Shapes and counts are of elements.
[[nodiscard]] int ValuesPerElement(DType dtype);
// "float32", "bfloat16", … : the names that reports and files use.
[[nodiscard]] std::string_view Name(DType dtype);
// "float", "c10::BFloat16", "nullptr (uninitialized)": as PyTorch's C++ names it, and its traces.
[[nodiscard]] std::string_view PyTorchName(DType dtype);
// Any spelling found in traces: "float", "Float", "c10::BFloat16", "long int", "unsigned char",
// "Tensor(float)", "float32", "Long". kUnknown if it is none of them.
[[nodiscard]] DType ParseDType(std::string_view text);
[[nodiscard]] bool IsFloating(DType dtype);
// Integers and bool.
[[nodiscard]] bool IsIntegral(DType dtype);
// c10::ScalarType's number (torch/headeronly/core/ScalarType.h: 0 uint8, 1 int8, 2 int16, 3 int32,
// 4 int64, 5 half, 6 float, 7 double, 9 complex64, 10 complex128, 11 bool, 15 bfloat16, 23 and 24
// float8, 45 float4), as it appears where an operator takes a dtype argument. kUnknown if unlisted.
[[nodiscard]] DType FromScalarType(std::int64_t scalar_type);

}  // namespace reprise
