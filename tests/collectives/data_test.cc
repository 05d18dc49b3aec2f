// The arithmetic below the collectives: 16-bit floats, reductions, patterns.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "collectives/half.h"
#include "collectives/host_reduction.h"
#include "collectives/pattern.h"

namespace reprise {
namespace {

TEST(Half, EveryFloat16SurvivesTheWayThroughFloat32) {
  for (std::uint32_t bits = 0; bits <= 0xffffU; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = FromFloat16(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(FromFloat16(ToFloat16(value))));
    } else {
      EXPECT_EQ(ToFloat16(value), half);
    }
  }
}

TEST(Half, EveryBFloat16SurvivesTheWayThroughFloat32) {
  for (std::uint32_t bits = 0; bits <= 0xffffU; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = FromBFloat16(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(FromBFloat16(ToBFloat16(value))));
    } else {
      EXPECT_EQ(ToBFloat16(value), half);
    }
  }
}

// Half way between two neighbours goes to the even one, a little more or less to the nearer.
TEST(Half, RoundsToNearestEven) {
  for (std::uint16_t low = 0; low < 0x7bffU; ++low) {
    const float a = FromFloat16(low);
    const float b = FromFloat16(static_cast<std::uint16_t>(low + 1));
    const float middle = a + (b - a) / 2;  // exact: float32 has digits to spare
    EXPECT_EQ(ToFloat16(middle), low % 2 == 0 ? low : low + 1);
    EXPECT_EQ(ToFloat16(std::nextafter(middle, 0.0F)), low);
    EXPECT_EQ(ToFloat16(std::nextafter(middle, 1e9F)), low + 1);
    EXPECT_EQ(ToFloat16(-middle), 0x8000U | (low % 2 == 0 ? low : low + 1U));
  }
  for (std::uint16_t low = 0x3f80U; low < 0x4180U; ++low) {
    const float a = FromBFloat16(low);
    const float b = FromBFloat16(static_cast<std::uint16_t>(low + 1));
    const float middle = a + (b - a) / 2;
    EXPECT_EQ(ToBFloat16(middle), low % 2 == 0 ? low : low + 1);
    EXPECT_EQ(ToBFloat16(std::nextafter(middle, 0.0F)), low);
    EXPECT_EQ(ToBFloat16(std::nextafter(middle, 1e9F)), low + 1);
  }
}

TEST(Half, OverflowAndUnderflow) {
  EXPECT_EQ(ToFloat16(65519.0F), 0x7bffU);
  EXPECT_EQ(ToFloat16(65520.0F), 0x7c00U);
  EXPECT_EQ(ToFloat16(0x1p-25F), 0U);  // half of the smallest: to even
  EXPECT_EQ(ToFloat16(std::nextafter(0x1p-25F, 1.0F)), 1U);
  EXPECT_EQ(ToBFloat16(std::numeric_limits<float>::max()), 0x7f80U);
}

template <typename T>
std::vector<T> Reduced(DType dtype, ReduceOp op, std::vector<T> a, std::vector<T> b) {
  ReduceInto(dtype, op, std::as_bytes(std::span(a)), std::as_writable_bytes(std::span(b)));
  return b;
}

TEST(Reduce, IntegersWrapAndBoolsStayBools) {
  using I8 = std::vector<std::int8_t>;
  EXPECT_EQ(Reduced(DType::kInt8, ReduceOp::kSum, I8{127, -5}, I8{1, 3}), (I8{-128, -2}));
  EXPECT_EQ(Reduced(DType::kInt8, ReduceOp::kMin, I8{-1, 5}, I8{1, 3}), (I8{-1, 3}));
  using U8 = std::vector<std::uint8_t>;
  EXPECT_EQ(Reduced(DType::kUInt8, ReduceOp::kMax, U8{200, 5}, U8{100, 3}), (U8{200, 5}));
  EXPECT_EQ(Reduced(DType::kBool, ReduceOp::kSum, U8{1, 0, 1}, U8{1, 0, 0}), (U8{1, 0, 1}));
  EXPECT_EQ(Reduced(DType::kBool, ReduceOp::kProd, U8{1, 0, 1}, U8{1, 0, 0}), (U8{1, 0, 0}));
  EXPECT_EQ(Reduced(DType::kBool, ReduceOp::kBxor, U8{1, 0, 1}, U8{1, 0, 0}), (U8{0, 0, 1}));
  using I16 = std::vector<std::int16_t>;
  EXPECT_EQ(Reduced(DType::kInt16, ReduceOp::kBand, I16{0x0ff0}, I16{0x1234}), (I16{0x0230}));
}

TEST(Reduce, HalfSumsRoundOnce) {
  // 256 + 1 lies between two bfloat16 neighbours (256, 258): to even, 256. 256 + 3 → 260.
  const std::vector<std::uint16_t> a = {ToBFloat16(256), ToBFloat16(256)};
  const std::vector<std::uint16_t> b = {ToBFloat16(1), ToBFloat16(3)};
  EXPECT_EQ(Reduced(DType::kBFloat16, ReduceOp::kSum, a, b),
            (std::vector<std::uint16_t>{ToBFloat16(256), ToBFloat16(260)}));
}

