// Any bytes as a dump of PyTorch's flight recorder.
#include <cstdint>

#include "converted_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  reprise::TryConvert("flight_recorder", "rank0", data, size);
  return 0;
}
