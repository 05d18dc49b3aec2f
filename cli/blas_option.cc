#include "cli/blas_option.h"

namespace reprise {

void AddBlasOption(CLI::App& app, std::string& blas) {
  app.add_option("--blas", blas,
                 "with --device host: the library of float32 products, in place of oneDNN; the one "
                 "that the original used (PyTorch's libtorch_cpu.so, libmkl_rt.so.2, "
                 "libopenblas.so.0)");
}

}  // namespace reprise
