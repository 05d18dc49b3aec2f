#include "kernels/opencl/clblast_baseline.h"

#include "kernels/opencl/opencl_stream.h"
#include "kernels/ops/products/blas_product.h"
#include "kernels/shared_library.h"

namespace reprise {
namespace {

// clblast_c.h's, without needing it. The batched form takes a stride after each leading dimension
// and the count before the queue.
template <typename T>
using Gemm = int(int, int, int, std::size_t, std::size_t, std::size_t, T, cl_mem, std::size_t,
                 std::size_t, cl_mem, std::size_t, std::size_t, T, cl_mem, std::size_t, std::size_t,
                 cl_command_queue*, cl_event*);
template <typename T>
using BatchedGemm = int(int, int, int, std::size_t, std::size_t, std::size_t, T, cl_mem,
                        std::size_t, std::size_t, std::size_t, cl_mem, std::size_t, std::size_t,
                        std::size_t, T, cl_mem, std::size_t, std::size_t, std::size_t, std::size_t,
                        cl_command_queue*, cl_event*);
constexpr cl_half kHalfOne = 0x3c00;

template <typename T>
struct Functions {
  Gemm<T>* gemm = nullptr;
  BatchedGemm<T>* batched = nullptr;
  [[nodiscard]] bool Complete() const { return gemm != nullptr && batched != nullptr; }
};

template <typename T>
Functions<T> FindFunctions(const SharedLibrary& library, const std::string& letter) {
  return {library.Find<Gemm<T>>(("CLBlast" + letter + "gemm").c_str()),
          library.Find<BatchedGemm<T>>(("CLBlast" + letter + "gemmStridedBatched").c_str())};
}

// The caller keeps its buffers alive, as it does for kernels.
Result<cl_mem> MemoryOf(const BlasProduct::Operand& operand, const Bindings& memory) {
  const auto* buffer = dynamic_cast<const OpenClBuffer*>(memory.Find(operand.tensor->incarnation));
  if (buffer == nullptr) {
    return UsageError("an operand of CLBlast is not in OpenCL memory");
  }
  return buffer->memory()();
}

std::size_t ToSize(std::int64_t n) { return static_cast<std::size_t>(n); }

template <typename T>
Result<std::unique_ptr<PreparedLaunch>> Bind(const Functions<T>& functions, T one,
                                             const BlasProduct& p, const Bindings& memory) {
  REPRISE_ASSIGN(const cl_mem a, MemoryOf(p.a, memory));
  REPRISE_ASSIGN(const cl_mem b, MemoryOf(p.b, memory));
  REPRISE_ASSIGN(const cl_mem d, MemoryOf(p.d, memory));
  const auto transpose = [](const BlasProduct::Operand& o) {
    return o.transposed ? kTranspose : kNoTranspose;
  };
  const int a_form = transpose(p.a);
  const int b_form = transpose(p.b);
  auto launch = std::make_unique<OpenClLaunch>();
  launch->command = OpenClLaunch::Foreign{[=](cl_command_queue queue, cl_event* event) -> Status {
    const int code =
        p.batch == 1 ? functions.gemm(kRowMajor, a_form, b_form, ToSize(p.m), ToSize(p.n),
                                      ToSize(p.k), one, a, ToSize(p.a.offset), ToSize(p.a.leading),
                                      b, ToSize(p.b.offset), ToSize(p.b.leading), T{0}, d,
                                      ToSize(p.d.offset), ToSize(p.d.leading), &queue, event)
                     : functions.batched(
                           kRowMajor, a_form, b_form, ToSize(p.m), ToSize(p.n), ToSize(p.k), one, a,
                           ToSize(p.a.offset), ToSize(p.a.leading), ToSize(p.a.batch_stride), b,
                           ToSize(p.b.offset), ToSize(p.b.leading), ToSize(p.b.batch_stride), T{0},
                           d, ToSize(p.d.offset), ToSize(p.d.leading), ToSize(p.d.batch_stride),
                           ToSize(p.batch), &queue, event);
    return code == 0 ? Status() : EnvironmentError("CLBlast failed: " + std::to_string(code));
  }};
  return launch;
}

class ClBlastBaseline : public Baseline {
 public:
  ClBlastBaseline(const SharedLibrary& library, const DeviceInfo& device)
      : fp16_(device.fp16),
        fp64_(device.fp64),
        single_(FindFunctions<float>(library, "S")),
        double_(FindFunctions<double>(library, "D")),
        half_(FindFunctions<cl_half>(library, "H")) {
    // It does not say its version; its file's name does: libclblast.so.1.5.3
    const std::string file = library.FileOf("CLBlastSgemm");
    const std::size_t at = file.find(".so.");
    version_ = at == std::string::npos ? "" : file.substr(at + 4);
  }
  [[nodiscard]] bool Complete() const {
    return single_.Complete() && double_.Complete() && half_.Complete();
  }
  [[nodiscard]] std::string name() const override { return "CLBlast"; }
  [[nodiscard]] std::string version() const override { return version_; }
  [[nodiscard]] bool Supports(const OpCall& call) const override {
    const auto p = AsBlasProduct(call);
    return p && (p->dtype == DType::kFloat32 || (p->dtype == DType::kFloat64 && fp64_) ||
                 (p->dtype == DType::kFloat16 && fp16_));
  }
  [[nodiscard]] Result<std::unique_ptr<PreparedLaunch>> Prepare(
      const OpCall& call, const Bindings& memory) const override {
    const BlasProduct p = *AsBlasProduct(call);
    switch (p.dtype) {
      case DType::kFloat64:
        return Bind(double_, 1.0, p, memory);
      case DType::kFloat16:
        return Bind(half_, kHalfOne, p, memory);
      default:
        return Bind(single_, 1.0F, p, memory);
    }
  }

 private:
  bool fp16_;
  bool fp64_;
  Functions<float> single_;
  Functions<double> double_;
  Functions<cl_half> half_;
  std::string version_;
};

}  // namespace

Result<std::unique_ptr<Baseline>> OpenClBlast(const DeviceInfo& device) {
  const auto library = SharedLibrary::Open({"libclblast.so.1"});
  if (!library) {
    return EnvironmentError("CLBlast: " + library.error().message);
  }
  auto baseline = std::make_unique<ClBlastBaseline>(*library, device);
  if (!baseline->Complete()) {
    return EnvironmentError("CLBlast: libclblast.so.1 lacks the C functions of its GEMM");
  }
  return baseline;
}

}  // namespace reprise
