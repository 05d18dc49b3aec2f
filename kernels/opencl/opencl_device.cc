#include "kernels/opencl/opencl_device.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/log.h"
#include "kernels/opencl/clblast_baseline.h"
#include "kernels/opencl/device_clock.h"
#include "kernels/opencl/opencl_stream.h"
#include "kernels/opencl/platform.h"
#include "kernels/opencl/program_cache.h"
#include "kernels/ops/products/gemm_mma.h"
#include "kernels/program_lowering.h"

namespace reprise {
namespace {

using Launched = Result<std::unique_ptr<PreparedLaunch>>;

// Few local sizes, because PoCL compiles a kernel anew for each.
constexpr std::size_t kCpuLocal = 64;

// Tiles that were measured with another driver may be its compiler's taste.
KernelTuning TuningFor(const std::string& name, const std::string& driver,
                       const DeviceOptions& options) {
  KernelTuning tuning;
  tuning.allow_tf32 = options.settings.Has(kTf32Setting);
  for (const DeviceTuning& measured : options.tuning) {
    if (measured.device == name && measured.driver == driver) {
      tuning.gemm = measured.gemm;
      return tuning;
    }
  }
  if (!options.tuning.empty()) {
    const DeviceTuning& other = options.tuning.front();
    LogInfo("the tuning file is not used: it is of " + other.device + " (driver " + other.driver +
            "), this device is " + name + " (driver " + driver + "); see reprise tune");
  }
  return tuning;
}

Status CheckHolds(const Buffer* buffer, std::int64_t offset, std::int64_t bytes) {
  if (dynamic_cast<const OpenClBuffer*>(buffer) == nullptr) {
    return UsageError("a buffer of another backend, or none, was given to OpenCL");
  }
  return buffer->Holds(offset, bytes) ? Status()
                                      : UsageError("copy or fill beyond the end of a buffer");
}

// clSetKernelArg by the alternative that an argument holds.
struct ArgSetter {
  cl::Kernel& kernel;
  cl_uint index;

  cl_int operator()(Buffer* buffer) const {
    if (buffer == nullptr) {
      return clSetKernelArg(kernel(), index, sizeof(cl_mem), nullptr);
    }
    const auto* opencl = dynamic_cast<const OpenClBuffer*>(buffer);
    if (opencl == nullptr) {
      return CL_INVALID_MEM_OBJECT;
    }
    const cl_mem memory = opencl->memory()();
    return clSetKernelArg(kernel(), index, sizeof(cl_mem), &memory);
  }
  cl_int operator()(const StructBytes& bytes) const {
    return clSetKernelArg(kernel(), index, bytes.size(), bytes.data());
  }
  template <typename Number>
  cl_int operator()(const Number& number) const {
    return clSetKernelArg(kernel(), index, sizeof(number), &number);
  }
};

// OpenCL has no call for pinned memory: a buffer on the host side, mapped for as long as it lives,
// is what NVIDIA's and AMD's drivers pin (NVIDIA OpenCL Best Practices Guide, "Pinned Memory").
class PinnedMemory final : public HostMemory {
 public:
  PinnedMemory(cl::Buffer buffer, cl::CommandQueue queue, std::span<std::byte> bytes)
      : buffer_(std::move(buffer)), queue_(std::move(queue)), bytes_(bytes) {}
  ~PinnedMemory() override {
    (void)clEnqueueUnmapMemObject(queue_(), buffer_(), bytes_.data(), 0, nullptr, nullptr);
    (void)clFinish(queue_());
  }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  [[nodiscard]] std::span<std::byte> bytes() override { return bytes_; }

 private:
  cl::Buffer buffer_;
  cl::CommandQueue queue_;
  std::span<std::byte> bytes_;
};

class OpenClDevice : public Device {
 public:
  OpenClDevice(DeviceInfo info, cl::Context context, cl::Device device, cl::CommandQueue queue,
               std::unique_ptr<DeviceClock> clock, const std::string& cache_directory)
      : info_(std::move(info)),
        context_(std::move(context)),
        device_(std::move(device)),
        allocation_queue_(std::move(queue)),
        clock_(std::move(clock)),
        programs_(context_, device_, info_, cache_directory) {}

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] const CallLowering& lowering() const override { return lowering_; }
  [[nodiscard]] Baselines OpenBaselines(const BackendSettings& settings) const override;
  // Before anyone else sees the device.
  void LookForTensorCores();
  [[nodiscard]] Result<std::unique_ptr<Buffer>> Allocate(std::int64_t bytes) override;
  [[nodiscard]] Result<std::unique_ptr<HostMemory>> AllocateHost(std::int64_t bytes) override;
  [[nodiscard]] Result<std::unique_ptr<Stream>> CreateStream(bool profiling) override;
  [[nodiscard]] Launched Prepare(const Launch& launch) override;
  [[nodiscard]] Status Compile(std::span<const Launch> launches) override;
  [[nodiscard]] std::int64_t clock_uncertainty_ns() const override {
    return clock_->uncertainty_ns();
  }
  [[nodiscard]] ProgramStats program_stats() const override { return programs_.stats(); }

