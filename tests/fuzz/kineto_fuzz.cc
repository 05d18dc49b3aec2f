// Any bytes as a Kineto file alone, converted as a whole (device events, launches, waits, NCCL): an
// error and no file, or a file that reads back.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "converters/converter.h"
#include "et_schema/graph.h"
#include "scratch.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

void Try(const char* data, std::size_t size) {
  static const fs::path directory = FuzzDirectory("kineto_fuzz");
  const fs::path in = directory / "in.json";
  const fs::path out = directory / "out.0.et";
  std::ofstream(in, std::ios::binary).write(data, static_cast<std::streamsize>(size));
  std::error_code error;
  fs::remove(out, error);
  ConvertRequest request;
  request.device_trace = in.string();
  request.output_file = out.string();
  const bool converted = FindConverter("pytorch")->convert(request).has_value();
  if (converted != fs::exists(out) || (converted && !Graph::Load(out.string()))) {
    std::abort();
  }
}

}  // namespace
}  // namespace reprise

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  reprise::Try(reinterpret_cast<const char*>(data), size);
  return 0;
}
