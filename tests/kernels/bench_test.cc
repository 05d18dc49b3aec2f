// What `reprise bench kernels` stands on: cases, probes, operands, baselines. No times are
// asserted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "kernels/baseline.h"
#include "kernels/bench/bench_memory.h"
#include "kernels/bench/kernel_bench.h"
#include "kernels/ops/products/blas_product.h"
#include "kernels/samples.h"
#include "kernels/shared_library.h"
#include "tests/kernels/harness.h"
#include "tests/kernels/on_backend.h"
#include "tests/skip.h"

namespace reprise {
namespace {

using samples::Int, samples::SampleTensors;

OpCall Product(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k, bool across) {
  SampleTensors s;
  const Value a{across ? s.Strided(dtype, {m, k}, {1, m}) : s.Tensor(dtype, {m, k})};
  const Value b{across ? s.Strided(dtype, {k, n}, {1, k}) : s.Tensor(dtype, {k, n})};
  return {"aten::mm", {a, b}, {Value{s.Tensor(dtype, {m, n})}}};
}

OpCall BatchedProduct() {
  SampleTensors s;
  const auto f = DType::kFloat32;
  const Value a{s.Tensor(f, {3, 20, 30})};
  const Value b{s.Strided(f, {3, 30, 24}, {720, 1, 30})};
  return {"aten::bmm", {a, b}, {Value{s.Tensor(f, {3, 20, 24})}}};
}

INSTANTIATE_TEST_SUITE_P(Bench, OnBackend, testing::ValuesIn(BackendNames()));

TEST(BenchCases, AreKnownToAKernelAtEveryScale) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    for (const int scale : {1, 8, 64}) {
      std::set<std::string> seen;
      for (const KernelBenchCase& one : KernelBenchCases(dtype, scale)) {
        const std::string what = one.title + " " + DescribeShapes(one.call);
        const Kernel* kernel = KernelRegistry::Builtin().Find(one.call);
        ASSERT_NE(kernel, nullptr) << what;
        EXPECT_GT(CostOf(one.call).bytes, 0) << what;
        EXPECT_TRUE(seen.insert(what).second) << what << " twice";
      }
      EXPECT_GT(seen.size(), 50U);
    }
  }
}

TEST(BenchCases, AreSelectedByTitleKernelOrOperator) {
  const DeviceInfo device{.compute_units = 2, .is_cpu = true};
  const auto count = [&](const std::string& filter) {
    KernelBenchOptions options;
    options.filter = filter;
    return SelectKernelBenchCases(device, options).size();
  };
  EXPECT_EQ(count("aten::bmm"), 2U);
  EXPECT_EQ(count("sum columns"), 1U);
  EXPECT_EQ(count("layer_norm"), 2U);
  EXPECT_EQ(count("no such thing"), 0U);
}

TEST(BenchCases, ShapesAreShort) {
  EXPECT_EQ(DescribeShapes(Product(DType::kFloat32, 4, 5, 6, true)), "4x6', 6x5'");
  EXPECT_EQ(DescribeShapes(Product(DType::kFloat32, 4, 4, 4, false)), "2*[4x4]");
}

TEST(Roofline, BoundsByTheLimitThatTakesLonger) {
  Roofline limits;
  limits.bytes_per_second = 1e9;
  limits.flops_per_second[DType::kFloat32] = 1e10;
  const auto bound = [&](Cost cost) { return limits.BoundOf(cost, DType::kFloat32); };
  EXPECT_DOUBLE_EQ(bound({.flops = 1000, .bytes = 50}).ns, 100);
  EXPECT_TRUE(bound({.flops = 1000, .bytes = 50}).by_compute);
  EXPECT_DOUBLE_EQ(bound({.flops = 1000, .bytes = 200}).ns, 200);
  EXPECT_FALSE(bound({.flops = 1000, .bytes = 200}).by_compute);
  EXPECT_EQ(Roofline().BoundOf({.flops = 1, .bytes = 1}, DType::kFloat32).ns, 0);
}

TEST_P(OnBackend, LimitsAreMeasuredAndTheBestIsKept) {
  const auto probe = LimitProbe::Create(*device_, {DType::kFloat32, DType::kBFloat16});
  ASSERT_TRUE(probe) << probe.error().message;
  const Roofline first = (*probe)->best();
  EXPECT_GT(first.bytes_per_second, 0);
  EXPECT_GT(first.FlopsOf(DType::kBFloat16), 0);
  EXPECT_EQ(first.FlopsOf(DType::kFloat64), 0);
  for (int run = 0; run < 3; ++run) {
    const auto copy = (*probe)->Copy();
    const auto fma = (*probe)->Fma(DType::kFloat32);
    ASSERT_TRUE(copy && fma);
    EXPECT_GT(*copy, 0);
    EXPECT_GE((*probe)->best().bytes_per_second, std::max(*copy, first.bytes_per_second));
    EXPECT_GE((*probe)->best().FlopsOf(DType::kFloat32), *fma);
  }
}