TEST(Reduce, AveragesTowardsZeroAndBeyond127Ranks) {
  std::vector<std::int8_t> values = {-7, 7, 100};
  FinishAverage(DType::kInt8, 2, std::as_writable_bytes(std::span(values)));
  EXPECT_EQ(values, (std::vector<std::int8_t>{-3, 3, 50}));
  FinishAverage(DType::kInt8, 300, std::as_writable_bytes(std::span(values)));
  EXPECT_EQ(values, (std::vector<std::int8_t>{0, 0, 0}));
}

TEST(Reduce, KnowsWhatDoesNotExist) {
  EXPECT_FALSE(CanReduce(DType::kFloat32, ReduceOp::kBand));
  EXPECT_FALSE(CanReduce(DType::kBool, ReduceOp::kAvg));
  EXPECT_FALSE(CanReduce(DType::kComplex64, ReduceOp::kMax));
  EXPECT_FALSE(CanReduce(DType::kFloat8E4M3, ReduceOp::kSum));
  EXPECT_FALSE(CanReduce(DType::kUnknown, ReduceOp::kSum));
  EXPECT_TRUE(CanReduce(DType::kInt8, ReduceOp::kBxor));
}

// The closed form is what the arithmetic gives, in two orders, for group sizes beyond what fits.
TEST(Pattern, ReductionsAreExactInAnyOrder) {
  constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16,  DType::kBFloat16,
                               DType::kInt8,    DType::kUInt8,   DType::kInt16,    DType::kInt32,
                               DType::kInt64,   DType::kBool,    DType::kComplex64};
  for (const int size : {1, 2, 3, 7, 64, 300}) {
    for (const DType dtype : kDTypes) {
      for (int o = 0; o < 8; ++o) {
        const auto op = static_cast<ReduceOp>(o);
        if (!CanReduce(dtype, op)) {
          continue;
        }
        std::vector<int> order(static_cast<std::size_t>(size));
        std::iota(order.begin(), order.end(), 0);
        for (int direction = 0; direction < 2; ++direction) {
          const std::size_t bytes = static_cast<std::size_t>(SizeOf(dtype)) * 100;
          std::vector<std::byte> result(bytes);
          std::vector<std::byte> input(bytes);
          WritePattern(dtype, ReductionInput(dtype, op, order.front(), size), 0, result);
          for (int i = 1; i < size; ++i) {
            const int rank = order[static_cast<std::size_t>(i)];
            WritePattern(dtype, ReductionInput(dtype, op, rank, size), 0, input);
            ReduceInto(dtype, op, input, result);
          }
          if (op == ReduceOp::kAvg) {
            FinishAverage(dtype, size, result);
          }
          CheckResult check;
          CheckPattern(dtype, ReductionResult(dtype, op, size), 0, 0, result, check);
          EXPECT_EQ(check.wrong, 0)
              << Name(dtype) << " " << Name(op) << " " << size << ": " << check.first;
          std::reverse(order.begin(), order.end());
        }
      }
    }
  }
}

TEST(Pattern, CountsWrongElementsAndNamesTheFirst) {
  std::vector<float> data(200);
  const auto bytes = std::as_writable_bytes(std::span(data));
  WritePattern(DType::kFloat32, MovedValues(1, 2), 5, bytes);
  CheckResult check;
  CheckPattern(DType::kFloat32, MovedValues(1, 2), 5, 0, bytes, check);
  EXPECT_EQ(check.wrong, 0);
  const float expected = data[70];
  data[70] = 500;
  data[199] = 500;
  CheckPattern(DType::kFloat32, MovedValues(1, 2), 5, 1000, bytes, check);
  EXPECT_EQ(check.wrong, 2);
  EXPECT_EQ(check.first, "element 1070 is 500, expected " + std::to_string(int(expected)));
}

// What a broken transport would leave is told apart: a missing contribution, swapped blocks.
TEST(Pattern, TellsFaultsApart) {
  for (int o = 0; o < 8; ++o) {
    const auto op = static_cast<ReduceOp>(o);
    for (const DType dtype : {DType::kInt8, DType::kInt32}) {
      std::vector<std::byte> result(static_cast<std::size_t>(SizeOf(dtype)) * 61);
      WritePattern(dtype, ReductionInput(dtype, op, 0, 4), 0, result);
      std::vector<std::byte> input(result.size());
      for (const int rank : {1, 2}) {  // rank 3 is missing
        WritePattern(dtype, ReductionInput(dtype, op, rank, 4), 0, input);
        ReduceInto(dtype, op, input, result);
      }
      if (op == ReduceOp::kAvg) {
        FinishAverage(dtype, 4, result);
      }
      CheckResult check;
      CheckPattern(dtype, ReductionResult(dtype, op, 4), 0, 0, result, check);
      EXPECT_GT(check.wrong, 0) << Name(op);
    }
  }
  for (int source = 0; source < 16; ++source) {
    for (int other = 0; other < source; ++other) {
      EXPECT_NE(MovedValues(source, 3), MovedValues(other, 3));
      EXPECT_NE(MovedValues(3, source), MovedValues(3, other));
    }
  }
}

TEST(Data, EveryKindIsListedOnce) {
  for (std::size_t k = 0; k < kCommKinds.size(); ++k) {
    EXPECT_EQ(kCommKinds.at(k), static_cast<CommKind>(k));
  }
  EXPECT_EQ(kCommKinds.back(), CommKind::kRecv);
}

}  // namespace
}  // namespace reprise
