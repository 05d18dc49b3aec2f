#include "kernels/ops/common/host_values.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

#include "kernels/views.h"

namespace reprise {
namespace {

// Calls body(E*) for dense elements of a common type E, which one loop converts: float32 to double,
// int64, any four bytes to bits. Returns false for other tensors.
template <typename T, typename Body>
bool IfDense(const TensorDesc& desc, std::byte* first, Body&& body) {
  if (!IsContiguous(desc)) {
    return false;
  }
  if constexpr (std::is_same_v<T, double>) {
    return desc.dtype == DType::kFloat32 && body(reinterpret_cast<float*>(first));
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return desc.dtype == DType::kInt64 && body(reinterpret_cast<std::int64_t*>(first));
  } else {
    return SizeOf(desc.dtype) == 4 && body(reinterpret_cast<std::uint32_t*>(first));
  }
}

std::byte* Address(const HostTensor& tensor, std::int64_t at) {
  return tensor.data() + at * SizeOf(tensor.dtype());
}

template <typename T, typename Load>
Result<std::vector<T>> ReadAll(const TensorDesc& desc, const HostBindings& memory, Load&& load) {
  std::vector<T> values;
  if (Count(desc) == 0) {
    return values;
  }
  REPRISE_ASSIGN(const HostTensor tensor, HostTensor::Bind(desc, memory));
  values.resize(static_cast<std::size_t>(tensor.count()));
  const bool done = IfDense<T>(desc, Address(tensor, desc.offset), [&](const auto* from) {
    std::transform(from, from + values.size(), values.begin(),
                   [](auto value) { return static_cast<T>(value); });
    return true;
  });
  auto value = values.begin();
  if (!done) {
    ForEachElement<1>(desc.shape, {&desc}, [&](const auto& at) { *value++ = load(tensor, at[0]); });
  }
  return values;
}

template <typename T, typename Store>
Status WriteAll(const TensorDesc& desc, const HostBindings& memory, const std::vector<T>& values,
                Store&& store) {
  if (static_cast<std::int64_t>(values.size()) != Count(desc)) {
    return UsageError("a result of " + std::to_string(values.size()) +
                      " elements for a tensor of " + std::to_string(Count(desc)));
  }
  if (values.empty()) {
    return {};
  }
  REPRISE_ASSIGN(const HostTensor tensor, HostTensor::Bind(desc, memory));
  const bool done = IfDense<T>(desc, Address(tensor, desc.offset), [&](auto* to) {
    std::transform(values.begin(), values.end(), to, [&](T value) {
      return static_cast<std::remove_reference_t<decltype(*to)>>(value);
    });
    return true;
  });
  auto value = values.begin();
  if (!done) {
    ForEachElement<1>(desc.shape, {&desc}, [&](const auto& at) { store(tensor, at[0], *value++); });
  }
  return {};
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
