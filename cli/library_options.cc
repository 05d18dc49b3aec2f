#include "cli/library_options.h"

namespace reprise {

void AddBlasOption(CLI::App& app, std::string& blas) {
  app.add_option("--blas", blas,
                 "with --device host: the library of float32 products, in place of oneDNN; the one "
                 "that the original used (PyTorch's libtorch_cpu.so, libmkl_rt.so.2, "
                 "libopenblas.so.0)");
}

void AddTorchOption(CLI::App& app, std::string& torch) {
  app.add_option(
      "--torch", torch,
      "with --device host: PyTorch's libtorch_cpu.so (2.10 or later), whose operators then "
      "take the place of ours wherever its C interface has them");
}

}  // namespace reprise
