// Baselines: other libraries, measured beside the kernels. They are opened at run time, so that no
// build needs them; for one that is not installed the output has a line.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/kernel.h"

namespace reprise {

class Baseline {
 public:
  virtual ~Baseline() = default;
  [[nodiscard]] virtual std::string name() const = 0;  // "CLBlast"
  // "1.5.3", and what else the library reports of itself; empty if it reports nothing.
  [[nodiscard]] virtual std::string version() const = 0;
  [[nodiscard]] virtual bool Supports(const OpCall& call) const = 0;
  // The same call by the baseline, for streams of the device that the baseline was opened for. Does
  // not outlive the baseline or the buffers. `call` must be supported.
  [[nodiscard]] virtual Result<std::unique_ptr<PreparedLaunch>> Prepare(
      const OpCall& call, const Bindings& memory) const = 0;
};

struct Baselines {
  std::vector<std::unique_ptr<Baseline>> here;
  std::vector<std::string> absent;  // "CLBlast: libclblast.so.1: cannot open shared object file"

  // A baseline that was opened, or why it was not.
  void Add(Result<std::unique_ptr<Baseline>> baseline) {
    if (baseline) {
      here.push_back(std::move(*baseline));
    } else {
      absent.push_back(baseline.error().message);
    }
  }
};

}  // namespace reprise
