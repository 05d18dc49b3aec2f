#include "converters/share/anonymize/coarsening.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace reprise {
namespace {

// Beyond 64 bits: the limits. Only damaged or made-up traces get there.
constexpr std::int64_t kMaxSize = std::numeric_limits<std::int64_t>::max();

std::int64_t Plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? -kMaxSize : kMaxSize) : sum;
}

// Of sizes: none is negative.
std::int64_t Times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMaxSize : product;
}

std::int64_t FloorTo(std::int64_t value, std::int64_t grid) {
  const std::int64_t rest = value % grid;
  return Plus(value - rest, rest < 0 ? -grid : 0);
}

std::int64_t Clamped(double value) {
  constexpr double kMax = 9.2e18;
  return static_cast<std::int64_t>(std::clamp(value, -kMax, kMax));
}

std::int64_t SizeOrOne(DType dtype) { return std::max(SizeOf(dtype), 1); }

}  // namespace

TimeMap::TimeMap(const Rounding& rounding, const KeyedHash& hash)
    : rounding_(rounding),
      factor_(rounding.kind == Rounding::Kind::kScale ? hash.Factor("durations") : 1) {}

std::int64_t TimeMap::At(std::int64_t ns) const {
  switch (rounding_.kind) {
    case Rounding::Kind::kKeep:
      return ns;
    case Rounding::Kind::kGrid:
      return FloorTo(ns, rounding_.grid);
    case Rounding::Kind::kScale:
      return Clamped(std::floor(static_cast<double>(ns) * factor_));
  }
  return ns;
}

std::int64_t TimeMap::UncertaintyNs() const {
  return rounding_.kind == Rounding::Kind::kKeep ? 0 : rounding_.grid;
}

SizeMap::SizeMap(const Rounding& rounding, const KeyedHash& hash)
    : rounding_(rounding),
      factor_(rounding.kind == Rounding::Kind::kScale ? hash.Factor("shapes") : 1) {}

std::int64_t SizeMap::At(std::int64_t size) const {
  if (size < 0) {
    return size == std::numeric_limits<std::int64_t>::min() ? size : -At(-size);
  }
  switch (rounding_.kind) {
    case Rounding::Kind::kKeep:
      return size;
    case Rounding::Kind::kGrid:
      return size < rounding_.grid ? size : FloorTo(Plus(size, rounding_.grid / 2), rounding_.grid);
    case Rounding::Kind::kScale:
      return size < kSmall
                 ? size
                 : std::max(kSmall, Clamped(std::round(static_cast<double>(size) * factor_)));
  }
  return size;
}

void SizeMap::Apply(TensorDesc& tensor) const {
  if (Exact()) {
    return;
  }
  for (std::int64_t& size : tensor.shape) {
    size = At(size);
  }
  tensor.elements = ElementCount(tensor.shape);
  tensor.offset = 0;
  if (tensor.strides.size() != tensor.shape.size()) {
    return;
  }
  std::vector<std::size_t> inner_first(tensor.shape.size());
  std::iota(inner_first.rbegin(), inner_first.rend(), 0U);
  std::stable_sort(inner_first.begin(), inner_first.end(), [&](std::size_t a, std::size_t b) {
    return tensor.strides[a] < tensor.strides[b];
  });
  std::int64_t next = 1;
  for (const std::size_t dim : inner_first) {
    if (tensor.strides[dim] != 0) {
      tensor.strides[dim] = next;
      next = Times(next, std::max<std::int64_t>(tensor.shape[dim], 1));
    }
  }
}

void SizeMap::Apply(CommSpec& spec) const {
  if (Exact()) {
    return;
  }
  const std::int64_t item = SizeOrOne(spec.dtype);
  const auto map_splits = [&](std::vector<std::int64_t>& splits, std::int64_t& bytes) {
    std::int64_t elements = 0;
    for (std::int64_t& split : splits) {
      split = At(split);
      elements = Plus(elements, split);
    }
    bytes = Times(elements, item);
  };
  std::int64_t& less = spec.in_bytes <= spec.out_bytes ? spec.in_bytes : spec.out_bytes;
  std::int64_t& more = spec.in_bytes <= spec.out_bytes ? spec.out_bytes : spec.in_bytes;
  const std::int64_t times = less > 0 && more % less == 0 ? more / less : 0;
  less = Times(At(less / item), item);
  more = times > 0 ? Times(less, times) : Times(At(more / item), item);
  if (spec.largest_bytes > 0) {
    spec.largest_bytes = Times(At(spec.largest_bytes / item), item);
  }
  if (!spec.in_splits.empty()) {
    map_splits(spec.in_splits, spec.in_bytes);
  }
  if (!spec.out_splits.empty()) {
    map_splits(spec.out_splits, spec.out_bytes);
  }
}

double CoarseNumber(double value) {
  const double size = std::abs(value);
  if (!std::isfinite(value) || size == 0 || size == 0.5 || size == 1 || size == 2) {
    return value;
  }
  constexpr double kMiddle = 1.5;
  return std::copysign(kMiddle * std::exp2(std::floor(std::log2(size))), value);
}

}  // namespace reprise