 private:
  Launched PrepareKernel(const DeviceKernel& kernel);
  Launched PrepareCopy(const DeviceCopy& copy);
  Launched PrepareFill(DeviceFill fill);

  DeviceInfo info_;
  cl::Context context_;
  cl::Device device_;
  cl::CommandQueue allocation_queue_;
  std::unique_ptr<DeviceClock> clock_;
  ProgramCache programs_;
  ProgramLowering lowering_;
};

Baselines OpenClDevice::OpenBaselines(const BackendSettings& /*settings*/) const {
  Baselines baselines;
  baselines.Add(OpenClBlast(info_));
  return baselines;
}

Result<std::unique_ptr<Buffer>> OpenClDevice::Allocate(std::int64_t bytes) {
  if (bytes < 0) {
    return UsageError("a buffer of negative size was asked for");
  }
  // OpenCL has no empty buffers.
  const std::size_t size = bytes > 0 ? static_cast<std::size_t>(bytes) : 1;
  return CatchCl(
      "allocating " + std::to_string(bytes) + " bytes", [&]() -> std::unique_ptr<Buffer> {
        cl::Buffer memory(context_, CL_MEM_READ_WRITE, size);
        cl::Event event;
        allocation_queue_.enqueueFillBuffer(memory, cl_uchar{0}, 0, size, nullptr, &event);
        event.wait();
        return std::make_unique<OpenClBuffer>(std::move(memory), bytes);
      });
}

Result<std::unique_ptr<HostMemory>> OpenClDevice::AllocateHost(std::int64_t bytes) {
  if (bytes <= 0) {
    return Device::AllocateHost(bytes);
  }
  const auto size = static_cast<std::size_t>(bytes);
  return CatchCl("allocating " + std::to_string(bytes) + " bytes of pinned memory",
                 [&]() -> std::unique_ptr<HostMemory> {
                   cl::Buffer buffer(context_, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size);
                   void* const mapped = allocation_queue_.enqueueMapBuffer(
                       buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, size);
                   const std::span<std::byte> at(static_cast<std::byte*>(mapped), size);
                   std::fill(at.begin(), at.end(), std::byte{0});
                   return std::make_unique<PinnedMemory>(std::move(buffer), allocation_queue_, at);
                 });
}

Result<std::unique_ptr<Stream>> OpenClDevice::CreateStream(bool profiling) {
  return CatchCl("creating a queue", [&]() -> std::unique_ptr<Stream> {
    cl::CommandQueue queue(context_, device_,
                           profiling ? cl_command_queue_properties{CL_QUEUE_PROFILING_ENABLE}
                                     : cl_command_queue_properties{0});
    return std::make_unique<OpenClStream>(std::move(queue), profiling, *clock_);
  });
}

void OpenClDevice::LookForTensorCores() { info_.tensor_cores = TensorCoresWork(*this); }

Launched OpenClDevice::Prepare(const Launch& launch) {
  if (const auto* kernel = std::get_if<DeviceKernel>(&launch)) {
    return PrepareKernel(*kernel);
  }
  if (const auto* copy = std::get_if<DeviceCopy>(&launch)) {
    return PrepareCopy(*copy);
  }
  if (const auto* fill = std::get_if<DeviceFill>(&launch)) {
    return PrepareFill(*fill);
  }
  return UsageError("a host task cannot run on an OpenCL device");
}

Status OpenClDevice::Compile(std::span<const Launch> launches) {
  std::set<std::pair<std::string, std::string>> wanted;
  for (const Launch& launch : launches) {
    if (const auto* kernel = std::get_if<DeviceKernel>(&launch)) {
      wanted.emplace(kernel->program, kernel->options);
    }
  }
  // First programs that no other process compiles, then those that others have finished.
  for (const auto& [program, options] : wanted) {
    REPRISE_TRY(programs_.TryGet(program, options));
  }
  for (const auto& [program, options] : wanted) {
    REPRISE_TRY(programs_.Get(program, options));
  }
  return {};
}

Launched OpenClDevice::PrepareKernel(const DeviceKernel& kernel) {
  const std::string what = kernel.program + ":" + kernel.entry;
  REPRISE_ASSIGN(const cl::Program program, programs_.Get(kernel.program, kernel.options));
  REPRISE_ASSIGN(cl::Kernel made, CatchCl("creating kernel " + what, [&] {
                   return cl::Kernel(program, kernel.entry.c_str());
                 }));
  for (cl_uint i = 0; i < kernel.args.size(); ++i) {
    REPRISE_TRY(ClStatus("setting argument " + std::to_string(i) + " of " + what,
                         std::visit(ArgSetter{made, i}, kernel.args[i])));
  }
  auto launch = std::make_unique<OpenClLaunch>();
  OpenClLaunch::KernelRange range{std::move(made), kernel.global, kernel.local,
                                  kernel.local[0] != 0};
  for (std::size_t& extent : range.local) {
    extent = extent == 0 ? 1 : extent;
  }
  if (!range.has_local && info_.is_cpu) {
    range.local[0] = range.global[0] % kCpuLocal == 0 ? kCpuLocal : 1;
    range.has_local = true;
  }
  for (std::size_t i = 0; i < range.global.size(); ++i) {
    launch->empty = launch->empty || range.global[i] == 0;
    if (range.has_local && range.global[i] % range.local[i] != 0) {
      return UsageError("the global size of " + what + " is no multiple of its local size");
    }
  }
  launch->command.emplace<OpenClLaunch::KernelRange>(std::move(range));
  return launch;
}

Launched OpenClDevice::PrepareCopy(const DeviceCopy& copy) {
  REPRISE_TRY(CheckHolds(copy.dst, copy.dst_offset_bytes, copy.bytes));
  REPRISE_TRY(CheckHolds(copy.src, copy.src_offset_bytes, copy.bytes));
  auto launch = std::make_unique<OpenClLaunch>();
  launch->empty = copy.bytes == 0;
  launch->command = copy;
  return launch;
}

Launched OpenClDevice::PrepareFill(DeviceFill fill) {
  REPRISE_TRY(CheckHolds(fill.dst, fill.offset_bytes, fill.bytes));
  std::vector<std::byte>& pattern = fill.pattern;
  if (!pattern.empty() && std::equal(pattern.begin() + 1, pattern.end(), pattern.begin())) {
    pattern.resize(1);  // needs no alignment
  }
  const std::int64_t size = std::ssize(pattern);
  if (size == 0 || fill.offset_bytes % size != 0 || fill.bytes % size != 0) {
    return UsageError("a fill that is not of whole, aligned patterns");
  }
  auto launch = std::make_unique<OpenClLaunch>();
  launch->empty = fill.bytes == 0;
  launch->command = std::move(fill);
  return launch;
}

}  // namespace

