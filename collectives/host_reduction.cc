#include "collectives/host_reduction.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <type_traits>

#include "collectives/half.h"

namespace reprise {
namespace {

// How an element is stored, and in what it is computed.
template <typename T>
struct Plain {
  using Stored = T;
  static T Load(T value) { return value; }
  static T Store(T value) { return value; }
};
struct Float16 {
  using Stored = std::uint16_t;
  static float Load(Stored value) { return FromFloat16(value); }
  static Stored Store(float value) { return ToFloat16(value); }
};
struct BFloat16 {
  using Stored = std::uint16_t;
  static float Load(Stored value) { return FromBFloat16(value); }
  static Stored Store(float value) { return ToBFloat16(value); }
};

// Elements may lie at any address (a slice of a byte buffer): memcpy, which compilers turn into
// plain loads and stores.
template <typename Format, typename Operation>
void Combine(std::span<const std::byte> in, std::span<std::byte> inout, Operation operation) {
  using Stored = typename Format::Stored;
  const std::size_t count = inout.size() / sizeof(Stored);
  for (std::size_t i = 0; i < count; ++i) {
    Stored a;
    Stored b;
    std::memcpy(&a, in.data() + i * sizeof(Stored), sizeof(Stored));
    std::memcpy(&b, inout.data() + i * sizeof(Stored), sizeof(Stored));
    const Stored result = Format::Store(operation(Format::Load(a), Format::Load(b)));
    std::memcpy(inout.data() + i * sizeof(Stored), &result, sizeof(Stored));
  }
}

// Integers wrap around, as the hardware of every backend does; unsigned arithmetic makes that
// legal.
template <typename T, typename Operation>
T Wrapping(T a, T b, Operation operation) {
  if constexpr (std::is_integral_v<T>) {
    using Wide = std::make_unsigned_t<std::common_type_t<T, int>>;
    return static_cast<T>(operation(static_cast<Wide>(a), static_cast<Wide>(b)));
  } else {
    return operation(a, b);
  }
}

template <typename Format>
void ReduceArithmetic(ReduceOp op, std::span<const std::byte> in, std::span<std::byte> inout) {
  using T = decltype(Format::Load(typename Format::Stored{}));
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
    case ReduceOp::kPremulSum:
      Combine<Format>(in, inout, [](T a, T b) { return Wrapping(a, b, std::plus<>()); });
      break;
    case ReduceOp::kProd:
      Combine<Format>(in, inout, [](T a, T b) { return Wrapping(a, b, std::multiplies<>()); });
      break;
    default:
      break;
  }
  if constexpr (std::is_arithmetic_v<T>) {
    if (op == ReduceOp::kMin) {
      Combine<Format>(in, inout, [](T a, T b) { return std::min(a, b); });
    } else if (op == ReduceOp::kMax) {
      Combine<Format>(in, inout, [](T a, T b) { return std::max(a, b); });
    }
  }
}

// Whatever the element type, bits are bits.
void ReduceBits(ReduceOp op, std::span<const std::byte> in, std::span<std::byte> inout) {
  for (std::size_t i = 0; i < inout.size(); ++i) {
    if (op == ReduceOp::kBand) {
      inout[i] &= in[i];
    } else if (op == ReduceOp::kBor) {
      inout[i] |= in[i];
    } else {
      inout[i] ^= in[i];
    }
  }
}

void ReduceBool(ReduceOp op, std::span<const std::byte> in, std::span<std::byte> inout) {
  for (std::size_t i = 0; i < inout.size(); ++i) {
    const bool a = in[i] != std::byte{0};
    const bool b = inout[i] != std::byte{0};
    bool result = a || b;
    if (op == ReduceOp::kProd || op == ReduceOp::kMin || op == ReduceOp::kBand) {
      result = a && b;
    } else if (op == ReduceOp::kBxor) {
      result = a != b;
    }
    inout[i] = std::byte{static_cast<unsigned char>(result ? 1 : 0)};
  }
}

template <typename Format>
void Divide(int ranks, std::span<std::byte> inout) {
  using T = decltype(Format::Load(typename Format::Stored{}));
  // An int8 cannot hold the number of ranks: divide integers as int64.
  using Divisor = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;
  Combine<Format>(inout, inout,
                  [ranks](T a, T) { return static_cast<T>(a / static_cast<Divisor>(ranks)); });
}

// Maps a dtype to its C++ type: calls visit.operator()<Format>().
template <typename Visit>
void WithFormat(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kFloat32:
      return visit.template operator()<Plain<float>>();
    case DType::kFloat64:
      return visit.template operator()<Plain<double>>();
    case DType::kFloat16:
      return visit.template operator()<Float16>();
    case DType::kBFloat16:
      return visit.template operator()<BFloat16>();
    case DType::kInt8:
      return visit.template operator()<Plain<std::int8_t>>();
    case DType::kUInt8:
      return visit.template operator()<Plain<std::uint8_t>>();
    case DType::kInt16:
      return visit.template operator()<Plain<std::int16_t>>();
    case DType::kInt32:
      return visit.template operator()<Plain<std::int32_t>>();
    case DType::kInt64:
      return visit.template operator()<Plain<std::int64_t>>();
    case DType::kComplex64:
      return visit.template operator()<Plain<std::complex<float>>>();
    case DType::kComplex128:
      return visit.template operator()<Plain<std::complex<double>>>();
    default:
      return;
  }
}

}  // namespace

bool CanReduce(DType dtype, ReduceOp op) {
  const bool bits = op == ReduceOp::kBand || op == ReduceOp::kBor || op == ReduceOp::kBxor;
  switch (dtype) {
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kFloat16:
    case DType::kBFloat16:
      return !bits;
    case DType::kInt8:
    case DType::kUInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
      return true;
    case DType::kBool:
      return op != ReduceOp::kAvg && op != ReduceOp::kPremulSum;
    case DType::kComplex64:
    case DType::kComplex128:
      return op == ReduceOp::kSum || op == ReduceOp::kAvg || op == ReduceOp::kProd ||
             op == ReduceOp::kPremulSum;
    default:
      return false;
  }
}

void ReduceInto(DType dtype, ReduceOp op, std::span<const std::byte> in,
                std::span<std::byte> inout) {
  if (dtype == DType::kBool) {
    ReduceBool(op, in, inout);
  } else if (op == ReduceOp::kBand || op == ReduceOp::kBor || op == ReduceOp::kBxor) {
    ReduceBits(op, in, inout);
  } else {
    WithFormat(dtype, [&]<typename Format>() { ReduceArithmetic<Format>(op, in, inout); });
  }
}

void Premultiply(DType dtype, std::span<std::byte> inout) {
  WithFormat(dtype, [&]<typename Format>() {
    using T = decltype(Format::Load(typename Format::Stored{}));
    Combine<Format>(inout, inout, [](T a, T) {
      return Wrapping(a, static_cast<T>(kPremulFactor), std::multiplies<>());
    });
  });
}

void FinishAverage(DType dtype, int ranks, std::span<std::byte> inout) {
  WithFormat(dtype, [&]<typename Format>() { Divide<Format>(ranks, inout); });
}

}  // namespace reprise
