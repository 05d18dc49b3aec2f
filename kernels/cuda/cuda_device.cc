#include "kernels/cuda/cuda_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <numeric>
#include <utility>

#include "core/kernel_origin.h"
#include "core/log.h"
#include "kernels/cuda/cuda_lowering.h"
#include "kernels/cuda/cuda_programs.h"
#include "kernels/cuda/cuda_stream.h"
#include "kernels/cuda/nccl_transfers.h"
#include "kernels/ops/products/gemm_mma.h"
#include "kernels/torch/torch_baseline.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTorchForCuda = "libtorch_cuda.so";

// Numbers of CUdevice_attribute.
constexpr int kMaxThreadsPerBlock = 1;
constexpr int kMultiprocessors = 16;
constexpr int kCapabilityMajor = 75;
constexpr int kCapabilityMinor = 76;

// Of a launch that names no local size.
constexpr std::size_t kDefaultBlock = 256;

std::string Uuid(const CudaUuid& bytes) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < sizeof(CudaUuid); ++i) {
    text += i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
    text += fmt::format("{:02x}", static_cast<unsigned char>(bytes[i]));
  }
  return text;
}

// "13.0" of 13000
std::string CudaVersion(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

Result<DeviceInfo> Describe(const CudaDriver& cuda, int index) {
  constexpr std::string_view kWhat = "describing a CUDA device";
  int device = 0;
  REPRISE_TRY(cuda.Check(cuda.device(&device, index), kWhat));
  std::array<char, 256> name{};
  std::array<char, 32> bus{};
  CudaUuid uuid{};
  std::size_t memory = 0;
  int version = 0;
  REPRISE_TRY(cuda.Check(cuda.name(name.data(), name.size(), device), kWhat));
  REPRISE_TRY(cuda.Check(cuda.pci_bus_id(bus.data(), bus.size(), device), kWhat));
  REPRISE_TRY(cuda.Check(cuda.uuid(uuid, device), kWhat));
  REPRISE_TRY(cuda.Check(cuda.memory(&memory, device), kWhat));
  REPRISE_TRY(cuda.Check(cuda.version(&version), kWhat));
  std::array<int, 4> numbers{};
  constexpr std::array kAttributes = {kMaxThreadsPerBlock, kMultiprocessors, kCapabilityMajor,
                                      kCapabilityMinor};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    REPRISE_TRY(cuda.Check(cuda.attribute(&numbers.at(i), kAttributes.at(i), device), kWhat));
  }
  const auto [threads, multiprocessors, major, minor] = numbers;
  DeviceInfo info;
  info.backend = kCudaBackend;
  info.name = name.data();
  info.vendor = "NVIDIA";
  info.platform = "CUDA";
  info.driver = "CUDA " + CudaVersion(version);
  info.version = fmt::format("compute capability {}.{}", major, minor);
  info.pci_bus_id = bus.data();
  info.uuid = Uuid(uuid);
  info.compute_units = multiprocessors;
  info.memory_bytes = static_cast<std::int64_t>(memory);
  info.max_allocation_bytes = info.memory_bytes;
  info.max_work_group_size = static_cast<std::size_t>(threads);
  info.kernels = fmt::format("{}, by CUDA{}", kOwnKernelsPrefix, kRatherTorch);
  info.fp64 = true;
  info.rounds_division = true;
  info.compute_capability = 10 * major + minor;
  return info;
}

Result<int> CountOf(const CudaDriver& cuda) {
  int count = 0;
  REPRISE_TRY(cuda.Check(cuda.count(&count), "counting CUDA devices"));
  return count;
}

// Page-locked: copies then overlap with kernels.
class CudaHostMemory final : public HostMemory {
 public:
  CudaHostMemory(std::shared_ptr<CudaContext> context, std::span<std::byte> bytes)
      : context_(std::move(context)), bytes_(bytes) {}
  ~CudaHostMemory() override { (void)context_->Use().free_host(bytes_.data()); }
  CudaHostMemory(const CudaHostMemory&) = delete;
  CudaHostMemory& operator=(const CudaHostMemory&) = delete;
  [[nodiscard]] std::span<std::byte> bytes() override { return bytes_; }

