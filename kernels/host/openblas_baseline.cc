#include "kernels/host/host_baselines.h"
#include "kernels/host/host_stream.h"
#include "kernels/ops/products/blas_product.h"
#include "kernels/shared_library.h"

namespace reprise {
namespace {

// cblas.h's, without needing it.
using CblasSgemm = void(int, int, int, int, int, int, float, const float*, int, const float*, int,
                        float, float*, int);
using Dgemm = void(int, int, int, int, int, int, double, const double*, int, const double*, int,
                   double, double*, int);
using GetConfig = char*();

template <typename T>
Result<T*> First(const BlasProduct::Operand& operand, const Bindings& memory) {
  Buffer* buffer = memory.Find(operand.tensor->incarnation);
  if (buffer == nullptr || buffer->host_data() == nullptr) {
    return UsageError("an operand of OpenBLAS is not in host memory");
  }
  return reinterpret_cast<T*>(buffer->host_data()) + operand.offset;
}

template <typename T, typename Gemm>
Result<std::unique_ptr<PreparedLaunch>> BindToHost(Gemm* gemm, const BlasProduct& p,
                                                   const Bindings& memory) {
  REPRISE_ASSIGN(const T* a, First<T>(p.a, memory));
  REPRISE_ASSIGN(const T* b, First<T>(p.b, memory));
  REPRISE_ASSIGN(T * d, First<T>(p.d, memory));
  const auto transpose = [](const BlasProduct::Operand& o) {
    return o.transposed ? kTranspose : kNoTranspose;
  };
  // The tensors are the caller's; of the product only numbers are kept.
  return std::make_unique<HostLaunch>([=, a_form = transpose(p.a), b_form = transpose(p.b)] {
    const auto i = [](std::int64_t n) { return static_cast<int>(n); };
    for (std::int64_t z = 0; z < p.batch; ++z) {
      gemm(kRowMajor, a_form, b_form, i(p.m), i(p.n), i(p.k), T{1}, a + z * p.a.batch_stride,
           i(p.a.leading), b + z * p.b.batch_stride, i(p.b.leading), T{0}, d + z * p.d.batch_stride,
           i(p.d.leading));
    }
    return Status();
  });
}

class OpenBlasBaseline : public Baseline {
 public:
  OpenBlasBaseline(CblasSgemm* sgemm, Dgemm* dgemm, std::string name, std::string version)
      : sgemm_(sgemm), dgemm_(dgemm), name_(std::move(name)), version_(std::move(version)) {}
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] std::string version() const override { return version_; }
  [[nodiscard]] bool Supports(const OpCall& call) const override {
    const auto p = AsBlasProduct(call);
    return p && (p->dtype == DType::kFloat32 || p->dtype == DType::kFloat64);
  }
  [[nodiscard]] Result<std::unique_ptr<PreparedLaunch>> Prepare(
      const OpCall& call, const Bindings& memory) const override {
    const BlasProduct p = *AsBlasProduct(call);
    return p.dtype == DType::kFloat32 ? BindToHost<float>(sgemm_, p, memory)
                                      : BindToHost<double>(dgemm_, p, memory);
  }

 private:
  CblasSgemm* sgemm_;
  Dgemm* dgemm_;
  std::string name_;
  std::string version_;
};

}  // namespace

// "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY SkylakeX MAX_THREADS=64"
Result<std::unique_ptr<Baseline>> OpenOpenBlas(const Blas* used) {
  auto library = SharedLibrary::Open({"libopenblas.so.0", "libblas.so.3"});
  if (!library) {
    return EnvironmentError("OpenBLAS: " + library.error().message);
  }
  auto* sgemm = library->Find<CblasSgemm>("cblas_sgemm");
  auto* dgemm = library->Find<Dgemm>("cblas_dgemm");
  const std::string file = library->FileOf("cblas_sgemm");
  if (sgemm == nullptr || dgemm == nullptr) {
    return EnvironmentError("OpenBLAS: the library has no cblas_sgemm");
  }
  if (used != nullptr && !file.empty() &&
      used->description().find(file) != std::string::npos) {  // with its threads set by us
    return EnvironmentError("OpenBLAS: no baseline of itself, as --blas names it");
  }
  auto* get_config = library->Find<GetConfig>("openblas_get_config");
  if (get_config == nullptr) {
    return std::make_unique<OpenBlasBaseline>(sgemm, dgemm, "BLAS", file);
  }
  std::string config = get_config();
  const std::string prefix = "OpenBLAS ";
  if (config.starts_with(prefix)) {
    config.erase(0, prefix.size());
  }
  return std::make_unique<OpenBlasBaseline>(sgemm, dgemm, "OpenBLAS", config);
}

}  // namespace reprise
