#include "core/value_counts.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace reprise {
namespace {

// Of the bits without the sign: the lowest of the exponent, and all of it.
template <typename Bits>
struct FloatFormat {
  Bits smallest_normal, infinity;
};

template <typename Bits>
void CountBits(const std::byte* data, std::int64_t count, std::int64_t stride,
               FloatFormat<Bits> format, ValueCounts& counts) {
  constexpr Bits kMagnitude = static_cast<Bits>(~Bits{0}) >> 1;
  std::int64_t denormals = 0;
  std::int64_t infinities = 0;
  std::int64_t nans = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    Bits bits = 0;
    std::memcpy(&bits, data + i * stride * static_cast<std::int64_t>(sizeof(Bits)), sizeof(Bits));
    bits &= kMagnitude;
    denormals += static_cast<std::int64_t>(bits != 0 && bits < format.smallest_normal);
    infinities += static_cast<std::int64_t>(bits == format.infinity);
    nans += static_cast<std::int64_t>(bits > format.infinity);
  }
  counts += {count, denormals, infinities, nans};
}

void CountRow(DType dtype, const std::byte* data, std::int64_t count, std::int64_t stride,
              ValueCounts& counts) {
  switch (dtype) {
    case DType::kFloat32:
      return CountBits<std::uint32_t>(data, count, stride, {0x0080'0000, 0x7f80'0000}, counts);
    case DType::kFloat64:
      return CountBits<std::uint64_t>(data, count, stride,
                                      {0x0010'0000'0000'0000, 0x7ff0'0000'0000'0000}, counts);
    case DType::kFloat16:
      return CountBits<std::uint16_t>(data, count, stride, {0x0400, 0x7c00}, counts);
    case DType::kBFloat16:
      return CountBits<std::uint16_t>(data, count, stride, {0x0080, 0x7f80}, counts);
    default:
      return;
  }
}

struct Dimension {
  std::int64_t extent, stride;
};

// Dimensions that distinguish elements, outermost first; neighbours that continue each other are
// one.
std::vector<Dimension> DistinctDimensions(const TensorDesc& tensor) {
  std::vector<Dimension> dims;
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    const std::int64_t stride = d < tensor.strides.size() ? tensor.strides[d] : 0;
    if (tensor.shape[d] != 1 && stride != 0) {
      dims.push_back({tensor.shape[d], stride});
    }
  }
  std::stable_sort(dims.begin(), dims.end(),
                   [](const Dimension& a, const Dimension& b) { return a.stride > b.stride; });
  for (std::size_t d = dims.size(); d-- > 1;) {
    if (dims[d - 1].stride == dims[d].extent * dims[d].stride) {
      dims[d - 1] = {dims[d - 1].extent * dims[d].extent, dims[d].stride};
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(d));
    }
  }
  return dims;
}

}  // namespace

ValueCounts& ValueCounts::operator+=(const ValueCounts& other) {
  values += other.values;
  denormals += other.denormals;
  infinities += other.infinities;
  nans += other.nans;
  return *this;
}

ValueCounts CountValues(const TensorDesc& tensor, std::span<const std::byte> data) {
  ValueCounts counts;
  const std::int64_t size = SizeOf(tensor.dtype);
  if (!IsFloating(tensor.dtype) || size == 0 || ElementCount(tensor.shape) == 0 ||
      static_cast<std::int64_t>(data.size()) < ExtentElements(tensor) * size) {
    return counts;
  }
  std::vector<Dimension> dims = DistinctDimensions(tensor);
  const Dimension row = dims.empty() ? Dimension{1, 1} : dims.back();
  if (!dims.empty()) {
    dims.pop_back();
  }
  std::vector<std::int64_t> index(dims.size(), 0);
  std::int64_t at = 0;
  while (true) {
    CountRow(tensor.dtype, data.data() + at * size, row.extent, row.stride, counts);
    std::size_t d = dims.size();
    for (; d-- > 0;) {
      at += dims[d].stride;
      if (++index[d] < dims[d].extent) {
        break;
      }
      at -= dims[d].stride * dims[d].extent;
      index[d] = 0;
    }
    if (d == static_cast<std::size_t>(-1)) {
      return counts;
    }
  }
}

}  // namespace reprise
