// Any text as a workload of ASTRA-sim.
#include <cstdint>
#include <string>

#include "converters/astra_text/iterations.h"
#include "tests/fuzz/converted.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reprise;
  const TextFile file =
      TextFile::FromText("fuzz", std::string(reinterpret_cast<const char*>(data), size));
  const auto workload = astra_text::ReadWorkload(file);
  if (!workload) {
    return 0;
  }
  const auto groups = astra_text::Groups::Create("fuzz", *workload, 4);
  if (groups) {
    Diagnostics diagnostics;
    RequireSound(astra_text::BuildIterations(*workload, 2, *groups, diagnostics), diagnostics);
  }
  return 0;
}
