// Any text as a linked PyTorch trace.
#include <cstdint>
#include <string>

#include "converters/chakra/linked.h"
#include "tests/fuzz/converted.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reprise;
  const TextFile file =
      TextFile::FromText("fuzz", std::string(reinterpret_cast<const char*>(data), size));
  chakra::RankTrace trace{.path = "fuzz"};
  if (chakra::ReadLinked(file, trace)) {
    RequireSound(trace);
  }
  return 0;
}
