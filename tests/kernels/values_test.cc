// What References compute, against numbers worked out independently: conformance tests compare
// backends with References, and this compares References with PyTorch's definitions.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/samples.h"
#include "kernels/tensor_access.h"
#include "tests/kernels/harness.h"

namespace reprise {
namespace {

using samples::Double;
using samples::Int;
using samples::Ints;
using samples::None;
using samples::Tensors;
using samples::Text;

// Sets the tensors of a call in order of their storages, runs the Reference, returns the output.
class Calculator {
 public:
  TensorDesc Reals(std::vector<std::int64_t> shape, const std::vector<double>& values,
                   DType dtype = DType::kFloat32) {
    TensorDesc tensor = tensors_.Tensor(dtype, std::move(shape));
    values_.push_back(values);
    return tensor;
  }
  TensorDesc Output(DType dtype, std::vector<std::int64_t> shape) {
    TensorDesc tensor = tensors_.Tensor(dtype, std::move(shape));
    values_.emplace_back();
    return tensor;
  }
  std::vector<double> Run(const OpCall& call, const TensorDesc& out) const {
    const Kernel* kernel = KernelRegistry::Builtin().Find(call);
    if (kernel == nullptr) {
      ADD_FAILURE() << "no kernel for " << Describe(call);
      return {};
    }
    CallMemory memory(call);
    for (auto& [incarnation, storage] : memory.storages) {
      const auto& values = values_.at(static_cast<std::size_t>(incarnation));
      for (std::size_t i = 0; i < values.size(); ++i) {
        StoreDouble(storage.bytes.data(), storage.dtype, static_cast<std::int64_t>(i), values[i]);
      }
    }
    const Status status = kernel->Reference(call, memory);
    EXPECT_TRUE(status) << status.error().message;
    std::vector<double> result;
    const auto bytes = memory.Find(out.incarnation);
    for (std::int64_t i = 0; i < ElementCount(out.shape); ++i) {
      result.push_back(LoadDouble(bytes.data(), out.dtype, out.offset + i));
    }
    return result;
  }

 private:
  samples::SampleTensors tensors_;
  std::vector<std::vector<double>> values_;
};

void ExpectNear(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], 1e-6) << "element " << i;
  }
}

// op(x, arguments…) → out
std::vector<double> Unary(const std::string& name, const std::vector<double>& x,
                          const ValueList& arguments = {}) {
  Calculator calculator;
  const auto size = static_cast<std::int64_t>(x.size());
  const TensorDesc in = calculator.Reals({size}, x);
  const TensorDesc out = calculator.Output(DType::kFloat32, {size});
  ValueList inputs = {Value{in}};
  inputs.insert(inputs.end(), arguments.begin(), arguments.end());
  return calculator.Run({name, inputs, {Value{out}}}, out);
}

// op(x, y, arguments…) → out
std::vector<double> Binary(const std::string& name, const std::vector<double>& x,
                           const std::vector<double>& y, const ValueList& arguments = {},
                           DType dtype = DType::kFloat32) {
  Calculator calculator;
  const auto size = static_cast<std::int64_t>(x.size());
  const TensorDesc a = calculator.Reals({size}, x, dtype);
  const TensorDesc b = calculator.Reals({static_cast<std::int64_t>(y.size())}, y, dtype);
  const TensorDesc out = calculator.Output(dtype, {size});
  ValueList inputs = {Value{a}, Value{b}};
  inputs.insert(inputs.end(), arguments.begin(), arguments.end());
  return calculator.Run({name, inputs, {Value{out}}}, out);
}

TEST(ElementwiseValues, Activations) {
  // Φ(1) = 0.8413447461; φ(1) = 0.2419707245
  ExpectNear(Unary("aten::gelu", {1, -1, 0}, {Text("none")}), {0.8413447461, -0.1586552539, 0});
  ExpectNear(Unary("aten::gelu", {1}, {Text("tanh")}), {0.8411919906});
  ExpectNear(Binary("aten::gelu_backward", {2}, {1}, {Text("none")}),
             {2 * (0.8413447461 + 0.2419707245)});
  ExpectNear(Unary("aten::sigmoid", {0, 2}), {0.5, 0.8807970780});
  ExpectNear(Unary("aten::silu", {2}), {1.7615941560});
  ExpectNear(Unary("aten::relu", {-3, 0, 2}), {0, 0, 2});
  ExpectNear(Unary("aten::softplus", {0, 30}, {Int(1), Int(20)}), {0.6931471806, 30});
  ExpectNear(Unary("aten::leaky_relu", {-2, 2}, {Double(0.1)}), {-0.2, 2});
  ExpectNear(Unary("aten::elu", {-1, 1}, {Int(2), Int(1), Int(1)}), {2 * (1 / M_E - 1), 1});
  ExpectNear(Binary("aten::threshold_backward", {5, 6, 7}, {-1, 0, 1}, {Int(0)}), {0, 0, 7});
  // Gradient first, then the forward's *result*.
  ExpectNear(Binary("aten::tanh_backward", {2}, {0.5}), {1.5});
  ExpectNear(Binary("aten::sigmoid_backward", {2}, {0.25}), {0.375});
}

