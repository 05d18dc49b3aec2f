#include "kernels/ops/common/host_convert.h"

#include <type_traits>
#include <vector>

#include "kernels/ops/common/float_math.h"
#include "kernels/ops/common/host_clones.h"
#include "kernels/tensor_access.h"

namespace reprise {
namespace {

using loops::BitCast;

// Loops that vectorise: no branches.
REPRISE_CLONES void WidenBFloat16(const std::uint16_t* x, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = BitCast<float>(static_cast<std::uint32_t>(x[i]) << 16U);
  }
}
REPRISE_CLONES void NarrowToBFloat16(const float* x, std::uint16_t* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t bits = BitCast<std::uint32_t>(x[i]);
    const std::uint32_t even = (bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U;
    y[i] = static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? 0x7fc0U : even);
  }
}
// Exponent and fraction moved up; 2^112 puts the exponent right, also of what has no leading one.
REPRISE_CLONES void WidenHalf(const std::uint16_t* x, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t bits = x[i];
    const float magnitude = BitCast<float>((bits & 0x7fffU) << 13U) * 0x1p112F;
    // Infinities and NaN have become numbers from 65536 on.
    const std::uint32_t wide =
        BitCast<std::uint32_t>(magnitude) | (magnitude >= 65536.0F ? 0x7f800000U : 0U);
    y[i] = BitCast<float>(wide | (bits & 0x8000U) << 16U);
  }
}

template <typename C, typename T>
void LoadFrom(const std::byte* data, std::int64_t at, std::int64_t stride, C* out, std::int64_t n) {
  const T* from = reinterpret_cast<const T*>(data) + at;
  const auto convert = [](T value) {
    if constexpr (std::is_same_v<T, std::int64_t> && std::is_same_v<C, float>) {
      return static_cast<C>(static_cast<double>(value));
    } else {
      return static_cast<C>(value);
    }
  };
  if (stride == 1) {
    for (std::int64_t k = 0; k < n; ++k) {
      out[k] = convert(from[k]);
    }
  } else {
    for (std::int64_t k = 0; k < n; ++k) {
      out[k] = convert(from[k * stride]);
    }
  }
}

template <typename C, typename T>
void StoreTo(const C* values, std::int64_t n, std::byte* data, std::int64_t at,
             std::int64_t stride) {
  T* to = reinterpret_cast<T*>(data) + at;
  if (stride == 1) {
    for (std::int64_t k = 0; k < n; ++k) {
      to[k] = static_cast<T>(values[k]);
    }
  } else {
    for (std::int64_t k = 0; k < n; ++k) {
      to[k * stride] = static_cast<T>(values[k]);
    }
  }
}

template <typename C>
void LoadOneByOne(const std::byte* data, DType dtype, std::int64_t at, std::int64_t stride, C* out,
                  std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    if constexpr (std::is_integral_v<C>) {
      out[k] = LoadInt(data, dtype, at + k * stride);
    } else {
      out[k] = static_cast<C>(LoadDouble(data, dtype, at + k * stride));
    }
  }
}

template <typename C>
void StoreOneByOne(const C* values, std::int64_t n, std::byte* data, DType dtype, std::int64_t at,
                   std::int64_t stride) {
  for (std::int64_t k = 0; k < n; ++k) {
    if constexpr (std::is_integral_v<C>) {
      StoreInt(data, dtype, at + k * stride, values[k]);
    } else {
      StoreDouble(data, dtype, at + k * stride, static_cast<double>(values[k]));
    }
  }
}

template <typename C>
void StoreBools(const C* values, std::int64_t n, std::byte* data, std::int64_t at,
                std::int64_t stride) {
  auto* to = reinterpret_cast<std::uint8_t*>(data) + at;
  for (std::int64_t k = 0; k < n; ++k) {
    to[k * stride] = values[k] != 0 ? 1 : 0;
  }
}

// Calls body(first offset, stride, n) for runs along the last dimension, in row-major order; for
// all at once where they are dense.
template <typename Body>
void ForEachRun(const TensorDesc& tensor, Body&& body) {
  const std::size_t rank = tensor.shape.size();
  const std::int64_t count = ElementCount(tensor.shape);
  const bool dense = rank == 0 || IsContiguous(tensor);
  const std::int64_t n = dense ? count : tensor.shape.back();
  const std::int64_t stride = dense ? 1 : tensor.strides.back();
  std::vector<std::int64_t> index(rank, 0);
  std::int64_t at = tensor.offset;
  for (std::int64_t done = 0; done < count; done += n) {
    body(at, stride, n);
    for (std::size_t d = dense ? 0 : rank - 1; d-- > 0;) {
      at += tensor.strides[d];
      if (++index[d] < tensor.shape[d]) {
        break;
      }
      at -= tensor.strides[d] * tensor.shape[d];
      index[d] = 0;
    }
  }
}

}  // namespace

