// Calls for conformance tests: pooling of every form, small and odd.
#include "kernels/ops/images/pool_call.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

using samples::Bool, samples::Int, samples::Ints, samples::None, samples::SampleTensors;

}  // namespace

std::vector<OpCall> PoolSamples() {
  std::vector<OpCall> calls;
  for (const DType t : {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kFloat16}) {
    SampleTensors s;
    const auto in = [&] { return Value{s.Tensor(t, {2, 3, 9, 12})}; };
    const auto out = [&](std::int64_t h, std::int64_t w) {
      return Value{s.Tensor(t, {2, 3, h, w})};
    };
    const auto index = [&] { return Value{s.Tensor(DType::kInt64, {2, 3, 5, 6})}; };
    const Value kernel = Ints({3, 3}), two = Ints({2, 2}), one = Ints({1, 1}), no = Bool(false);
    calls.push_back(
        {"aten::max_pool2d_with_indices", {in(), kernel, two, one, one, no}, {out(5, 6), index()}});
    calls.push_back({"aten::max_pool2d_with_indices_backward",
                     {out(5, 6), in(), kernel, two, one, one, no, index()},
                     {in()}});
    for (const bool count_padding : {true, false}) {
      const Value count = Bool(count_padding);
      calls.push_back(
          {"aten::avg_pool2d", {in(), kernel, two, one, no, count, None()}, {out(5, 6)}});
      calls.push_back({"aten::avg_pool2d_backward",
                       {out(5, 6), in(), kernel, two, one, no, count, None()},
                       {in()}});
    }
    calls.push_back({"aten::_adaptive_avg_pool2d", {in(), Ints({4, 5})}, {out(4, 5)}});
    calls.push_back({"aten::_adaptive_avg_pool2d_backward", {out(4, 5), in()}, {in()}});
    calls.push_back({"aten::adaptive_max_pool2d", {in(), Ints({5, 6})}, {out(5, 6), index()}});
    calls.push_back({"aten::adaptive_max_pool2d_backward", {out(5, 6), in(), index()}, {in()}});
  }
  SampleTensors s;
  const auto f = DType::kFloat32;
  const Value no = Bool(false), yes = Bool(true);
  // One pixel, no image, larger than the input, by channels.
  const auto adaptive = [&](const Value& from, const std::vector<std::int64_t>& to) {
    calls.push_back({"aten::adaptive_max_pool2d",
                     {from, Ints({to.end()[-2], to.end()[-1]})},
                     {Value{s.Tensor(f, to)}, Value{s.Tensor(DType::kInt64, to)}}});
    calls.push_back({"aten::adaptive_max_pool2d_backward",
                     {Value{s.Tensor(f, to)}, from, Value{s.Tensor(DType::kInt64, to)}},
                     {from}});
  };
  adaptive(Value{s.Tensor(f, {1, 1, 1, 1})}, {1, 1, 1, 1});
  adaptive(Value{s.Tensor(f, {0, 2, 4, 4})}, {0, 2, 1, 1});
  adaptive(Value{s.Tensor(f, {2, 3, 4})}, {2, 5, 3});
  adaptive(Value{s.Strided(f, {2, 3, 7, 5}, {105, 1, 15, 3})}, {2, 3, 3, 2});
  // Without images, by channels, dilated, windows over the far edge.
  const auto tensor = [&](const Dims& shape) { return Value{s.Tensor(f, shape)}; };
  const Value plane{s.Strided(f, {3, 10, 11}, {1, 33, 3})}, grad = tensor({3, 10, 11});
  const Value index{s.Tensor(DType::kInt64, {3, 6, 6})}, largest = tensor({3, 6, 6});
  const Value one = Ints({1}), two = Ints({2});
  calls.push_back(
      {"aten::max_pool2d_with_indices", {plane, two, Ints({}), one, two, yes}, {largest, index}});
  calls.push_back({"aten::max_pool2d_with_indices_backward",
                   {largest, plane, two, two, one, two, yes, index},
                   {grad}});
  const Value kernel = Ints({3, 2}), stride = Ints({2, 3}), padding = Ints({0, 0});
  const Value average = tensor({3, 5, 4});
  calls.push_back(
      {"aten::avg_pool2d", {plane, kernel, stride, padding, yes, yes, Int(7)}, {average}});
  calls.push_back({"aten::avg_pool2d_backward",
                   {average, plane, kernel, stride, padding, yes, yes, None()},
                   {grad}});
  return calls;
}

}  // namespace reprise
