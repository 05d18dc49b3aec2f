#include "core/value_counts.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <thread>

#include "core/copy_direction.h"
#include "core/denormals.h"
#include "tests/skip.h"

namespace reprise {
namespace {

template <typename T>
ValueCounts CountOf(DType dtype, const std::vector<T>& values, std::vector<std::int64_t> shape,
                    std::vector<std::int64_t> strides) {
  TensorDesc tensor;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  tensor.strides = std::move(strides);
  return CountValues(tensor, std::as_bytes(std::span(values)));
}

TEST(ValueCounts, EveryTypeHasItsOwnSmallestNormal) {
  constexpr float kMin = std::numeric_limits<float>::min();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float nan = std::nanf("");
  EXPECT_EQ(
      CountOf<float>(DType::kFloat32,
                     {kMin, kMin / 2, -kMin / 2, 0, -0.0F, 1, kInfinity, -kInfinity, nan, -nan},
                     {10}, {1}),
      (ValueCounts{10, 2, 2, 2}));
  EXPECT_EQ(CountOf<double>(DType::kFloat64, {1e-308, 1e-300, INFINITY, NAN}, {4}, {1}),
            (ValueCounts{4, 1, 1, 1}));
  // 2^-14 is the smallest normal half; 0x7c00 infinite, 0xfe00 no number.
  EXPECT_EQ(CountOf<std::uint16_t>(DType::kFloat16, {0x0400, 0x83ff, 0x7c00, 0xfe00}, {4}, {1}),
            (ValueCounts{4, 1, 1, 1}));
  EXPECT_EQ(CountOf<std::uint16_t>(DType::kBFloat16, {0x0080, 0x807f, 0xff80, 0x7fc0}, {4}, {1}),
            (ValueCounts{4, 1, 1, 1}));
  EXPECT_EQ(CountOf<std::int32_t>(DType::kInt32, {1, 2}, {2}, {1}), ValueCounts{});
}

TEST(ValueCounts, OnlyWhatTheTensorAddressesAndEachOnce) {
  std::vector<float> storage(24, std::nanf(""));
  for (const std::size_t i : {0, 2, 12, 14}) {  // rows 0 and 1, every second column of two
    storage[i] = 1e-40F;
  }
  EXPECT_EQ(CountOf(DType::kFloat32, storage, {2, 2}, {12, 2}), (ValueCounts{4, 4, 0, 0}));
  EXPECT_EQ(CountOf(DType::kFloat32, storage, {2, 2}, {2, 12}), (ValueCounts{4, 4, 0, 0}));
  EXPECT_EQ(CountOf(DType::kFloat32, storage, {7, 2}, {0, 12}), (ValueCounts{2, 2, 0, 0}));
  EXPECT_EQ(CountOf(DType::kFloat32, storage, {}, {}), (ValueCounts{1, 1, 0, 0}));
  EXPECT_EQ(CountOf(DType::kFloat32, storage, {0, 4}, {4, 1}), ValueCounts{});
  EXPECT_EQ(CountOf(DType::kFloat32, storage, {2, 24}, {24, 1}), ValueCounts{}) << "beyond the end";
  EXPECT_EQ(CountOf(DType::kFloat32, storage, {2, 3, 4}, {12, 4, 1}), (ValueCounts{24, 4, 0, 20}));
}

TEST(ValueCounts, OneDenormalInTenThousandIsATrainings) {
  EXPECT_FALSE(HasOddValues({10'000, 1, 0, 0}));
  EXPECT_TRUE(HasOddValues({10'000, 2, 0, 0}));
  EXPECT_TRUE(HasOddValues({10'000, 0, 1, 0}));
  EXPECT_TRUE(HasOddValues({10'000, 0, 0, 1}));
  EXPECT_FALSE(HasOddValues({}));
}

// In a thread of its own: the setting is the thread's, and of those that it starts.
TEST(Denormals, AreFlushedInThreadsThatAreStartedLater) {
  volatile float least = std::numeric_limits<float>::min();
  volatile float half = 0.5F;
  float here = -1;
  float in_thread = -1;
  bool known = false;
  std::thread([&] {
    known = FlushDenormals();
    here = least * half;
    std::thread([&] { in_thread = least * half; }).join();
  }).join();
  if (!known) {
    REPRISE_SKIP("denormals", "unknown processor");
  }
  EXPECT_TRUE(FlushesDenormals());
  EXPECT_EQ(here, 0);
  EXPECT_EQ(in_thread, 0);
  EXPECT_GT(least * half, 0);
}

TEST(CopyDirection, OfBothProfilersNames) {
  EXPECT_EQ(CopyDirectionOf("Memcpy HtoD (Pinned -> Device)"), CopyDirection::kToDevice);
  EXPECT_EQ(CopyDirectionOf("CopyHostToDevice"), CopyDirection::kToDevice);
  EXPECT_EQ(CopyDirectionOf("Memcpy DtoH (Device -> Pageable)"), CopyDirection::kToHost);
  EXPECT_EQ(CopyDirectionOf("CopyDeviceToHost"), CopyDirection::kToHost);
  EXPECT_EQ(CopyDirectionOf("Memset (Device)"), CopyDirection::kFill);
  EXPECT_EQ(CopyDirectionOf("Memcpy DtoD (Device -> Device)"), CopyDirection::kWithin);
}

}  // namespace
}  // namespace reprise
