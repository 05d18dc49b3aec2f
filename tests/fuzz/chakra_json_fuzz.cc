// Any text as Chakra's nodes in JSON.
#include <cstdint>
#include <string>

#include "converters/chakra/foreign_trace.h"
#include "converters/chakra/json_nodes.h"
#include "tests/fuzz/converted.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reprise;
  const TextFile file =
      TextFile::FromText("fuzz", std::string(reinterpret_cast<const char*>(data), size));
  chakra::RankTrace trace{.path = "fuzz"};
  auto json = chakra::ReadJsonTrace(file, trace.diagnostics);
  if (json && chakra::BuildNodes("fuzz", json->header, std::move(json->nodes), trace)) {
    RequireSound(trace);
  }
  return 0;
}
