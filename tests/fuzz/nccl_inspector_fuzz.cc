// Any bytes as a file of NCCL's Inspector.
#include <cstdint>

#include "converted_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  reprise::TryConvert("nccl_inspector", "host-pid1.log", data, size);
  return 0;
}
