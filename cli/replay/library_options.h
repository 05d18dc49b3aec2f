// Libraries that are found by themselves.
#pragma once

#include "core/result.h"
#include "kernels/settings.h"

namespace reprise {

// In the settings: the library that --torch auto names, libtorch_cpu.so of the Python that is
// active
// ($VIRTUAL_ENV, $CONDA_PREFIX, else python3 along PATH), which is asked where its PyTorch lies.
// Usage error where it has none. Starts a process: call it before MPI is initialised.
[[nodiscard]] Status FindTorch(BackendSettings& settings);
// The same where --torch was not given; nothing changes where there is none.
void LookForTorch(BackendSettings& settings);

}  // namespace reprise
