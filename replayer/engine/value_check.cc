#include "replayer/engine/value_check.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace reprise {
namespace {

// Inputs and results, each once: what an operation changes is both.
std::vector<const TensorDesc*> DistinctTensors(const OpCall& call) {
  std::vector<const TensorDesc*> tensors;
  for (const ValueList* values : {&call.inputs, &call.outputs}) {
    for (const TensorDesc* tensor : TensorsIn(*values)) {
      const bool known =
          std::any_of(tensors.begin(), tensors.end(), [tensor](const TensorDesc* other) {
            return other->incarnation == tensor->incarnation && other->offset == tensor->offset &&
                   other->shape == tensor->shape;
          });
      if (!known && IsFloating(tensor->dtype) && ElementCount(tensor->shape) > 0) {
        tensors.push_back(tensor);
      }
    }
  }
  return tensors;
}

}  // namespace

void ValueCheck::Begin() {
  by_operation_.clear();
  counting_.store(true);
}

std::map<std::string, ValueCounts> ValueCheck::End() {
  counting_.store(false);
  const std::lock_guard lock(mutex_);
  return std::exchange(by_operation_, {});
}

template <typename Read>
Status ValueCheck::Count(Graph::Index i, const Read& read) {
  REPRISE_ASSIGN(const OpCall call, graph_.Call(i));
  ValueCounts counts;
  for (const TensorDesc* tensor : DistinctTensors(call)) {
    Buffer* const buffer = memory_.Find(tensor->incarnation);
    const std::int64_t begin = tensor->offset * SizeOf(tensor->dtype);
    const std::int64_t bytes = ExtentElements(*tensor) * SizeOf(tensor->dtype);
    if (buffer != nullptr && buffer->Holds(begin, bytes)) {
      REPRISE_ASSIGN(const std::span<const std::byte> data, read(*buffer, begin, bytes));
      counts += CountValues(*tensor, data);
    }
  }
  const std::lock_guard lock(mutex_);
  by_operation_[call.name] += counts;
  return {};
}

void ValueCheck::CountHere(Graph::Index i) {
  if (counting()) {
    // A call that could not be decoded was refused before it was planned.
    (void)Count(i,
                [](Buffer& buffer, std::int64_t begin,
                   std::int64_t bytes) -> Result<std::span<const std::byte>> {
                  return std::span<const std::byte>(buffer.host_data() + begin,
                                                    static_cast<std::size_t>(bytes));
                });
  }
}

Status ValueCheck::CountOn(Stream& stream, Graph::Index i) {
  std::vector<std::byte> copy;
  return Count(i,
               [&](Buffer& buffer, std::int64_t begin,
                   std::int64_t bytes) -> Result<std::span<const std::byte>> {
                 copy.resize(static_cast<std::size_t>(bytes));
                 REPRISE_TRY(stream.Download(copy.data(), buffer, begin, bytes));
                 REPRISE_TRY(stream.Finish());
                 return std::span<const std::byte>(copy);
               });
}

}  // namespace reprise
