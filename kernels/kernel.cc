#include "kernels/kernel.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "core/log.h"
#include "kernels/host/host_buffer.h"
#include "kernels/host/torch_call.h"

namespace reprise {
namespace {

// The host backend's buffers as the host memory that they are at the time: a library's results may
// have taken their place. A call names few storages, so a scan beats a map.
class BufferBindings : public HostBindings {
 public:
  explicit BufferBindings(std::vector<std::pair<std::int64_t, Buffer*>> buffers)
      : buffers_(std::move(buffers)) {}
  [[nodiscard]] std::span<std::byte> Find(std::int64_t incarnation) const override {
    const auto it = std::find_if(buffers_.begin(), buffers_.end(),
                                 [&](const auto& entry) { return entry.first == incarnation; });
    return it == buffers_.end() ? std::span<std::byte>()
                                : std::span(it->second->host_data(),
                                            static_cast<std::size_t>(it->second->size_bytes()));
  }
  // Where storages are told apart: once when the task is made, once when it has run.
  template <typename Each>
  void ForEachUsed(const Each& each) const {
    for (auto it = buffers_.begin(); it != buffers_.end(); ++it) {
      const bool first = std::find_if(buffers_.begin(), it, [&](const auto& entry) {
                           return entry.second == it->second;
                         }) == it;
      if (auto* buffer = first ? dynamic_cast<HostBuffer*>(it->second) : nullptr) {
        each(*buffer);
      }
    }
  }

 private:
  std::vector<std::pair<std::int64_t, Buffer*>> buffers_;
};

Result<BufferBindings> BindHost(const OpCall& call, const Bindings& memory) {
  std::vector<std::pair<std::int64_t, Buffer*>> buffers;
  for (const ValueList* values : {&call.inputs, &call.outputs}) {
    for (const TensorDesc* tensor : TensorsIn(*values)) {
      Buffer* buffer = memory.Find(tensor->incarnation);
      if (buffer == nullptr || buffer->host_data() == nullptr) {
        return UsageError(call.name + ": storage incarnation " +
                          std::to_string(tensor->incarnation) + " has no host memory");
      }
      buffers.emplace_back(tensor->incarnation, buffer);
    }
  }
  return BufferBindings(std::move(buffers));
}

void WarnOnce(const std::string& about, const std::string& message) {
  static std::mutex mutex;
  static std::set<std::string> warned;
  const std::lock_guard lock(mutex);
  if (warned.insert(about).second) {
    LogWarning(message);
  }
}

}  // namespace

Result<std::vector<Launch>> Kernel::Lower(const OpCall& call, const LowerContext& context) const {
  if (context.device.backend != "host") {
    return LowerToDevice(call, context);
  }
  REPRISE_ASSIGN(BufferBindings bindings, BindHost(call, context.memory));
  HostTask task{[this, call, bindings] { return RunOnHost(call, bindings); }};
  if (auto torch = ByTorch(call, context.memory)) {
    task.before = std::move(torch->before);
    task.run = [name = call.name, own = std::move(task.run), by_torch = std::move(torch->run)] {
      Status done = by_torch();
      if (done) {
        return done;
      }
      WarnOnce(name, done.error().message + "; our own kernel does it");
      return own();
    };
  }
  if (!TorchInUse().empty()) {
    bindings.ForEachUsed([](HostBuffer& buffer) { buffer.AddUser(); });
    task.after = [bindings = std::move(bindings)] {
      bindings.ForEachUsed([](HostBuffer& buffer) { buffer.UserIsDone(); });
    };
  }
  return std::vector<Launch>{std::move(task)};
}

}  // namespace reprise