TEST_P(OnBackend, EveryCopyOfTheOperandsIsFilledAlike) {
  SampleTensors s;
  const TensorDesc table = s.Tensor(DType::kFloat32, {7, 3});
  const TensorDesc ids = s.Tensor(DType::kInt64, {500});
  const OpCall call{
      "aten::index", {{table}, samples::Tensors({ids})}, {{s.Tensor(DType::kFloat32, {500, 3})}}};
  const auto memory = BenchMemory::Create(*device_, call);
  ASSERT_TRUE(memory) << memory.error().message;
  EXPECT_EQ((*memory)->copies(), BenchMemory::kMaxCopies);
  const auto stream = *device_->CreateStream(false);
  std::vector<std::int64_t> first(500), last(500);
  std::vector<float> values(21);
  const auto read = [&](auto& to, int copy, const TensorDesc& t) {
    const Buffer* buffer = (*memory)->copy(copy).Find(t.incarnation);
    ASSERT_TRUE(stream->Download(to.data(), *buffer, 0, buffer->size_bytes()));
    ASSERT_TRUE(stream->Finish());
  };
  read(first, 0, ids);
  read(last, BenchMemory::kMaxCopies - 1, ids);
  read(values, 3, table);
  EXPECT_EQ(first, last);
  EXPECT_THAT(first, testing::Each(testing::AllOf(testing::Ge(0), testing::Lt(7))));
  EXPECT_GT(std::set(first.begin(), first.end()).size(), 3U);
  EXPECT_THAT(values, testing::Each(testing::AllOf(testing::Ge(1 / 32.0F), testing::Lt(1.0F))));
}

TEST(BlasProduct, IsWhatABlasTakes) {
  const OpCall plain = Product(DType::kFloat32, 4, 5, 6, false);
  const auto p = AsBlasProduct(plain);
  ASSERT_TRUE(p);
  EXPECT_FALSE(p->a.transposed);
  EXPECT_EQ(p->b.leading, 5);
  const OpCall across = Product(DType::kFloat32, 4, 5, 6, true);
  const auto q = AsBlasProduct(across);
  ASSERT_TRUE(q);
  EXPECT_TRUE(q->a.transposed && q->b.transposed);
  EXPECT_EQ(q->a.leading, 4);

  SampleTensors s;
  const auto t = [&](std::vector<std::int64_t> shape) {
    return Value{s.Tensor(DType::kFloat32, std::move(shape))};
  };
  const OpCall bias{"aten::addmm", {t({5}), t({4, 6}), t({6, 5}), Int(1), Int(1)}, {t({4, 5})}};
  EXPECT_FALSE(AsBlasProduct(bias));
}

TEST(SharedLibrary, AbsentOnesSayTheirNames) {
  const auto library = SharedLibrary::Open({"libreprise_absent.so.1", "libreprise_absent.so.2"});
  ASSERT_FALSE(library);
  EXPECT_THAT(library.error().message, testing::HasSubstr("libreprise_absent.so.2"));
}

// The baseline's result must be the same product, or it would be compared with something else.
TEST_P(OnBackend, BaselinesComputeTheSameProducts) {
  const Baselines baselines = device_->OpenBaselines({});
  if (baselines.here.empty()) {
    REPRISE_SKIP("baselines", baselines.absent.empty() ? "this backend has no baselines"
                                                       : baselines.absent.front());
  }
  const auto stream = *device_->CreateStream(false);
  for (const OpCall& call : {Product(DType::kFloat32, 33, 20, 17, true), BatchedProduct()}) {
    const Kernel* kernel = KernelRegistry::Builtin().Find(call);
    const auto memory = BenchMemory::Create(*device_, call);
    ASSERT_TRUE(memory) << memory.error().message;
    CallMemory expected(call);
    CallMemory actual(call);
    const auto download = [&](CallMemory& to) {
      for (auto& [incarnation, storage] : to.storages) {
        ASSERT_TRUE(stream->Download(storage.bytes.data(), *(*memory)->copy(0).Find(incarnation), 0,
                                     static_cast<std::int64_t>(storage.bytes.size())));
      }
      ASSERT_TRUE(stream->Finish());
    };
    download(expected);
    ASSERT_TRUE(kernel->Reference(call, expected));
    for (const auto& baseline : baselines.here) {
      ASSERT_TRUE(baseline->Supports(call)) << baseline->name();
      const auto launch = baseline->Prepare(call, (*memory)->copy(0));
      ASSERT_TRUE(launch) << launch.error().message;
      ASSERT_TRUE(stream->Enqueue(**launch));
      ASSERT_TRUE(stream->Finish());
      download(actual);
      EXPECT_EQ(Difference(actual, expected, kernel->tolerance()), "") << baseline->name();
    }
  }
}

}  // namespace
}  // namespace reprise
