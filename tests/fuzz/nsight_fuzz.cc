// Any bytes as an export of Nsight Systems.
#include <cstdint>

#include "converters/pytorch/nsight/nsight_text.h"
#include "event_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  reprise::TryText(&reprise::pytorch::OpenNsightText, "in.sqlite", data, size);
  return 0;
}
