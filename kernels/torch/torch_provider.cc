#include "kernels/torch/torch_provider.h"

#include <fmt/format.h>

#include <utility>

#include "core/log.h"
#include "core/operators.h"
#include "kernels/torch/torch_call.h"
#include "kernels/torch/torch_operators.h"

namespace reprise {

Result<std::shared_ptr<const TorchProvider>> TorchProvider::Open(const std::string& path,
                                                                 TorchDevice device) {
  REPRISE_ASSIGN(auto library, TorchLibrary::Open(path, std::move(device)));
  return std::shared_ptr<const TorchProvider>(new TorchProvider(std::move(library)));
}

bool TorchProvider::Takes(const OpCall& call) const {
  return FindTorchOperator(*library_, call) != nullptr;
}

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

namespace {

tl::unexpected<Error> Refused(const OpCall& call) {
  return EnvironmentError(fmt::format(
      "{}: PyTorch refuses this call, as the warning above says, and no kernel of Reprise does it; "
      "--ops {}=surrogate moves the same bytes instead",
      call.name, Name(FindOperator(call.name)->op_class)));
}

}  // namespace

// Both are seen only where PyTorch has refused.
Status TorchProvider::StandIn::Reference(const OpCall& call, const HostBindings& /*memory*/) const {
  return Refused(call);
}

Result<std::vector<Launch>> TorchProvider::StandIn::LowerToDevice(
    const OpCall& call, const LowerContext& /*context*/) const {
  return Refused(call);
}

void TorchProvider::Warnings::Once(const std::string& about, const std::string& message) {
  const std::lock_guard lock(mutex_);
  if (warned_.insert(about).second) {
    LogWarning(message);
  }
}

}  // namespace reprise
