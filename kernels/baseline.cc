#include "kernels/baseline.h"

namespace reprise {

void Baselines::Add(Result<std::unique_ptr<Baseline>> baseline) {
  if (baseline) {
    here.push_back(std::move(*baseline));
  } else {
    absent.push_back(baseline.error().message);
  }
}

}  // namespace reprise
