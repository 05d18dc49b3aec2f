#include "core/dtype.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

TEST(DType, ParsesEverySpellingOfTheLayers) {
  EXPECT_EQ(ParseDType("Tensor(float)"), DType::kFloat32);  // host trace
  EXPECT_EQ(ParseDType("Float"), DType::kFloat32);          // record_param_comms
  EXPECT_EQ(ParseDType("long int"), DType::kInt64);         // Kineto
  EXPECT_EQ(ParseDType("Long"), DType::kInt64);
  EXPECT_EQ(ParseDType("c10::BFloat16"), DType::kBFloat16);
  EXPECT_EQ(ParseDType("Tensor(c10::Half)"), DType::kFloat16);
  EXPECT_EQ(ParseDType("unsigned char"), DType::kUInt8);
  EXPECT_EQ(ParseDType("bool"), DType::kBool);
  EXPECT_EQ(ParseDType("Tensor(nonsense)"), DType::kUnknown);
  EXPECT_EQ(ParseDType(""), DType::kUnknown);
}

TEST(DType, NamesParseBackAndHaveSizes) {
  for (int i = 1; i <= static_cast<int>(DType::kFloat8E5M2); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(ParseDType(Name(dtype)), dtype) << Name(dtype);
    EXPECT_GT(SizeOf(dtype), 0) << Name(dtype);
  }
  EXPECT_EQ(SizeOf(DType::kUnknown), 0);
}

TEST(DType, ScalarTypesAsOperatorArguments) {
  EXPECT_EQ(FromScalarType(6), DType::kFloat32);
  EXPECT_EQ(FromScalarType(4), DType::kInt64);
  EXPECT_EQ(FromScalarType(15), DType::kBFloat16);
  EXPECT_EQ(FromScalarType(11), DType::kBool);
  EXPECT_EQ(FromScalarType(99), DType::kUnknown);
}

}  // namespace
}  // namespace reprise
