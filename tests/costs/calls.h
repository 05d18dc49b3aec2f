// Calls for tests of costs: tensors with storages of their own.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/costs/cost.h"

namespace reprise {

using Shape = std::vector<std::int64_t>;

inline TensorDesc Tensor(Shape shape, Shape strides, DType dtype = DType::kFloat32) {
  static std::int64_t incarnations = 0;
  TensorDesc tensor;
  tensor.incarnation = incarnations++;
  tensor.elements = ElementCount(shape);
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  tensor.strides = std::move(strides);
  return tensor;
}
inline TensorDesc Dense(const Shape& shape, DType dtype = DType::kFloat32) {
  return Tensor(shape, ContiguousStrides(shape), dtype);
}
// The same as arguments.
inline Value D(const Shape& shape, DType dtype = DType::kFloat32) { return {Dense(shape, dtype)}; }
inline Value I(std::int64_t value) { return {value}; }
inline Value F(double value) { return {value}; }
inline Value B(bool value) { return {value}; }
inline Value S(const char* value) { return {std::string(value)}; }
inline Value N() { return {}; }
inline Value L(std::vector<Value> values) { return {ValueList(std::move(values))}; }
inline Value Ints(const Shape& values) {
  ValueList list;
  for (const std::int64_t value : values) {
    list.push_back({value});
  }
  return {std::move(list)};
}

// The call has a rule, and costs this.
inline void ExpectCost(const OpCall& call, double flops, double bytes) {
  SCOPED_TRACE(call.name);
  EXPECT_TRUE(HasCostRule(call));
  const Cost cost = CostOf(call);
  EXPECT_DOUBLE_EQ(cost.flops, flops);
  EXPECT_DOUBLE_EQ(cost.bytes, bytes);
}

}  // namespace reprise
