#include "kernels/host/torch_provider.h"

#include <utility>

#include "core/log.h"
#include "kernels/host/torch_call.h"

namespace reprise {

Result<std::shared_ptr<const TorchProvider>> TorchProvider::Open(const std::string& path) {
  REPRISE_ASSIGN(auto library, TorchLibrary::Open(path));
  return std::shared_ptr<const TorchProvider>(new TorchProvider(std::move(library)));
}

bool TorchProvider::Takes(const OpCall& call) const { return TorchTakes(*library_, call); }

std::optional<HostTask> TorchProvider::TaskFor(const OpCall& call, const Bindings& memory) const {
  return TorchTask(library_, call, memory);
}

std::optional<HostTask> TorchProvider::TaskOrElse(const OpCall& call, const Bindings& memory,
                                                  std::function<Status()> own) const {
  auto task = TaskFor(call, memory);
  if (task) {
    task->run = [name = call.name, own = std::move(own), by_torch = std::move(task->run),
                 warnings = warnings_] {
      Status done = by_torch();
      if (done) {
        return done;
      }
      warnings->Once(name, done.error().message + "; our own kernel does it");
      return own();
    };
  }
  return task;
}

void TorchProvider::Warnings::Once(const std::string& about, const std::string& message) {
  const std::lock_guard lock(mutex_);
  if (warned_.insert(about).second) {
    LogWarning(message);
  }
}

}  // namespace reprise
