// --blas and --torch, of the commands that run kernels on the host backend.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "core/result.h"

namespace reprise {

void AddBlasOption(CLI::App& app, std::string& blas);
void AddTorchOption(CLI::App& app, std::string& torch);

// The library that --torch names. "auto": libtorch_cpu.so of the Python that is active
// ($VIRTUAL_ENV, $CONDA_PREFIX, else python3 along PATH), which is asked where its PyTorch lies; a
// usage error where it has none. Starts a process: call it before MPI is initialised.
[[nodiscard]] Result<std::string> FindTorch(const std::string& torch);

}  // namespace reprise