template <typename C>
void LoadRun(const std::byte* data, DType dtype, std::int64_t at, std::int64_t stride, C* out,
             std::int64_t n) {
  const bool narrow = std::is_same_v<C, float> && stride == 1;
  const auto* bits = reinterpret_cast<const std::uint16_t*>(data) + at;
  if (std::is_integral_v<C> && !IsIntegral(dtype)) {
    return LoadOneByOne(data, dtype, at, stride, out, n);  // saturates
  }
  switch (dtype) {
    case DType::kFloat32:
      return LoadFrom<C, float>(data, at, stride, out, n);
    case DType::kFloat64:
      return LoadFrom<C, double>(data, at, stride, out, n);
    case DType::kInt64:
      return LoadFrom<C, std::int64_t>(data, at, stride, out, n);
    case DType::kInt32:
      return LoadFrom<C, std::int32_t>(data, at, stride, out, n);
    case DType::kUInt8:
      return LoadFrom<C, std::uint8_t>(data, at, stride, out, n);
    case DType::kBool:
      for (std::int64_t k = 0; k < n; ++k) {
        out[k] = static_cast<C>(data[at + k * stride] != std::byte{0} ? 1 : 0);
      }
      return;
    case DType::kBFloat16:
      if (narrow) {
        return WidenBFloat16(bits, reinterpret_cast<float*>(out), n);
      }
      break;
    case DType::kFloat16:
      if (narrow) {
        return WidenHalf(bits, reinterpret_cast<float*>(out), n);
      }
      break;
    default:
      break;
  }
  LoadOneByOne(data, dtype, at, stride, out, n);
}

template <typename C>
void StoreRun(const C* values, std::int64_t n, std::byte* data, DType dtype, std::int64_t at,
              std::int64_t stride) {
  if (dtype == DType::kBool) {
    return StoreBools(values, n, data, at, stride);
  }
  if (dtype == DType::kFloat32 && !std::is_integral_v<C>) {
    return StoreTo<C, float>(values, n, data, at, stride);
  }
  if (dtype == DType::kFloat64) {
    return StoreTo<C, double>(values, n, data, at, stride);
  }
  if constexpr (std::is_integral_v<C>) {
    if (dtype == DType::kInt64) {
      return StoreTo<C, std::int64_t>(values, n, data, at, stride);
    }
    if (dtype == DType::kInt32) {
      return StoreTo<C, std::int32_t>(values, n, data, at, stride);
    }
  }
  if constexpr (std::is_same_v<C, float>) {
    if (dtype == DType::kBFloat16 && stride == 1) {
      return NarrowToBFloat16(values, reinterpret_cast<std::uint16_t*>(data) + at, n);
    }
  }
  StoreOneByOne(values, n, data, dtype, at, stride);
}

template <typename C>
void LoadAll(const std::byte* data, const TensorDesc& tensor, C* out) {
  ForEachRun(tensor, [&](std::int64_t at, std::int64_t stride, std::int64_t n) {
    LoadRun(data, tensor.dtype, at, stride, out, n);
    out += n;
  });
}

template <typename C>
void StoreAll(const C* values, std::byte* data, const TensorDesc& tensor) {
  ForEachRun(tensor, [&](std::int64_t at, std::int64_t stride, std::int64_t n) {
    StoreRun(values, n, data, tensor.dtype, at, stride);
    values += n;
  });
}

#define INSTANTIATE(C)                                                                           \
  template void LoadRun(const std::byte*, DType, std::int64_t, std::int64_t, C*, std::int64_t);  \
  template void StoreRun(const C*, std::int64_t, std::byte*, DType, std::int64_t, std::int64_t); \
  template void LoadAll(const std::byte*, const TensorDesc&, C*);                                \
  template void StoreAll(const C*, std::byte*, const TensorDesc&);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(std::int64_t)
#undef INSTANTIATE

}  // namespace reprise
