// Matrix products and attention: this project's OpenCL and host kernels, and CLBlast beside them.
// Wall time is the measure; CPU time is of the whole process, to compare on a busy machine.
#include <benchmark/benchmark.h>
#ifdef REPRISE_BENCH_CLBLAST
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <clblast.h>
#endif

#include <map>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

using samples::Bool, samples::Double, samples::None, samples::SampleTensors;

// x (m, k) times the transpose of w (n, k), as a linear layer records it; or plain matrices.
OpCall MatrixProduct(std::int64_t m, std::int64_t n, std::int64_t k, bool transposed) {
  SampleTensors s;
  const Value x{s.Tensor(DType::kFloat32, {m, k})};
  const Value w{transposed ? s.Strided(DType::kFloat32, {k, n}, {1, k})
                           : s.Tensor(DType::kFloat32, {k, n})};
  return {"aten::mm", {x, w}, {Value{s.Tensor(DType::kFloat32, {m, n})}}};
}

OpCall Attention(std::int64_t batch, std::int64_t heads, std::int64_t tokens, std::int64_t width) {
  SampleTensors s;
  const auto t = [&] { return Value{s.Tensor(DType::kFloat32, {batch, heads, tokens, width})}; };
  const Value q = t(), k = t(), v = t(), out = t();
  return {"aten::_scaled_dot_product_flash_attention_for_cpu",
          {q, k, v, Double(0), Bool(true), None(), None()},
          {out, Value{s.Tensor(DType::kFloat32, {batch, heads, tokens})}}};
}

class Memory : public Bindings {
 public:
  Memory(Device& device, const OpCall& call) {
    for (const ValueList* values : {&call.inputs, &call.outputs}) {
      for (const TensorDesc* t : TensorsIn(*values)) {
        buffers_[t->incarnation] = *device.Allocate(ExtentElements(*t) * SizeOf(t->dtype));
      }
    }
  }
  [[nodiscard]] Buffer* Find(std::int64_t incarnation) const override {
    const auto it = buffers_.find(incarnation);
    return it == buffers_.end() ? nullptr : it->second.get();
  }

 private:
  std::map<std::int64_t, std::unique_ptr<Buffer>> buffers_;
};

Device* OpenOnce(const std::string& backend) {
  static std::map<std::string, std::unique_ptr<Device>> devices;
  if (!devices.contains(backend)) {
    auto device = OpenDevice({.backend = backend, .index = 0, .cache_directory = ""});
    devices[backend] = device ? std::move(*device) : nullptr;
  }
  return devices[backend].get();
}

void Run(benchmark::State& state, const std::string& backend, const OpCall& call) {
  Device* device = OpenOnce(backend);
  const Kernel* kernel = KernelRegistry::Builtin().Find(call);
  if (device == nullptr || kernel == nullptr) {
    state.SkipWithError("no device or no kernel");
    return;
  }
  const Memory memory(*device, call);
  std::vector<std::unique_ptr<Buffer>> scratch;
  std::map<int, Buffer*> slots;
  const LowerContext context{memory, device->info(),
                             [&](int slot, std::int64_t bytes) -> Result<Buffer*> {
                               if (slots[slot] == nullptr || slots[slot]->size_bytes() < bytes) {
                                 scratch.push_back(*device->Allocate(bytes));
                                 slots[slot] = scratch.back().get();
                               }
                               return slots[slot];
                             }};
  const auto stream = *device->CreateStream(false);
  std::vector<std::unique_ptr<PreparedLaunch>> launches;
  const Result<std::vector<Launch>> lowered = kernel->Lower(call, context);
  if (!lowered) {
    state.SkipWithError(lowered.error().message.c_str());
    return;
  }
  for (const Launch& launch : *lowered) {
    launches.push_back(*device->Prepare(launch));
  }
  const auto run = [&] {
    for (const auto& launch : launches) {
      if (!stream->Enqueue(*launch)) {
        state.SkipWithError("enqueue failed");
      }
    }
    if (!stream->Finish()) {
      state.SkipWithError("the device failed");
    }
  };
  run();  // PoCL finishes compiling here
  for (auto _ : state) {
    run();
  }
  state.counters["GFLOP/s"] = benchmark::Counter(kernel->CostOf(call).flops * 1e-9,
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

#ifdef REPRISE_BENCH_CLBLAST
void RunClBlast(benchmark::State& state, std::size_t m, std::size_t n, std::size_t k) {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  cl_int error = clGetPlatformIDs(1, &platform, nullptr);
  error |= clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
  if (error != CL_SUCCESS) {
    state.SkipWithError("no OpenCL device");
    return;
  }
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
  std::vector<cl_mem> buffers;
  for (const std::size_t elements : {m * k, k * n, m * n}) {
    const std::vector<float> zeros(elements);
    buffers.push_back(clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                     elements * 4, const_cast<float*>(zeros.data()), &error));
  }
  const auto run = [&] {
    clblast::Gemm<float>(clblast::Layout::kRowMajor, clblast::Transpose::kNo,
                         clblast::Transpose::kYes, m, n, k, 1.0F, buffers[0], 0, k, buffers[1], 0,
                         k, 0.0F, buffers[2], 0, n, &queue);
    clFinish(queue);
  };
  run();  // compiles
  for (auto _ : state) {
    run();
  }
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * static_cast<double>(m * n * k),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}
#endif

void Register() {
  const auto add = [](const std::string& name, auto&& run) {
    benchmark::RegisterBenchmark(name.c_str(), run)
        ->UseRealTime()
        ->MeasureProcessCPUTime()
        ->Unit(benchmark::kMicrosecond);
  };
  const std::vector<std::pair<std::string, OpCall>> calls = {
      {"mm 1024x1024x1024 x w'", MatrixProduct(1024, 1024, 1024, true)},
      {"mm 1024x1024x1024", MatrixProduct(1024, 1024, 1024, false)},
      {"mm 256x1024x256 x w'", MatrixProduct(256, 1024, 256, true)},
      {"mm 256x256x256", MatrixProduct(256, 256, 256, false)},
      {"mm 256x64x256 x w'", MatrixProduct(256, 64, 256, true)},
      {"attention 4x8x64x32", Attention(4, 8, 64, 32)},
      {"attention 1x8x1024x64", Attention(1, 8, 1024, 64)},
  };
  for (const auto& [name, call] : calls) {
    for (const std::string backend : {"opencl", "host"}) {
      add(name + " " + backend,
          [backend, call = call](benchmark::State& state) { Run(state, backend, call); });
    }
  }
#ifdef REPRISE_BENCH_CLBLAST
  for (const std::size_t size : {1024, 256}) {
    const std::string text = std::to_string(size);
    add("mm " + text + "x" + text + "x" + text + " x w' clblast",
        [size](benchmark::State& state) { RunClBlast(state, size, size, size); });
  }
#endif
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  reprise::Register();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
