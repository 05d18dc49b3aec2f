#include "kernels/ops/host_values.h"

#include <cstring>
#include <string>

namespace reprise {
namespace {

template <typename T, typename Load>
Result<std::vector<T>> ReadAll(const TensorDesc& desc, const HostBindings& memory, Load&& load) {
  std::vector<T> values;
  if (ElementCount(desc.shape) == 0) {
    return values;
  }
  REPRISE_ASSIGN(const HostTensor tensor, HostTensor::Bind(desc, memory));
  values.reserve(static_cast<std::size_t>(tensor.count()));
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
