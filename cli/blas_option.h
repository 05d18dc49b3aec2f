// --blas, of every command that runs kernels on the host backend.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace reprise {

void AddBlasOption(CLI::App& app, std::string& blas);

}  // namespace reprise
