// Any bytes as a profile of XLA.
#include <cstdint>

#include "converters/pytorch/xla/xla_text.h"
#include "event_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  reprise::TryText(&reprise::pytorch::OpenXlaText, "in.xplane.pb", data, size);
  return 0;
}
