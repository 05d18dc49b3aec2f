#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/cpu/parallel_for.h"
#include "kernels/ops/common/host_loops.h"
#include "kernels/ops/images/pool_call.h"
#include "kernels/tensor_access.h"

namespace reprise {
namespace {

// A pixel of a window takes about as long as moving so many bytes.
constexpr double kPoolHostBytesWorth = 8;

// The planes of one call.
struct Planes {
  const PoolCall& p;
  float* in = nullptr;  // element 0 of the storage
  float* out = nullptr;
  std::int64_t* index = nullptr;
  std::vector<float> divisors = {};  // of each window of a plane; averages only

  [[nodiscard]] const float* DivisorRow(std::int64_t y) const {
    return divisors.data() + y * p.out_size[1];
  }
  [[nodiscard]] float* InRow(std::int64_t plane, std::int64_t y) const {
    return in + p.input.At(plane / p.channels, plane % p.channels, y, 0);
  }
  [[nodiscard]] float* OutRow(std::int64_t plane, std::int64_t y) const {
    return out + p.output.At(plane / p.channels, plane % p.channels, y, 0);
  }
  [[nodiscard]] std::int64_t* IndexRow(std::int64_t plane, std::int64_t y) const {
    return index + p.index.At(plane / p.channels, plane % p.channels, y, 0);
  }
};

// Calls body(y, first x, first window, windows) for each tap of a row of windows: window `first
// window` looks at pixel `first x` of row y, the next one `stride` further, for as many as look at
// pixels of the image.
template <typename Body>
void ForEachTap(const PoolCall& p, std::int64_t oy, Body&& body) {
  for (std::int64_t ky = 0; ky < p.kernel[0]; ++ky) {
    const std::int64_t y = oy * p.stride[0] - p.padding[0] + ky * p.dilation[0];
    if (y < 0 || y >= p.in_size[0]) {
      continue;
    }
    for (std::int64_t kx = 0; kx < p.kernel[1]; ++kx) {
      const std::int64_t shift = kx * p.dilation[1] - p.padding[1];  // x of window 0
      const std::int64_t s = p.stride[1];
      const std::int64_t first = shift < 0 ? (-shift + s - 1) / s : 0;
      const std::int64_t end =
          shift >= p.in_size[1] ? 0 : std::min(p.out_size[1], (p.in_size[1] - 1 - shift) / s + 1);
      if (first < end) {
        body(y, first * s + shift, first, end - first);
      }
    }
  }
}

void LargestOfWindows(const Planes& planes, std::int64_t plane) {
  const PoolCall& p = planes.p;
  const auto width = static_cast<std::size_t>(p.out_size[1]);
  std::vector<std::int32_t> at(width);
  for (std::int64_t oy = 0; oy < p.out_size[0]; ++oy) {
    float* most = planes.OutRow(plane, oy);
    std::fill_n(most, width, -std::numeric_limits<float>::infinity());
    std::fill(at.begin(), at.end(), -1);
    ForEachTap(p, oy, [&](std::int64_t y, std::int64_t x, std::int64_t first, std::int64_t n) {
      loops::PoolMax(planes.InRow(plane, y) + x, static_cast<std::int32_t>(p.stride[1]),
                     static_cast<std::int32_t>(y * p.in_size[1] + x), most + first,
                     at.data() + first, n);
    });
    std::int64_t* to = planes.IndexRow(plane, oy);
    std::transform(at.begin(), at.end(), to,
                   [](std::int32_t i) { return std::max<std::int64_t>(i, 0); });
  }
}

void AverageOfWindows(const Planes& planes, std::int64_t plane) {
  const PoolCall& p = planes.p;
  for (std::int64_t oy = 0; oy < p.out_size[0]; ++oy) {
    float* sums = planes.OutRow(plane, oy);
    std::fill_n(sums, p.out_size[1], 0.0F);
    ForEachTap(p, oy, [&](std::int64_t y, std::int64_t x, std::int64_t first, std::int64_t n) {
      loops::AddStrided(planes.InRow(plane, y) + x, p.stride[1], sums + first, 1, n);
    });
    loops::Divide(sums, planes.DivisorRow(oy), sums, p.out_size[1]);
  }
}

void Clear(const Planes& planes, std::int64_t plane) {
  for (std::int64_t y = 0; y < planes.p.in_size[0]; ++y) {
    std::fill_n(planes.InRow(plane, y), planes.p.in_size[1], 0.0F);
  }
}

void AverageGradient(const Planes& planes, std::int64_t plane) {
  const PoolCall& p = planes.p;
  std::vector<float> share(static_cast<std::size_t>(p.out_size[1]));
  Clear(planes, plane);
  for (std::int64_t oy = 0; oy < p.out_size[0]; ++oy) {
    loops::Divide(planes.OutRow(plane, oy), planes.DivisorRow(oy), share.data(), p.out_size[1]);
    ForEachTap(p, oy, [&](std::int64_t y, std::int64_t x, std::int64_t first, std::int64_t n) {
      loops::AddStrided(share.data() + first, 1, planes.InRow(plane, y) + x, p.stride[1], n);
    });
  }
}

// Whether a window that begins at `begin` looks at pixel `at` of dimension d.
bool Looks(const PoolCall& p, std::size_t d, std::int64_t begin, std::int64_t at) {
  const std::int64_t tap = at - begin;
  return tap >= 0 && tap <= (p.kernel[d] - 1) * p.dilation[d] &&
         (p.dilation[d] == 1 || tap % p.dilation[d] == 0);
}

// An index that its window does not look at counts nowhere: indices may be synthetic.
void LargestGradient(const Planes& planes, std::int64_t plane) {
  const PoolCall& p = planes.p;
  const auto width = static_cast<std::uint32_t>(p.in_size[1]);  // divided by faster than 64 bits
  const auto pixels = static_cast<std::uint64_t>(p.in_size[0] * p.in_size[1]);
  float* const first = planes.InRow(plane, 0);
  Clear(planes, plane);
  for (std::int64_t oy = 0; oy < p.out_size[0]; ++oy) {
    const float* grad = planes.OutRow(plane, oy);
    const std::int64_t* index = planes.IndexRow(plane, oy);
    const std::int64_t top = oy * p.stride[0] - p.padding[0];
    for (std::int64_t ox = 0; ox < p.out_size[1]; ++ox) {
      const auto at = static_cast<std::uint64_t>(index[ox]);
      const std::uint32_t y = static_cast<std::uint32_t>(at) / width;
      const std::uint32_t x = static_cast<std::uint32_t>(at) - y * width;
      const std::int64_t left = ox * p.stride[1] - p.padding[1];
      if (at < pixels && Looks(p, 0, top, y) && Looks(p, 1, left, x)) {
        first[y * p.input.strides[2] + x] += grad[ox];
      }
    }
  }
}

bool IsDense(const PoolTensor& t) {
  return t.tensor == nullptr || t.strides[3] == 1 || t.tensor->shape.back() == 1;
}

}  // namespace

Result<bool> RunPoolOnHost(const PoolCall& p, const HostBindings& memory) {
  const std::int64_t pixels = p.in_size[0] * p.in_size[1];
  if (p.adaptive || p.input.tensor->dtype != DType::kFloat32 || p.images * p.channels == 0 ||
      !IsDense(p.input) || !IsDense(p.output) || !IsDense(p.index) ||
      pixels > std::numeric_limits<std::int32_t>::max()) {
    return false;
  }
  REPRISE_ASSIGN(const HostTensor in, HostTensor::Bind(*p.input.tensor, memory));
  REPRISE_ASSIGN(const HostTensor out, HostTensor::Bind(*p.output.tensor, memory));
  Planes planes{p, reinterpret_cast<float*>(in.data()), reinterpret_cast<float*>(out.data())};
  const bool largest = p.kind == PoolCall::Kind::kMax;
  if (largest) {
    REPRISE_ASSIGN(const HostTensor index, HostTensor::Bind(*p.index.tensor, memory));
    planes.index = reinterpret_cast<std::int64_t*>(index.data());
  }
  for (std::int64_t i = 0; !largest && i < p.out_size[0] * p.out_size[1]; ++i) {
    const double divisor = p.DivisorOf(i / p.out_size[1], i % p.out_size[1]);
    planes.divisors.push_back(static_cast<float>(divisor));
  }
  const auto run = p.backward ? (largest ? LargestGradient : AverageGradient)
                              : (largest ? LargestOfWindows : AverageOfWindows);
  const double taps = static_cast<double>(p.out_size[0] * p.out_size[1]) *
                      static_cast<double>(p.kernel[0] * p.kernel[1]);
  ParallelFor(p.images * p.channels, GrainSize(kPoolHostBytesWorth * taps),
              [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t plane = begin; plane < end; ++plane) {
                  run(planes, plane);
                }
              });
  return true;
}

}  // namespace reprise
