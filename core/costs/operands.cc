#include "core/costs/operands.h"

#include <algorithm>

namespace reprise::cost_rules {
namespace {

bool SameView(const TensorDesc& a, const TensorDesc& b) {
  return a.incarnation == b.incarnation && a.offset == b.offset && a.dtype == b.dtype &&
         a.shape == b.shape;
}

}  // namespace

double Elements(const TensorDesc* tensor) {
  return tensor == nullptr
             ? 0
             : static_cast<double>(ElementCount(tensor->shape)) * ValuesPerElement(tensor->dtype);
}

double Bytes(const TensorDesc* tensor) {
  if (tensor == nullptr || ElementCount(tensor->shape) == 0) {
    return 0;
  }
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < tensor->shape.size(); ++d) {
    elements *= tensor->strides[d] == 0 ? 1 : tensor->shape[d];
  }
  return static_cast<double>(std::min(elements, ExtentElements(*tensor))) * SizeOf(tensor->dtype);
}

double Bytes(const std::vector<const TensorDesc*>& tensors) {
  double bytes = 0;
  for (const TensorDesc* tensor : tensors) {
    bytes += Bytes(tensor);
  }
  return bytes;
}

double OperandBytes(const OpCall& call) {
  return Bytes(TensorsIn(call.inputs)) + ResultBytes(call);
}

double MovedBytes(const OpCall& call) {
  const auto results = TensorsIn(call.outputs);
  auto read = TensorsIn(call.inputs);
  std::erase_if(read, [&](const TensorDesc* tensor) {
    return std::any_of(results.begin(), results.end(),
                       [&](const TensorDesc* result) { return SameView(*tensor, *result); });
  });
  return Bytes(read) + Bytes(results);
}

double ResultBytes(const OpCall& call) { return Bytes(TensorsIn(call.outputs)); }

std::optional<Cost> PerElement(const TensorDesc* tensor, double flops, double bytes) {
  return tensor == nullptr ? std::nullopt : std::optional(Cost{flops * Elements(tensor), bytes});
}

bool IsTrue(const Value& value, bool absent) { return value.AsNumber<double>(absent ? 1 : 0) != 0; }

double BroadcastElements(const std::vector<const TensorDesc*>& tensors) {
  std::vector<std::int64_t> shape;  // from the last dimension on
  for (const TensorDesc* tensor : tensors) {
    const std::size_t rank = tensor == nullptr ? 0 : tensor->shape.size();
    shape.resize(std::max(shape.size(), rank), 1);
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t extent = tensor->shape[rank - 1 - i];
      shape[i] = shape[i] == 1 ? extent : extent == 1 ? shape[i] : std::max(shape[i], extent);
    }
  }
  return static_cast<double>(ElementCount(shape));
}

}  // namespace reprise::cost_rules
