// Any bytes as a file that a converter takes alone: an error, or a sound trace.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#include "converters/converter.h"
#include "et_schema/trace_set.h"
#include "scratch.h"

namespace reprise {

inline void TryConvert(const std::string& converter, const std::string& file,
                       const std::uint8_t* data, std::size_t size) {
  static const std::filesystem::path directory = FuzzDirectory(converter + "_fuzz");
  const std::filesystem::path in = directory / file;
  const std::filesystem::path out = directory / "out.et";
  WriteInput(in, data, size);
  const auto report = FindConverter(converter)->convert(
      {.input_file = in.string(), .output_file = out.string(), .force = true});
  if (report && !ValidateFile(out.string()).errors.empty()) {
    std::abort();
  }
}

}  // namespace reprise
