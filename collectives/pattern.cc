#include "collectives/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <vector>

#include "collectives/half.h"

namespace reprise {
namespace {

// The largest n such that 0…n are all exact in the dtype (and leave int64 sums far from overflow).
std::int64_t ExactLimit(DType dtype) {
  switch (dtype) {
    case DType::kBFloat16:
      return 256;
    case DType::kFloat16:
      return 2048;
    case DType::kInt8:
      return 127;
    case DType::kUInt8:
      return 255;
    case DType::kInt16:
      return 32767;
    default:
      return 1 << 20;
  }
}

bool IsUnsigned(DType dtype) { return dtype == DType::kUInt8; }

// |value| <= 5, fewer where many ranks would exceed the limit; with more ranks than the limit, only
// every so many contribute.
std::int64_t SumValue(DType dtype, int rank, int size, int j) {
  const std::int64_t limit = ExactLimit(dtype);
  const std::int64_t most = std::min<std::int64_t>(5, limit / size);
  const std::int64_t stride = most > 0 ? 1 : (size + limit - 1) / limit;
  if (rank % stride != 0) {
    return 0;
  }
  const std::int64_t top = std::max<std::int64_t>(1, most);
  const std::int64_t mixed = rank * 3 + j * 2 + 1;
  return IsUnsigned(dtype) ? mixed % (top + 1) : mixed % (2 * top + 1) - top;
}

// The same base on every rank plus deviations that cancel in pairs: the average is the base.
std::int64_t AverageBase(DType dtype, int size, int j) {
  const std::int64_t most = std::clamp<std::int64_t>(ExactLimit(dtype) / size - 1, 0, 5);
  return j % (most + 1);
}

std::int64_t AverageValue(DType dtype, int rank, int size, int j) {
  const std::int64_t base = AverageBase(dtype, size, j);
  const bool paired = rank < size - size % 2;
  if (!paired || (IsUnsigned(dtype) && base == 0)) {
    return base;
  }
  return base + (rank % 2 == 0 ? 1 : -1);
}

// Powers of two, at most six factors of 2 in a product: exact in int8 as well.
std::int64_t ProductValue(DType dtype, int rank, int size, int j) {
  const int spacing = std::max(2, (size + 5) / 6);
  const std::int64_t magnitude = (rank + j) % spacing == 0 ? 2 : 1;
  const bool negative = !IsUnsigned(dtype) && (rank * 3 + j) % 5 == 0;
  return negative ? -magnitude : magnitude;
}

std::int64_t ExtremeValue(DType dtype, int rank, int j) {
  return (rank * 5 + j * 3) % 11 - (IsUnsigned(dtype) ? 0 : 5);
}

std::int64_t BitsValue(int rank, int j) {
  // Bit 5 is set on every rank for some elements, so that "and" has something to show.
  return ((rank * 37 + j * 11) & 0x5f) | (j % 3 == 0 ? 0x20 : 0);
}

// "any": one rank alone has it, for some elements none; "all": one rank alone lacks it.
std::int64_t BoolValue(ReduceOp op, int rank, int size, int j) {
  const bool chosen = j % (size + 1) == rank;
  switch (op) {
    case ReduceOp::kProd:
    case ReduceOp::kMin:
    case ReduceOp::kBand:
      return chosen ? 0 : 1;
    case ReduceOp::kBxor:
      return (rank * 3 + j) % 4 == 0 ? 1 : 0;
    default:
      return chosen ? 1 : 0;
  }
}

std::int64_t InputValue(DType dtype, ReduceOp op, int rank, int size, int j) {
  if (dtype == DType::kBool) {
    return BoolValue(op, rank, size, j);
  }
  switch (op) {
    case ReduceOp::kSum:
      return SumValue(dtype, rank, size, j);
    case ReduceOp::kPremulSum:
      return (rank + j) % 2;  // twice the sum stays exact, or wraps alike in narrow integers
    case ReduceOp::kAvg:
      return AverageValue(dtype, rank, size, j);
    case ReduceOp::kProd:
      return ProductValue(dtype, rank, size, j);
    case ReduceOp::kMin:
    case ReduceOp::kMax:
      return ExtremeValue(dtype, rank, j);
    default:
      return BitsValue(rank, j);
  }
}

std::int64_t Apply(DType dtype, ReduceOp op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case ReduceOp::kSum:
      return dtype == DType::kBool ? (a | b) : a + b;
    case ReduceOp::kAvg:
    case ReduceOp::kPremulSum:
      return a + b;
    case ReduceOp::kProd:
      return a * b;
    case ReduceOp::kMin:
      return std::min(a, b);
    case ReduceOp::kMax:
      return std::max(a, b);
    case ReduceOp::kBand:
      return a & b;
    case ReduceOp::kBor:
      return a | b;
    case ReduceOp::kBxor:
      return a ^ b;
  }
  return 0;
}

template <typename T>
void Put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}
template <typename T>
T Get(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

void Encode(DType dtype, std::int64_t value, std::byte* at) {
  switch (dtype) {
    case DType::kFloat32:
      return Put(at, static_cast<float>(value));
    case DType::kFloat64:
      return Put(at, static_cast<double>(value));
    case DType::kFloat16:
      return Put(at, ToFloat16(static_cast<float>(value)));
    case DType::kBFloat16:
      return Put(at, ToBFloat16(static_cast<float>(value)));
    case DType::kInt16:
      return Put(at, static_cast<std::int16_t>(value));
    case DType::kInt32:
      return Put(at, static_cast<std::int32_t>(value));
    case DType::kInt64:
      return Put(at, value);
    case DType::kBool:
      return Put(at, static_cast<std::uint8_t>(value & 1));
    case DType::kComplex64:
      return Put(at, std::complex<float>(static_cast<float>(value), 0.0F));
    case DType::kComplex128:
      return Put(at, std::complex<double>(static_cast<double>(value), 0.0));
    default:
      return Put(at, static_cast<std::uint8_t>(value));
  }
}

std::complex<double> Decode(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::kFloat32:
      return Get<float>(at);
    case DType::kFloat64:
      return Get<double>(at);
    case DType::kFloat16:
      return FromFloat16(Get<std::uint16_t>(at));
    case DType::kBFloat16:
      return FromBFloat16(Get<std::uint16_t>(at));
    case DType::kInt8:
      return Get<std::int8_t>(at);
    case DType::kInt16:
      return Get<std::int16_t>(at);
    case DType::kInt32:
      return Get<std::int32_t>(at);
    case DType::kInt64:
      return static_cast<double>(Get<std::int64_t>(at));
    case DType::kComplex64:
      return Get<std::complex<float>>(at);
    case DType::kComplex128:
      return Get<std::complex<double>>(at);
    default:
      return Get<std::uint8_t>(at);
  }
}

