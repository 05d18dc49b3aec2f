// Any bytes as results of rocprofv3, a database or JSON.
#include <cstdint>

#include "converters/pytorch/rocprof/rocprof_text.h"
#include "event_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  reprise::TryText(&reprise::pytorch::OpenRocprofText, "in.db", data, size);
  return 0;
}
