#include "kernels/kernel.h"

#include <algorithm>
#include <utility>

namespace reprise {
namespace {

// The host backend's buffers as the host memory that they are. A call names few storages, so a
// scan beats a map.
class BufferBindings : public HostBindings {
 public:
  explicit BufferBindings(std::vector<std::pair<std::int64_t, std::span<std::byte>>> spans)
      : spans_(std::move(spans)) {}
  [[nodiscard]] std::span<std::byte> Find(std::int64_t incarnation) const override {
    const auto it = std::find_if(spans_.begin(), spans_.end(),
                                 [&](const auto& entry) { return entry.first == incarnation; });
    return it == spans_.end() ? std::span<std::byte>() : it->second;
  }

 private:
  std::vector<std::pair<std::int64_t, std::span<std::byte>>> spans_;
};

Result<BufferBindings> BindHost(const OpCall& call, const Bindings& memory) {
  std::vector<std::pair<std::int64_t, std::span<std::byte>>> spans;
  for (const ValueList* values : {&call.inputs, &call.outputs}) {
    for (const TensorDesc* tensor : TensorsIn(*values)) {
      Buffer* buffer = memory.Find(tensor->incarnation);
      if (buffer == nullptr || buffer->host_data() == nullptr) {
        return UsageError(call.name + ": storage incarnation " +
                          std::to_string(tensor->incarnation) + " has no host memory");
      }
      spans.emplace_back(
          tensor->incarnation,
          std::span(buffer->host_data(), static_cast<std::size_t>(buffer->size_bytes())));
    }
  }
  return BufferBindings(std::move(spans));
}

}  // namespace

Result<std::vector<Launch>> Kernel::Lower(const OpCall& call, const LowerContext& context) const {
  if (context.device.backend != "host") {
    return LowerToDevice(call, context);
  }
  REPRISE_ASSIGN(BufferBindings bindings, BindHost(call, context.memory));
  return std::vector<Launch>{
      HostTask{[this, call, bindings = std::move(bindings)] { return RunOnHost(call, bindings); }}};
}

}  // namespace reprise
