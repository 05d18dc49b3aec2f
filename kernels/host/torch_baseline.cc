#include "kernels/host/host_baselines.h"
#include "kernels/host/host_stream.h"
#include "kernels/torch/torch_call.h"
#include "kernels/torch/torch_operators.h"

namespace reprise {
namespace {

class TorchBaseline : public Baseline {
 public:
  explicit TorchBaseline(std::shared_ptr<const TorchLibrary> library)
      : library_(std::move(library)) {}
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
      return UsageError("an operand of PyTorch is not in host memory");
    }
    return std::make_unique<HostLaunch>(std::move(*task));
  }

 private:
  std::shared_ptr<const TorchLibrary> library_;
};

}  // namespace

Result<std::unique_ptr<Baseline>> OpenTorchBaseline(const std::string& path) {
  if (path.empty()) {
    return EnvironmentError("PyTorch: its libtorch_cpu.so was not named with --torch");
  }
  REPRISE_ASSIGN(auto library, TorchLibrary::Open(path));
  return std::make_unique<TorchBaseline>(std::move(library));
}

}  // namespace reprise