Result<std::unique_ptr<Device>> OpenOpenClDevice(const DeviceOptions& options) {
  REPRISE_ASSIGN(const std::vector<cl::Device> devices, EnumerateClDevices());
  if (devices.empty()) {
    return EnvironmentError("no OpenCL device: " + WhyNoOpenClDevices());
  }
  if (options.index < 0 || options.index >= static_cast<int>(devices.size())) {
    return UsageError("there is no OpenCL device " + std::to_string(options.index) +
                      ", only 0 to " + std::to_string(devices.size() - 1));
  }
  const cl::Device& device = devices[static_cast<std::size_t>(options.index)];
  REPRISE_ASSIGN(const cl::Context context,
                 CatchCl("creating a context", [&] { return cl::Context(device); }));
  REPRISE_ASSIGN(const cl::CommandQueue queue,
                 CatchCl("creating a queue", [&] { return cl::CommandQueue(context, device); }));
  REPRISE_ASSIGN(auto clock, DeviceClock::Create(context, device));
  DeviceInfo info = DescribeClDevice(device);
  info.tuning = TuningFor(info.name, info.driver, options);
  auto opened = std::make_unique<OpenClDevice>(std::move(info), context, device, queue,
                                               std::move(clock), options.cache_directory);
  opened->LookForTensorCores();
  return opened;
}

}  // namespace reprise
