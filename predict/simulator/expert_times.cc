#include "predict/simulator/expert_times.h"

#include <algorithm>
#include <cmath>

namespace reprise {
namespace {

constexpr double kNsOfSecond = 1e9;
// Results of products of narrow types, and what moves tokens, have 16 bits.
constexpr double kResultBytes = 2;

}  // namespace

ExpertWork WorkOf(const ExpertCall& call, DType dtype) {
  const auto of_device = static_cast<double>(call.experts) / static_cast<double>(call.ep);
  const auto hidden = static_cast<double>(call.hidden);
  const double inner = static_cast<double>(call.inner) / static_cast<double>(call.tp);
  const double all_rows = static_cast<double>(call.tokens) * static_cast<double>(call.top_k);
  const double operand = static_cast<double>(SizeOf(dtype)) / ValuesPerElement(dtype);
  const double result = std::max(operand, kResultBytes);
  ExpertWork work;
  // The device with the fewest tokens still has one.
  work.rows = std::max(all_rows / static_cast<double>(call.ep), 1.0);
  work.hit = call.balanced ? std::min(of_device, work.rows)
                           : of_device * (1 - std::exp(-work.rows / of_device));
  work.flops = 2 * work.rows * hidden * 3 * inner;
  work.product_bytes =
      work.hit * 3 * hidden * inner * operand +
      work.rows * (hidden * operand + 2 * inner * result + inner * operand + hidden * result);
  // The activation reads gate and up and writes their product; the sum reads a row for each expert
  // of a token and writes one.
  work.moved_bytes =
      (all_rows * (3 * inner + hidden) + static_cast<double>(call.tokens) * hidden) * result;
  return work;
}

double ExpertNs(const DeviceModel& device, const ExpertNumbers& numbers, const ExpertWork& work,
                DType dtype) {
  const SourcedNumber* const peak = PeakRate(device, dtype, true, false);
  const double bandwidth = device.memory_bytes_per_second.value;
  const double compute = peak == nullptr ? 0
                                         : work.flops / (peak->value * numbers.rate.value) *
                                               (1 + numbers.half_m.value * work.hit / work.rows);
  const double memory = work.product_bytes / (bandwidth * numbers.memory.value);
  const double moving = work.moved_bytes / (bandwidth * numbers.moving.value);
  return numbers.start_ns.value + (std::max(compute, memory) + moving) * kNsOfSecond;
}

}  // namespace reprise
