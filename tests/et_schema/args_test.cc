// The three forms of arguments: values, text, tape.
#include "et_schema/args.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/et_schema/random_node.h"

namespace reprise {
namespace {

// Values → text → tape → values.
ValueList ThroughText(const ValueList& values) {
  ArgText text;
  FormatArgs(values, {}, text);
  const RawIo inputs{text.inputs.values, text.inputs.shapes, text.inputs.types};
  const RawIo outputs{text.outputs.values, text.outputs.shapes, text.outputs.types};
  ArgTextParser parser;
  ArgTape tape;
  ArgProblems problems;
  EXPECT_TRUE(parser.Parse(inputs, outputs, text.incarnations, text.strides, tape, problems))
      << text.inputs.values;
  EXPECT_EQ(problems, ArgProblems{}) << text.inputs.values;
  ValueList in;
  ValueList out;
  EXPECT_TRUE(DecodeArgs(tape.form.bytes(), tape.ids.bytes(), in, out));
  EXPECT_TRUE(out.empty());
  return in;
}

TEST(Args, TextLooksLikeChakras) {
  TensorDesc tensor;
  tensor.tensor_id = 314;
  tensor.storage_id = 315;
  tensor.incarnation = 9;
  tensor.elements = 6;
  tensor.dtype = DType::kInt64;
  tensor.shape = {2, 3};
  tensor.strides = {1, 2};
  tensor.device = "cuda:1";
  ArgText text;
  FormatArgs({{tensor}, {ValueList{{tensor}, {true}}}, {-3.0}, {std::string("a'b\\")}, {}}, {},
             text);
  EXPECT_EQ(text.inputs.values,
            "[[314, 315, 0, 6, 8, 'cuda:1'], [[314, 315, 0, 6, 8, 'cuda:1'], True], -3.0, "
            "'a\\'b\\\\', '<None>']");
  EXPECT_EQ(text.inputs.shapes, "[[2, 3], [[2, 3], []], [], [], []]");
  EXPECT_EQ(text.inputs.types,
            "['Tensor(long int)', 'GenericList[Tensor(long int),Bool]', 'Double', 'String', "
            "'None']");
  EXPECT_EQ(text.incarnations, (std::vector<std::int64_t>{9, 9}));
  EXPECT_EQ(text.strides, (std::vector<std::int64_t>{0, 2, 1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(text.outputs.values, "[]");
}

TEST(Args, DoublesKeepEveryBit) {
  for (const double value : {0.0, -0.0, 0.1, 1.0, 1e300, -5e-324, 1e16, 123456789.0}) {
    const ValueList read = ThroughText({{value}});
    ASSERT_EQ(read.size(), 1U);
    const auto* number = std::get_if<double>(&read[0].data);
    ASSERT_NE(number, nullptr) << value;
    EXPECT_EQ(*number, value);
    EXPECT_EQ(std::signbit(*number), std::signbit(value));
  }
  const ValueList nan = ThroughText({{std::nan("")}});
  ASSERT_NE(std::get_if<double>(&nan.at(0).data), nullptr);
  EXPECT_TRUE(std::isnan(std::get<double>(nan[0].data)));
}

TEST(Args, ExtremeIntegersAreExact) {
  for (const std::int64_t value :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
        std::int64_t{-100}, std::int64_t{999'999'999'999'999'999}}) {
    EXPECT_EQ(ThroughText({{value}}), (ValueList{{value}}));
  }
}

TEST(Args, EveryDTypeComesBack) {
  for (int i = 0; i <= static_cast<int>(DType::kFloat8E5M2); ++i) {
    TensorDesc tensor;
    tensor.dtype = static_cast<DType>(i);
    tensor.elements = 1;
    EXPECT_EQ(ThroughText({{tensor}}), (ValueList{{tensor}})) << Name(tensor.dtype);
  }
}

// A tape that is cut must not be read past its end.
TEST(Args, DamagedTapeIsRefused) {
  RandomNodes random(2);
  for (int i = 0; i < 200; ++i) {
    const ValueList values = {random.RandomValue(2)};
    ArgTape tape;
    EncodeArgs(values, {}, tape);
    const std::string form(tape.form.bytes());
    const std::string ids(tape.ids.bytes());
    ValueList in;
    ValueList out;
    ASSERT_TRUE(DecodeArgs(form, ids, in, out));
    EXPECT_EQ(in, values);
    for (std::size_t size = 1; size < form.size(); ++size) {
      EXPECT_FALSE(DecodeArgs(std::string_view(form).substr(0, size), ids, in, out));
    }
    if (!ids.empty()) {
      EXPECT_FALSE(DecodeArgs(form, std::string_view(ids).substr(0, ids.size() - 1), in, out));
    }
  }
}

}  // namespace
}  // namespace reprise
