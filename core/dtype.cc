#include "core/dtype.h"

#include <algorithm>
#include <array>

namespace reprise {
namespace {

struct DTypeRow {
  DType dtype;
  int size;
  std::int64_t scalar_type;
  std::string_view name;
  std::array<std::string_view, 5> spellings;  // PyTorch's own first
};

constexpr std::array kDTypeRows = {
    DTypeRow{DType::kFloat32, 4, 6, "float32", {"float", "Float", "fp32", "f32", ""}},
    DTypeRow{DType::kFloat64, 8, 7, "float64", {"double", "Double", "fp64", "f64", ""}},
    DTypeRow{DType::kFloat16, 2, 5, "float16", {"c10::Half", "Half", "half", "fp16", "f16"}},
    DTypeRow{DType::kBFloat16, 2, 15, "bfloat16", {"c10::BFloat16", "BFloat16", "bf16", "", ""}},
    DTypeRow{DType::kInt8, 1, 1, "int8", {"signed char", "Char", "char", "", ""}},
    DTypeRow{DType::kUInt8, 1, 0, "uint8", {"unsigned char", "Byte", "byte", "", ""}},
    DTypeRow{DType::kInt16, 2, 2, "int16", {"short int", "short", "Short", "", ""}},
    DTypeRow{DType::kInt32, 4, 3, "int32", {"int", "Int", "", "", ""}},
    DTypeRow{DType::kInt64, 8, 4, "int64", {"long int", "Long", "long", "long long", "int64_t"}},
    DTypeRow{DType::kBool, 1, 11, "bool", {"bool", "Bool", "", "", ""}},
    DTypeRow{
        DType::kComplex64, 8, 9, "complex64", {"c10::complex<float>", "ComplexFloat", "", "", ""}},
    DTypeRow{DType::kComplex128,
             16,
             10,
             "complex128",
             {"c10::complex<double>", "ComplexDouble", "", "", ""}},
    DTypeRow{DType::kFloat8E4M3,
             1,
             24,
             "float8_e4m3fn",
             {"c10::Float8_e4m3fn", "Float8_e4m3fn", "", "", ""}},
    DTypeRow{
        DType::kFloat8E5M2, 1, 23, "float8_e5m2", {"c10::Float8_e5m2", "Float8_e5m2", "", "", ""}},
};

const DTypeRow* Find(DType dtype) {
  const auto* it = std::find_if(kDTypeRows.begin(), kDTypeRows.end(),
                                [&](const DTypeRow& row) { return row.dtype == dtype; });
  return it == kDTypeRows.end() ? nullptr : it;
}

}  // namespace

int SizeOf(DType dtype) {
  const DTypeRow* row = Find(dtype);
  return row == nullptr ? 0 : row->size;
}

std::string_view Name(DType dtype) {
  const DTypeRow* row = Find(dtype);
  return row == nullptr ? "unknown" : row->name;
}

std::string_view PyTorchName(DType dtype) {
  const DTypeRow* row = Find(dtype);
  return row == nullptr ? "nullptr (uninitialized)" : row->spellings.front();
}

DType ParseDType(std::string_view text) {
  constexpr std::string_view kTensor = "Tensor(";
  if (text.starts_with(kTensor) && text.ends_with(')')) {
    text = text.substr(kTensor.size(), text.size() - kTensor.size() - 1);
  }
  if (text.empty()) {
    return DType::kUnknown;
  }
  for (const DTypeRow& row : kDTypeRows) {
    if (row.name == text ||
        std::find(row.spellings.begin(), row.spellings.end(), text) != row.spellings.end()) {
      return row.dtype;
    }
  }
  return DType::kUnknown;
}

bool IsFloating(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kFloat8E4M3:
    case DType::kFloat8E5M2:
      return true;
    default:
      return false;
  }
}

bool IsIntegral(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
    case DType::kUInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kBool:
      return true;
    default:
      return false;
  }
}

DType FromScalarType(std::int64_t scalar_type) {
  for (const DTypeRow& row : kDTypeRows) {
    if (row.scalar_type == scalar_type) {
      return row.dtype;
    }
  }
  return DType::kUnknown;
}

}  // namespace reprise
