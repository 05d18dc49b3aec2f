// Any bytes as an .et file of any of Chakra's schemas.
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "converters/chakra/foreign_trace.h"
#include "et_schema/foreign.h"
#include "tests/fuzz/converted.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reprise;
  const std::string path = "/dev/shm/chakra_et_fuzz." + std::to_string(::getpid());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  static_cast<void>(LooksLikeEt(path));
  const auto reader = ForeignReader::Open(path);
  if (!reader) {
    return 0;
  }
  std::vector<ForeignNode> nodes;
  for (ForeignNode node; (*reader)->Next(node).value_or(false);) {
    nodes.push_back(std::move(node));
  }
  chakra::RankTrace trace{.path = "fuzz"};
  if (chakra::BuildNodes("fuzz", (*reader)->header(), std::move(nodes), trace)) {
    RequireSound(trace);
  }
  return 0;
}