std::string Show(std::complex<double> value) {
  return value.imag() == 0.0 ? fmt::format("{}", value.real())
                             : fmt::format("({}, {})", value.real(), value.imag());
}

// One period, starting at `phase`.
std::vector<std::byte> EncodePeriod(DType dtype, const PatternValues& values, std::int64_t phase) {
  const auto width = static_cast<std::size_t>(std::max(1, SizeOf(dtype)));
  std::vector<std::byte> period(width * kPatternPeriod);
  for (std::size_t i = 0; i < kPatternPeriod; ++i) {
    const auto j = (i + static_cast<std::size_t>(phase)) % kPatternPeriod;
    Encode(dtype, values[j], period.data() + i * width);
  }
  return period;
}

}  // namespace

PatternValues MovedValues(int source, int destination) {
  PatternValues values;
  for (int j = 0; j < kPatternPeriod; ++j) {
    values[static_cast<std::size_t>(j)] = (source * 31LL + destination * 17LL + j * 7LL + 3) % 113;
  }
  return values;
}

PatternValues ReductionInput(DType dtype, ReduceOp op, int rank, int size) {
  PatternValues values;
  for (int j = 0; j < kPatternPeriod; ++j) {
    values[static_cast<std::size_t>(j)] = InputValue(dtype, op, rank, size, j);
  }
  return values;
}

PatternValues ReductionResult(DType dtype, ReduceOp op, int size) {
  PatternValues values;
  for (int j = 0; j < kPatternPeriod; ++j) {
    std::int64_t result = InputValue(dtype, op, 0, size, j);
    for (int rank = 1; rank < size; ++rank) {
      result = Apply(dtype, op, result, InputValue(dtype, op, rank, size, j));
    }
    result = op == ReduceOp::kPremulSum ? result * kPremulFactor : result;
    values[static_cast<std::size_t>(j)] = op == ReduceOp::kAvg ? result / size : result;
  }
  return values;
}

void WritePattern(DType dtype, const PatternValues& values, std::int64_t phase,
                  std::span<std::byte> data) {
  const std::vector<std::byte> period = EncodePeriod(dtype, values, phase);
  for (std::size_t at = 0; at < data.size(); at += period.size()) {
    std::memcpy(data.data() + at, period.data(), std::min(period.size(), data.size() - at));
  }
}

void CheckPattern(DType dtype, const PatternValues& values, std::int64_t phase,
                  std::int64_t first_index, std::span<const std::byte> data, CheckResult& result) {
  const std::vector<std::byte> period = EncodePeriod(dtype, values, phase);
  const std::size_t width = period.size() / kPatternPeriod;
  for (std::size_t at = 0; at < data.size(); at += period.size()) {
    const std::size_t bytes = std::min(period.size(), data.size() - at);
    if (std::memcmp(data.data() + at, period.data(), bytes) == 0) {
      continue;
    }
    for (std::size_t i = 0; i + width <= bytes; i += width) {
      const std::complex<double> actual = Decode(dtype, data.data() + at + i);
      const std::complex<double> expected = Decode(dtype, period.data() + i);
      if (actual == expected) {
        continue;  // 0 and -0 are both right
      }
      if (result.wrong++ == 0) {
        result.first = fmt::format("element {} is {}, expected {}",
                                   first_index + static_cast<std::int64_t>((at + i) / width),
                                   Show(actual), Show(expected));
      }
    }
  }
}

}  // namespace reprise
