// 16-bit floats as float32 and back, to nearest even. Bit patterns in std::uint16_t.
#pragma once

#include <bit>
#include <cstdint>

namespace reprise {

[[nodiscard]] inline float FromBFloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

[[nodiscard]] inline std::uint16_t ToBFloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) {
    return static_cast<std::uint16_t>((bits >> 16) | 0x40U);  // NaN stays NaN, made quiet
  }
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

[[nodiscard]] inline float FromFloat16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7fffU) << 13;
  if (magnitude >= (0x7c00U << 13)) {
    return std::bit_cast<float>(sign | magnitude | 0x7f800000U);  // infinity, NaN
  }
  // The same digits under float32's bias are 2^112 too small; the product is exact, and turns
  // float16's subnormals into ordinary numbers.
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112F;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | sign);
}

[[nodiscard]] inline std::uint16_t ToFloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  std::uint32_t magnitude = bits & 0x7fffffffU;
  std::uint32_t half = 0;
  if (magnitude > 0x7f800000U) {
    half = 0x7e00U;
  } else if (magnitude >= 0x477ff000U) {  // 65520 and more round to infinity
    half = 0x7c00U;
  } else if (magnitude < 0x38800000U) {
    // Below 2^-14: a float32 between 0.5 and 1 counts in units of 2^-24, float16's smallest, so
    // that the addition rounds as float16 would.
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
  } else {
    magnitude += 0xfffU + ((magnitude >> 13) & 1U);
    half = (magnitude - 0x38000000U) >> 13;
  }
  return static_cast<std::uint16_t>(sign | half);
}

}  // namespace reprise
