// Pooling in two dimensions: largest, average, adaptive average; forward and backward.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/cpu/parallel_for.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/images/pool_call.h"
#include "kernels/tensor_access.h"

namespace reprise {
namespace {

// Calls body(image, channel, output y, output x) for the planes [begin, end).
template <typename Body>
void ForEachWindow(const PoolCall& p, std::int64_t begin, std::int64_t end, Body&& body) {
  for (std::int64_t plane = begin; plane < end; ++plane) {
    for (std::int64_t y = 0; y < p.out_size[0]; ++y) {
      for (std::int64_t x = 0; x < p.out_size[1]; ++x) {
        body(plane / p.channels, plane % p.channels, y, x);
      }
    }
  }
}

// Pixels inside a window along one dimension: from `begin` on, `step` apart.
struct PoolTaps {
  std::int64_t begin, end, step;
};
PoolTaps TapsOf(const PoolCall& p, std::size_t d, std::int64_t o) {
  const PoolCall::Window window = p.WindowOf(d, o);
  const std::int64_t step = p.dilation[d];
  const std::int64_t before = window.begin < 0 ? (-window.begin + step - 1) / step : 0;
  return {window.begin + before * step, std::min(window.end, p.in_size[d]), step};
}

// Calls body(y, x) for every pixel of the input in a window, row by row.
template <typename Body>
void ForEachPixel(const PoolCall& p, std::int64_t oy, std::int64_t ox, Body&& body) {
  const PoolTaps rows = TapsOf(p, 0, oy);
  const PoolTaps columns = TapsOf(p, 1, ox);
  for (std::int64_t y = rows.begin; y < rows.end; y += rows.step) {
    for (std::int64_t x = columns.begin; x < columns.end; x += columns.step) {
      body(y, x);
    }
  }
}

// Is the pixel one of those that the window looks at? Indices may be synthetic.
bool IsTap(const PoolCall& p, std::int64_t pixel, std::int64_t oy, std::int64_t ox) {
  const auto is = [&](std::size_t d, std::int64_t at, std::int64_t o) {
    const PoolTaps taps = TapsOf(p, d, o);
    return at >= taps.begin && at < taps.end && (at - taps.begin) % taps.step == 0;
  };
  return pixel >= 0 && is(0, pixel / p.in_size[1], oy) && is(1, pixel % p.in_size[1], ox);
}

void Largest(const PoolCall& p, const HostTensor& in, const HostTensor& out,
             const HostTensor& index, std::int64_t begin, std::int64_t end) {
  ForEachWindow(p, begin, end, [&](auto b, auto c, auto oy, auto ox) {
    double most = -INFINITY;
    std::int64_t at = -1;
    ForEachPixel(p, oy, ox, [&](std::int64_t y, std::int64_t x) {
      const double v = in.Get(p.input.At(b, c, y, x));
      if (at < 0 || v > most || std::isnan(v)) {
        most = v;
        at = y * p.in_size[1] + x;
      }
    });
    out.Set(p.output.At(b, c, oy, ox), most);
    index.SetInt(p.index.At(b, c, oy, ox), std::max<std::int64_t>(at, 0));
  });
}

void Average(const PoolCall& p, const HostTensor& in, const HostTensor& out, std::int64_t begin,
             std::int64_t end) {
  ForEachWindow(p, begin, end, [&](auto b, auto c, auto oy, auto ox) {
    double sum = 0;
    ForEachPixel(p, oy, ox,
                 [&](std::int64_t y, std::int64_t x) { sum += in.Get(p.input.At(b, c, y, x)); });
    out.Set(p.output.At(b, c, oy, ox), sum / p.DivisorOf(oy, ox));
  });
}

void WriteGradient(const PoolCall& p, const HostTensor& in, const HostTensor& out,
                   const HostTensor& index, std::int64_t begin, std::int64_t end) {
  const std::int64_t pixels = p.in_size[0] * p.in_size[1];
  std::vector<double> sums(static_cast<std::size_t>(pixels));
  for (std::int64_t plane = begin; plane < end; ++plane) {
    std::fill(sums.begin(), sums.end(), 0.0);
    ForEachWindow(p, plane, plane + 1, [&](auto b, auto c, auto oy, auto ox) {
      const double grad = out.Get(p.output.At(b, c, oy, ox));
      if (p.kind == PoolCall::Kind::kMax) {
        const std::int64_t at = index.GetInt(p.index.At(b, c, oy, ox));
        if (IsTap(p, at, oy, ox)) {
          sums[static_cast<std::size_t>(at)] += grad;
        }
        return;
      }
      const double share = grad / p.DivisorOf(oy, ox);
      ForEachPixel(p, oy, ox, [&](std::int64_t y, std::int64_t x) {
        sums[static_cast<std::size_t>(y * p.in_size[1] + x)] += share;
      });
    });
    for (std::int64_t i = 0; i < pixels; ++i) {
      in.Set(p.input.At(plane / p.channels, plane % p.channels, i / p.in_size[1], i % p.in_size[1]),
             sums[static_cast<std::size_t>(i)]);
    }
  }
}

// A pixel takes about as long as moving so many bytes.
constexpr double kPoolBytesWorth = 50;

// The same struct as in pool.cl.
struct PoolArgs {
  std::int64_t in_at, out_at, index_at;
  std::int32_t in[4], out[4], index[4];
  std::int32_t images, channels;
  std::int32_t in_size[2], out_size[2];
  std::int32_t kernel[2], stride[2], padding[2], dilation[2];
  std::int32_t divisor, count_padding, adaptive;
};

template <std::size_t N>
void Assign(std::int32_t (&to)[N], const std::array<std::int64_t, N>& from) {
  std::transform(from.begin(), from.end(), to,
                 [](std::int64_t v) { return static_cast<std::int32_t>(v); });
}

PoolArgs MakeArgs(const PoolCall& p) {
  PoolArgs args = {};
  args.in_at = p.input.tensor->offset;
  args.out_at = p.output.tensor->offset;
  args.index_at = p.index.tensor != nullptr ? p.index.tensor->offset : 0;
  Assign(args.in, p.input.strides);
  Assign(args.out, p.output.strides);
  Assign(args.index, p.index.strides);
  args.images = static_cast<std::int32_t>(p.images);
  args.channels = static_cast<std::int32_t>(p.channels);
  Assign(args.in_size, p.in_size);
  Assign(args.out_size, p.out_size);
  Assign(args.kernel, p.kernel);
  Assign(args.stride, p.stride);
  Assign(args.padding, p.padding);
  Assign(args.dilation, p.dilation);
  args.divisor = static_cast<std::int32_t>(p.divisor);
  args.count_padding = p.count_padding ? 1 : 0;
  args.adaptive = p.adaptive ? 1 : 0;
  return args;
}

Status ReferencePool(const PoolCall& p, const HostBindings& memory) {
  REPRISE_ASSIGN(const HostTensor in, HostTensor::Bind(*p.input.tensor, memory));
  REPRISE_ASSIGN(const HostTensor out, HostTensor::Bind(*p.output.tensor, memory));
  const TensorDesc* index = p.index.tensor != nullptr ? p.index.tensor : p.output.tensor;
  REPRISE_ASSIGN(const HostTensor indices, HostTensor::Bind(*index, memory));
  const double work = static_cast<double>(p.in_size[0] * p.in_size[1]) * kPoolBytesWorth;
  ParallelFor(p.images * p.channels, GrainSize(work), [&](std::int64_t begin, std::int64_t end) {
    if (p.backward) {
      WriteGradient(p, in, out, indices, begin, end);
    } else if (p.kind == PoolCall::Kind::kMax) {
      Largest(p, in, out, indices, begin, end);
    } else {
      Average(p, in, out, begin, end);
    }
  });
  return {};
}

Status RunOnHost(const PoolCall& p, const HostBindings& memory) {
  REPRISE_ASSIGN(const bool done, RunPoolOnHost(p, memory));
  return done ? Status() : ReferencePool(p, memory);
}

void LowerPool(const PoolCall& p, RowLowering& rows) {
  const bool max = p.kind == PoolCall::Kind::kMax;
  const std::string entry =
      std::string(max ? "pool_max" : "pool_average") + (p.backward ? "_grad" : "");
  const std::int64_t items = Count(*(p.backward ? p.input : p.output).tensor);
  rows.UseTypes({{"T", p.input.tensor->dtype}}, AccumulatorOf(p.input.tensor->dtype));
  const auto launch = [&](auto... index) {
    rows.LaunchItems(entry.c_str(), items, rows.BufferFor(*p.input.tensor),
                     rows.BufferFor(*p.output.tensor), index..., StructArg(MakeArgs(p)));
  };
  if (max) {
    launch(rows.BufferFor(*p.index.tensor));
  } else {
    launch();
  }
}

}  // namespace

std::unique_ptr<Kernel> MakePool() {
  return MakeParsedKernel({"pool", "pool.cl", PoolSamples},
                          CallForm<PoolCall>{ParsePool, ReferencePool, LowerPool, RunOnHost});
}

}  // namespace reprise
