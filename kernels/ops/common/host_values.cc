#include "kernels/ops/common/host_values.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

#include "kernels/views.h"

namespace reprise {
namespace {

// Dense tensors of the common types go by in one loop.
template <typename To, typename From>
void ReadRow(const std::byte* data, std::vector<To>& out) {
  const From* from = reinterpret_cast<const From*>(data);
  std::transform(from, from + out.size(), out.begin(),
                 [](From value) { return static_cast<To>(value); });
}
template <typename To, typename From>
void WriteRow(const std::vector<From>& values, std::byte* data) {
  To* to = reinterpret_cast<To*>(data);
  std::transform(values.begin(), values.end(), to,
                 [](From value) { return static_cast<To>(value); });
}

template <typename T, typename Load>
Result<std::vector<T>> ReadAll(const TensorDesc& desc, const HostBindings& memory, Load&& load) {
  std::vector<T> values;
  if (ElementCount(desc.shape) == 0) {
    return values;
  }
  REPRISE_ASSIGN(const HostTensor tensor, HostTensor::Bind(desc, memory));
  const auto count = static_cast<std::size_t>(tensor.count());
  const std::byte* first = tensor.data() + desc.offset * SizeOf(desc.dtype);
  if (IsContiguous(desc) && desc.dtype == DType::kFloat32 && std::is_floating_point_v<T>) {
    values.resize(count);
    ReadRow<T, float>(first, values);
    return values;
  }
  if (IsContiguous(desc) && desc.dtype == DType::kInt64 && std::is_same_v<T, std::int64_t>) {
    values.resize(count);
    ReadRow<T, std::int64_t>(first, values);
    return values;
  }
  values.reserve(count);
  ForEachElement<1>(desc.shape, {&desc},
                    [&](const auto& at) { values.push_back(load(tensor, at[0])); });
  return values;
}

template <typename T, typename Store>
Status WriteAll(const TensorDesc& desc, const HostBindings& memory, const std::vector<T>& values,
                Store&& store) {
  if (static_cast<std::int64_t>(values.size()) != ElementCount(desc.shape)) {
    return UsageError("a result of " + std::to_string(values.size()) +
                      " elements for a tensor of " + std::to_string(ElementCount(desc.shape)));
  }
  if (values.empty()) {
    return {};
  }
  REPRISE_ASSIGN(const HostTensor tensor, HostTensor::Bind(desc, memory));
  std::byte* first = tensor.data() + desc.offset * SizeOf(desc.dtype);
  if (IsContiguous(desc) && desc.dtype == DType::kFloat32 && std::is_floating_point_v<T>) {
    WriteRow<float>(values, first);
    return {};
  }
  if (IsContiguous(desc) && desc.dtype == DType::kInt64 && std::is_same_v<T, std::int64_t>) {
    WriteRow<std::int64_t>(values, first);
    return {};
  }
  auto value = values.begin();
  ForEachElement<1>(desc.shape, {&desc}, [&](const auto& at) { store(tensor, at[0], *value++); });
  return {};
}

std::byte* Address(const HostTensor& tensor, std::int64_t at) {
  return tensor.data() + at * SizeOf(tensor.dtype());
}

}  // namespace

Result<Doubles> ReadDoubles(const TensorDesc& tensor, const HostBindings& memory) {
  return ReadAll<double>(tensor, memory,
                         [](const HostTensor& t, std::int64_t at) { return t.Get(at); });
}
Result<Integers> ReadIntegers(const TensorDesc& tensor, const HostBindings& memory) {
  return ReadAll<std::int64_t>(tensor, memory,
                               [](const HostTensor& t, std::int64_t at) { return t.GetInt(at); });
}
Result<Bits> ReadBits(const TensorDesc& tensor, const HostBindings& memory) {
  if (IsContiguous(tensor) && SizeOf(tensor.dtype) == sizeof(std::uint32_t) && Count(tensor) > 0) {
    REPRISE_ASSIGN(const HostTensor bound, HostTensor::Bind(tensor, memory));
    Bits values(static_cast<std::size_t>(bound.count()));
    ReadRow<std::uint64_t, std::uint32_t>(Address(bound, tensor.offset), values);
    return values;
  }
  return ReadAll<std::uint64_t>(tensor, memory, [](const HostTensor& t, std::int64_t at) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, Address(t, at), static_cast<std::size_t>(SizeOf(t.dtype())));
    return bits;
  });
}

Status WriteDoubles(const TensorDesc& tensor, const HostBindings& memory, const Doubles& values) {
  return WriteAll(tensor, memory, values,
                  [](const HostTensor& t, std::int64_t at, double value) { t.Set(at, value); });
}
Status WriteIntegers(const TensorDesc& tensor, const HostBindings& memory, const Integers& values) {
  return WriteAll(
      tensor, memory, values,
      [](const HostTensor& t, std::int64_t at, std::int64_t value) { t.SetInt(at, value); });
}
Status WriteBits(const TensorDesc& tensor, const HostBindings& memory, const Bits& values) {
  if (IsContiguous(tensor) && SizeOf(tensor.dtype) == sizeof(std::uint32_t) && !values.empty() &&
      Count(tensor) == static_cast<std::int64_t>(values.size())) {
    REPRISE_ASSIGN(const HostTensor bound, HostTensor::Bind(tensor, memory));
    WriteRow<std::uint32_t>(values, Address(bound, tensor.offset));
    return {};
  }
  return WriteAll(tensor, memory, values,
                  [](const HostTensor& t, std::int64_t at, std::uint64_t bits) {
                    std::memcpy(Address(t, at), &bits, static_cast<std::size_t>(SizeOf(t.dtype())));
                  });
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
