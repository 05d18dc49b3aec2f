// Sums of NCCL's types.
#include <algorithm>
#include <cstring>

#include "collectives/half.h"
#include "tests/kernels/cuda_stand_in/nccl_stand_in.h"

namespace nccl_stand_in {
namespace {

constexpr int kSum = 0;
constexpr int kProduct = 1;
constexpr int kLargest = 2;
constexpr int kSmallest = 3;
constexpr int kAverage = 4;

// Elements as the numbers that are computed with.
template <typename T>
struct Plain {
  using Stored = T;
  static T From(T value) { return value; }
  static T To(T value) { return value; }
};
struct Half {
  using Stored = std::uint16_t;
  static float From(std::uint16_t bits) { return reprise::FromFloat16(bits); }
  static std::uint16_t To(float value) { return reprise::ToFloat16(value); }
};
struct Brain {
  using Stored = std::uint16_t;
  static float From(std::uint16_t bits) { return reprise::FromBFloat16(bits); }
  static std::uint16_t To(float value) { return reprise::ToBFloat16(value); }
};

// `body(type)` for an ncclDataType_t that has numbers; false without.
template <typename Body>
bool OfType(int type, Body&& body) {
  switch (type) {
    case 0:
      return body(Plain<std::int8_t>());
    case 1:
      return body(Plain<std::uint8_t>());
    case 2:
      return body(Plain<std::int32_t>());
    case 3:
      return body(Plain<std::uint32_t>());
    case 4:
      return body(Plain<std::int64_t>());
    case 5:
      return body(Plain<std::uint64_t>());
    case 6:
      return body(Half());
    case 7:
      return body(Plain<float>());
    case 8:
      return body(Plain<double>());
    case 9:
      return body(Brain());
    default:
      return false;
  }
}

template <typename T>
T Combined(T a, T b, int op) {
  return static_cast<T>(op == kProduct    ? a * b
                        : op == kLargest  ? std::max(a, b)
                        : op == kSmallest ? std::min(a, b)
                                          : a + b);
}

}  // namespace

std::size_t SizeOf(int type) {
  std::size_t bytes = 0;
  OfType(type, [&](auto as) {
    bytes = sizeof(typename decltype(as)::Stored);
    return true;
  });
  return bytes;
}

bool Reduce(std::byte* into, const std::byte* with, std::size_t count, int type, int op) {
  return op >= kSum && op <= kAverage && OfType(type, [&](auto as) {
           using As = decltype(as);
           using Stored = typename As::Stored;
           for (std::size_t i = 0; i < count; ++i) {
             Stored a{};
             Stored b{};
             std::memcpy(&a, into + i * sizeof(a), sizeof(a));
             std::memcpy(&b, with + i * sizeof(b), sizeof(b));
             a = As::To(Combined(As::From(a), As::From(b), op));
             std::memcpy(into + i * sizeof(a), &a, sizeof(a));
           }
           return true;
         });
}

void DivideAverage(std::byte* sums, std::size_t count, int type, int op, int members) {
  if (op != kAverage) {
    return;
  }
  OfType(type, [&](auto as) {
    using As = decltype(as);
    for (std::size_t i = 0; i < count; ++i) {
      typename As::Stored sum{};
      std::memcpy(&sum, sums + i * sizeof(sum), sizeof(sum));
      const auto number = As::From(sum);
      sum = As::To(static_cast<decltype(As::From(sum))>(number / members));
      std::memcpy(sums + i * sizeof(sum), &sum, sizeof(sum));
    }
    return true;
  });
}

}  // namespace nccl_stand_in
