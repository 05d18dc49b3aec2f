// Random numbers at sizes at which distributions show, as each backend draws them, against what the
// distributions are. All of it takes a second.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/ops/random/random_loops.h"
#include "kernels/samples.h"
#include "kernels/tensor_access.h"
#include "tests/kernels/harness.h"
#include "tests/kernels/on_backend.h"

namespace reprise {
namespace {

using samples::Double;
using samples::Int;
using samples::None;

constexpr std::int64_t kMany = 1'000'000;

struct Moments {
  double mean = 0, variance = 0, skewness = 0, kurtosis = 0;
};

Moments MomentsOf(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  Moments m;
  m.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double cubes = 0;
  double fourths = 0;
  for (const double value : values) {
    const double d = value - m.mean;
    m.variance += d * d / n;
    cubes += d * d * d / n;
    fourths += d * d * d * d / n;
  }
  m.skewness = cubes / std::pow(m.variance, 1.5);
  m.kurtosis = fourths / (m.variance * m.variance);
  return m;
}

class RandomNumbers : public OnBackend {
 protected:
  // What name_(out, arguments…) draws.
  std::vector<double> Draw(const std::string& name, const ValueList& arguments,
                           DType dtype = DType::kFloat32, std::int64_t count = kMany) {
    samples::SampleTensors tensors;
    const TensorDesc out = tensors.Tensor(dtype, {count});
    OpCall call{name, {Value{out}}, {Value{out}}};
    call.inputs.insert(call.inputs.end(), arguments.begin(), arguments.end());
    const Kernel* kernel = KernelRegistry::Builtin().Find(call);
    CallMemory memory(call);
    const Status run = CallRunner(*device_).Run(*kernel, call, memory);
    EXPECT_TRUE(run) << run.error().message;
    std::vector<double> values(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      values[static_cast<std::size_t>(i)] =
          LoadDouble(memory.Find(out.incarnation).data(), dtype, i);
    }
    return values;
  }
};

// Bounds of five standard errors and more: √(1/n), √(2/n), √(6/n), √(24/n).
TEST_P(RandomNumbers, NormalHasItsMomentsAndTails) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat64}) {
    SCOPED_TRACE(Name(dtype));
    const std::vector<double> values = Draw("aten::normal_", {Double(0), Double(1), None()}, dtype);
    const Moments m = MomentsOf(values);
    EXPECT_NEAR(m.mean, 0, 0.005);
    EXPECT_NEAR(m.variance, 1, 0.008);
    EXPECT_NEAR(m.skewness, 0, 0.015);
    EXPECT_NEAR(m.kurtosis, 3, 0.03);
    for (const double bound : {1.0, 2.0, 3.0, 4.0}) {  // each of the two tails
      const double expected = 0.5 * std::erfc(bound / std::sqrt(2.0)) * kMany;
      // bfloat16 has three digits: what is within half of one of the bound goes either way.
      const double either =
          dtype != DType::kBFloat16
              ? 0
              : std::exp(-bound * bound / 2) / std::sqrt(2 * M_PI) * bound / 128 * kMany;
      const double allowed = 6 * std::sqrt(expected) + either;
      const auto above = [&](double sign) {
        return std::count_if(values.begin(), values.end(),
                             [&](double value) { return value * sign > bound; });
      };
      EXPECT_NEAR(above(1), expected, allowed) << bound;
      EXPECT_NEAR(above(-1), expected, allowed) << bound;
    }
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    EXPECT_TRUE(*least < -4.2 && *least > -5.8) << *least;
    EXPECT_TRUE(*most > 4.2 && *most < 5.8) << *most;
  }
}

TEST_P(RandomNumbers, NeighboursAreUnrelated) {
  const std::vector<std::vector<double>> draws = {
      Draw("aten::normal_", {Double(0), Double(1), None()}),
      Draw("aten::uniform_", {Double(-1), Double(1), None()}),
      Draw("aten::exponential_", {Double(1), None()})};
  for (const std::vector<double>& values : draws) {
    const Moments m = MomentsOf(values);
    for (const std::size_t distance : {1, 2, 3, 8, 16, 512}) {
      const double product =
          std::inner_product(values.begin() + static_cast<std::ptrdiff_t>(distance), values.end(),
                             values.begin(), 0.0) /
              kMany -
          m.mean * m.mean;
      EXPECT_NEAR(product / m.variance, 0, 0.005) << distance;
    }
  }
}

TEST_P(RandomNumbers, UniformExponentialAndBernoulli) {
  const Moments uniform = MomentsOf(Draw("aten::uniform_", {Double(-1), Double(3), None()}));
  EXPECT_NEAR(uniform.mean, 1, 0.006);
  EXPECT_NEAR(uniform.variance, 16.0 / 12, 0.006);
  EXPECT_NEAR(uniform.kurtosis, 1.8, 0.005);
  const std::vector<double> waits = Draw("aten::exponential_", {Double(2), None()});
  const Moments exponential = MomentsOf(waits);
  EXPECT_NEAR(exponential.mean, 0.5, 0.0025);
  EXPECT_NEAR(exponential.variance, 0.25, 0.004);
  EXPECT_TRUE(*std::min_element(waits.begin(), waits.end()) >= 0);
  const std::vector<double> coins = Draw("aten::bernoulli_", {Double(0.1), None()});
  EXPECT_NEAR(MomentsOf(coins).mean, 0.1, 0.0015);
  EXPECT_TRUE(std::all_of(coins.begin(), coins.end(), [](double v) { return v == 0 || v == 1; }));
}

TEST_P(RandomNumbers, IntegersAreSpreadEvenly) {
  for (const std::int64_t range : {1, 7, 1 << 10}) {
    const std::vector<double> values =
        Draw("aten::random_", {Int(-3), Int(range - 3), None()}, DType::kInt64);
    std::vector<int> counts(static_cast<std::size_t>(range));
    for (const double value : values) {
      ASSERT_TRUE(value >= -3 && value < static_cast<double>(range) - 3) << value;
      ++counts[static_cast<std::size_t>(value + 3)];
    }
    const double expected = static_cast<double>(kMany) / static_cast<double>(range);
    for (const int count : counts) {
      EXPECT_NEAR(count, expected, 6 * std::sqrt(expected));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, RandomNumbers, testing::ValuesIn(BackendNames()),
                         [](const auto& info) { return info.param; });

// An element's number depends on the seed and the element alone, not on where a run begins.
TEST(RandomLoops, RunsMayBeginAnywhere) {
  constexpr std::int64_t kCount = 1000;
  const auto draw_normal = [](std::int64_t first, float* y, std::int64_t n) {
    loops::DrawNormal(7, first, 1, 2, y, n);
  };
  const auto draw_uniform = [](std::int64_t first, float* y, std::int64_t n) {
    loops::DrawUniform(7, first, 1, 2, y, n);
  };
  const auto expect_same = [](const auto& draw) {
    std::vector<float> whole(kCount);
    std::vector<float> parts(kCount);
    draw(0, whole.data(), kCount);
    for (std::int64_t i = 0, n = 1; i < kCount; i += n, n = n % 37 + 1) {
      draw(i, parts.data() + i, std::min(n, kCount - i));
    }
    EXPECT_EQ(parts, whole);
  };
  expect_same(draw_normal);
  expect_same(draw_uniform);
}

}  // namespace
}  // namespace reprise
