#include <cmath>

#include "kernels/cpu/non_temporal_store.h"
#include "kernels/cpu/parallel_for.h"
#include "kernels/ops/common/host_floats.h"
#include "kernels/ops/common/host_loops.h"
#include "kernels/ops/common/host_values.h"
#include "kernels/ops/norms/batch_norm_call.h"
#include "kernels/ops/norms/norm_loops.h"

namespace reprise {
namespace {

// body(first element) for the run of each image in a channel.
template <typename Body>
void ForRuns(const BatchNormExtents& e, std::int64_t channel, Body&& body) {
  for (std::int64_t image = 0; image < e.images; ++image) {
    body((image * e.channels + channel) * e.n);
  }
}

// body(channel, store of the result), channels side by side: each reads and writes a float of each
// of its elements. The next channel's run follows each of its runs in memory.
template <typename Body>
void ForChannels(const BatchNormExtents& e, const Body& body) {
  const double bytes = 2.0 * sizeof(float) * static_cast<double>(e.images * e.n);
  ParallelFor(e.channels, GrainSize(bytes), [&](std::int64_t begin, std::int64_t end) {
    const NonTemporalStore store(e.images * e.channels * e.n *
                                 static_cast<std::int64_t>(sizeof(float)));
    for (std::int64_t channel = begin; channel < end; ++channel) {
      body(channel, store);
    }
  });
}

}  // namespace

Status RunBatchNormForward(const BatchNormCall& f, const HostBindings& memory) {
  const BatchNormExtents& e = f.extents;
  REPRISE_ASSIGN(const FloatsIn x, FloatsIn::Read(*f.x, memory));
  REPRISE_ASSIGN(const FloatsIn w, FloatsIn::ReadOr(f.weight, memory, e.channels, 1));
  REPRISE_ASSIGN(const FloatsIn b, FloatsIn::ReadOr(f.bias, memory, e.channels, 0));
  REPRISE_ASSIGN(Doubles running_mean, ReadDoublesOr(f.running_mean, memory, e.channels, 0));
  REPRISE_ASSIGN(Doubles running_var, ReadDoublesOr(f.running_var, memory, e.channels, 1));
  REPRISE_ASSIGN(FloatsOut y, FloatsOut::Write(*f.y, memory));
  Doubles save_mean(static_cast<std::size_t>(e.channels));
  Doubles save_rstd(save_mean.size());
  const auto count = static_cast<double>(e.images * e.n);
  const auto run = [&](std::int64_t channel, const NonTemporalStore& store) {
    double& mean = running_mean[static_cast<std::size_t>(channel)];
    double& var = running_var[static_cast<std::size_t>(channel)];
    double center = mean;
    double spread = var;
    if (f.training) {
      double sum = 0;
      ForRuns(e, channel, [&](std::int64_t at) { sum += loops::Sum(x.data() + at, e.n); });
      center = sum / count;
      double square = 0;
      ForRuns(e, channel, [&](std::int64_t at) {
        square += loops::SumSquares(x.data() + at, static_cast<float>(center), e.n);
      });
      spread = square / count;
      mean = (1 - f.momentum) * mean + f.momentum * center;
      var = (1 - f.momentum) * var + f.momentum * square / (count - 1);
    }
    const double rstd = 1 / std::sqrt(spread + f.eps);
    const double scale = rstd * static_cast<double>(w[channel]);
    const auto shift = static_cast<float>(static_cast<double>(b[channel]) - center * scale);
    ForRuns(e, channel, [&](std::int64_t at) {
      const float* const from = x.data() + at;
      store.Write(y.data() + at, e.n, {from + e.n}, [&](std::int64_t i, float* to, std::int64_t n) {
        loops::ScaleShift(from + i, static_cast<float>(scale), shift, to, n);
      });
    });
    save_mean[static_cast<std::size_t>(channel)] = center;
    save_rstd[static_cast<std::size_t>(channel)] = rstd;
  };
  ForChannels(e, run);
  if (f.training) {
    REPRISE_TRY(WriteDoubles(*f.mean, memory, save_mean));
    REPRISE_TRY(WriteDoubles(*f.rstd, memory, save_rstd));
    REPRISE_TRY(WriteDoublesIf(f.running_mean, memory, running_mean));
    REPRISE_TRY(WriteDoublesIf(f.running_var, memory, running_var));
  }
  return y.Store(memory);
}

Status RunBatchNormBackward(const BatchNormCall& b, const HostBindings& memory) {
  const BatchNormExtents& e = b.extents;
  REPRISE_ASSIGN(const FloatsIn g, FloatsIn::Read(*b.g, memory));
  REPRISE_ASSIGN(const FloatsIn x, FloatsIn::Read(*b.x, memory));
  REPRISE_ASSIGN(const FloatsIn w, FloatsIn::ReadOr(b.weight, memory, e.channels, 1));
  REPRISE_ASSIGN(const FloatsIn mean, FloatsIn::Read(*b.mean, memory));
  REPRISE_ASSIGN(const Doubles spread, ReadDoubles(*b.rstd, memory));
  REPRISE_ASSIGN(FloatsOut dx, FloatsOut::WriteOr(b.dx, memory, 0));
  Doubles dw(static_cast<std::size_t>(e.channels));
  Doubles db(dw.size());
  const auto count = static_cast<double>(e.images * e.n);
  const auto run = [&](std::int64_t channel, const NonTemporalStore& store) {
    const double given = spread[static_cast<std::size_t>(channel)];
    const double rstd = b.training ? given : 1 / std::sqrt(given + b.eps);
    double sum_g = 0;
    double sum_gh = 0;
    ForRuns(e, channel, [&](std::int64_t at) {
      const loops::GradientSums sums =
          loops::SumGradient(g.data() + at, x.data() + at, mean[channel], e.n);
      sum_g += sums.g;
      sum_gh += rstd * sums.gx;
    });
    dw[static_cast<std::size_t>(channel)] = sum_gh;
    db[static_cast<std::size_t>(channel)] = sum_g;
    if (b.dx == nullptr) {
      return;
    }
    const double mean_g = b.training ? sum_g / count : 0;
    const double slope = b.training ? rstd * sum_gh / count : 0;
    const loops::ChannelGradient gradient{
        .scale = static_cast<float>(rstd * static_cast<double>(w[channel])),
        .mean_g = static_cast<float>(mean_g),
        .mean = mean[channel],
        .slope = static_cast<float>(slope)};
    ForRuns(e, channel, [&](std::int64_t at) {
      const float* const from_g = g.data() + at;
      const float* const from_x = x.data() + at;
      store.Write(dx.data() + at, e.n, {from_g + e.n, from_x + e.n},
                  [&](std::int64_t i, float* to, std::int64_t n) {
                    loops::GradientOfChannel(from_g + i, from_x + i, gradient, to, n);
                  });
    });
  };
  ForChannels(e, run);
  REPRISE_TRY(dx.Store(memory));
  REPRISE_TRY(WriteDoublesIf(b.dw, memory, dw));
  return WriteDoublesIf(b.db, memory, db);
}

}  // namespace reprise
