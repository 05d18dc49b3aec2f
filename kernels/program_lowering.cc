#include "kernels/program_lowering.h"

#include <string>

#include "kernels/device_lowering.h"

namespace reprise {
namespace {

constexpr std::int64_t kBytesPerCopyItem = 16;
constexpr int kDeviceChains = 8;  // CHAINS of ops/probe.cl

}  // namespace

Result<std::vector<Launch>> ProgramLowering::Lower(const Kernel& kernel, const OpCall& call,
                                                   const LowerContext& context) const {
  return kernel.LowerToDevice(call, context);
}

Launch ProgramLowering::Surrogate(const SurrogatePlan& plan, Buffer* scratch,
                                  const DeviceInfo& device) const {
  DeviceKernel kernel;
  kernel.program = "surrogate.cl";
  kernel.entry = "surrogate";
  kernel.args = {scratch, plan.words, plan.passes, plan.fma_per_word};
  SetItemsLaunch(kernel, plan.words, device);
  return kernel;
}

Launch ProgramLowering::CopyProbe(Buffer* to, Buffer* from, std::int64_t bytes,
                                  const DeviceInfo& device) const {
  DeviceKernel kernel{.program = "probe.cl", .entry = "probe_copy", .options = " -DT=float"};
  const std::int64_t words = bytes / kBytesPerCopyItem;
  kernel.args = {from, to, words};
  SetItemsLaunch(kernel, words, device);
  return kernel;
}

MultiplyAddProbe ProgramLowering::MultiplyAdd(DType dtype, std::int32_t rounds, Buffer* out,
                                              const DeviceInfo& device) const {
  const bool half = dtype == DType::kFloat16;
  const bool wide = dtype == DType::kFloat64;
  const int lanes = device.is_cpu ? (wide ? 8 : 16) : (half ? 2 : 1);
  DeviceKernel kernel{.program = "probe.cl", .entry = "probe_fma"};
  kernel.options = std::string(" -DT=") + (half ? "half" : (wide ? "double" : "float")) +
                   " -DLANES=" + std::to_string(lanes);
  kernel.args = {out, rounds, 0.999F, 0.001F};
  SetItemsLaunch(kernel, std::int64_t{1} << 40, device);
  const auto items = static_cast<double>(kernel.global[0]);
  return {kernel, 2.0 * kDeviceChains * lanes * items};
}

}  // namespace reprise
