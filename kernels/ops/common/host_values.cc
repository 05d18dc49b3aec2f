#include "kernels/ops/common/host_values.h"

#include <string>

#include "kernels/ops/common/host_convert.h"
#include "kernels/views.h"

namespace reprise {
namespace {

template <typename T>
Result<std::vector<T>> ReadAll(const TensorDesc& desc, const HostBindings& memory) {
  std::vector<T> values(static_cast<std::size_t>(Count(desc)));
  if (!values.empty()) {
    REPRISE_ASSIGN(const HostTensor tensor, HostTensor::Bind(desc, memory));
    LoadAll(tensor.data(), desc, values.data());
  }
  return values;
}

template <typename T>
Status WriteAll(const TensorDesc& desc, const HostBindings& memory, const std::vector<T>& values) {
  if (static_cast<std::int64_t>(values.size()) != Count(desc)) {
    return UsageError("a result of " + std::to_string(values.size()) +
                      " elements for a tensor of " + std::to_string(Count(desc)));
  }
  if (!values.empty()) {
    REPRISE_ASSIGN(const HostTensor tensor, HostTensor::Bind(desc, memory));
    StoreAll(values.data(), tensor.data(), desc);
  }
  return {};
}

// The tensor as integers of the same size, which take any bits as they are.
TensorDesc AsIntegers(TensorDesc tensor) {
  const int bytes = SizeOf(tensor.dtype);
  tensor.dtype = bytes == 1   ? DType::kUInt8
                 : bytes == 2 ? DType::kInt16
                 : bytes == 4 ? DType::kInt32
                              : DType::kInt64;
  return tensor;
}

}  // namespace

Result<Doubles> ReadDoubles(const TensorDesc& tensor, const HostBindings& memory) {
  return ReadAll<double>(tensor, memory);
}
Result<Integers> ReadIntegers(const TensorDesc& tensor, const HostBindings& memory) {
  return ReadAll<std::int64_t>(tensor, memory);
}
Result<Bits> ReadBits(const TensorDesc& tensor, const HostBindings& memory) {
  return ReadAll<std::int64_t>(AsIntegers(tensor), memory);
}

Status WriteDoubles(const TensorDesc& tensor, const HostBindings& memory, const Doubles& values) {
  return WriteAll(tensor, memory, values);
}
Status WriteIntegers(const TensorDesc& tensor, const HostBindings& memory, const Integers& values) {
  return WriteAll(tensor, memory, values);
}
Status WriteBits(const TensorDesc& tensor, const HostBindings& memory, const Bits& values) {
  return WriteAll(AsIntegers(tensor), memory, values);
}

Result<Doubles> ReadDoublesOr(const TensorDesc* tensor, const HostBindings& memory,
                              std::int64_t count, double fallback) {
  return tensor == nullptr ? Result<Doubles>(Doubles(static_cast<std::size_t>(count), fallback))
                           : ReadDoubles(*tensor, memory);
}
Status WriteDoublesIf(const TensorDesc* tensor, const HostBindings& memory, const Doubles& values) {
  return tensor == nullptr ? Status() : WriteDoubles(*tensor, memory, values);
}

}  // namespace reprise
