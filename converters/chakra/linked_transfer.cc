#include "converters/chakra/linked_transfer.h"

#include <algorithm>

namespace reprise::chakra {
namespace {

std::int64_t BytesOf(std::int64_t count, std::int64_t bytes) {
  constexpr std::int64_t kMax = std::int64_t{1} << 50;
  return std::min(count, kMax) * bytes;
}

std::int64_t Sum(const ValueList& values) {
  std::int64_t bytes = 0;
  for (const TensorDesc* tensor : TensorsIn(values)) {
    bytes += BytesOf(std::max<std::int64_t>(tensor->elements, 0), SizeOf(tensor->dtype));
  }
  return bytes;
}

}  // namespace

void FillLinkedTransfer(CommKind kind, const LinkedNode& from, Node& node) {
  CommSpec& spec = node.comm.emplace();
  spec.kind = kind;
  spec.group = from.group_name;
  spec.async = true;
  spec.dtype = ParseDType(from.dtype);
  const std::int64_t bytes = SizeOf(spec.dtype);
  spec.in_bytes = from.in_elements >= 0 ? BytesOf(from.in_elements, bytes) : Sum(node.inputs);
  spec.out_bytes = from.out_elements >= 0 ? BytesOf(from.out_elements, bytes) : spec.in_bytes;
  if (spec.dtype == DType::kUnknown) {
    const auto tensors = TensorsIn(node.inputs);
    spec.dtype = tensors.empty() ? DType::kUnknown : tensors.front()->dtype;
  }
  node.type = NodeType::kCommColl;
  node.kind = OpKind::kComm;
  node.op_class = OpClass::kComm;
  node.actor = {.kind = Actor::Kind::kGroup};
}

}  // namespace reprise::chakra
