#include "cli/library_options.h"

namespace reprise {

void AddBlasOption(CLI::App& app, std::string& blas) {
  app.add_option(
      "--blas", blas,
      "with --device host: BLAS library for float32 products in place of oneDNN, e.g. that of "
      "the original: libtorch_cpu.so, libmkl_rt.so.2, libopenblas.so.0");
}

void AddTorchOption(CLI::App& app, std::string& torch) {
  app.add_option(
      "--torch", torch,
      "with --device host: PyTorch's libtorch_cpu.so (2.10 or later); its operators replace "
      "Reprise's kernels where its C interface has them");
}

}  // namespace reprise
