// Columns of strangers: an error or as many bytes as announced, never a crash. And any file: what
// can be put into columns comes back the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "et_schema/columns.h"

namespace reprise {
namespace {

bool Decode(std::string_view columns, std::uint64_t bytes, std::string& out) {
  ColumnsDecoder decoder(bytes, [&out](std::string_view piece) -> Status {
    out += piece;
    return {};
  });
  return decoder.Add(columns) && decoder.Finish();
}

void DecodeAnything(std::string_view columns, std::uint64_t bytes) {
  std::string out;
  const bool whole = Decode(columns, bytes, out);
  if (out.size() > bytes || (whole && out.size() != bytes)) {
    std::abort();
  }
}

void ThereAndBack(std::string_view file) {
  std::string columns;
  ColumnsEncoder encoder([&columns](std::string_view piece) -> Status {
    columns += piece;
    return {};
  });
  if (!encoder.Add(file) || !encoder.Finish()) {
    return;
  }
  std::string out;
  if (!Decode(columns, file.size(), out) || out != file) {
    std::abort();
  }
}

}  // namespace
}  // namespace reprise

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) {
    return 0;
  }
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  // The first byte chooses; the next two are the announced size of a file.
  if (data[0] % 2 == 0) {
    reprise::DecodeAnything(input.substr(3), std::uint64_t{data[1]} << 8 | data[2]);
  } else {
    reprise::ThereAndBack(input.substr(1));
  }
  return 0;
}
