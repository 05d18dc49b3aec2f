#include "kernels/program_options.h"

#include <fmt/format.h>

#include "core/denormals.h"

namespace reprise {

std::string ProgramOptions(const DeviceInfo& info) {
  // -w: compilers otherwise print the number of their warnings to stderr.
  std::string options = "-cl-std=CL1.2 -cl-mad-enable -w";
  // As PyTorch's kernels divide. Otherwise NVIDIA's quotient of two equal numbers may lie below 1.
  options += info.rounds_division ? " -cl-fp32-correctly-rounded-divide-sqrt" : "";
  options += FlushesDenormals() ? " -cl-denorms-are-zero" : "";
  options += fmt::format(" -DDEVICE_IS_CPU={} -DHAVE_FP64={} -DHAVE_FP16={}", int{info.is_cpu},
                         int{info.fp64}, int{info.fp16});
  return options;
}

}  // namespace reprise
