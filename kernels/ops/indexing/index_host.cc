#include "kernels/ops/indexing/index_host.h"

#include <cstring>

#include "kernels/cpu/parallel_for.h"

namespace reprise {
namespace {

std::byte* First(const HostTensor& tensor) {
  return tensor.data() + tensor.desc().offset * SizeOf(tensor.dtype());
}

// body(T*) for an unsigned T of the dtype's size.
template <typename Body>
void AsBits(DType dtype, Body&& body) {
  switch (SizeOf(dtype)) {
    case 1:
      return body(static_cast<std::uint8_t*>(nullptr));
    case 2:
      return body(static_cast<std::uint16_t*>(nullptr));
    case 4:
      return body(static_cast<std::uint32_t*>(nullptr));
    default:
      return body(static_cast<std::uint64_t*>(nullptr));
  }
}

// body(element of the index, element of the table that it names), lines along the middle side by
// side; `bytes`: what an element takes.
template <typename Body>
void ForEachTarget(const Around& at, const Integers& indices, std::size_t bytes, Body&& body) {
  const std::int64_t line = at.count * at.inner;
  ParallelFor(at.outer, GrainSize(static_cast<double>(line) * static_cast<double>(bytes)),
              [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t outer = begin; outer < end; ++outer) {
                  const std::int64_t first = outer * line;
                  const std::int64_t table = outer * at.extent * at.inner;
                  for (std::int64_t k = 0, x = 0; k < line; ++k) {
                    const std::int64_t i =
                        InRange(indices[static_cast<std::size_t>(first + k)], at.extent);
                    body(first + k, table + i * at.inner + x);
                    x = x + 1 == at.inner ? 0 : x + 1;
                  }
                }
              });
}

}  // namespace

Status ReadRowsOnHost(const Indexed& indexed, const TensorDesc& table, const TensorDesc& out,
                      const HostBindings& memory) {
  REPRISE_ASSIGN(const Integers positions, indexed.Positions(memory));
  REPRISE_ASSIGN(const HostTensor from, HostTensor::Bind(table, memory));
  REPRISE_ASSIGN(const HostTensor to, HostTensor::Bind(out, memory));
  const std::int64_t bytes = indexed.width * SizeOf(table.dtype);
  const std::byte* source = First(from);
  std::byte* target = First(to);
  ParallelFor(indexed.batch * indexed.count, GrainSize(2.0 * static_cast<double>(bytes)),
              [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t row = begin; row < end; ++row) {
                  const auto j = static_cast<std::size_t>(row % indexed.count);
                  const std::int64_t at = row / indexed.count * indexed.table_rows + positions[j];
                  std::memcpy(target + row * bytes, source + at * bytes,
                              static_cast<std::size_t>(bytes));
                }
              });
  return {};
}

Status GatherOnHost(const Around& at, const TensorDesc& table, const TensorDesc& index,
                    const TensorDesc& out, const HostBindings& memory) {
  REPRISE_ASSIGN(const Integers indices, ReadIntegers(index, memory));
  REPRISE_ASSIGN(const HostTensor from, HostTensor::Bind(table, memory));
  REPRISE_ASSIGN(const HostTensor to, HostTensor::Bind(out, memory));
  AsBits(table.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const T* source = reinterpret_cast<const T*>(First(from));
    T* target = reinterpret_cast<T*>(First(to));
    ForEachTarget(at, indices, 8 + 2 * sizeof(T),
                  [&](std::int64_t k, std::int64_t place) { target[k] = source[place]; });
  });
  return {};
}

Status WriteRowsOnHost(const Indexed& indexed, IndexWrite mode, double alpha,
                       const TensorDesc& rows, const TensorDesc& table,
                       const HostBindings& memory) {
  REPRISE_ASSIGN(const Integers positions, indexed.Positions(memory));
  REPRISE_ASSIGN(const HostTensor from, HostTensor::Bind(rows, memory));
  REPRISE_ASSIGN(const HostTensor to, HostTensor::Bind(table, memory));
  const std::int64_t bytes = indexed.width * SizeOf(table.dtype);
  const std::byte* source = First(from);
  std::byte* target = First(to);
  const auto factor = static_cast<float>(alpha);
  const auto write = [&](std::int64_t row, std::int64_t at) {
    if (mode == IndexWrite::kSet) {
      std::memcpy(target + at * bytes, source + row * bytes, static_cast<std::size_t>(bytes));
      return;
    }
    const float* x = reinterpret_cast<const float*>(source + row * bytes);
    float* y = reinterpret_cast<float*>(target + at * bytes);
    for (std::int64_t i = 0; i < indexed.width; ++i) {
      y[i] += factor * x[i];
    }
  };
  // Each part has rows of the table to itself and looks for what is written to them.
  const double each =
      3.0 * static_cast<double>(bytes * indexed.count) / static_cast<double>(indexed.table_rows);
  ParallelFor(indexed.batch * indexed.table_rows, GrainSize(each),
              [&](std::int64_t begin, std::int64_t end) {
                const std::int64_t last = (end - 1) / indexed.table_rows;
                for (std::int64_t b = begin / indexed.table_rows; b <= last; ++b) {
                  for (std::int64_t j = 0; j < indexed.count; ++j) {
                    const std::int64_t at =
                        b * indexed.table_rows + positions[static_cast<std::size_t>(j)];
                    if (at >= begin && at < end) {
                      write(b * indexed.count + j, at);
                    }
                  }
                }
              });
  return {};
}

Status ScatterOnHost(const Around& at, IndexWrite mode, const TensorDesc& index,
                     const TensorDesc* source, double value, const TensorDesc& table,
                     const HostBindings& memory) {
  REPRISE_ASSIGN(const Integers indices, ReadIntegers(index, memory));
  REPRISE_ASSIGN(const HostTensor to, HostTensor::Bind(table, memory));
  const float* from = nullptr;
  if (source != nullptr) {
    REPRISE_ASSIGN(const HostTensor bound, HostTensor::Bind(*source, memory));
    from = bound.As<float>();
  }
  auto* target = to.As<float>();
  const auto same = static_cast<float>(value);
  const bool add = mode == IndexWrite::kAdd;
  ForEachTarget(at, indices, 20, [&](std::int64_t k, std::int64_t place) {
    const float term = from != nullptr ? from[k] : same;
    target[place] = add ? target[place] + term : term;
  });
  return {};
}

}  // namespace reprise
