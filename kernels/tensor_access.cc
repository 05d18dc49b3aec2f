#include "kernels/tensor_access.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/views.h"

namespace reprise {
namespace {

template <typename T>
T Read(const std::byte* data, std::int64_t i) {
  T value;
  std::memcpy(&value, data + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <typename T>
void Write(std::byte* data, std::int64_t i, T value) {
  std::memcpy(data + i * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

// C++ leaves the conversion of what does not fit undefined; saturate, and take NaN as 0.
template <typename T>
T Saturate(double value) {
  if (std::isnan(value)) {
    return 0;
  }
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) {
    return std::numeric_limits<T>::min();
  }
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) {
    return std::numeric_limits<T>::max();
  }
  return static_cast<T>(value);
}

// visit(T{}) with the C++ type of a dtype that has one.
template <typename Visit>
auto WithNativeType(DType dtype, Visit&& visit) {
  switch (dtype) {
    case DType::kFloat64:
      return visit(double{});
    case DType::kInt8:
      return visit(std::int8_t{});
    case DType::kUInt8:
      return visit(std::uint8_t{});
    case DType::kInt16:
      return visit(std::int16_t{});
    case DType::kInt32:
      return visit(std::int32_t{});
    case DType::kInt64:
      return visit(std::int64_t{});
    default:
      return visit(float{});
  }
}

}  // namespace

float HalfToFloat(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fU;
  const std::uint32_t fraction = bits & 0x3ffU;
  if (exponent == 0) {  // zero or subnormal: fraction × 2^-24
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

std::uint16_t FloatToHalf(float value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) {
    return sign | 0x7e00;
  }
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0F) {  // rounds to beyond the largest, 65504
    return sign | 0x7c00;
  }
  if (magnitude == 0) {
    return sign;
  }
  int exponent = 0;
  (void)std::frexp(magnitude, &exponent);         // magnitude = f × 2^exponent, 0.5 ≤ f < 1
  const int step = std::max(exponent - 11, -24);  // one unit in the last place is 2^step
  const auto units = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, -step)));
  if (step == -24) {
    return static_cast<std::uint16_t>(sign | units);  // a carry makes the smallest normal
  }
  // units is in [1024, 2048]; a carry to 2048 moves into the exponent by itself.
  const auto biased = static_cast<std::uint32_t>(step + 25) << 10;
  return static_cast<std::uint16_t>(sign | (biased + (units - 1024)));
}

std::uint16_t FloatToBFloat16(float value) {
  if (std::isnan(value)) {
    return 0x7fc0;
  }
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

std::int64_t SaturateToInt(double value) { return Saturate<std::int64_t>(value); }

double LoadDouble(const std::byte* data, DType dtype, std::int64_t i) {
  switch (dtype) {
    case DType::kFloat16:
      return HalfToFloat(Read<std::uint16_t>(data, i));
    case DType::kBFloat16:
      return BFloat16ToFloat(Read<std::uint16_t>(data, i));
    case DType::kBool:
      return Read<std::uint8_t>(data, i) != 0 ? 1 : 0;
    default:
      return WithNativeType(
          dtype, [&](auto zero) { return static_cast<double>(Read<decltype(zero)>(data, i)); });
  }
}

std::int64_t LoadInt(const std::byte* data, DType dtype, std::int64_t i) {
  if (dtype == DType::kBool || !IsIntegral(dtype)) {
    return SaturateToInt(LoadDouble(data, dtype, i));
  }
  return WithNativeType(dtype, [&](auto zero) -> std::int64_t {
    return static_cast<std::int64_t>(Read<decltype(zero)>(data, i));
  });
}

void StoreDouble(std::byte* data, DType dtype, std::int64_t i, double value) {
  switch (dtype) {
    case DType::kFloat16:
      return Write(data, i, FloatToHalf(static_cast<float>(value)));
    case DType::kBFloat16:
      return Write(data, i, FloatToBFloat16(static_cast<float>(value)));
    case DType::kBool:
      return Write(data, i, static_cast<std::uint8_t>(value != 0 ? 1 : 0));
    default:
      return WithNativeType(dtype, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (std::is_floating_point_v<T>) {
          Write(data, i, static_cast<T>(value));
        } else {
          Write(data, i, Saturate<T>(value));
        }
      });
  }
}

void StoreInt(std::byte* data, DType dtype, std::int64_t i, std::int64_t value) {
  if (dtype == DType::kBool || !IsIntegral(dtype)) {
    return StoreDouble(data, dtype, i, static_cast<double>(value));
  }
  WithNativeType(dtype, [&](auto zero) { Write(data, i, static_cast<decltype(zero)>(value)); });
}

Result<HostTensor> HostTensor::Bind(const TensorDesc& desc, const HostBindings& memory) {
  const std::span<std::byte> bytes = memory.Find(desc.incarnation);
  REPRISE_TRY(CheckHolds(desc, static_cast<std::int64_t>(bytes.size())));
  return HostTensor(desc, bytes.data());
}

std::int64_t HostTensor::OffsetOf(std::span<const std::int64_t> index) const {
  std::int64_t offset = desc_->offset;
  for (std::size_t d = 0; d < index.size(); ++d) {
    offset += index[d] * desc_->strides[d];
  }
  return offset;
}

std::int64_t HostTensor::OffsetOfElement(std::int64_t i) const {
  std::int64_t offset = desc_->offset;
  for (std::size_t d = desc_->shape.size(); d-- > 0;) {
    offset += i % desc_->shape[d] * desc_->strides[d];
    i /= desc_->shape[d];
  }
  return offset;
}

}  // namespace reprise