 private:
  const std::shared_ptr<CudaContext> context_;
  const std::span<std::byte> bytes_;
};

// PyTorch's library for CUDA devices: `path`, or the one beside it.
Result<std::string> CudaLibraryOf(const std::string& path) {
  const fs::path named(path);
  const fs::path library =
      named.filename() == kTorchForCuda ? named : named.parent_path() / kTorchForCuda;
  std::error_code error;
  if (!fs::exists(library, error)) {
    return EnvironmentError(fmt::format(
        "--torch: there is no {}; PyTorch for CUDA has it beside libtorch_cpu.so, a PyTorch for "
        "CPUs has not",
        library.string()));
  }
  return library.string();
}

using CudaPrepared = Result<std::unique_ptr<PreparedLaunch>>;

class CudaDevice final : public Device {
 public:
  CudaDevice(DeviceInfo info, std::shared_ptr<CudaContext> context,
             std::unique_ptr<CudaClock> clock, std::shared_ptr<const TorchProvider> torch,
             const DeviceOptions& options)
      : info_(std::move(info)),
        index_(options.index),
        context_(std::move(context)),
        clock_(std::move(clock)),
        torch_(std::move(torch)),
        torch_file_(options.settings.Text(kTorchSetting)),
        results_(torch_ == nullptr ? nullptr : std::make_shared<ResultsInUse>(context_)),
        programs_(context_, info_, options),
        lowering_(*this, torch_) {
    if (torch_ != nullptr) {
      info_.driver += "; " + torch_->description();
      info_.kernels = kTorchKernels;
    }
  }
  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] const CallLowering& lowering() const override { return lowering_; }
  [[nodiscard]] const OperatorProvider* provider() const override { return torch_.get(); }
  [[nodiscard]] Baselines OpenBaselines(const BackendSettings& settings) const override;
  [[nodiscard]] Result<std::unique_ptr<Buffer>> Allocate(std::int64_t bytes) override {
    return CudaBuffer::Make(bytes, context_, results_);
  }
  [[nodiscard]] Result<std::unique_ptr<HostMemory>> AllocateHost(std::int64_t bytes) override;
  [[nodiscard]] Result<std::unique_ptr<Stream>> CreateStream(bool profiling) override {
    return CudaStream::Create(context_, *clock_, profiling);
  }
  [[nodiscard]] Result<std::shared_ptr<DeviceTransfers>> OpenTransfers() override;
  [[nodiscard]] CudaPrepared Prepare(const Launch& launch) override;
  [[nodiscard]] Status Compile(std::span<const Launch> launches) override;
  void BeginIteration(std::int64_t /*page_faults*/) override;
  [[nodiscard]] std::int64_t clock_uncertainty_ns() const override {
    return clock_->uncertainty_ns();
  }
  [[nodiscard]] ProgramStats program_stats() const override { return programs_.stats(); }
  // Before anyone else sees the device.
  void LookForTensorCores();

 private:
  CudaPrepared PrepareKernel(const DeviceKernel& kernel);
  static CudaPrepared PrepareCopy(const DeviceCopy& copy);
  static CudaPrepared PrepareFill(const DeviceFill& fill);
  static std::unique_ptr<PreparedLaunch> PrepareTask(HostTask task);

  DeviceInfo info_;
  const int index_;
  const std::shared_ptr<CudaContext> context_;
  const std::unique_ptr<CudaClock> clock_;
  const std::shared_ptr<const TorchProvider> torch_;
  const std::string torch_file_;
  const std::shared_ptr<ResultsInUse> results_;  // with torch_
  CudaPrograms programs_;
  const CudaLowering lowering_;
};

