// --blas and --torch, of the commands that run kernels on the host backend.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace reprise {

void AddBlasOption(CLI::App& app, std::string& blas);
void AddTorchOption(CLI::App& app, std::string& torch);

}  // namespace reprise
