#include "core/dtype.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace reprise {
namespace {

enum class Family : std::uint8_t { kNone, kFloating, kIntegral, kComplex };

struct DTypeRow {
  std::string_view name;
  int size;
  Family family;
  std::int64_t scalar_type;
  std::array<std::string_view, 5> spellings;  // PyTorch's own first
};

// In the order of DType.
constexpr DTypeRow kDTypeRows[] = {
    {"unknown", 0, Family::kNone, -1, {"nullptr (uninitialized)"}},
    {"float32", 4, Family::kFloating, 6, {"float", "Float", "fp32", "f32"}},
    {"float64", 8, Family::kFloating, 7, {"double", "Double", "fp64", "f64"}},
    {"float16", 2, Family::kFloating, 5, {"c10::Half", "Half", "half", "fp16", "f16"}},
    {"bfloat16", 2, Family::kFloating, 15, {"c10::BFloat16", "BFloat16", "bf16"}},
    {"int8", 1, Family::kIntegral, 1, {"signed char", "Char", "char"}},
    {"uint8", 1, Family::kIntegral, 0, {"unsigned char", "Byte", "byte"}},
    {"int16", 2, Family::kIntegral, 2, {"short int", "short", "Short"}},
    {"int32", 4, Family::kIntegral, 3, {"int", "Int"}},
    {"int64", 8, Family::kIntegral, 4, {"long int", "Long", "long", "long long", "int64_t"}},
    {"bool", 1, Family::kIntegral, 11, {"bool", "Bool"}},
    {"complex64", 8, Family::kComplex, 9, {"c10::complex<float>", "ComplexFloat"}},
    {"complex128", 16, Family::kComplex, 10, {"c10::complex<double>", "ComplexDouble"}},
    {"float8_e4m3fn", 1, Family::kFloating, 24, {"c10::Float8_e4m3fn", "Float8_e4m3fn"}},
    {"float8_e5m2", 1, Family::kFloating, 23, {"c10::Float8_e5m2", "Float8_e5m2"}},
    {"float4_e2m1fn_x2", 1, Family::kFloating, 45, {"c10::Float4_e2m1fn_x2", "Float4_e2m1fn_x2"}},
};
static_assert(std::size(kDTypeRows) == static_cast<std::size_t>(DType::kFloat4E2M1x2) + 1);

// A number outside the enumeration, as of a damaged file, is unknown.
const DTypeRow& RowOf(DType dtype) {
  const auto at = static_cast<std::size_t>(dtype);
  return kDTypeRows[at < std::size(kDTypeRows) ? at : 0];
}

DType DTypeOf(const DTypeRow* row) {
  return row == std::end(kDTypeRows) ? DType::kUnknown
                                     : static_cast<DType>(row - std::begin(kDTypeRows));
}

}  // namespace

int SizeOf(DType dtype) { return RowOf(dtype).size; }
int ValuesPerElement(DType dtype) { return dtype == DType::kFloat4E2M1x2 ? 2 : 1; }
std::string_view Name(DType dtype) { return RowOf(dtype).name; }
std::string_view PyTorchName(DType dtype) { return RowOf(dtype).spellings.front(); }
bool IsFloating(DType dtype) { return RowOf(dtype).family == Family::kFloating; }
bool IsIntegral(DType dtype) { return RowOf(dtype).family == Family::kIntegral; }

DType ParseDType(std::string_view text) {
  constexpr std::string_view kTensor = "Tensor(";
  if (text.starts_with(kTensor) && text.ends_with(')')) {
    text = text.substr(kTensor.size(), text.size() - kTensor.size() - 1);
  }
  return DTypeOf(std::ranges::find_if(kDTypeRows, [text](const DTypeRow& row) {
    return row.name == text || std::ranges::find(row.spellings, text) != row.spellings.end();
  }));
}

DType FromScalarType(std::int64_t scalar_type) {
  return DTypeOf(std::ranges::find(kDTypeRows, scalar_type, &DTypeRow::scalar_type));
}

}  // namespace reprise