Result<std::unique_ptr<HostMemory>> CudaDevice::AllocateHost(std::int64_t bytes) {
  if (bytes <= 0) {
    return Device::AllocateHost(bytes);
  }
  void* first = nullptr;
  const auto size = static_cast<std::size_t>(bytes);
  REPRISE_TRY(context_->Check(context_->Use().allocate_host(&first, size, 0),
                              fmt::format("allocating {} bytes of pinned memory", bytes)));
  const std::span<std::byte> at(static_cast<std::byte*>(first), size);
  std::ranges::fill(at, std::byte{0});
  return std::make_unique<CudaHostMemory>(context_, at);
}

Result<std::shared_ptr<DeviceTransfers>> CudaDevice::OpenTransfers() {
  REPRISE_ASSIGN(auto nccl, Nccl::Open(torch_file_));
  return std::make_shared<NcclTransfers>(context_, std::move(nccl));
}

void CudaDevice::BeginIteration(std::int64_t /*page_faults*/) {
  if (const Status refreshed = clock_->Refresh(); !refreshed) {
    LogWarning(refreshed.error().message);  // the next command fails, too
  }
}

void CudaDevice::LookForTensorCores() {
  info_.tensor_cores = torch_ == nullptr && TensorCoresWork(*this);
}

CudaPrepared CudaDevice::Prepare(const Launch& launch) {
  if (const auto* kernel = std::get_if<DeviceKernel>(&launch)) {
    return PrepareKernel(*kernel);
  }
  if (const auto* copy = std::get_if<DeviceCopy>(&launch)) {
    return PrepareCopy(*copy);
  }
  if (const auto* fill = std::get_if<DeviceFill>(&launch)) {
    return PrepareFill(*fill);
  }
  return PrepareTask(std::get<HostTask>(launch));
}

Status CudaDevice::Compile(std::span<const Launch> launches) {
  for (const Launch& launch : launches) {
    if (const auto* kernel = std::get_if<DeviceKernel>(&launch)) {
      REPRISE_TRY(programs_.Load(*kernel));
    }
  }
  return {};
}

CudaPrepared CudaDevice::PrepareKernel(const DeviceKernel& kernel) {
  CudaKernel made;
  REPRISE_ASSIGN(made.function, programs_.Function(kernel));
  auto launch = std::make_unique<CudaLaunch>();
  for (std::size_t i = 0; i < kernel.global.size(); ++i) {
    // Where the launch leaves it to the device: as many as divide the global size.
    std::size_t local = kernel.local.at(i);
    if (local == 0) {
      local = i == 0 && kernel.local[0] == 0 ? std::gcd(kernel.global[0], kDefaultBlock) : 1;
    }
    const std::size_t global = kernel.global.at(i);
    if (local == 0 || global % local != 0 ||
        global / local > std::numeric_limits<unsigned int>::max()) {
      return UsageError(fmt::format("the global size of {}:{} is no multiple of its local size",
                                    kernel.program, kernel.entry));
    }
    launch->is_empty = launch->is_empty || global == 0;
    made.block.at(i) = static_cast<unsigned int>(local);
    made.grid.at(i) = static_cast<unsigned int>(global / local);
  }
  for (const DeviceKernel::Arg& arg : kernel.args) {
    made.Add(arg);
  }
  launch->command = std::move(made);
  return launch;
}

CudaPrepared CudaDevice::PrepareCopy(const DeviceCopy& copy) {
  if (!copy.dst->Holds(copy.dst_offset_bytes, copy.bytes) ||
      !copy.src->Holds(copy.src_offset_bytes, copy.bytes)) {
    return UsageError("copy beyond the end of a buffer");
  }
  auto launch = std::make_unique<CudaLaunch>();
  launch->is_empty = copy.bytes == 0;
  launch->command = copy;
  return launch;
}

CudaPrepared CudaDevice::PrepareFill(const DeviceFill& fill) {
  const auto size = static_cast<std::int64_t>(fill.pattern.size());
  if (!fill.dst->Holds(fill.offset_bytes, fill.bytes) || size == 0 ||
      fill.offset_bytes % size != 0 || fill.bytes % size != 0) {
    return UsageError("fill beyond the end of a buffer, or not of whole, aligned patterns");
  }
  auto launch = std::make_unique<CudaLaunch>();
  launch->is_empty = fill.bytes == 0;
  launch->command = fill;
  return launch;
}

