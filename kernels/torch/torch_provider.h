// PyTorch's operators in place of our kernels, on every device that PyTorch has: `--torch
// libtorch_cpu.so`.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backend.h"
#include "kernels/call_lowering.h"
#include "kernels/torch/torch_library.h"

namespace reprise {

inline constexpr const char* kTorchSetting = "torch";
inline constexpr BackendSetting kTorchOption = {
    .name = kTorchSetting,
    .help =
        {.replay = "PyTorch's libtorch_cpu.so (2.10 or later), on the host and on CUDA "
                   "devices; its operators replace Reprise's kernels where its C interface "
                   "has them; auto: that of the active Python",
         .bench =
             "with --device host or cuda: PyTorch's libtorch_cpu.so (2.10 or later), a baseline "
             "for most kernels"},
    .is_baseline = true,
    .is_error_elsewhere = true,
    .is_looked_for = true};
// DeviceInfo::kernels of a device with a provider, and what is added to that of one without.
inline constexpr const char* kTorchKernels =
    "PyTorch's operators, and Reprise's own where it has none";
inline constexpr const char* kRatherTorch =
    "; with --torch auto PyTorch's, for times that are the original's";

// Thread-safe.
class TorchProvider final : public OperatorProvider {
 public:
  // Environment error as TorchLibrary::Open.
  [[nodiscard]] static Result<std::shared_ptr<const TorchProvider>> Open(const std::string& path,
                                                                         TorchDevice device = {});
  [[nodiscard]] const std::shared_ptr<const TorchLibrary>& library() const { return library_; }
  // For people: its release, its file, its threads.
  [[nodiscard]] const std::string& description() const { return description_; }
  [[nodiscard]] bool Takes(const OpCall& call) const override;
  [[nodiscard]] const Kernel& stand_in() const override { return stand_in_; }
  // As TorchTask (torch_call.h).
  [[nodiscard]] std::optional<HostTask> TaskFor(const OpCall& call, const Bindings& memory) const;
  // The task of TaskFor; where PyTorch refuses, `own` runs in its place, with a warning once for
  // each operator. Nothing if it can't take the call.
  [[nodiscard]] std::optional<HostTask> TaskOrElse(const OpCall& call, const Bindings& memory,
                                                   std::function<Status()> own) const;

 private:
  // Shared with the tasks.
  class Warnings {
   public:
    void Once(const std::string& about, const std::string& message);

   private:
    std::mutex mutex_;
    std::set<std::string> warned_;
  };

  // Its operators as a kernel, for calls that no kernel of ours supports: none does it in their
  // place.
  class StandIn final : public Kernel {
   public:
    explicit StandIn(const TorchProvider& provider) : provider_(provider) {}
    [[nodiscard]] std::string_view name() const override { return "pytorch"; }
    [[nodiscard]] bool Supports(const OpCall& call) const override { return provider_.Takes(call); }
    [[nodiscard]] Status Reference(const OpCall& call, const HostBindings& memory) const override;
    [[nodiscard]] Result<std::vector<Launch>> LowerToDevice(
        const OpCall& call, const LowerContext& context) const override;
    [[nodiscard]] std::vector<OpCall> Samples() const override { return {}; }

   private:
    const TorchProvider& provider_;
  };

  explicit TorchProvider(std::shared_ptr<const TorchLibrary> library)
      : library_(std::move(library)), description_(library_->Describe()) {}

  std::shared_ptr<const TorchLibrary> library_;
  std::string description_;
  std::shared_ptr<Warnings> warnings_ = std::make_shared<Warnings>();
  const StandIn stand_in_{*this};
};

}  // namespace reprise