TEST(ElementwiseValues, RoundingAndDivision) {
  ExpectNear(Unary("aten::round", {0.5, 1.5, 2.5, -0.5}), {0, 2, 2, 0});
  ExpectNear(Binary("aten::remainder", {7, -7, 7, -7}, {3, 3, -3, -3}), {1, 2, -2, -1});
  ExpectNear(Binary("aten::fmod", {7, -7, 7, -7}, {3, 3, -3, -3}), {1, -1, 1, -1});
  ExpectNear(Binary("aten::div", {7, -7}, {2, 2}, {Text("floor")}), {3, -4});
  ExpectNear(Binary("aten::div", {7, -7}, {2, 2}, {Text("trunc")}), {3, -3});
  ExpectNear(Binary("aten::floor_divide", {7, -7, -8}, {2, 2, 2}, {}, DType::kInt64), {3, -4, -4});
  ExpectNear(Binary("aten::remainder", {7, -7}, {-3, 3}, {}, DType::kInt64), {-2, 2});
  ExpectNear(Binary("aten::pow", {2, -2, -2}, {10, 3, -1}, {}, DType::kInt64), {1024, -8, 0});
}

TEST(ElementwiseValues, ScalarsTakeTheirPlaces) {
  ExpectNear(Binary("aten::add", {1, 2}, {10, 20}, {Int(3)}), {31, 62});
  ExpectNear(Binary("aten::rsub", {1, 2}, {10, 20}, {Int(3)}), {7, 14});
  ExpectNear(Binary("aten::lerp", {0, 10}, {10, 0}, {Double(0.25)}), {2.5, 7.5});
  ExpectNear(Unary("aten::clamp", {-5, 0, 5}, {Int(-1), None()}), {-1, 0, 5});
  ExpectNear(Unary("aten::clamp", {-5, 0, 5}, {None(), Int(1)}), {-5, 0, 1});
  Calculator calculator;
  const TensorDesc self = calculator.Reals({2}, {1, 2});
  const TensorDesc one = calculator.Reals({2}, {6, 8});
  const TensorDesc two = calculator.Reals({2}, {2, 4});
  const auto addc = [&](const char* name) {
    return calculator.Run({name, {Value{self}, Value{one}, Value{two}, Double(0.5)}, {Value{self}}},
                          self);
  };
  ExpectNear(addc("aten::addcmul_"), {7, 18});
  ExpectNear(addc("aten::addcdiv_"), {2.5, 3});
}

TEST(ElementwiseValues, BroadcastsFromTheRight) {
  Calculator calculator;
  const TensorDesc column = calculator.Reals({2, 1}, {1, 2});
  const TensorDesc row = calculator.Reals({3}, {10, 20, 30});
  const TensorDesc out = calculator.Output(DType::kFloat32, {2, 3});
  ExpectNear(calculator.Run({"aten::mul", {Value{column}, Value{row}}, {Value{out}}}, out),
             {10, 20, 30, 20, 40, 60});
}

TEST(CopyValues, CatSplitAndPad) {
  Calculator calculator;
  const TensorDesc a = calculator.Reals({2, 1}, {1, 2});
  const TensorDesc b = calculator.Reals({2, 2}, {3, 4, 5, 6});
  const TensorDesc cat = calculator.Output(DType::kFloat32, {2, 3});
  ExpectNear(calculator.Run({"aten::cat", {Tensors({a, b}), Int(1)}, {Value{cat}}}, cat),
             {1, 3, 4, 2, 5, 6});
  const TensorDesc stacked = calculator.Output(DType::kFloat32, {2, 2, 1});
  ExpectNear(calculator.Run({"aten::stack", {Tensors({a, a}), Int(1)}, {Value{stacked}}}, stacked),
             {1, 1, 2, 2});
  const TensorDesc repeated = calculator.Output(DType::kFloat32, {2, 2});
  ExpectNear(
      calculator.Run({"aten::repeat", {Value{a}, Ints({1, 2})}, {Value{repeated}}}, repeated),
      {1, 1, 2, 2});
  const TensorDesc padded = calculator.Output(DType::kFloat32, {2, 3});
  ExpectNear(
      calculator.Run(
          {"aten::constant_pad_nd", {Value{a}, Ints({1, 1}), Double(9)}, {Value{padded}}}, padded),
      {9, 1, 9, 9, 2, 9});
}

TEST(CopyValues, ChunkCatPadsTheLastPart) {
  Calculator calculator;
  const TensorDesc a = calculator.Reals({3, 2}, {1, 2, 3, 4, 5, 6});
  const TensorDesc b = calculator.Reals({2}, {7, 8});
  const TensorDesc out = calculator.Output(DType::kFloat32, {2, 5});
  ExpectNear(
      calculator.Run(
          {"aten::_chunk_cat", {Tensors({a, b}), Int(0), Int(2), Value{out}}, {Value{out}}}, out),
      {1, 2, 3, 4, 7, 5, 6, 0, 0, 8});
}

TEST(FillValues, SequencesByEveryOverload) {
  const auto arange = [](const ValueList& inputs, std::int64_t count) {
    Calculator calculator;
    const TensorDesc out = calculator.Output(DType::kInt64, {count});
    return calculator.Run({"aten::arange", inputs, {Value{out}}}, out);
  };
  const Value none = None();
  ExpectNear(arange({Int(3), Int(4), none, none, none}, 3), {0, 1, 2});  // (end, dtype=int64, …)
  ExpectNear(arange({Int(2), Int(5), Int(4), none, none, none}, 3), {2, 3, 4});
  ExpectNear(arange({Int(2), Int(8), Int(3), Int(4), none, none, none}, 2), {2, 5});
}

TEST(RandomValues, StayInRangeAndAreSpread) {
  Calculator calculator;
  const TensorDesc ids = calculator.Output(DType::kInt64, {4000});
  const auto values =
      calculator.Run({"aten::random_", {Value{ids}, Int(-5), Int(5), None()}, {Value{ids}}}, ids);
  std::vector<int> counts(10);
  for (const double value : values) {
    ASSERT_TRUE(value >= -5 && value < 5);
    ++counts[static_cast<std::size_t>(value + 5)];
  }
  for (const int count : counts) {
    EXPECT_NEAR(count, 400, 100);
  }
}

}  // namespace
}  // namespace reprise
