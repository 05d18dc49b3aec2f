#include "replayer/memory/initial_values.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "core/parallel.h"
#include "core/split_mix.h"
#include "kernels/tensor_access.h"

namespace reprise {
namespace {

// About zero: none so close to it that it is denormal as a half.
float InRange(const FloatRange& range, std::uint64_t bits) {
  const float share = static_cast<float>(bits >> 40) / static_cast<float>(1 << 24);
  if (range.low < 0) {
    constexpr float kMin = 0.02F;
    const float magnitude = static_cast<float>(range.high) * (kMin + (1 - kMin) * share);
    return (bits & 1) != 0 ? -magnitude : magnitude;
  }
  return static_cast<float>(range.low) + static_cast<float>(range.high - range.low) * share;
}

// The ranges of a storage, element by element from `first`.
class RangeAt {
 public:
  RangeAt(const StorageLife& life, std::size_t first)
      : ranges_(life.floats), element_(static_cast<std::int64_t>(first)) {}
  const FloatRange& Next() {
    while (at_ + 1 < ranges_.size() && ranges_[at_ + 1].first <= element_) {
      ++at_;
    }
    ++element_;
    return ranges_[at_].second;
  }

 private:
  const std::vector<std::pair<std::int64_t, FloatRange>>& ranges_;
  std::size_t at_ = 0;
  std::int64_t element_;
};

// Several threads fill the bytes, a part at a time. `values_from(first)` is a function that makes
// the values of a part in order, each from its random bits; `first` is the part's first element.
template <typename T, typename F>
void FillAs(std::vector<std::byte>& bytes, std::uint64_t seed, F values_from) {
  constexpr std::size_t kPartElements = 1 << 18;
  const std::size_t count = bytes.size() / sizeof(T);
  ForEachInParallel((count + kPartElements - 1) / kPartElements, [&](std::size_t part) {
    const std::size_t first = part * kPartElements;
    auto value_of = values_from(first);
    for (std::size_t i = first; i < std::min(first + kPartElements, count); ++i) {
      const T value = static_cast<T>(value_of(SplitMix(seed + i * sizeof(T))));
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
}

// Each of the numbers below the bound once, then again from the start (Fisher and Yates;
// Durstenfeld 1964).
template <typename T>
void Permute(std::vector<std::byte>& bytes, std::uint64_t seed, std::uint64_t bound) {
  const std::size_t count = bytes.size() / sizeof(T);
  std::vector<T> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = static_cast<T>(i % bound);
  }
  for (std::size_t i = count; i > 1; --i) {
    std::swap(numbers[i - 1], numbers[SplitMix(seed + i) % i]);
  }
  std::memcpy(bytes.data(), numbers.data(), count * sizeof(T));
}

// From 0 to below the bound, in equal steps: where bags of the same size begin.
template <typename T>
void Rise(std::vector<std::byte>& bytes, std::uint64_t bound) {
  const std::size_t count = bytes.size() / sizeof(T);
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<T>(i * bound / count);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
}

template <typename T>
void FillIntegers(std::vector<std::byte>& bytes, std::uint64_t seed, const StorageLife& life) {
  // Without a known bound 0 and 1 are valid for everything that has at least two entries.
  const std::uint64_t bound =
      life.index_bound > 0 ? static_cast<std::uint64_t>(life.index_bound) : 2;
  if (life.order == IndexOrder::kPermutation) {
    Permute<T>(bytes, seed, bound);
    return;
  }
  if (life.order == IndexOrder::kRising) {
    Rise<T>(bytes, bound);
    return;
  }
  const bool single = life.bytes == static_cast<std::int64_t>(sizeof(T));
  const auto low = static_cast<std::uint64_t>(std::max<std::int64_t>(life.index_low, 0));
  const auto value = [&](std::uint64_t bits) {
    if (!single || life.index_low > 0) {
      return static_cast<std::int64_t>(low + bits % std::max<std::uint64_t>(bound - low, 1));
    }
    // Mostly a Python number that was wrapped: something divides by it.
    return life.index_bound > 0 ? std::min(life.number, life.index_bound - 1) : life.number;
  };
  FillAs<T>(bytes, seed, [&](std::size_t /*first*/) { return value; });
}

}  // namespace

std::vector<std::byte> InitialBytes(const StorageLife& life) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(life.bytes));
  const std::uint64_t seed = SplitMix(static_cast<std::uint64_t>(life.incarnation));
  const bool single = life.bytes == SizeOf(life.dtype);
  // The values of floats, converted.
  const auto floats = [&](auto convert) {
    return [&life, single, convert](std::size_t first) {
      return [&life, single, convert, range = RangeAt(life, first)](std::uint64_t bits) mutable {
        return convert(single ? static_cast<float>(life.float_number)
                              : InRange(range.Next(), bits));
      };
    };
  };
  switch (life.dtype) {
    case DType::kFloat32:
      FillAs<float>(bytes, seed, floats(std::identity()));
      break;
    case DType::kFloat64:
      FillAs<double>(bytes, seed, floats(std::identity()));
      break;
    case DType::kBFloat16:
      FillAs<std::uint16_t>(bytes, seed, floats(FloatToBFloat16));
      break;
    case DType::kFloat16:
      FillAs<std::uint16_t>(bytes, seed, floats(FloatToHalf));
      break;
    case DType::kInt64:
      FillIntegers<std::int64_t>(bytes, seed, life);
      break;
    case DType::kInt32:
      FillIntegers<std::int32_t>(bytes, seed, life);
      break;
    case DType::kInt16:
      FillIntegers<std::int16_t>(bytes, seed, life);
      break;
    case DType::kInt8:
    case DType::kUInt8:
    case DType::kBool:
      FillAs<std::uint8_t>(bytes, seed, [](std::size_t /*first*/) {
        return [](std::uint64_t bits) { return bits & 1; };
      });
      break;
    default:
      break;
  }
  return bytes;
}

}  // namespace reprise