std::unique_ptr<PreparedLaunch> CudaDevice::PrepareTask(HostTask task) {
  auto launch = std::make_unique<CudaLaunch>();
  launch->command = std::move(task);
  return launch;
}

Baselines CudaDevice::OpenBaselines(const BackendSettings& settings) const {
  const std::string path = settings.Text(kTorchSetting);
  const auto library = path.empty() ? Result<std::string>(path) : CudaLibraryOf(path);
  Baselines baselines;
  if (!library) {
    baselines.Add(tl::unexpected<Error>(library.error()));
    return baselines;
  }
  baselines.Add(OpenTorchBaseline(*library, {kCudaBackend, index_},
                                  [](const TorchLibrary& torch, HostTask task) {
                                    task.run = [&torch, run = std::move(task.run)] {
                                      return torch.OnStream(CudaStream::Current()->handle(), run);
                                    };
                                    return PrepareTask(std::move(task));
                                  }));
  return baselines;
}

Result<std::shared_ptr<const TorchProvider>> OpenTorch(const std::string& path, int index) {
  REPRISE_ASSIGN(const std::string library, CudaLibraryOf(path));
  REPRISE_ASSIGN(auto torch, TorchProvider::Open(library, {kCudaBackend, index}));
  // A first tensor: PyTorch opens the device only then.
  TensorDesc one;
  one.dtype = DType::kFloat32;
  one.shape = {1};
  one.strides = {1};
  REPRISE_TRY(torch->library()->New(one));
  return torch;
}

}  // namespace

std::vector<DeviceInfo> ListCudaDevices() {
  std::vector<DeviceInfo> devices;
  const auto cuda = CudaDriver::Get();
  const int count = cuda ? CountOf(**cuda).value_or(0) : 0;
  for (int index = 0; index < count; ++index) {
    auto info = Describe(**cuda, index);
    if (!info) {
      LogWarning(info.error().message);
      break;
    }
    devices.push_back(std::move(*info));
  }
  return devices;
}

std::string WhyNoCudaDevices() {
  const auto cuda = CudaDriver::Get();
  if (!cuda) {
    return cuda.error().message;
  }
  const auto count = CountOf(**cuda);
  return !count        ? count.error().message
         : *count == 0 ? "NVIDIA's driver shows no device (CUDA_VISIBLE_DEVICES, nvidia-smi)"
                       : "";
}

Status CheckTorchForCuda(const std::string& path, int index) {
  REPRISE_TRY(OpenTorch(path, index));
  return {};
}

Result<std::unique_ptr<Device>> OpenCudaDevice(const DeviceOptions& options) {
  REPRISE_ASSIGN(const CudaDriver* cuda, CudaDriver::Get());
  REPRISE_ASSIGN(const int count, CountOf(*cuda));
  if (count == 0) {
    return EnvironmentError("no CUDA device: " + WhyNoCudaDevices());
  }
  if (options.index < 0 || options.index >= count) {
    return UsageError(
        fmt::format("there is no CUDA device {}, only 0 to {}", options.index, count - 1));
  }
  REPRISE_ASSIGN(DeviceInfo info, Describe(*cuda, options.index));
  REPRISE_ASSIGN(auto context, CudaContext::Create(*cuda, options.index));
  REPRISE_ASSIGN(auto clock, CudaClock::Create(context));
  std::shared_ptr<const TorchProvider> torch;
  if (options.settings.Has(kTorchSetting)) {
    REPRISE_ASSIGN(torch, OpenTorch(options.settings.Text(kTorchSetting), options.index));
  }
  auto device = std::make_unique<CudaDevice>(std::move(info), std::move(context), std::move(clock),
                                             std::move(torch), options);
  device->LookForTensorCores();
  return device;
}

}  // namespace reprise
