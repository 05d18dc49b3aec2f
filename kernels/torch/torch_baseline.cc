#include "kernels/torch/torch_baseline.h"

#include <utility>

#include "kernels/torch/torch_call.h"
#include "kernels/torch/torch_operators.h"

namespace reprise {
namespace {

using PrepareTask =
    std::function<std::unique_ptr<PreparedLaunch>(const TorchLibrary& library, HostTask)>;

class TorchBaseline : public Baseline {
 public:
  TorchBaseline(std::shared_ptr<const TorchLibrary> library, PrepareTask prepare)
      : library_(std::move(library)), prepare_(std::move(prepare)) {}
  [[nodiscard]] std::string name() const override { return "PyTorch"; }
  // "2.15 (…)", of "PyTorch 2.15 (…)"
  [[nodiscard]] std::string version() const override {
    return library_->Describe().substr(name().size() + 1);
  }
  [[nodiscard]] bool Supports(const OpCall& call) const override {
    return FindTorchOperator(*library_, call) != nullptr;
  }
  [[nodiscard]] Result<std::unique_ptr<PreparedLaunch>> Prepare(
      const OpCall& call, const Bindings& memory) const override {
    auto task = TorchTask(library_, call, memory, TorchResults::kDrop);
    if (!task) {
      return UsageError("an operand of PyTorch is not in the device's memory");
    }
    return prepare_(*library_, std::move(*task));
  }

 private:
  std::shared_ptr<const TorchLibrary> library_;
  PrepareTask prepare_;
};

}  // namespace

Result<std::unique_ptr<Baseline>> OpenTorchBaseline(const std::string& path, TorchDevice device,
                                                    PrepareTask prepare) {
  if (path.empty()) {
    return EnvironmentError("PyTorch: its libtorch_cpu.so was not named with --torch");
  }
  REPRISE_ASSIGN(auto library, TorchLibrary::Open(path, std::move(device)));
  return std::make_unique<TorchBaseline>(std::move(library), std::move(prepare));
}

}  // namespace reprise
