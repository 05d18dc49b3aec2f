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

// The two below compute every case and then choose, so that loops over them become vector code.
[[nodiscard]] inline float FromFloat16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7fffU) << 13;
  // The same digits under float32's bias are 2^112 too small; the product is exact, and turns
  // float16's subnormals into ordinary numbers.
  const auto finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F);
  const std::uint32_t not_finite = magnitude | 0x7f800000U;  // infinity, NaN
  return std::bit_cast<float>(sign | (magnitude >= (0x7c00U << 13) ? not_finite : finite));
}

[[nodiscard]] inline std::uint16_t ToFloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  // Below 2^-14: a float32 between 0.5 and 1 counts in units of 2^-24, float16's smallest, so that
  // the addition rounds as float16 would.
  const std::uint32_t small =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
  const std::uint32_t normal = (magnitude + 0xfffU + ((magnitude >> 13) & 1U) - 0x38000000U) >> 13;
  std::uint32_t half = magnitude < 0x38800000U ? small : normal;
  half = magnitude >= 0x477ff000U ? 0x7c00U : half;  // 65520 and more round to infinity
  half = magnitude > 0x7f800000U ? 0x7e00U : half;   // NaN
  return static_cast<std::uint16_t>(sign | half);
}

}  // namespace reprise
